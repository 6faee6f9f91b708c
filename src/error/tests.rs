//! Tests what the texts of errors show, and what they hide: credentials and control characters.

use super::*;
use std::io;

#[test]
fn no_error_holds_the_credentials_of_an_address() {
    let address = "https://user:secret@host/a.tar?sig=secret";
    for error in [Error::io(address, io::Error::other("no")), Error::data_file(address, "byte 4", "no")] {
        assert!(error.to_string().starts_with("https://host/a.tar"), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

/// Names, reasons and places in an error may come from files that others wrote. Control characters in them are shown
/// escaped, so that they cannot command a terminal.
#[test]
fn no_error_shows_what_a_terminal_obeys() {
    let text = || "a\u{1b}[2J\n\u{7}\u{202e}".to_owned();
    let path = || PathBuf::from(text());
    let failed = || Error::io(path(), io::Error::other(text()));
    let kinds = [
        failed().into_kind(),
        ErrorKind::DataFile { path: path(), place: text(), reason: text() },
        ErrorKind::Argument { setting: "shards", reason: text() },
        ErrorKind::EmptyDataset { what: text(), hint: text() },
        ErrorKind::Decode { format: "PNG", reason: text() },
        ErrorKind::TruncatedImage { format: "PNG", reason: text() },
        ErrorKind::Transform { transform: "Pad", width: 1, height: 1, reason: text() },
        ErrorKind::HostCode { name: text(), source: failed() },
        ErrorKind::Sample { id: 7, name: text(), source: failed() },
        ErrorKind::TooManyFailures { failed: 1, seen: 1, max_share: 0.5, last: failed() },
        ErrorKind::NoAdapter { reason: text() },
    ];
    for kind in kinds {
        let shown = Error::from(kind).to_string();
        assert!(shown.contains(r"a\u{1b}[2J\n\u{7}\u{202e}") && !shown.contains(['\u{1b}', '\n']), "{shown:?}");
    }
    // The texts of these errors come from compilers, drivers and panics, and may have several lines. Line breaks stay,
    // and all other control characters are escaped.
    for kind in [
        ErrorKind::Snippet { transform: "own", reason: text() },
        ErrorKind::Foreign { source: text().into() },
        ErrorKind::Fatal { source: text().into() },
        ErrorKind::Device { stage: "submission", reason: text() },
        ErrorKind::Panic { stage: "decode", message: text() },
    ] {
        let shown = Error::from(kind).to_string();
        assert!(shown.contains("a\\u{1b}[2J\n\\u{7}\\u{202e}"), "{shown:?}");
    }
}

#[test]
fn a_sample_is_called_once() {
    let error = |name: &str| {
        let source = Error::io("/data/a.jpg", std::io::Error::other("gone"));
        Error::from(ErrorKind::Sample { id: 2, name: name.to_owned(), source }).to_string()
    };
    assert_eq!(error("sample 2"), "sample 2: /data/a.jpg: gone");
    assert_eq!(error("/data/a.jpg"), "sample 2: /data/a.jpg: gone");
    assert_eq!(error("x.npy, image 2"), "sample 2 (x.npy, image 2): /data/a.jpg: gone");
}
