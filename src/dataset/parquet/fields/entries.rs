//! Reads the values of a column in a row group, with the levels of columns that are in structs and lists.

use super::super::column::ColumnReader;
use super::super::hybrid::Hybrid;
use super::super::page_header::PageHeader;
use super::super::values::indices;
use super::schema::{Leaf, Value};
use crate::advice::Reason;
use crate::error::Result;

/// The entries that a column of lists may have in a row group, beside sixteen for each byte of its pages: so many for each
/// row, and so many in all. Run lengths can claim any number of them in a few bytes.
const OF_A_ROW: u64 = 1 << 16;
const OF_A_GROUP: u64 = 1 << 24;
/// The encoding of truth values as run lengths.
const RUNS: i64 = 3;

/// An entry of a column: its levels, and its value if it has one.
pub(super) struct Entry<'a> {
    pub(super) repetition: u32,
    pub(super) definition: u32,
    pub(super) value: Option<Found<'a>>,
}

/// The bytes of a value.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Own(&'a [u8]),
    /// A value of the dictionary, and its number there.
    Shared(usize, &'a [u8]),
}

/// The bytes of a dictionary page, and the range of each of its values in them.
type Dictionary = (Vec<u8>, Vec<(u32, u32)>);

/// Calls `see` with each entry of a column, which belong to `rows` rows.
///
/// # Errors
/// Pages that are damaged, or have an encoding that is not read; the errors of `see`.
pub(super) fn each(
    column: &mut ColumnReader<'_>,
    leaf: Leaf,
    rows: u64,
    mut see: impl FnMut(Entry<'_>) -> Result<(), Reason>,
) -> Result<()> {
    let nested = leaf.repetition > 0;
    let mut left = if nested { most_entries(rows, column.bytes()) } else { rows };
    let mut found = 0;
    let mut dictionary: Option<Dictionary> = None;
    while let Some(header) = column.next_page()? {
        if header.is_dictionary() {
            if dictionary.is_some() {
                return Err(column.refused("it has two dictionaries: the file is damaged"));
            }
            // A value takes a byte or more of the page, but those of texts, which take four.
            let bytes = column.dictionary(&header, if nested { u64::MAX } else { rows })?;
            let mut plain = Plain::new(&bytes, leaf.value);
            let values = plain.ranges(header.values as usize);
            let values = values.ok_or_else(|| column.refused("its dictionary ends too early: the file is damaged"))?;
            dictionary = Some((bytes, values));
            continue;
        }
        left = left.checked_sub(header.values.into()).ok_or_else(|| {
            column.refused(if nested {
                "its lists have more elements than are read; write smaller row groups"
            } else {
                "it has more values than its row group has rows: the file is damaged"
            })
        })?;
        let content = column.content(&header)?;
        let mut levels = column.each_level(&content);
        let mut values = PageValues::new(column, &header, &content.bytes[content.values.clone()], leaf.value)?;
        let (bytes, ranges) =
            dictionary.as_ref().map_or((&[][..], &[][..]), |(bytes, ranges)| (&bytes[..], &ranges[..]));
        for _ in 0..header.values {
            let short = || column.refused("a page ends before its last value: the file is damaged");
            let (repetition, definition) = levels.next().ok_or_else(short)?;
            found += u64::from(repetition == 0);
            if found == 0 || found > rows || repetition > leaf.repetition || definition > leaf.definition {
                return Err(column.refused("its levels contradict the rows of its row group: the file is damaged"));
            }
            let value = if definition < leaf.definition { None } else { Some(values.next().ok_or_else(short)?) };
            let value = match value {
                None => None,
                Some(ValueAt::Own(value)) => Some(Found::Own(value)),
                Some(ValueAt::Shared(index)) => {
                    let range = ranges.get(index).map(|(begin, length)| *begin as usize..(*begin + *length) as usize);
                    let value = range.and_then(|range| bytes.get(range));
                    let missing = || column.refused("a value is not in its dictionary: the file is damaged");
                    Some(Found::Shared(index, value.ok_or_else(missing)?))
                }
            };
            see(Entry { repetition, definition, value }).map_err(|reason| column.refused(reason))?;
        }
    }
    match found == rows {
        true => Ok(()),
        false => Err(column.refused(format!("its last {} rows are missing: the file is damaged", rows - found))),
    }
}

/// Returns the most entries that a column of lists may have in a row group, whose pages have so many bytes.
pub(super) fn most_entries(rows: u64, bytes: u64) -> u64 {
    rows.saturating_mul(OF_A_ROW).min(OF_A_GROUP).saturating_add(rows).saturating_add(bytes.saturating_mul(16))
}

enum ValueAt<'a> {
    Own(&'a [u8]),
    Shared(usize),
}

/// The values of a page.
enum PageValues<'a> {
    Plain(Plain<'a>),
    Indexed(Hybrid<'a>),
    /// Truth values as run lengths.
    Runs(Hybrid<'a>),
}

impl<'a> PageValues<'a> {
    fn new(column: &ColumnReader<'_>, header: &PageHeader, bytes: &'a [u8], value: Value) -> Result<PageValues<'a>> {
        if header.encoding == RUNS && is_bit(value) {
            let runs = bytes.get(4..).and_then(|runs| Hybrid::new(runs, 1));
            // A page of which all values are missing has no bytes.
            return Ok(runs.map_or(PageValues::Plain(Plain::new(&[], value)), PageValues::Runs));
        }
        Ok(match indices(column, header, bytes)? {
            Some(indices) => PageValues::Indexed(indices),
            None => PageValues::Plain(Plain::new(bytes, value)),
        })
    }

    fn next(&mut self) -> Option<ValueAt<'a>> {
        match self {
            PageValues::Plain(plain) => plain.next().map(ValueAt::Own),
            PageValues::Indexed(indices) => Some(ValueAt::Shared(indices.next()? as usize)),
            PageValues::Runs(runs) => Some(ValueAt::Own(truth(runs.next()? != 0))),
        }
    }
}

/// Plain values, one after the other.
struct Plain<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The bytes of each value; `None` if a value has its length before it. Truth values take a bit.
    width: Option<usize>,
}

