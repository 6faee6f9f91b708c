//! Quotes names and texts from outside (files, archives, drivers, the command line) in output for people.

use std::fmt::{self, Display, Formatter, Write};

/// Shows a value on one line, with escapes for everything that a terminal would execute.
///
/// Control characters, line separators and marks that change the direction of writing become Rust's escapes (`\u{1b}`,
/// `\n`). Everything else stays as it is, including backslashes, so that quoting twice has no further effect. Only
/// printed text goes through this; data stay exact.
///
/// Without it, a file's name could move the terminal's cursor, write over other lines, or invent one.
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping { out: f, line_ends: false }, "{}", self.0)
    }
}

/// [`Shown`] for a text of several lines, such as a compiler's message: its line ends stay.
#[derive(Clone, Copy, Debug)]
pub struct ShownLines<T>(pub T);

impl<T: Display> Display for ShownLines<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping { out: f, line_ends: true }, "{}", self.0)
    }
}

struct Escaping<'a, 'b> {
    out: &'a mut Formatter<'b>,
    /// True to leave line ends unescaped.
    line_ends: bool,
}

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, symbol) in text.char_indices() {
            if obeyed(symbol) && !(self.line_ends && symbol == '\n') {
                self.out.write_str(&text[plain..at])?;
                write!(self.out, "{}", symbol.escape_default())?;
                plain = at + symbol.len_utf8();
            }
        }
        self.out.write_str(&text[plain..])
    }
}

/// Returns true if the character affects the text around it.
fn obeyed(symbol: char) -> bool {
    let line_end = matches!(symbol, '\u{2028}' | '\u{2029}');
    // These are the characters of Unicode's property Bidi_Control.
    let direction = matches!(
        symbol,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    symbol.is_control() || line_end || direction
}

/// Returns a key, which may be any bytes, as text if it is plain text, else its bytes in hexadecimal digits.
pub(crate) fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.contains(obeyed) => text.to_owned(),
        _ => key.iter().fold("0x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}

/// Returns the first 40 characters.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn keys_that_are_no_plain_text_are_shown_as_bytes() {
        assert_eq!(shown("a/é 1".as_bytes()), "a/é 1");
        assert_eq!((shown(b"\x1b[31m"), shown(b"\xff\x01")), ("0x1b5b33316d".into(), "0xff01".into()));
        assert_eq!(shown("a\u{202e}".as_bytes()), "0x61e280ae");
        assert_eq!((shortened(&"é".repeat(40)).len(), shortened(&"é".repeat(41)).chars().count()), (80, 43));
    }

    #[test]
    fn what_a_terminal_obeys_becomes_an_escape() {
        for (text, shown) in [
            ("plain é 中 👍 C:\\temp", "plain é 中 👍 C:\\temp"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{9b}2J \u{7f}", "\\u{9b}2J \\u{7f}"),
            ("x\u{202e}gpj.\u{2066}\u{2028}", "x\\u{202e}gpj.\\u{2066}\\u{2028}"),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
            assert_eq!(Shown(Shown(text)).to_string(), shown, "twice is once");
            assert_eq!(Shown(Path::new(text).display()).to_string(), shown);
        }
        assert_eq!(ShownLines("a\n\u{1b}b\r\n").to_string(), "a\n\\u{1b}b\\r\n");
    }
}
