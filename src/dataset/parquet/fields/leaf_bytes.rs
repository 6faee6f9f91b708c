//! The bytes of a column's values, each value of a dictionary once.

use super::entries::Found;
use super::kept::{FIELDS, Fault, RowValue, ValueBytes};
use super::schema::{Leaf, Value};
use crate::advice::Reason;

/// Collects the values of a column.
pub(super) struct LeafBytes {
    leaf: Leaf,
    /// The most bytes of a value that is kept.
    most: usize,
    bytes: ValueBytes,
    /// Where the values of the dictionary are, once one entry has them.
    shared: Vec<Option<RowValue>>,
}

impl LeafBytes {
    /// Collects the values of a column whose pages have `bytes` bytes. Values of more than `most` bytes are not kept.
    pub(super) fn new(leaf: Leaf, bytes: u64, most: usize) -> LeafBytes {
        LeafBytes { leaf, most, bytes: ValueBytes::new(bytes), shared: Vec::new() }
    }

    /// Adds the value of an entry, and returns where it is.
    ///
    /// # Errors
    /// The reason if the values take too much memory.
    pub(super) fn add(&mut self, value: Option<Found<'_>>) -> Result<RowValue, Reason> {
        match value {
            None => Ok(RowValue::Absent),
            Some(Found::Own(value)) => self.push(value),
            Some(Found::Shared(index, value)) => {
                if self.shared.len() <= index {
                    FIELDS.resize(&mut self.shared, index + 1, None)?;
                }
                if let Some(known) = self.shared[index] {
                    return Ok(known);
                }
                let added = self.push(value)?;
                self.shared[index] = Some(added);
                Ok(added)
            }
        }
    }

    fn push(&mut self, value: &[u8]) -> Result<RowValue, Reason> {
        match self.leaf.value {
            _ if value.len() > self.most => Ok(RowValue::Fault(Fault::Long)),
            Value::Number(number) => self.bytes.push_number(number, value),
            _ => self.bytes.push(value),
        }
    }

    /// Returns the bytes of all values.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes.bytes
    }
}
