//! The source and the settings of a pack, by which two packs are told apart.

use super::arguments::To;
use super::input::fingerprint;
use super::recode::Recoding;
use crate::dataset::NamedDataset;
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// The source and settings of a pack. Different packs have different jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Number of samples in the source.
    pub(super) samples: usize,
    /// A hash of the samples' names and of the classes. Labels are left out, because hashing them would read all
    /// samples: editing a list between two runs mixes labels, which `--verify` finds.
    names: String,
    /// A hash of the sizes and times of the source's files.
    #[serde(default)]
    files: String,
    /// Version of the layout: it changes when the same samples and settings make a different pack.
    #[serde(default)]
    layout: u32,
    pub(super) to: To,
    pub(super) shard_bytes: u64,
    pub(super) prefix: String,
    /// The seed of the order, if it is not the source's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shuffle: Option<u64>,
    #[serde(flatten)]
    pub(super) recoding: Recoding,
}

/// The current layout, in which members have their samples' names.
const LAYOUT: u32 = 1;

/// Settings of the written files: the format, the most bytes of a shard, the beginning of the shards' names, the seed of
/// the order.
type Written<'a> = (To, u64, &'a str, Option<u64>);

/// The difference between two jobs.
pub(super) enum Mismatch {
    /// Another source, version or settings, described for the error.
    Another(String),
    /// Only the source's files have changed.
    Changed,
}

impl Job {
    pub(super) fn new(source: &NamedDataset, path: &Path, written: Written<'_>, recoding: Recoding) -> Job {
        Job::of_files(source, path, fingerprint(source), written, recoding)
    }

    /// Like [`new`](Self::new), with the source's fingerprint.
    pub(super) fn of_files(
        source: &NamedDataset,
        path: &Path,
        files: String,
        (to, shard_bytes, prefix, shuffle): Written<'_>,
        recoding: Recoding,
    ) -> Job {
        let mut hash = Xxh3::new();
        let data = &*source.data;
        let root = gpufeed::storage::Location::from(data.folder().unwrap_or(path)).to_string();
        for class in data.classes() {
            hash.update(class.as_bytes());
            hash.update(b"\0");
        }
        for index in 0..data.len() {
            // The source's folder is cut off, because its path may be written in several ways.
            let name = data.name(index);
            hash.update(name.strip_prefix(&root).unwrap_or(&name).trim_start_matches(['/', '\\']).as_bytes());
            hash.update(b"\0");
        }
        let names = format!("{:016x}", hash.digest());
        let prefix = prefix.to_owned();
        Job { samples: data.len(), names, files, layout: LAYOUT, to, shard_bytes, prefix, shuffle, recoding }
    }

    pub(super) fn mismatch(&self, other: &Job) -> Option<Mismatch> {
        let Recoding { max_side, quality } = other.recoding;
        // Another order has other names, too: the settings are the reason.
        if self.samples == other.samples && self.shuffle != other.shuffle {
            let order = other.shuffle.map_or("the source's order".to_owned(), |seed| format!("--shuffle {seed}"));
            return Some(Mismatch::Another(format!("other settings: {order}")));
        }
        if (self.samples, &self.names) != (other.samples, &other.names) {
            return Some(Mismatch::Another(format!("another source ({} samples)", other.samples)));
        }
        if self.layout != other.layout {
            return Some(Mismatch::Another("another version of gpufeed".to_owned()));
        }
        if self == &(Job { files: self.files.clone(), ..other.clone() }) {
            return (self.files != other.files).then_some(Mismatch::Changed);
        }
        let side = max_side.map_or(String::new(), |side| format!(" --max-side {side}"));
        let quality = quality.map_or(String::new(), |quality| format!(" --quality {quality}"));
        let (to, bytes) = (other.to.name(), other.shard_bytes);
        Some(Mismatch::Another(format!(
            "other settings: --to {to} --shard-bytes {bytes} --prefix {}{side}{quality}",
            other.prefix
        )))
    }
}
