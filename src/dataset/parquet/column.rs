//! Reads a column of a row group, page by page.

use crate::advice::Reason;
use std::cell::Cell;
use std::ops::Range;

use super::codec::{Codec, LARGEST};
use super::footer::Footer;
use super::hybrid::Hybrid;
use super::thrift::{Broken, Kind, Thrift};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// The bytes that are read for a page's header at first, and the most. Statistics in a header can be long.
const HEADER: u64 = 512;
const LARGEST_HEADER: u64 = 4 << 20;

/// Reads the pages of a column in a row group.
pub(super) struct ColumnReader<'a> {
    file: &'a DataFile,
    /// The row group and the name of the column, for errors.
    place: String,
    pub(super) codec: Codec,
    /// The definition level of a value that is there.
    definition: u32,
    at: u64,
    end: u64,
    /// True if a page had an encoding that is not supported.
    encoded: Cell<bool>,
    max_page_bytes: Option<u64>,
}

/// The header of a page, and where its content is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageHeader {
    kind: i64,
    pub(super) values: u32,
    pub(super) encoding: i64,
    /// The bytes of definition levels before the content, for pages in which the levels have a place of their own.
    levels: Option<u32>,
    repetition: i64,
    packed: bool,
    compressed: u32,
    uncompressed: u32,
    /// The offset of the content in the file.
    at: u64,
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

    /// Returns true if the values are indices of a dictionary.
    pub(super) fn is_indexed(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }
}

/// The content of a page of values.
#[derive(Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The range of `bytes` that has the values.
    pub(super) values: Range<usize>,
    levels: Range<usize>,
}

impl Content {
    /// Makes the content of a page whose values have no levels.
    pub(super) fn of_values(bytes: Vec<u8>) -> Content {
        Content { values: 0..bytes.len(), levels: 0..0, bytes }
    }
}

