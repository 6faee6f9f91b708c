//! The endings of files' names: which of them are images.

use std::ffi::OsStr;

/// Endings of images that are decoded but are not in torchvision's list: files with them are counted.
const OTHERS: [&str; 8] = [".gif", ".jfif", ".jpe", ".apng", ".dib", ".pnm", ".pbm", ".pam"];

/// Endings of images in formats that no decoder here reads: files with them are counted, too, and `gpufeed doctor` names each. Those
/// of drawings, icons and headers (`.svg`, `.ico`, `.hdr`) lie beside images and are left out.
pub const NOT_DECODED: [&str; 39] = [
    ".heic", ".heif", ".hif", ".avif", ".avifs", ".jxl", ".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx", ".jpm",
    ".jph", ".jxr", ".wdp", ".hdp", ".jls", ".bpg", ".flif", ".qoi", ".tga", ".exr", ".dds", ".pcx", ".psd", ".xcf",
    ".dcm", ".fits", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".raf", ".rw2", ".pef", ".srw",
];

/// Returns the ending of a name if it is in one of the lists above.
pub(super) fn of_other_image(name: &OsStr) -> Option<&'static str> {
    OTHERS.iter().chain(&NOT_DECODED).find(|ending| ends_with(name, ending)).copied()
}

/// Returns the length of the longest of `extensions`, in upper or lower case, in which a name ends.
pub(super) fn longest(name: &OsStr, extensions: &[String]) -> Option<usize> {
    extensions.iter().filter(|extension| ends_with(name, extension)).map(String::len).max()
}

/// Returns true if a name ends in one of `extensions`, in upper or lower case.
pub(in crate::dataset) fn has_extension(name: &OsStr, extensions: &[String]) -> bool {
    extensions.iter().any(|extension| ends_with(name, extension))
}

pub(super) fn ends_with(name: &OsStr, extension: &str) -> bool {
    let name = name.as_encoded_bytes();
    let start = name.len().checked_sub(extension.len());
    start.is_some_and(|start| name[start..].eq_ignore_ascii_case(extension.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_end_the_name_in_any_case() {
        let extensions = [".jpg".to_owned(), ".tar.gz".to_owned()];
        for (name, expected) in [
            ("a.jpg", true),
            ("a.b.JpG", true),
            (".jpg", true),
            ("a.tar.gz", true),
            ("ajpg", false),
            ("a.jpg~", false),
            ("jpg", false),
            ("", false),
            ("é.gz", false),
        ] {
            assert_eq!(has_extension(OsStr::new(name), &extensions), expected, "{name}");
            assert_eq!(longest(OsStr::new(name), &extensions).is_some(), expected, "{name}");
        }
    }
}
