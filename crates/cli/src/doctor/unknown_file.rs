//! Identifies a file that no decoder here accepts, by its first bytes.

use super::finding::Verdict;

/// Returns the verdict on a file by its first bytes, and a name for its content.
pub(super) fn identify(bytes: &[u8]) -> (Verdict, &'static str) {
    match bytes {
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4) {
            Some(b"avif" | b"avis") => (Verdict::Unsupported, "an AVIF image"),
            Some(b"heic" | b"heix" | b"mif1" | b"msf1" | b"hevc") => (Verdict::Unsupported, "a HEIF image"),
            _ => (Verdict::NoImage, "a film (MP4)"),
        },
        [0xFF, 0x0A, ..] | [0, 0, 0, 0x0C, b'J', b'X', b'L', b' ', ..] => (Verdict::Unsupported, "a JPEG XL image"),
        [0xFF, 0x4F, 0xFF, 0x51, ..] | [0, 0, 0, 0x0C, b'j', b'P', ..] => (Verdict::Unsupported, "a JPEG 2000 image"),
        [b'8', b'B', b'P', b'S', ..] => (Verdict::Unsupported, "a Photoshop document"),
        [b'q', b'o', b'i', b'f', ..] => (Verdict::Unsupported, "a QOI image"),
        [0x76, 0x2F, 0x31, 0x01, ..] => (Verdict::Unsupported, "an OpenEXR image"),
        [b'%', b'P', b'D', b'F', ..] => (Verdict::NoImage, "a PDF document"),
        [b'P', b'K', 3, 4, ..] => (Verdict::NoImage, "a ZIP archive"),
        [0x1F, 0x8B, ..] => (Verdict::NoImage, "gzip data"),
        _ if bytes.iter().all(|&byte| byte == 0) => (Verdict::NoImage, "begins with zeros"),
        _ => {
            // The last character may be incomplete.
            let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let printable = !text.is_empty()
                && text.len() + 4 > bytes.len()
                && !text.contains(|c: char| c.is_control() && !c.is_whitespace());
            let text = text.trim_start().to_ascii_lowercase();
            match () {
                () if !printable => (Verdict::NoImage, "bytes of no known kind"),
                () if text.starts_with("<!doctype html") || text.starts_with("<html") => {
                    (Verdict::NoImage, "an HTML page")
                }
                () if text.starts_with("<svg") || text.starts_with("<?xml") => (Verdict::NoImage, "SVG or other XML"),
                () => (Verdict::NoImage, "text"),
            }
        }
    }
}
