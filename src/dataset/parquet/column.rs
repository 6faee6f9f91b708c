//! Reads a column of a row group, page by page.

use crate::advice::Reason;
use std::cell::Cell;
use std::ops::Range;

use super::codec::{Codec, LARGEST};
use super::footer::Footer;
use super::hybrid::Hybrid;
use super::page_header::{PageHeader, header, unread_encoding};
use super::thrift::Broken;
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
    /// The definition level of a value that is there, and the level of the innermost list that it is in.
    definition: u32,
    repetition: u32,
    at: u64,
    end: u64,
    /// All bytes of the chunk, if they were read at once.
    whole: Option<(u64, Vec<u8>)>,
    /// True if a page had an encoding that is not supported.
    encoded: Cell<bool>,
    max_page_bytes: Option<u64>,
}

/// The content of a page of values.
#[derive(Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The range of `bytes` that has the values.
    pub(super) values: Range<usize>,
    /// The ranges of the definition levels, and of the repetition levels.
    levels: Range<usize>,
    repeats: Range<usize>,
}

/// The pages of a column in a row group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) begin: u64,
    pub(super) end: u64,
    codec: Codec,
}

impl Chunk {
    /// The chunk of a row group without rows.
    pub(super) const EMPTY: Chunk = Chunk { begin: 0, end: 0, codec: Codec::None };

    /// # Errors
    /// Pages that are not in the file, or whose compression is not supported.
    pub(super) fn of(file: &DataFile, footer: &Footer, (group, leaf): (usize, usize)) -> Result<Chunk> {
        let refused = |reason: String| Error::data_file(file.name(), place(group, &footer.name(leaf)), reason);
        let codec = Codec::of(footer.compression(group, leaf)).map_err(|name| {
            refused(format!("{name} is not read; write the file again, uncompressed or with Snappy, gzip or zstd"))
        })?;
        match footer.pages(group, leaf) {
            Some((begin, end)) => Ok(Chunk { begin, end, codec }),
            None => Err(refused("the footer says that its pages are not in this file: it is damaged".into())),
        }
    }
}

/// Names a column of a row group in errors.
pub(super) fn place(group: usize, column: &str) -> String {
    format!("row group {group}, column {}", crate::quote::shortened(column))
}

impl Content {
    /// Makes the content of a page whose values have no levels.
    pub(super) fn of_values(bytes: Vec<u8>) -> Content {
        Content { values: 0..bytes.len(), levels: 0..0, repeats: 0..0, bytes }
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
        let (chunk, place) = (Chunk::of(file, footer, (group, leaf))?, place(group, &footer.name(leaf)));
        Ok(Self::of_chunk(file, place, chunk, (shape.definition, shape.repetition), max_page_bytes))
    }

