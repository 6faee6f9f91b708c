//! Names the samples in tar shards after their files, as far as WebDataset's convention allows.
//!
//! In this convention, a sample's key is the name of its files up to the first dot, and keys are unique. Therefore dots
//! within a name become `_`, and so do characters that some systems do not allow in names of files. If another sample
//! has the same key already, the sample's number is appended. A sample without a name, or with a name too long for a
//! tar header, has its number as its key.

use crate::dataset::TarShards;
use crate::error::Result;
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::events::Watch;
use super::recode::{Packed, Treatment};
use super::source::OpenedSource;

/// The longest key in bytes: a tar header has room for a key of this length and the longest extension.
const LONGEST: usize = 90;

/// The keys of a data set's samples in shards.
#[derive(Default)]
pub(super) struct Names {
    /// By sample index, the keys of samples that do not have their own key, because another sample has taken that key.
    displaced: HashMap<usize, String>,
}

impl Names {
    pub(super) fn new(source: &OpenedSource, watch: &Watch) -> Result<Names> {
        let mut names = Names::default();
        if source.data.stored().is_none() {
            return Ok(names);
        }
        let (mut taken, mut twice) = (HashSet::new(), Vec::new());
        for index in 0..source.data.len() {
            watch.check()?;
            if !taken.insert(xxh3_64(plain(source, index).as_bytes())) {
                twice.push(index);
            }
        }
        for index in twice {
            let mut key = format!("{}-{index:09}", plain(source, index));
            while !taken.insert(xxh3_64(key.as_bytes())) {
                key.push('-');
            }
            names.displaced.insert(index, key);
        }
        Ok(names)
    }

    /// Makes `Names` from the listing of a plan: `displaced` has the keys of samples whose own key another sample has
    /// taken.
    pub(super) fn planned(displaced: HashMap<usize, String>) -> Names {
        Names { displaced }
    }

    /// Returns the key that a sample has instead of its own key, if another sample has taken that key; else `None`.
    pub(super) fn displaced(&self, index: usize) -> Option<&str> {
        self.displaced.get(&index).map(|key| &**key)
    }

    pub(super) fn key(&self, source: &OpenedSource, index: usize) -> String {
        self.displaced.get(&index).cloned().unwrap_or_else(|| plain(source, index))
    }
}

/// Returns a sample's own key, which is made from its name, or from its number if no name works.
fn plain(source: &OpenedSource, index: usize) -> String {
    let stored = source.data.stored();
    let key = stored.and_then(|stored| key_of(&stored.own_name(index)?, stored.has_ending(index)));
    key.unwrap_or_else(|| format!("{index:09}"))
}

/// Turns a name into a key; `None` if the key would be empty or too long.
fn key_of(name: &str, with_extension: bool) -> Option<String> {
    let mut parts: Vec<String> =
        name.split(['/', '\\']).filter(|part| !["", ".", ".."].contains(part)).map(tame).collect();
    let base = parts.pop()?;
    let stem = if with_extension { base.rsplit_once('.').map_or(&*base, |(stem, _)| stem) } else { &base };
    let mut stem = stem.replace('.', "_");
    // Members that are called `classes` or `__...__` have a special meaning, so a sample gets another name.
    if stem == "classes" || (stem.starts_with("__") && stem.ends_with("__")) {
        stem.push_str("_1");
    }
    parts.push(stem);
    let key = parts.join("/");
    (!key.ends_with('/') && !key.is_empty() && key.len() <= LONGEST).then_some(key)
}

/// Replaces characters that some systems do not allow in paths by `_`.
fn tame(part: &str) -> String {
    let odd = |c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER || "<>:\"|?*".contains(c);
    part.chars().map(|c| if odd(c) { '_' } else { c }).collect()
}

/// Returns the extension of the shard's member that has the sample's image. A file that is not encoded again keeps its
/// extension, if it is a known one.
pub(super) fn extension(source: &OpenedSource, index: usize, sample: &Packed) -> String {
    let own = match sample.treatment {
        Treatment::Kept | Treatment::Undecodable(_) => source.file(index).and_then(|file| file.extension()?.to_str()),
        Treatment::Encoded | Treatment::Unreadable(_) => None,
    };
    let known = |own: &&str| TarShards::EXTENSIONS.iter().any(|known| known[1..].eq_ignore_ascii_case(own));
    own.filter(known).unwrap_or(sample.extension).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::ImageFolder;

    #[test]
    fn names_stay_as_far_as_a_key_can_hold_them() {
        for (name, key) in [
            ("class_00/n01440764_tench.JPEG", Some("class_00/n01440764_tench")),
            ("cat/0030.x.jpg", Some("cat/0030_x")),
            ("v1.2/a.png", Some("v1.2/a")),
            ("cat/.webp", None),
            ("./../etc/passwd.jpg", Some("etc/passwd")),
            ("a\\b\n\u{1b}[31m.jpg", Some("a/b__[31m")),
            ("__key__.jpg", Some("__key___1")),
            ("x/classes.jpg", Some("x/classes_1")),
            ("", None),
            ("/", None),
        ] {
            assert_eq!(key_of(name, true).as_deref(), key, "{name:?}");
        }
        assert_eq!(key_of("000.left", false).as_deref(), Some("000_left"));
        assert_eq!(key_of(&"x".repeat(200), true), None);
    }

    #[test]
    fn no_key_comes_twice() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a/1.jpg", "a/1.png", "a/1-000000001.jpg", "b/1.x.jpg", "b/1_x.jpg"] {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let source = OpenedSource::of(ImageFolder::open(root.path()).unwrap());
        let names = Names::new(&source, &Watch::unheard()).unwrap();
        let keys: Vec<_> = (0..5).map(|index| names.key(&source, index)).collect();
        // The files are sorted by name: '-' comes before '.', which comes before '_'.
        assert_eq!(keys, ["a/1-000000001", "a/1", "a/1-000000002", "b/1_x", "b/1_x-000000004"]);
    }
}
