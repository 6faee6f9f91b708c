//! Finds where the images of a column lie: in the file, or in compressed pages of the file.

use std::io;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::column::{ColumnReader, Content};
use super::page_header::PageHeader;
use super::values::{indices, rows_left};
use crate::dataset::shards::{Page, StoredImage};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// Bytes before an image in the file, which are its length.
pub(super) const PREFIX: usize = 4;
/// The bytes at an image's start, and those at its end, that its check covers.
const START: usize = 60;
const END: usize = 64;

/// Returns a hash that shows whether an image is still the one that was indexed. It covers the image's length, its
/// start and its end. `bytes` begin with the length.
pub(super) fn check(bytes: &[u8]) -> u32 {
    let image = bytes.len().saturating_sub(PREFIX);
    let (start, end) = (&bytes[..bytes.len().min(PREFIX + START)], &bytes[bytes.len() - image.min(END)..]);
    let mut both = [0; PREFIX + START + END];
    both[..start.len()].copy_from_slice(start);
    both[PREFIX + START..][..end.len()].copy_from_slice(end);
    xxh3_64(&both) as u32
}

/// Finds the images of a column, which has `rows` of them. `found` gets the number of each in the row group, and where
/// it lies.
///
/// # Errors
/// Pages that are damaged; `missing`, with the row's number, for a row without bytes; the errors of `found`.
pub(super) fn each(
    file: &DataFile,
    length: u64,
    column: &mut ColumnReader<'_>,
    rows: u64,
    missing: impl Fn(u64) -> Error,
    mut found: impl FnMut(u64, StoredImage) -> Result<()>,
) -> Result<()> {
    let mut window = Window { file, length, bytes: Vec::new(), at: 0 };
    let mut dictionary: Vec<StoredImage> = Vec::new();
    let mut left = rows;
    while let Some(header) = column.next_page()? {
        if header.is_dictionary() {
            dictionary.clear();
            column.check_dictionary(&header, rows)?;
            let place = ValuePage::of_dictionary(column, &header)?;
            let mut values = place.values(&mut window);
            for _ in 0..header.values {
                dictionary.push(values.next(column)?);
            }
            continue;
        }
        let first = rows - left;
        left = rows_left(column, &header, left)?;
        let short = || column.refused("a page ends before its last value: the file is damaged");
        if header.is_indexed() {
            let content = column.content(&header)?;
            let mut present = column.present(&content);
            let mut indices = indices(column, &header, &content.bytes[content.values.clone()])?;
            for row in first..first + u64::from(header.values) {
                if !present.next().ok_or_else(short)? {
                    return Err(missing(row));
                }
                let index = indices.as_mut().and_then(|indices| indices.next()).ok_or_else(short)?;
                let location = dictionary.get(index as usize);
                found(row, *location.ok_or_else(|| column.refused("an image is not in its dictionary"))?)?;
            }
        } else if header.encoding == 0 {
            let place = ValuePage::of_values(column, &header)?;
            let mut present = column.present(&place.content);
            let mut values = place.values(&mut window);
            for row in first..first + u64::from(header.values) {
                if !present.next().ok_or_else(short)? {
                    return Err(missing(row));
                }
                found(row, values.next(column)?)?;
            }
        } else {
            return Err(column.encoding(&header));
        }
    }
    match left {
        0 => Ok(()),
        left => Err(column.refused(format!("its last {left} images are missing: the file is damaged"))),
    }
}

/// Calls `see` with the levels of each entry of a column that may be in lists, of repetition and of definition, and with
/// where its value lies, if it has one. There may be at most `entries` entries.
///
/// # Errors
/// Pages that are damaged; the errors of `see`.
pub(super) fn each_entry(
    file: &DataFile,
    length: u64,
    column: &mut ColumnReader<'_>,
    entries: u64,
    mut see: impl FnMut(u32, u32, Option<StoredImage>) -> Result<()>,
) -> Result<()> {
    let mut window = Window { file, length, bytes: Vec::new(), at: 0 };
    let mut dictionary: Vec<StoredImage> = Vec::new();
    let mut left = entries;
    while let Some(header) = column.next_page()? {
        if header.is_dictionary() {
            dictionary.clear();
            column.check_dictionary(&header, entries)?;
            let place = ValuePage::of_dictionary(column, &header)?;
            let mut values = place.values(&mut window);
            for _ in 0..header.values {
                dictionary.push(values.next(column)?);
            }
            continue;
        }
        left = rows_left(column, &header, left)?;
        let short = || column.refused("a page ends before its last value: the file is damaged");
        if header.is_indexed() {
            let content = column.content(&header)?;
            let mut levels = column.each_level(&content);
            let mut indices = indices(column, &header, &content.bytes[content.values.clone()])?;
            for _ in 0..header.values {
                let (repetition, definition) = levels.next().ok_or_else(short)?;
                let image = match definition == column.definition() {
                    false => None,
                    true => {
                        let index = indices.as_mut().and_then(|indices| indices.next()).ok_or_else(short)?;
                        let image = dictionary.get(index as usize);
                        Some(*image.ok_or_else(|| column.refused("an image is not in its dictionary"))?)
                    }
                };
                see(repetition, definition, image)?;
            }
        } else if header.encoding == 0 {
            let place = ValuePage::of_values(column, &header)?;
            let mut levels = column.each_level(&place.content);
            let mut values = place.values(&mut window);
            for _ in 0..header.values {
                let (repetition, definition) = levels.next().ok_or_else(short)?;
                let there = definition == column.definition();
                see(repetition, definition, if there { Some(values.next(column)?) } else { None })?;
            }
        } else {
            return Err(column.encoding(&header));
        }
    }
    Ok(())
}

