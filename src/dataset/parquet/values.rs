//! Reads the small columns: labels and names.

use super::column::ColumnReader;
use super::footer::Physical;
use super::hybrid::Hybrid;
use super::page_header::PageHeader;
use crate::error::Result;

/// The longest name that a sample may have. A sample with a longer one has no name.
const LONGEST: usize = 1024;

/// The names of a row group's samples.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Returns the bytes of all names.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the name of a row; an empty text if it has none.
    pub(super) fn get(&self, row: usize) -> &str {
        let begin = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(row).copied().unwrap_or(begin);
        &self.text[begin..end]
    }
}

/// Reads a column of integers, which has `rows` of them.
pub(super) fn integers(column: &mut ColumnReader<'_>, physical: Physical, rows: u64) -> Result<Vec<Option<i64>>> {
    let take = |bytes: &mut &[u8]| match physical {
        Physical::Int32 => {
            bytes.split_off(..4).and_then(|value| Some(i32::from_le_bytes(value.try_into().ok()?).into()))
        }
        _ => bytes.split_off(..8).and_then(|value| Some(i64::from_le_bytes(value.try_into().ok()?))),
    };
    let mut values = Vec::new();
    decode(column, rows, take, |value| values.push(value.copied()))?;
    Ok(values)
}

/// Reads a column of texts, which has `rows` of them. Stops taking names when they have more than `most` bytes.
pub(super) fn names(column: &mut ColumnReader<'_>, rows: u64, most: usize) -> Result<Names> {
    let take = |bytes: &mut &[u8]| {
        let length = u32::from_le_bytes(bytes.split_off(..4)?.try_into().ok()?);
        let name = bytes.split_off(..length as usize)?;
        let name = if name.len() > LONGEST { &[][..] } else { name };
        Some(String::from_utf8_lossy(name).into_owned().into_boxed_str())
    };
    let mut names = Names::default();
    let decoded = decode(column, rows, take, |name: Option<&Box<str>>| {
        let name = name.map_or("", |name| name);
        if names.text.len() + name.len() <= most {
            names.text.push_str(name);
        }
        names.ends.push(names.text.len());
    });
    match decoded {
        // Samples can do without names.
        Err(_) if column.has_other_encodings() => Ok(Names::default()),
        decoded => decoded.map(|()| names),
    }
}

/// Decodes all values of a column. `take` decodes one value from the bytes of plain values.
fn decode<T>(
    column: &mut ColumnReader<'_>,
    rows: u64,
    take: impl Fn(&mut &[u8]) -> Option<T>,
    mut push: impl FnMut(Option<&T>),
) -> Result<()> {
    let mut dictionary: Vec<T> = Vec::new();
    let mut left = rows;
    while let Some(header) = column.next_page()? {
        if header.is_dictionary() {
            let bytes = column.dictionary(&header, rows)?;
            let mut rest = &bytes[..];
            dictionary.clear();
            for _ in 0..header.values {
                match take(&mut rest) {
                    Some(value) => dictionary.push(value),
                    None => return Err(column.refused("its dictionary ends too early: the file is damaged")),
                }
            }
            continue;
        }
        left = rows_left(column, &header, left)?;
        let content = column.content(&header)?;
        let mut present = column.present(&content);
        let mut plain = &content.bytes[content.values.clone()];
        let mut indexed = indices(column, &header, plain)?;
        for _ in 0..header.values {
            let short = || column.refused("a page ends before its last value: the file is damaged");
            if !present.next().ok_or_else(short)? {
                push(None);
                continue;
            }
            match &mut indexed {
                None => push(Some(&take(&mut plain).ok_or_else(short)?)),
                Some(indices) => {
                    let index = indices.next().ok_or_else(short)? as usize;
                    let value = dictionary.get(index);
                    push(Some(value.ok_or_else(|| column.refused("a value is not in its dictionary"))?));
                }
            }
        }
    }
    match left {
        0 => Ok(()),
        left => Err(column.refused(format!("its last {left} values are missing: the file is damaged"))),
    }
}

/// Returns the number of rows that are left after a page.
pub(super) fn rows_left(column: &ColumnReader<'_>, header: &PageHeader, left: u64) -> Result<u64> {
    let left = left.checked_sub(header.values.into());
    left.ok_or_else(|| column.refused("it has more values than its row group has rows: the file is damaged"))
}

/// Returns the indices of a dictionary that a page has; `None` for a page of plain values.
pub(super) fn indices<'a>(
    column: &ColumnReader<'_>,
    header: &PageHeader,
    values: &'a [u8],
) -> Result<Option<Hybrid<'a>>> {
    if !header.is_indexed() {
        return if header.encoding == 0 { Ok(None) } else { Err(column.encoding(header)) };
    }
    // A page of which all values are missing has no bytes.
    let (width, values) = values.split_first().unwrap_or((&0, &[]));
    let indices = Hybrid::new(values, (*width).into());
    indices.map(Some).ok_or_else(|| column.refused(format!("numbers of {width} bits: the file is damaged")))
}
