//! Decides by a member's name to which sample the member belongs, and what it is there.

use super::label;
use crate::dataset::shards::OTHER_KINDS;

/// The role of a member.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// The ending after the first dot says what the member is: WebDataset's rule.
    Part(Kind),
    /// The ending after a later dot says what the member is. The key would then have this length.
    Dotted(usize, Kind),
    Classes,
    /// A member that is neither image nor label. It may be a field of the sample that its name belongs to.
    Further,
}

impl Role {
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Role::Part(kind) | Role::Dotted(_, kind) => Some(kind),
            Role::Classes | Role::Further => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Image,
    /// A label. The number is an index of [`label::KINDS`].
    Label(usize),
}

impl Kind {
    pub(super) fn of(extension: &str, images: &[String]) -> Option<Kind> {
        if images.iter().any(|known| known == extension) {
            return Some(Kind::Image);
        }
        label::KINDS.iter().position(|kind| *kind == extension).map(Kind::Label)
    }
}

/// Splits a name by WebDataset's rule. The key is the path up to the first dot of the file's name, and the extension is
/// the rest, in small letters. `None` for hidden files and for names without a dot.
pub(super) fn split(name: &[u8]) -> Option<(&[u8], String)> {
    let base = base_of(name);
    let dot = base + name[base..].iter().position(|&byte| byte == b'.')?;
    let extension = String::from_utf8_lossy(&name[dot + 1..]).to_ascii_lowercase();
    (dot > base && !extension.is_empty()).then(|| (&name[..dot], extension))
}

/// Returns the ending of a member of the sample with this key, in small letters. `None` if it is no member of it.
pub(super) fn ending_of(name: &[u8], key: &[u8]) -> Option<String> {
    let ending = name.strip_prefix(key)?.strip_prefix(b".")?;
    Some(String::from_utf8_lossy(ending).to_ascii_lowercase())
}

/// Finds the longest known ending that begins at a later dot. Returns its length with that dot, and what it stands for.
pub(super) fn longest_known(extension: &str, images: &[String]) -> Option<(usize, Kind)> {
    let dots = extension.match_indices('.').map(|(at, _)| at);
    dots.filter(|at| *at > 0).find_map(|at| Some((extension.len() - at, Kind::of(&extension[at + 1..], images)?)))
}

/// Names the kind of a member that is not read, for messages. Endings that number files (`.0001`) are counted together.
pub(super) fn kind(name: &[u8]) -> String {
    /// A longer ending is part of a name with dots.
    const LONG: usize = 16;
    let digits = |ending: &str| ending.bytes().filter(u8::is_ascii_digit).count();
    let Some((_, extension)) = split(name) else {
        let hidden = name.get(base_of(name)) == Some(&b'.');
        return if hidden { "hidden members" } else { "members without an ending" }.to_owned();
    };
    let last = extension.rsplit('.').next().unwrap_or_default();
    let words = extension.len() <= LONG && !extension.contains(|c: char| c == ' ' || c.is_ascii_digit());
    let ending = if words { &*extension } else { last };
    // An ending with one digit may name a kind: `.mp4`, `.jp2`.
    let is_kind = ending.len() <= LONG && !ending.starts_with(|c: char| c.is_ascii_digit()) && digits(ending) < 2;
    if is_kind { format!("members in .{ending}") } else { OTHER_KINDS.to_owned() }
}

/// Returns true for members that WebDataset skips. They lie below a folder of the archive that is called `__..__`, or
/// are called so themselves, without an ending.
pub(super) fn is_reserved(name: &[u8]) -> bool {
    is_called_so(name.split(|&byte| byte == b'/').next().unwrap_or_default())
}

/// Returns true for the key of metadata, such as `__meta__`. Members with this key are no sample unless one is an
/// image.
pub(super) fn is_metadata(key: &[u8]) -> bool {
    is_called_so(&key[base_of(key)..])
}

fn is_called_so(name: &[u8]) -> bool {
    name.len() >= 4 && name.starts_with(b"__") && name.ends_with(b"__")
}

fn base_of(name: &[u8]) -> usize {
    name.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_as_webdataset_does() {
        for (name, expected) in [
            ("000.jpg", Some(("000", "jpg"))),
            ("a/b.c/000.left.JPG", Some(("a/b.c/000", "left.jpg"))),
            ("../../etc/1.png", Some(("../../etc/1", "png"))),
            ("/x/1.png", Some(("/x/1", "png"))),
            (".hidden.jpg", None),
            ("a/._1.jpg", None),
            ("README", None),
            ("folder.d/", None),
            ("dot.", None),
            ("", None),
        ] {
            let found =
                split(name.as_bytes()).map(|(key, extension)| (String::from_utf8_lossy(key).into_owned(), extension));
            assert_eq!(found, expected.map(|(key, extension)| (key.to_owned(), extension.to_owned())), "{name}");
        }
    }

    #[test]
    fn the_longest_known_ending_counts() {
        let images = ["png", "left.png"].map(str::to_owned);
        for (extension, expected) in [
            ("05.2021.png", Some((4, Kind::Image))),
            ("05.left.png", Some((9, Kind::Image))),
            ("05.cls", Some((4, Kind::Label(0)))),
            ("05.xmp", None),
            ("png.gz", None),
            (".png", None),
        ] {
            assert_eq!(longest_known(extension, &images), expected, "{extension}");
        }
    }

    #[test]
    fn endings_belong_to_a_key() {
        for (name, key, expected) in [
            ("a/1.left.JPG", "a/1", Some("left.jpg")),
            ("photo 12.05.2021.npy", "photo 12.05.2021", Some("npy")),
            ("photo 12.05.2021.npy", "photo 12.05.20", None),
            ("1.jpg", "2", None),
            ("1", "1", None),
        ] {
            assert_eq!(ending_of(name.as_bytes(), key.as_bytes()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn members_that_are_not_read_have_a_kind() {
        for (name, expected) in [
            ("000.txt", "members in .txt"),
            ("a/000.seg.png", "members in .seg.png"),
            ("photo 12.05.2021.XMP", "members in .xmp"),
            ("a.mp4", "members in .mp4"),
            ("shot.0001", "members of other kinds"),
            ("shot.v17", "members of other kinds"),
            ("a.ending of some length", "members of other kinds"),
            ("a/._1.jpg", "hidden members"),
            ("README", "members without an ending"),
        ] {
            assert_eq!(kind(name.as_bytes()), expected);
        }
    }

    #[test]
    fn names_that_webdataset_skips() {
        for (name, reserved) in [
            ("__meta__/1.jpg", true),
            ("__meta__/a/1.jpg", true),
            ("__meta__", true),
            ("____", true),
            ("__meta__.json", false),
            ("__x__.jpg", false),
            ("a/__meta__/1.jpg", false),
            ("___/1.jpg", false),
            ("meta__/1.jpg", false),
        ] {
            assert_eq!(is_reserved(name.as_bytes()), reserved, "{name}");
        }
        assert!(is_metadata(b"a/__meta__") && is_metadata(b"__meta__") && !is_metadata(b"__meta__/a"));
    }
}
