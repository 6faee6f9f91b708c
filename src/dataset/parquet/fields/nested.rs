//! The values of columns that are in lists or structs, by rows.

use super::super::column::ColumnReader;
use super::entries::{self, Entry};
use super::kept::{FIELDS, Fault, RowValue};
use super::leaf_bytes::LeafBytes;
use super::schema::{Leaf, ListLevels};
use crate::error::Result;

/// The values of a column in a row group.
pub(super) struct LeafValues {
    entries: Vec<LeafEntry>,
    /// The first entry of each row, and at the end the number of entries.
    starts: Vec<usize>,
    bytes: Vec<u8>,
}

/// The levels of an entry, and its value.
#[derive(Clone, Copy)]
pub(super) struct LeafEntry {
    pub(super) repetition: u8,
    pub(super) definition: u8,
    value: RowValue,
}

/// Entries of a column that belong to one place: a row, a list, an element.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) values: &'a LeafValues,
    pub(super) entries: &'a [LeafEntry],
}

impl LeafValues {
    /// Reads all entries of a column. Values of more than `most` bytes are not kept.
    pub(super) fn read(leaf: Leaf, column: &mut ColumnReader<'_>, rows: u64, most: usize) -> Result<LeafValues> {
        let mut bytes = LeafBytes::new(leaf, column.bytes(), most);
        let (mut found, mut starts) = (Vec::new(), Vec::new());
        FIELDS.reserve(&mut starts, rows as usize + 1)?;
        entries::each(column, leaf, rows, |entry: Entry<'_>| {
            let value = bytes.add(entry.value)?;
            if entry.repetition == 0 {
                starts.push(found.len());
            }
            FIELDS.reserve_more(&mut found, 1)?;
            // A schema is at most 32 deep, so no level is above 64.
            let (repetition, definition) = (entry.repetition as u8, entry.definition as u8);
            found.push(LeafEntry { repetition, definition, value });
            Ok(())
        })?;
        starts.push(found.len());
        Ok(LeafValues { entries: found, starts, bytes: bytes.into_bytes() })
    }

    /// Returns the entries of a row.
    pub(super) fn row(&self, row: usize) -> Part<'_> {
        let range = self.starts.get(row).zip(self.starts.get(row + 1)).map(|(begin, end)| *begin..*end);
        Part { values: self, entries: range.and_then(|range| self.entries.get(range)).unwrap_or_default() }
    }
}

impl<'a> Part<'a> {
    /// Returns the definition level of the first entry.
    ///
    /// # Errors
    /// No entry: the levels of columns contradict each other.
    pub(super) fn definition(&self) -> Result<u32, Fault> {
        self.entries.first().map(|entry| entry.definition.into()).ok_or(Fault::Levels)
    }

    /// Returns the bytes of the first entry's value.
    ///
    /// # Errors
    /// What is wrong with the value, or that there is none.
    pub(super) fn value(&self) -> Result<&'a [u8], Fault> {
        match self.entries.first().map(|entry| entry.value) {
            Some(RowValue::At(begin, length)) => {
                let bytes = self.values.bytes.get(begin as usize..).and_then(|from| from.get(..length as usize));
                bytes.ok_or(Fault::Levels)
            }
            Some(RowValue::Fault(fault)) => Err(fault),
            Some(RowValue::Absent) | None => Err(Fault::Levels),
        }
    }

    /// Splits off the first element of a list.
    pub(super) fn split_element(&mut self, repetition: u32) -> Part<'a> {
        let next = self.entries.iter().skip(1).position(|entry| u32::from(entry.repetition) <= repetition);
        let (element, rest) = self.entries.split_at(next.map_or(self.entries.len(), |next| next + 1));
        self.entries = rest;
        Part { values: self.values, entries: element }
    }

    /// Returns the element of a list with this number; `None` if there are fewer.
    pub(super) fn element(mut self, list: ListLevels, number: usize) -> Option<Part<'a>> {
        if self.definition().ok()? < list.filled {
            return None;
        }
        for _ in 0..number {
            self.split_element(list.repetition);
            if self.entries.is_empty() {
                return None;
            }
        }
        Some(self.split_element(list.repetition))
    }
}