    /// Makes a reader of these pages. `place` is for errors; the levels are those of definition and of repetition.
    pub(super) fn of_chunk(
        file: &'a DataFile,
        place: String,
        chunk: Chunk,
        (definition, repetition): (u32, u32),
        max_page_bytes: Option<u64>,
    ) -> ColumnReader<'a> {
        let (Chunk { begin: at, end, codec }, encoded) = (chunk, Cell::new(false));
        ColumnReader { file, place, codec, definition, repetition, at, end, whole: None, encoded, max_page_bytes }
    }

    /// Reads all pages at once: one read in the place of two for each page.
    pub(super) fn read_whole(mut self) -> Result<ColumnReader<'a>> {
        self.whole = Some((self.at, self.read(self.at, (self.end - self.at) as usize)?));
        Ok(self)
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
            if header.repetition != 0 && self.repetition == 0 {
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
        if let Some((begin, bytes)) = &self.whole {
            let from = bytes.get((at - begin) as usize..).and_then(|from| from.get(..length));
            return from.map(<[u8]>::to_vec).ok_or_else(|| self.lies(at, "it has more bytes than its column"));
        }
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
        self.refused(unread_encoding(name))
    }

    /// Reads the compressed part of a page, or all of a page without one. Returns its offset in the file, and the
    /// bytes.
    pub(super) fn compressed(&self, header: &PageHeader) -> Result<(u64, Vec<u8>)> {
        let levels = header.levels().filter(|_| header.packed).unwrap_or(0);
        let Some(length) = header.compressed.checked_sub(levels) else {
            return Err(self.lies(header.at, "its levels are longer than the page"));
        };
        let at = header.at + u64::from(levels);
        Ok((at, self.read(at, length as usize)?))
    }

    /// Returns the length of the compressed part of a page when it is unpacked.
    pub(super) fn unpacked_length(&self, header: &PageHeader) -> Result<u32> {
        let levels = header.levels().filter(|_| header.packed).unwrap_or(0);
        header
            .uncompressed
            .checked_sub(levels)
            .ok_or_else(|| self.lies(header.at, "its levels are longer than the page"))
    }

    /// Unpacks what [`compressed`](Self::compressed) has read.
    pub(super) fn unpack(&self, header: &PageHeader, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let codec = if header.packed { self.codec } else { Codec::None };
        let length = self.unpacked_length(header)?;
        if bytes.is_empty() && length == 0 {
            // A page of which all values are missing. Snappy refuses no bytes.
            return Ok(bytes);
        }
        codec.unpack(bytes, length, self.max_page_bytes).map_err(|reason| self.refused(reason))
    }

    /// Finds the levels and the values in the unpacked bytes of a page.
    pub(super) fn split(&self, header: &PageHeader, mut bytes: Vec<u8>) -> Result<Content> {
        if let Some(levels) = header.levels().filter(|_| header.packed) {
            // Levels with a place of their own are never compressed. They are put after the values, so that these need
            // not be moved.
            let begin = bytes.len();
            bytes.extend_from_slice(&self.read(header.at, levels as usize)?);
            let repeats = begin..begin + header.repetition as usize;
            return Ok(Content { levels: repeats.end..bytes.len(), repeats, values: 0..begin, bytes });
        }
        let (repeats, levels) = self.levels_in(header, &bytes)?;
        Ok(Content { values: levels.end..bytes.len(), levels, repeats, bytes })
    }

    /// Finds the repetition levels and the definition levels at the start of a page. The values begin after the latter.
    fn levels_in(&self, header: &PageHeader, bytes: &[u8]) -> Result<(Range<usize>, Range<usize>)> {
        let after = |begin: usize, level: u32| match level {
            0 => begin..begin,
            _ => {
                let length = bytes.get(begin..).and_then(|bytes| bytes.first_chunk::<4>());
                let end = length.and_then(|length| (begin + 4).checked_add(u32::from_le_bytes(*length) as usize));
                begin + 4..end.unwrap_or(usize::MAX)
            }
        };
        let (repeats, levels) = match header.levels {
            Some(levels) => {
                let repeats = 0..header.repetition as usize;
                (repeats.clone(), repeats.end..repeats.end + levels as usize)
            }
            None => {
                let repeats = after(0, self.repetition);
                let levels =
                    if repeats.end > bytes.len() { repeats.clone() } else { after(repeats.end, self.definition) };
                (repeats, levels)
            }
        };
        match repeats.end <= bytes.len() && levels.end <= bytes.len() {
            true => Ok((repeats, levels)),
            false => Err(self.lies(header.at, "its levels are longer than the page")),
        }
    }

    /// Reads only the levels of a page that is not compressed. Returns them, and where the values are in the file.
    pub(super) fn levels(&self, header: &PageHeader) -> Result<(Content, Range<u64>)> {
        let lies = || self.lies(header.at, "its levels are longer than the page");
        let mut length = u64::from(header.levels().unwrap_or(0));
        if header.levels.is_none() {
            // Each kind of levels stands after its length.
            for _ in [self.repetition, self.definition].into_iter().filter(|level| *level > 0) {
                let left = u64::from(header.compressed).checked_sub(length).ok_or_else(lies)?;
                let prefix = self.read(header.at + length, left.min(4) as usize)?;
                let levels = prefix.first_chunk::<4>().ok_or_else(lies)?;
                length += 4 + u64::from(u32::from_le_bytes(*levels));
            }
        }
        if length > header.compressed.into() {
            return Err(lies());
        }
        let bytes = self.read(header.at, length as usize)?;
        let (repeats, levels) = self.levels_in(header, &bytes)?;
        let content = Content { values: levels.end..bytes.len(), levels, repeats, bytes };
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

    /// Returns the repetition level and the definition level of each value. The iterator ends early if the levels do.
    pub(super) fn each_level<'b>(&self, content: &'b Content) -> impl Iterator<Item = (u32, u32)> + use<'b> {
        fn runs(bytes: &[u8], most: u32) -> (u32, Option<Hybrid<'_>>) {
            (most, Hybrid::new(bytes, u32::BITS - most.leading_zeros()))
        }
        fn next((most, runs): &mut (u32, Option<Hybrid<'_>>)) -> Option<u32> {
            if *most == 0 { Some(0) } else { runs.as_mut()?.next() }
        }
        let mut repeats = runs(&content.bytes[content.repeats.clone()], self.repetition);
        let mut levels = runs(&content.bytes[content.levels.clone()], self.definition);
        std::iter::from_fn(move || Some((next(&mut repeats)?, next(&mut levels)?)))
    }

    /// Returns the level of a value that is there.
    pub(super) fn definition(&self) -> u32 {
        self.definition
    }

    /// Returns the bytes of the column's pages in the file, of those that are still to be read.
    pub(super) fn bytes(&self) -> u64 {
        self.end - self.at
    }
}