impl<'a> ColumnReader<'a> {
    /// # Errors
    /// A chunk that is not in the file, or whose compression is not supported.
    pub(super) fn new(
        file: &'a DataFile,
        footer: &Footer,
        (group, leaf): (usize, usize),
        max_page_bytes: Option<u64>,
    ) -> Result<ColumnReader<'a>> {
        let shape = &footer.leaves[leaf];
        let place = format!("row group {group}, column {}", crate::quote::shortened(&footer.name(leaf)));
        let refused = |reason: String| Error::data_file(file.name(), &place, reason);
        let codec = Codec::of(footer.compression(group, leaf)).map_err(|name| {
            refused(format!("{name} is not read; write the file again, uncompressed or with Snappy, gzip or zstd"))
        })?;
        let Some((at, end)) = footer.pages(group, leaf) else {
            return Err(refused("the footer says that its pages are not in this file: it is damaged".into()));
        };
        let encoded = Cell::new(false);
        Ok(ColumnReader { max_page_bytes, encoded, file, codec, definition: shape.definition, at, end, place })
    }

    /// Returns an error of this column.
    pub(super) fn refused(&self, reason: impl Into<Reason>) -> Error {
        Error::data_file(self.file.name(), &self.place, reason)
    }

    /// Returns true if a page had an encoding that is not supported.
    pub(super) fn has_other_encodings(&self) -> bool {
        self.encoded.get()
    }

    fn lies(&self, at: u64, reason: &str) -> Error {
        self.refused(format!("the page at byte {at}: {reason}: the file is damaged"))
    }

    /// Reads the header of the next page; `None` after the last one.
    pub(super) fn next_page(&mut self) -> Result<Option<PageHeader>> {
        while self.at < self.end {
            let begin = self.at;
            let mut length = HEADER;
            let (mut header, read) = loop {
                let there = length.min(self.end - begin);
                let bytes = self.read(begin, there as usize)?;
                match header(&bytes) {
                    Err(Broken::Ends) if there == length && length < LARGEST_HEADER => length *= 8,
                    Err(broken) => return Err(self.lies(begin, &format!("its header cannot be read, {broken}"))),
                    Ok(found) => break found,
                }
            };
            header.at = begin + read as u64;
            self.at = header.end();
            if self.at > self.end {
                return Err(self.lies(begin, "it has more bytes than its column"));
            }
            if header.uncompressed > LARGEST {
                let reason = format!("a page of {} bytes, but at most {LARGEST} are read", header.uncompressed);
                return Err(self.refused(reason));
            }
            if self.codec == Codec::None {
                header.packed = false;
            }
            if !header.packed && header.uncompressed != header.compressed {
                return Err(self.lies(begin, "its two lengths differ, but it is not compressed"));
            }
            if header.repetition != 0 {
                return Err(self.lies(begin, "it has repetition levels, but its column does not repeat"));
            }
            match header.kind {
                0 | 2 | 3 => return Ok(Some(header)),
                // An index of pages. No writer puts one here.
                _ => {}
            }
        }
        Ok(None)
    }

    fn read(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        self.file.bytes(at, length).map_err(|source| Error::io(self.file.name(), source))
    }

    /// Reads the values of a dictionary.
    pub(super) fn dictionary(&self, header: &PageHeader, rows: u64) -> Result<Vec<u8>> {
        self.check_dictionary(header, rows)?;
        let (_, bytes) = self.compressed(header)?;
        self.unpack(header, bytes)
    }

    /// # Errors
    /// A dictionary whose values are not plain, or that has more values than its row group has rows: it would take
    /// memory for values that the file does not have.
    pub(super) fn check_dictionary(&self, header: &PageHeader, rows: u64) -> Result<()> {
        if u64::from(header.values) > rows {
            return Err(self.refused("its dictionary has more values than its row group has rows: the file is damaged"));
        }
        if matches!(header.encoding, 0 | 2) { Ok(()) } else { Err(self.encoding(header)) }
    }

    /// Reads the content of a page of values.
    pub(super) fn content(&self, header: &PageHeader) -> Result<Content> {
        let (_, bytes) = self.compressed(header)?;
        self.split(header, self.unpack(header, bytes)?)
    }

    /// Returns the error for an encoding that is not supported.
    pub(super) fn encoding(&self, header: &PageHeader) -> Error {
        self.encoded.set(true);
        let name = match header.encoding {
            5 => "DELTA_BINARY_PACKED",
            6 => "DELTA_LENGTH_BYTE_ARRAY",
            7 => "DELTA_BYTE_ARRAY",
            9 => "BYTE_STREAM_SPLIT",
            _ => "an unknown one",
        };
        self.refused(format!(
            "its encoding is {name}, which gpufeed does not read; write the file again with plain or dictionary encoding, \
             as pyarrow and Hugging Face's datasets do"
        ))
    }

    /// Reads the compressed part of a page, or all of a page without one. Returns its offset in the file, and the
    /// bytes.
    pub(super) fn compressed(&self, header: &PageHeader) -> Result<(u64, Vec<u8>)> {
        let levels = header.levels.filter(|_| header.packed).unwrap_or(0);
        let Some(length) = header.compressed.checked_sub(levels) else {
            return Err(self.lies(header.at, "its levels are longer than the page"));
        };
        let at = header.at + u64::from(levels);
        Ok((at, self.read(at, length as usize)?))
    }

    /// Returns the length of the compressed part of a page when it is unpacked.
    pub(super) fn unpacked_length(&self, header: &PageHeader) -> Result<u32> {
        let levels = header.levels.filter(|_| header.packed).unwrap_or(0);
        header
            .uncompressed
            .checked_sub(levels)
            .ok_or_else(|| self.lies(header.at, "its levels are longer than the page"))
    }

    /// Unpacks what [`compressed`](Self::compressed) has read.
    pub(super) fn unpack(&self, header: &PageHeader, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let codec = if header.packed { self.codec } else { Codec::None };
        let length = self.unpacked_length(header)?;
        codec.unpack(bytes, length, self.max_page_bytes).map_err(|reason| self.refused(reason))
    }

    /// Finds the levels and the values in the unpacked bytes of a page.
    pub(super) fn split(&self, header: &PageHeader, mut bytes: Vec<u8>) -> Result<Content> {
        if let Some(levels) = header.levels.filter(|_| header.packed) {
            // Levels with a place of their own are never compressed. They are put after the values, so that these need
            // not be moved.
            let begin = bytes.len();
            bytes.extend_from_slice(&self.read(header.at, levels as usize)?);
            return Ok(Content { levels: begin..bytes.len(), values: 0..begin, bytes });
        }
        let (levels, values) = self.levels_in(header, &bytes)?;
        Ok(Content { levels, values: values..bytes.len(), bytes })
    }

    /// Finds the levels at the start of a page. Returns their range, and where the values begin.
    fn levels_in(&self, header: &PageHeader, bytes: &[u8]) -> Result<(Range<usize>, usize)> {
        let range = match (header.levels, self.definition) {
            (Some(levels), _) => 0..levels as usize,
            (None, 0) => 0..0,
            (None, _) => {
                let length = bytes.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
                4..length.and_then(|length| length.checked_add(4)).unwrap_or(usize::MAX)
            }
        };
        match range.end <= bytes.len() {
            true => Ok((range.clone(), range.end)),
            false => Err(self.lies(header.at, "its levels are longer than the page")),
        }
    }

    /// Reads only the levels of a page that is not compressed. Returns them, and where the values are in the file.
    pub(super) fn levels(&self, header: &PageHeader) -> Result<(Content, Range<u64>)> {
        let length = match (header.levels, self.definition) {
            (Some(levels), _) => levels.into(),
            (None, 0) => 0,
            (None, _) => {
                let length = self.read(header.at, 4.min(header.compressed as usize))?;
                4 + length.first_chunk::<4>().map_or(u64::MAX - 4, |length| u32::from_le_bytes(*length).into())
            }
        };
        if length > header.compressed.into() {
            return Err(self.lies(header.at, "its levels are longer than the page"));
        }
        let bytes = self.read(header.at, length as usize)?;
        let (levels, values) = self.levels_in(header, &bytes)?;
        let content = Content { levels, values: values..bytes.len(), bytes };
        Ok((content, header.at + length..header.end()))
    }

    /// Returns for each value whether it is there. The iterator ends early if the levels do.
    pub(super) fn present<'b>(&self, content: &'b Content) -> impl Iterator<Item = bool> + use<'b> {
        let level = self.definition;
        let mut levels = Hybrid::new(&content.bytes[content.levels.clone()], u32::BITS - level.leading_zeros());
        std::iter::from_fn(move || match level {
            0 => Some(true),
            _ => levels.as_mut()?.next().map(|found| found == level),
        })
    }
}

/// Reads the header of a page. Returns the header, and its length in bytes.
fn header(bytes: &[u8]) -> std::result::Result<(PageHeader, usize), Broken> {
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
                    (6, Kind::Integer) => header.repetition = thrift.number()?,
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
