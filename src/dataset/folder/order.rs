//! The order of names in Python.

use std::cmp::Ordering;
use std::ffi::OsStr;

/// Orders names like Python strings: by code point.
///
/// For UTF-8 this is the order of the bytes. Python reads a byte that is not UTF-8 as the code point 0xDC00 + byte,
/// which sorts before characters such as U+FB01 or an emoji, whose bytes are smaller.
pub(super) fn python_order(a: &OsStr, b: &OsStr) -> Ordering {
    match (a.to_str(), b.to_str()) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => code_points(a).cmp(code_points(b)),
    }
}

fn code_points(name: &OsStr) -> impl Iterator<Item = u32> {
    name.as_encoded_bytes().utf8_chunks().flat_map(|chunk| {
        let escaped = chunk.invalid().iter().map(|&byte| 0xDC00 + u32::from(byte));
        chunk.valid().chars().map(u32::from).chain(escaped)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn bytes_that_are_no_utf8_sort_as_in_python() {
        // Python 3.11's order: sorted() after os.fsdecode().
        let sorted: [&[u8]; 6] = [b"a", "é".as_bytes(), "퟿".as_bytes(), b"\x80", b"\xffa", "😀".as_bytes()];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                let order = python_order(OsStr::from_bytes(a), OsStr::from_bytes(b));
                assert_eq!(order, i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }
}
