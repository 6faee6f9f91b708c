//! Finds where the images of a field lie in a row group.

use super::super::column::ColumnReader;
use super::super::images;
use super::entries::most_entries;
use super::kept::{FIELDS, KeptColumn};
use super::source::Source;
use crate::dataset::shards::StoredImage;
use crate::error::Result;
use crate::storage::file::DataFile;

/// Finds the image of each row, of the elements that the source picks out of lists.
///
/// # Errors
/// Pages that are damaged, or have an encoding that is not read.
pub(super) fn find(
    source: &Source,
    file: &DataFile,
    length: u64,
    column: &mut ColumnReader<'_>,
    rows: u64,
) -> Result<KeptColumn> {
    let mut images: Vec<Option<StoredImage>> = Vec::new();
    FIELDS.reserve(&mut images, rows as usize)?;
    // The number of the element in each list of which one is picked.
    let mut numbers = vec![0; source.picks.len()];
    let nested = source.leaves.iter().any(|leaf| leaf.repetition > 0);
    let entries = if nested { most_entries(rows, column.bytes()) } else { rows };
    let damaged = "its levels contradict the rows of its row group: the file is damaged";
    let mut contradict = false;
    images::each_entry(file, length, column, entries, |repetition, _, image| {
        if repetition == 0 && (images.len() as u64) < rows {
            images.push(None);
        } else if repetition == 0 || images.is_empty() {
            contradict = true;
        }
        for (number, (list, _)) in numbers.iter_mut().zip(&source.picks) {
            *number = match list.repetition {
                level if repetition == level => *number + 1,
                level if repetition < level => 0,
                _ => *number,
            };
        }
        let is_picked = numbers.iter().zip(&source.picks).all(|(number, (_, wanted))| number == wanted);
        if let (Some(row), Some(image), true) = (images.last_mut(), image, is_picked) {
            *row = Some(image);
        }
        Ok(())
    })?;
    match images.len() as u64 == rows && !contradict {
        true => Ok(KeptColumn::Images(images)),
        false => Err(column.refused(damaged)),
    }
}
