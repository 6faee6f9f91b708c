//! Decides by a member's name to which sample the member belongs, and what it is there.

use std::collections::HashMap;

use super::label;
use crate::dataset::shards::OTHER_KINDS;

/// The members of a sample by WebDataset's rule, which follow each other.
pub(super) struct Group {
    pub(super) key: Vec<u8>,
    /// The offset of the first member's header.
    pub(super) at: u64,
    pub(super) members: Vec<Member>,
}

pub(super) struct Member {
    pub(super) name: Vec<u8>,
    pub(super) role: Role,
    /// The offset of the member's header; the offset of its data, and their bytes.
    pub(super) header: u64,
    pub(super) begin: u64,
    pub(super) size: u64,
}

/// The role of a member.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// The ending after the first dot says what the member is: WebDataset's rule.
    Part(Kind),
    /// The ending after a later dot says what the member is. The key would then have this length.
    Dotted(usize, Kind),
    Classes,
}

impl Role {
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Role::Part(kind) | Role::Dotted(_, kind) => Some(kind),
            Role::Classes => None,
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

/// Members that share a key.
#[derive(Default)]
pub(super) struct Part {
    /// The name of the first member, and the offset of its header.
    pub(super) first: Vec<u8>,
    pub(super) at: u64,
    pub(super) image: Option<Member>,
    /// The label of each kind, if there is one.
    pub(super) labels: [Option<Member>; label::KINDS.len()],
    /// Second images, and second labels of the same kind.
    pub(super) doubles: Vec<Member>,
}

impl Part {
    fn add(&mut self, member: Member) {
        if self.first.is_empty() {
            self.first.clone_from(&member.name);
            self.at = member.header;
        }
        let place = match member.role.kind() {
            Some(Kind::Label(kind)) => &mut self.labels[kind],
            _ => &mut self.image,
        };
        if place.is_some() {
            self.doubles.push(member);
        } else {
            *place = Some(member);
        }
    }
}

/// A group, divided into the members that WebDataset's rule knows, and the members with further dots by the lengths of
/// their keys.
pub(super) struct Divided {
    pub(super) whole: Option<Part>,
    pub(super) parts: Vec<(usize, Part)>,
}

pub(super) fn divide(members: Vec<Member>) -> Divided {
    let mut divided = Divided { whole: None, parts: Vec::new() };
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    for member in members {
        match member.role {
            Role::Dotted(length, _) => {
                let key = member.name.get(..length).unwrap_or_default().to_vec();
                let at = *known.entry(key).or_insert(divided.parts.len());
                if at == divided.parts.len() {
                    divided.parts.push((length, Part::default()));
                }
                divided.parts[at].1.add(member);
            }
            _ => divided.whole.get_or_insert_default().add(member),
        }
    }
    divided
}

/// Splits a name by WebDataset's rule. The key is the path up to the first dot of the file's name, and the extension is
/// the rest, in small letters. `None` for hidden files and for names without a dot.
pub(super) fn split(name: &[u8]) -> Option<(&[u8], String)> {
    let base = base_of(name);
    let dot = base + name[base..].iter().position(|&byte| byte == b'.')?;
    let extension = String::from_utf8_lossy(&name[dot + 1..]).to_ascii_lowercase();
    (dot > base && !extension.is_empty()).then(|| (&name[..dot], extension))
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
