//! How the members of fields end: in the field's name, and in the ending that tells its kind where the name does not.

use crate::dataset::{FieldKind, TarShards};

/// The ending of a member with JSON that has no other name. A reader takes the label from it if there is no other.
pub(super) const JSON: &str = "json";
/// The ending of a text that has no other name.
pub(super) const TXT: &str = "txt";
/// The endings of files that are no text, image, JSON or array: a name of bytes with one of them stays as it is.
const FILES: [&str; 26] = [
    "bin",
    "mp4",
    "avi",
    "mov",
    "mkv",
    "webm",
    "wav",
    "mp3",
    "flac",
    "ogg",
    "opus",
    "m4a",
    "npz",
    "pth",
    "pt",
    "ten",
    "pkl",
    "pickle",
    "pyd",
    "mp",
    "msgpack",
    "cbor",
    "safetensors",
    "gz",
    "pdf",
    "xml",
];

/// The endings of images that are packed in the ending of their format.
pub(super) const FORMATS: [&str; 7] = ["jpg", "png", "webp", "gif", "bmp", "tif", "pnm"];

/// Returns how the members of a field end, and whether the ending of an image's format follows.
pub(super) fn ending(name: &str, kind: FieldKind) -> (String, bool) {
    // A reader compares endings in small letters; a slash would begin another key.
    let odd =
        |c: char| c.is_control() || c.is_whitespace() || c == char::REPLACEMENT_CHARACTER || "/\\<>:\"|?*".contains(c);
    let mut name: String = name.chars().map(|c| if odd(c) { '_' } else { c.to_ascii_lowercase() }).collect();
    if name.starts_with('.') {
        name.insert(0, '_');
    }
    if name.ends_with('.') {
        name.push('_');
    }
    let (stem, last) = name.rsplit_once('.').map_or(("", &*name), |(stem, last)| (stem, last));
    let image = TarShards::EXTENSIONS.iter().any(|known| known[1..] == *last);
    let (told, ending) = match kind {
        FieldKind::Text => (last == TXT, TXT),
        // Their kind is in the manifest.
        FieldKind::Json | FieldKind::Objects => (last == JSON, JSON),
        FieldKind::Numbers => (last == "npy", "npy"),
        // Only a member with a further dot is an image beside the sample's own.
        FieldKind::Image => (image && !stem.is_empty(), ""),
        FieldKind::Bytes => (FILES.contains(&last), "bin"),
    };
    match (told, kind) {
        (true, _) => (name, false),
        (false, FieldKind::Image) => (name, true),
        (false, _) => (format!("{name}.{ending}"), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_the_name_and_tells_the_kind() {
        use FieldKind::{Bytes, Image, Json, Numbers, Text};
        for (name, kind, expected) in [
            ("caption", Text, ("caption.txt", false)),
            ("txt", Text, ("txt", false)),
            ("sci.txt", Text, ("sci.txt", false)),
            ("note.json", Text, ("note.json.txt", false)),
            ("meta", Json, ("meta.json", false)),
            ("json", Json, ("json", false)),
            ("score", Numbers, ("score.npy", false)),
            ("cls", Numbers, ("cls.npy", false)),
            ("depth", Image, ("depth", true)),
            ("depth.png", Image, ("depth.png", false)),
            ("png", Image, ("png", true)),
            ("features", Bytes, ("features.bin", false)),
            ("mp4", Bytes, ("mp4", false)),
            ("Left Eye/a", Text, ("left_eye_a.txt", false)),
            (".x.", Bytes, ("_.x._.bin", false)),
        ] {
            assert_eq!(ending(name, kind), (expected.0.to_owned(), expected.1), "{name:?}");
        }
    }
}
