//! The part of an index that describes its file: the names of classes, what the scan noticed, and the endings of members.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::member::MemberTable;
use super::noticed::Noticed;

/// The file's own class names, what its scan noticed, and the endings of members if it lists them. Written as a plain
/// list of names if there is nothing else.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Described {
    Classes(Vec<String>),
    // The variant below would take this one's object, too, so that this one comes first.
    Members { classes: Vec<String>, noticed: Noticed, members: MemberTable },
    Noticed { classes: Vec<String>, noticed: Noticed },
}

impl Described {
    pub(super) fn new(classes: Vec<String>, noticed: Noticed, members: Option<MemberTable>) -> Described {
        if let Some(members) = members {
            Described::Members { classes, noticed, members }
        } else if noticed == Noticed::default() {
            Described::Classes(classes)
        } else {
            Described::Noticed { classes, noticed }
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Described::Classes(classes) if classes.is_empty() => Vec::new(),
            described => serde_json::to_vec(described).unwrap_or_default(),
        }
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<(Vec<String>, Noticed, Option<MemberTable>)> {
        if bytes.is_empty() {
            return Some((Vec::new(), Noticed::default(), None));
        }
        Some(match serde_json::from_slice(bytes).ok()? {
            Described::Classes(classes) => (classes, Noticed::default(), None),
            Described::Members { classes, noticed, members } => (classes, noticed, Some(members)),
            Described::Noticed { classes, noticed } => (classes, noticed, None),
        })
    }
}

/// Returns a hash of the names of classes; `None` if there are no names.
pub(super) fn hash(names: &[String]) -> Option<u128> {
    let mut hash = Xxh3::new();
    for name in names {
        hash.update(&(name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
    }
    (!names.is_empty()).then(|| hash.digest128())
}