impl<'a> Plain<'a> {
    fn new(bytes: &'a [u8], value: Value) -> Plain<'a> {
        let width = match value {
            Value::Number(number) => Some(number.stored),
            Value::Fixed(length) => Some(length),
            Value::Text | Value::Json | Value::Bytes | Value::Unread(_) => None,
        };
        Plain { bytes, at: 0, width }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.width == Some(0) {
            let byte = self.bytes.get(self.at / 8)?;
            let bit = byte >> (self.at % 8) & 1;
            self.at += 1;
            return Some(truth(bit == 1));
        }
        let (begin, length) = self.next_range()?;
        self.bytes.get(begin..begin + length)
    }

    /// Returns where the next value begins, and its length.
    fn next_range(&mut self) -> Option<(usize, usize)> {
        let (begin, length) = match self.width {
            Some(width) => (self.at, width),
            None => {
                let length = self.bytes.get(self.at..)?.first_chunk::<4>()?;
                (self.at + 4, u32::from_le_bytes(*length) as usize)
            }
        };
        let end = begin.checked_add(length).filter(|end| *end <= self.bytes.len())?;
        self.at = end;
        Some((begin, length))
    }

    /// Returns the ranges of the first values; `None` if there are fewer, or if they are bits, which have no dictionary.
    fn ranges(&mut self, count: usize) -> Option<Vec<(u32, u32)>> {
        let least = self.width.unwrap_or(4);
        if least == 0 || count > self.bytes.len() / least {
            return None;
        }
        let range = |(begin, length): (usize, usize)| Some((u32::try_from(begin).ok()?, u32::try_from(length).ok()?));
        (0..count).map(|_| self.next_range().and_then(range)).collect()
    }
}

fn is_bit(value: Value) -> bool {
    matches!(value, Value::Number(number) if number.stored == 0)
}

fn truth(is: bool) -> &'static [u8] {
    if is { &[1] } else { &[0] }
}
