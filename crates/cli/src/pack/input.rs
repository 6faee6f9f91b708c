//! Opens the part of a data set to pack, and fingerprints its files.

use crate::dataset::{self, NamedDataset, ObjectStamp};
use clap::ValueEnum;
use gpufeed::Dataset;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::Xxh3;

/// The part to pack of a data set with two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// What to train on
    Train,
    /// What to test with
    Test,
}

/// Opens the part to pack of a data set in any format, in its order or shuffled by a seed. A note names the size of the
/// other part.
pub(super) fn open(path: &Path, part: Part, shuffle: Option<u64>) -> Result<NamedDataset, Box<dyn std::error::Error>> {
    let opened = open_part(path, part)?;
    match shuffle {
        Some(seed) => opened.shuffled(seed),
        None => Ok(opened),
    }
}

fn open_part(path: &Path, part: Part) -> Result<NamedDataset, Box<dyn std::error::Error>> {
    let opened = dataset::open(path)?;
    let note_other = |other: &dyn Dataset, what: &str, name: &str| {
        let others = other.len();
        let note = format!("{others} samples {what} are left out; --split {name} packs them, into another folder");
        crate::output::complain(console::style("note:").cyan(), note);
    };
    match (part, opened.test) {
        (Part::Train, Some(test)) => note_other(&*test.data, "to test with", "test"),
        (Part::Test, Some(test)) => {
            note_other(&*opened.train.data, "to train on", "train");
            return Ok(test);
        }
        (Part::Train, None) => {}
        (Part::Test, None) => {
            let path = gpufeed::storage::Location::from(path);
            let which = "which MNIST, CIFAR, folders of Parquet files and some .npz have";
            return Err(format!("{path}: there is no part to test with, {which}").into());
        }
    }
    Ok(opened.train)
}

/// A file's length and time, by which a change is noticed; `None` for a file that is missing or cannot be asked. An object
/// in a store has a part of its ETag's hash in the place of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts(Option<(u64, u64, u32)>);

impl Facts {
    pub(super) fn of(file: &Path) -> Facts {
        Facts(fs::metadata(file).ok().map(|found| {
            let time = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            (found.len(), time.as_secs(), time.subsec_nanos())
        }))
    }

    /// Returns the facts of a file, or of the object with this stamp.
    pub(super) fn with_stamp(file: &Path, stamp: Option<ObjectStamp>) -> Facts {
        match stamp {
            Some((length, seconds, tag)) => Facts(Some((length, seconds, tag as u32))),
            None => Facts::of(file),
        }
    }

    pub(super) fn are_known(self) -> bool {
        self.0.is_some()
    }
}

/// A hash of the sizes and times of the source's files. It changes with any of the files.
pub(super) struct Fingerprint(Xxh3);

impl Fingerprint {
    pub(super) fn new() -> Fingerprint {
        Fingerprint(Xxh3::new())
    }

    pub(super) fn add(&mut self, facts: Facts) {
        // A file that cannot be read counts with fixed numbers.
        let (length, seconds, nanoseconds) = facts.0.unwrap_or((u64::MAX, 0, 0));
        self.0.update(&length.to_le_bytes());
        self.0.update(&seconds.to_le_bytes());
        self.0.update(&nanoseconds.to_le_bytes());
    }

    /// Returns it in hexadecimal digits.
    pub(super) fn digits(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

/// Returns the fingerprint of a source.
pub(super) fn fingerprint(source: &NamedDataset) -> String {
    let mut fingerprint = Fingerprint::new();
    source.each_file(|file, stamp| fingerprint.add(Facts::with_stamp(file, stamp)));
    fingerprint.digits()
}
