//! Names and texts of other people's files, as errors show them.

use std::fmt::Write as _;

/// A name as text where it is plain text, else its bytes: what a terminal would obey is not printed.
pub(super) fn shown(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains(char::is_control) => text.to_owned(),
        _ => name.iter().fold("0x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}

/// The first 40 characters.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_text_is_shown_as_bytes() {
        assert_eq!(shown("a/é 1".as_bytes()), "a/é 1");
        assert_eq!((shown(b"\x1b[31m"), shown(b"\xff\x01")), ("0x1b5b33316d".into(), "0xff01".into()));
        assert_eq!((shortened(&"é".repeat(40)).len(), shortened(&"é".repeat(41)).chars().count()), (80, 43));
    }
}