/// A page of plain values, in the file as they are or unpacked.
struct ValuePage {
    /// The levels of the page, and also its values if the page was unpacked.
    content: Content,
    /// Where the values are: in a range of the file, or in a compressed page.
    at: ValueBytes,
}

/// Where the values of a page are.
enum ValueBytes {
    File(Range<u64>),
    Page(Page),
}

impl ValuePage {
    fn of_values(column: &ColumnReader<'_>, header: &PageHeader) -> Result<ValuePage> {
        if header.is_plain() {
            let (content, range) = column.levels(header)?;
            return Ok(ValuePage { content, at: ValueBytes::File(range) });
        }
        let (page, bytes) = Self::page(column, header)?;
        Ok(ValuePage { content: column.split(header, bytes)?, at: ValueBytes::Page(page) })
    }

    fn of_dictionary(column: &ColumnReader<'_>, header: &PageHeader) -> Result<ValuePage> {
        if header.is_plain() {
            return Ok(ValuePage { content: Content::default(), at: ValueBytes::File(header.begin()..header.end()) });
        }
        let (page, bytes) = Self::page(column, header)?;
        Ok(ValuePage { content: Content::of_values(bytes), at: ValueBytes::Page(page) })
    }

    fn page(column: &ColumnReader<'_>, header: &PageHeader) -> Result<(Page, Vec<u8>)> {
        let (offset, bytes) = column.compressed(header)?;
        let (hash, compressed) = (xxh3_64(&bytes), bytes.len() as u32);
        let bytes = column.unpack(header, bytes)?;
        let (length, codec) = (bytes.len() as u32, column.codec.number());
        Ok((Page { offset, hash, compressed, length, codec, zero: 0 }, bytes))
    }

    fn values<'a, 'b>(&'b self, window: &'b mut Window<'a>) -> Values<'a, 'b> {
        match &self.at {
            ValueBytes::File(range) => Values::File { window, range: range.clone() },
            ValueBytes::Page(page) => {
                let range = &self.content.values;
                Values::Page { page: *page, bytes: &self.content.bytes[..range.end], at: range.start }
            }
        }
    }
}

/// Plain values, each after its length.
enum Values<'a, 'b> {
    File { window: &'b mut Window<'a>, range: Range<u64> },
    Page { page: Page, bytes: &'b [u8], at: usize },
}

impl Values<'_, '_> {
    fn next(&mut self, column: &ColumnReader<'_>) -> Result<StoredImage> {
        let lies = || column.refused("an image is longer than its page: the file is damaged");
        match self {
            Values::Page { page, bytes, at } => {
                let mut rest = bytes.get(*at..).unwrap_or_default();
                let length = rest.split_off(..PREFIX).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes);
                let length = length.filter(|length| *length as usize <= rest.len()).ok_or_else(lies)?;
                let offset = *at + PREFIX;
                *at = offset + length as usize;
                Ok(StoredImage { offset: offset as u64, length, check: 0, page: Some(*page) })
            }
            Values::File { window, range } => {
                let offset = range.start + PREFIX as u64;
                if offset > range.end {
                    return Err(lies());
                }
                let failed = |source| Error::io(window.file.name(), source);
                let failed = &failed;
                let length = window.get(range.start, PREFIX).map_err(failed)?;
                let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
                let end = offset + u64::from(length);
                if end > range.end {
                    return Err(lies());
                }
                let mut both = [0; PREFIX + START + END];
                let first = PREFIX + START.min(length as usize);
                both[..first].copy_from_slice(window.get(range.start, first).map_err(failed)?);
                let last = END.min(length as usize);
                let tail = window.get(end - last as u64, last).map_err(failed)?;
                both[PREFIX + START..][..last].copy_from_slice(tail);
                range.start = end;
                Ok(StoredImage { offset, length, check: xxh3_64(&both) as u32, page: None })
            }
        }
    }
}

/// Reads small parts of a file from front to back.
struct Window<'a> {
    file: &'a DataFile,
    length: u64,
    bytes: Vec<u8>,
    at: u64,
}

impl Window<'_> {
    /// The bytes that are read at once. When they are read after an image, they hold its end and the start of the next
    /// one.
    const SIZE: u64 = 4 << 10;

    fn get(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        let inside = at >= self.at && at + length as u64 <= self.at + self.bytes.len() as u64;
        if !inside {
            let size = Self::SIZE.min(self.length.saturating_sub(at)).max(length as u64);
            self.bytes.resize(size as usize, 0);
            self.at = at;
            self.file.read_exact(&mut self.bytes, at)?;
        }
        let begin = (at - self.at) as usize;
        Ok(&self.bytes[begin..begin + length])
    }
}
