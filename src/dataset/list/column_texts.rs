//! The texts of a list's column as they are meant: paths without blanks, JSON's texts without quotation marks.

use super::super::listed_values::TextColumn;
use crate::quote::shortened;

/// Returns paths as a CSV file has them without the blanks around them, which are no part of the sample's own path either.
pub(super) fn trimmed(texts: &TextColumn) -> TextColumn {
    let mut plain = TextColumn::default();
    let paths = texts.texts().map(|(sample, text)| (sample, text.trim()));
    paths.filter(|(_, path)| !path.is_empty()).for_each(|(sample, path)| plain.push(sample, path));
    plain.pad(texts.samples());
    plain
}

/// Returns the texts that JSON texts are, without quotation marks and escapes.
pub(super) fn unquoted(texts: &TextColumn) -> Result<TextColumn, (usize, String)> {
    let mut plain = TextColumn::default();
    for (sample, text) in texts.texts() {
        let text: String =
            serde_json::from_str(text).map_err(|_| (sample, format!("is no text: {}", shortened(text))))?;
        plain.push(sample, &text);
    }
    plain.pad(texts.samples());
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str]) -> TextColumn {
        let mut column = TextColumn::default();
        texts.iter().enumerate().for_each(|(sample, text)| column.push(sample, text));
        column
    }

    #[test]
    fn blanks_and_quotation_marks_are_no_part_of_a_text() {
        let paths = trimmed(&column(&[" a.png", " ", "b.png "]));
        assert_eq!([0, 1, 2].map(|sample| paths.get(sample)), [Some("a.png"), None, Some("b.png")]);
        let texts = unquoted(&column(&["\"a\\n\"", "\"\""])).unwrap();
        assert_eq!([0, 1].map(|sample| texts.get(sample)), [Some("a\n"), Some("")]);
        assert_eq!(unquoted(&column(&["\"a\"", "7"])).unwrap_err(), (1, "is no text: 7".to_owned()));
    }
}
