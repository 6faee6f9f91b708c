//! The header of a page.

use super::thrift::{Broken, Kind, Thrift};

/// The header of a page, and where its content is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageHeader {
    pub(super) kind: i64,
    pub(super) values: u32,
    pub(super) encoding: i64,
    /// The bytes of definition levels before the content, and those of repetition levels before them, for pages in which
    /// the levels have a place of their own.
    pub(super) levels: Option<u32>,
    pub(super) repetition: u32,
    pub(super) packed: bool,
    pub(super) compressed: u32,
    pub(super) uncompressed: u32,
    /// The offset of the content in the file.
    pub(super) at: u64,
}

impl PageHeader {
    pub(super) fn is_dictionary(&self) -> bool {
        self.kind == 2
    }

    /// Returns true if the page's values lie in the file as they are.
    pub(super) fn is_plain(&self) -> bool {
        !self.packed
    }

    /// Returns where the content begins in the file.
    pub(super) fn begin(&self) -> u64 {
        self.at
    }

    /// Returns where the content ends in the file.
    pub(super) fn end(&self) -> u64 {
        self.at + u64::from(self.compressed)
    }

    /// Returns the bytes of levels before the content; `None` for a page whose levels are a part of the content.
    pub(super) fn levels(&self) -> Option<u32> {
        // Both are at most `i32::MAX`.
        self.levels.map(|levels| levels + self.repetition)
    }

    /// Returns true if the values are indices of a dictionary.
    pub(super) fn is_indexed(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }
}

/// Reads the header of a page. Returns the header, and its length in bytes.
pub(super) fn header(bytes: &[u8]) -> Result<(PageHeader, usize), Broken> {
    let mut header = PageHeader { kind: -1, packed: true, ..PageHeader::default() };
    let length = |thrift: &mut Thrift<'_>| {
        let length = u32::try_from(thrift.number()?).ok().filter(|length| *length <= i32::MAX as u32);
        length.ok_or(Broken::Says("a length is negative"))
    };
    let mut thrift = Thrift::new(bytes);
    thrift.structure(|thrift, field, kind| {
        match (field, kind) {
            (1, Kind::Integer) => header.kind = thrift.number()?,
            (2, Kind::Integer) => header.uncompressed = length(thrift)?,
            (3, Kind::Integer) => header.compressed = length(thrift)?,
            // Headers of pages with values, and of a dictionary.
            (5 | 7, Kind::Struct) => thrift.structure(|thrift, field, kind| {
                match (field, kind) {
                    (1, Kind::Integer) => header.values = length(thrift)?,
                    (2, Kind::Integer) => header.encoding = thrift.number()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            // The header of pages with values, in the second version.
            (8, Kind::Struct) => thrift.structure(|thrift, field, kind| {
                match (field, kind) {
                    (1, Kind::Integer) => header.values = length(thrift)?,
                    (4, Kind::Integer) => header.encoding = thrift.number()?,
                    (5, Kind::Integer) => header.levels = Some(length(thrift)?),
                    (6, Kind::Integer) => header.repetition = length(thrift)?,
                    (7, Kind::False) => {
                        header.packed = false;
                        return Ok(false);
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((header, thrift.at()))
}

/// Returns the reason of an error for a page with an encoding of this name.
pub(super) fn unread_encoding(name: &str) -> String {
    format!(
        "its encoding is {name}, which gpufeed does not read; write the file again with plain or dictionary encoding, as \
         pyarrow and Hugging Face's datasets do"
    )
}
