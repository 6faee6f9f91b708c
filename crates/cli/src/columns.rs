//! Lays out rows of text as aligned columns for the terminal.

use console::{Alignment, measure_text_width, pad_str};

/// Makes a line of text of each row, with the cells of a column below each other. Columns for which `is_number` is true
/// are aligned right, and the others left.
pub(crate) fn lines<R: AsRef<[String]>>(rows: &[R], is_number: impl Fn(usize) -> bool) -> Vec<String> {
    let mut widths = Vec::new();
    for (column, cell) in rows.iter().flat_map(|row| row.as_ref().iter().enumerate()) {
        widths.resize(widths.len().max(column + 1), 0);
        widths[column] = measure_text_width(cell).max(widths[column]);
    }
    let line = |row: &R| {
        let cells = row.as_ref().iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let side = if is_number(column) { Alignment::Right } else { Alignment::Left };
            pad_str(cell, *width, side, None)
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn texts_begin_and_numbers_end_below_each_other() {
        let rows = [["", "rate", "by"], ["strip", "7 GB/s", "memory"], ["mean", "12 GB/s", "µ"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let expected = ["          rate  by    ", "strip   7 GB/s  memory", "mean   12 GB/s  µ     "];
        assert_eq!(lines(&rows, |column| column == 1), expected);
    }
}
