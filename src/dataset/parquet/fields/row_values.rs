//! Reads the values of a field in a row group.

use super::super::column::ColumnReader;
use super::entries::{self, Entry};
use super::kept::{FIELDS, Fault, KeptColumn, RowValue, ValueBytes};
use super::leaf_bytes::LeafBytes;
use super::nested::{LeafValues, Part};
use super::schema::Leaf;
use super::source::{Form, Source};
use super::tree;
use crate::error::{Error, Result};

/// Reads the values of a field that is no image.
///
/// # Errors
/// Pages that are damaged; values that take too much memory. What is wrong with the value of one row is kept with the row.
pub(super) fn read(
    source: &Source,
    columns: &mut [ColumnReader<'_>],
    rows: u64,
    max_field_bytes: u64,
) -> Result<KeptColumn> {
    let most = usize::try_from(max_field_bytes).unwrap_or(usize::MAX);
    match (&source.leaves[..], columns, source.form) {
        ([leaf], [column], form) if leaf.repetition == 0 && !matches!(form, Form::Tree | Form::Objects) => {
            flat(*leaf, column, rows, most)
        }
        (_, columns, _) => nested(source, columns, rows, most),
    }
}

/// Reads a column with one value a row.
fn flat(leaf: Leaf, column: &mut ColumnReader<'_>, rows: u64, most: usize) -> Result<KeptColumn> {
    let mut bytes = LeafBytes::new(leaf, column.bytes(), most);
    let mut kept = Vec::new();
    FIELDS.reserve(&mut kept, rows as usize)?;
    entries::each(column, leaf, rows, |entry: Entry<'_>| {
        kept.push(bytes.add(entry.value)?);
        Ok(())
    })?;
    Ok(KeptColumn::Values { rows: kept, bytes: bytes.into_bytes(), axes: Vec::new() })
}

/// Reads columns of lists or structs.
fn nested(source: &Source, columns: &mut [ColumnReader<'_>], rows: u64, most: usize) -> Result<KeptColumn> {
    let mut leaves = Vec::with_capacity(columns.len());
    let mut bytes = ValueBytes::new(columns.iter().map(ColumnReader::bytes).sum());
    for (leaf, column) in source.leaves.iter().zip(&mut *columns) {
        leaves.push(LeafValues::read(*leaf, column, rows, most)?);
    }
    let depth = if let Form::Numbers(_, depth) = source.form { depth } else { 0 };
    let (mut kept, mut axes) = (Vec::new(), Vec::new());
    FIELDS.reserve(&mut kept, rows as usize)?;
    FIELDS.reserve(&mut axes, depth.saturating_mul(rows as usize))?;
    for row in 0..rows as usize {
        let begin = bytes.bytes.len();
        let mut lengths = vec![None; depth];
        // The row may grow to its own end, or to that of the row group.
        let (own, end) = (begin.saturating_add(most), begin.saturating_add(most).min(bytes.most));
        let made = match picked(source, &leaves, row) {
            None => Ok(false),
            Some(parts) => match source.form {
                Form::Numbers(..) => tree::numbers(&source.node, &parts, &mut lengths, &mut bytes.bytes, end),
                Form::Tree | Form::Objects => tree::json(&source.node, &parts, &mut bytes.bytes, end),
                Form::Text | Form::Json | Form::Bytes | Form::ObjectsText | Form::Image => {
                    tree::value(&source.node, &parts, &mut bytes.bytes)
                }
            },
        };
        let length = bytes.bytes.len() - begin;
        if (made == Err(Fault::Long) && end < own) || bytes.bytes.len() > bytes.most {
            let too_many = bytes.too_many();
            return match columns.first() {
                Some(column) => Err(column.refused(too_many)),
                None => Err(Error::argument("fields", too_many)),
            };
        }
        kept.push(match made {
            Ok(true) => RowValue::At(begin as u32, length as u32),
            Ok(false) => RowValue::Absent,
            Err(fault) => {
                bytes.bytes.truncate(begin);
                RowValue::Fault(fault)
            }
        });
        axes.extend(lengths.into_iter().map(|length| length.unwrap_or(0)));
    }
    Ok(KeptColumn::Values { rows: kept, bytes: bytes.bytes, axes })
}

/// Returns the entries of a row, of the elements that the source picks; `None` if a list has no such element.
fn picked<'a>(source: &Source, leaves: &'a [LeafValues], row: usize) -> Option<Vec<Part<'a>>> {
    let part = |leaf: &'a LeafValues| {
        source.picks.iter().try_fold(leaf.row(row), |part, (list, number)| part.element(*list, *number))
    };
    leaves.iter().map(part).collect()
}
