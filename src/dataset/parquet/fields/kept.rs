//! The values of a field in a row group, as they are kept in memory.

use super::schema::Number;
use crate::advice::{Reason, Setting};
use crate::allocate::Use;
use crate::dataset::shards::StoredImage;

/// The memory of fields, for errors.
pub(super) const FIELDS: Use = Use { what: "the fields of a row group", settings: &[Setting::Workers] };

/// The values of a row group may take this many times the bytes that they have in the file, or the bytes below if those
/// are few.
const TIMES: u64 = 64;
const FEW: u64 = 64 << 20;
/// Offsets are numbers of 32 bits.
const MOST: u64 = u32::MAX as u64;

/// The value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowValue {
    Absent,
    /// Where its bytes are, and their number.
    At(u32, u32),
    Fault(Fault),
}

/// The reason why a row has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// More bytes than are read.
    Long,
    /// Nulls among numbers.
    Nulls,
    /// Lists of several lengths within a list.
    Ragged,
    /// A float that JSON does not have.
    NotFinite,
    /// A number that its type does not have.
    NotInType,
    /// A text that is no UTF-8.
    NotText,
    /// Levels that contradict each other.
    Levels,
}

/// The values of a field in a row group.
#[derive(Debug)]
pub(super) enum KeptColumn {
    Values {
        rows: Vec<RowValue>,
        bytes: Vec<u8>,
        /// The lengths of the lists of numbers, as many for each row as they are deep.
        axes: Vec<u32>,
    },
    Images(Vec<Option<StoredImage>>),
}

impl KeptColumn {
    /// Returns the memory that the values take.
    pub(super) fn memory(&self) -> usize {
        match self {
            KeptColumn::Values { rows, bytes, axes } => {
                rows.capacity() * size_of::<RowValue>() + bytes.capacity() + axes.capacity() * size_of::<u32>()
            }
            KeptColumn::Images(images) => images.capacity() * size_of::<Option<StoredImage>>(),
        }
    }
}

/// Collects bytes, up to a number that depends on the bytes of the column in the file.
#[derive(Debug)]
pub(super) struct ValueBytes {
    pub(super) bytes: Vec<u8>,
    pub(super) most: usize,
}

impl ValueBytes {
    /// Collects the values of a column whose pages have so many bytes.
    pub(super) fn new(column: u64) -> ValueBytes {
        let most = column.saturating_mul(TIMES).clamp(FEW, MOST);
        ValueBytes { bytes: Vec::new(), most: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    /// Returns the reason of an error for more bytes than a row group may have.
    pub(super) fn too_many(&self) -> Reason {
        let most = self.most;
        format!("its values in the row group take more than {most} bytes of memory; write smaller row groups").into()
    }

    fn reserve(&mut self, more: usize) -> Result<(), Reason> {
        if self.bytes.len().saturating_add(more) > self.most {
            return Err(self.too_many());
        }
        Ok(FIELDS.reserve_more(&mut self.bytes, more)?)
    }

    /// Adds a value.
    ///
    /// # Errors
    /// More bytes than a row group may have.
    pub(super) fn push(&mut self, value: &[u8]) -> Result<RowValue, Reason> {
        self.reserve(value.len())?;
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        Ok(RowValue::At(begin, value.len() as u32))
    }

    /// Adds a number as its type has it.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub(super) fn push_number(&mut self, number: Number, stored: &[u8]) -> Result<RowValue, Reason> {
        let (begin, length) = (self.bytes.len(), number.number_type.bytes());
        self.reserve(length)?;
        Ok(match number.append(stored, &mut self.bytes) {
            true => RowValue::At(begin as u32, length as u32),
            false => RowValue::Fault(Fault::NotInType),
        })
    }
}
