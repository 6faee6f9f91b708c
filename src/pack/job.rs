//! The job of a pack, which is its source and its settings. Two packs are told apart by their jobs.

use super::errors::there;
use super::events::Watch;
use super::recode::Recoding;
use super::settings::{PackFormat, PackSettings};
use super::source::OpenedSource;
use crate::dataset::{FieldChoice, Split};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Folder;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// The source and settings of a pack. Different packs have different jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Number of samples in the source.
    pub(super) samples: usize,
    /// A hash of the samples' names and of the classes. Labels are left out, because hashing them would read all
    /// samples. If the labels of a list are edited between two runs, the pack therefore has old and new labels;
    /// verifying finds this.
    names: String,
    /// A hash of the sizes and times of the source's files.
    #[serde(default)]
    files: String,
    /// The version of the pack's layout. It is raised when gpufeed changes so that the same samples and settings make a
    /// different pack.
    #[serde(default)]
    layout: u32,
    pub(super) to: PackFormat,
    pub(super) shard_bytes: u64,
    pub(super) prefix: String,
    /// The seed of the order; `None` for the source's own order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shuffle: Option<u64>,
    #[serde(flatten)]
    pub(super) recoding: Recoding,
    /// The fields, by the endings of their members: what a reader of the pack has to know about them.
    #[serde(default, skip_serializing_if = "has_none")]
    pub(super) fields: FieldChoice,
}

fn has_none(fields: &FieldChoice) -> bool {
    *fields == FieldChoice::None
}

/// The current version of the layout, in which members of shards are named after their samples.
const LAYOUT: u32 = 1;

/// The difference between two jobs.
pub(super) enum Mismatch {
    /// The other job has another source, version of gpufeed, or order of samples; the text says so in an error.
    Another(String),
    /// The other job has other settings. These are their names and values.
    Settings(Vec<(&'static str, String)>),
    /// The jobs are equal, except that the source's files have changed.
    Changed,
}

impl Job {
    /// Makes the job of packing `source`. `files` is the fingerprint of the source's files.
    pub(super) fn new(source: &OpenedSource, files: String, settings: &PackSettings, watch: &Watch) -> Result<Job> {
        let mut hash = Xxh3::new();
        let (data, root) = (&*source.data, source.root());
        for class in data.classes() {
            hash.update(class.as_bytes());
            hash.update(b"\0");
        }
        for index in 0..data.len() {
            watch.check()?;
            let name = data.name(index);
            hash.update(name.strip_prefix(&root).unwrap_or(&name).trim_start_matches(['/', '\\']).as_bytes());
            hash.update(b"\0");
        }
        let names = format!("{:016x}", hash.digest());
        let PackSettings { to, shard_bytes, shuffle, max_side, quality, .. } = *settings;
        let (prefix, recoding) = (settings.prefix.clone(), Recoding { max_side, quality });
        let (samples, fields) = (data.len(), source.fields.listed());
        Ok(Job { samples, names, files, layout: LAYOUT, to, shard_bytes, prefix, shuffle, recoding, fields })
    }

    /// Returns the names of the fields.
    pub(super) fn field_names(&self) -> Vec<String> {
        match &self.fields {
            FieldChoice::Named(named) => named.iter().map(|(_, field)| field.name().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// Describes the fields for an error.
    fn described_fields(&self) -> String {
        match &self.fields {
            FieldChoice::Named(named) => {
                named.iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(", ")
            }
            _ => "none".to_owned(),
        }
    }

    /// Returns true if the two jobs have samples with the same names in the same order, and the same classes.
    pub(super) fn has_the_names_of(&self, other: &Job) -> bool {
        self.names == other.names
    }

    /// Refuses a setting of a part or a join that has neither the plan's value nor the default value.
    ///
    /// # Errors
    /// Names the setting.
    pub(super) fn check_settled(&self, split: Split, settings: &PackSettings) -> Result<()> {
        let default = PackSettings::default();
        macro_rules! settled {
            ($($setting:ident = $of_plan:expr),*) => {$(
                if settings.$setting != $of_plan && settings.$setting != default.$setting {
                    let reason = "the plan has settled it otherwise; leave it out";
                    return Err(Error::argument(stringify!($setting), reason));
                }
            )*};
        }
        settled!(to = self.to, shard_bytes = self.shard_bytes, split = split, prefix = self.prefix);
        settled!(shuffle = self.shuffle, max_side = self.recoding.max_side, quality = self.recoding.quality);
        Ok(())
    }

    pub(super) fn mismatch(&self, other: &Job) -> Option<Mismatch> {
        // With another order, the hash of the names differs, too. So the order is compared first, and named as the
        // reason.
        if self.samples == other.samples && self.shuffle != other.shuffle {
            return Some(match other.shuffle {
                Some(seed) => Mismatch::Settings(vec![("shuffle", seed.to_string())]),
                None => Mismatch::Another("other settings: the source's order".to_owned()),
            });
        }
        if (self.samples, &self.names) != (other.samples, &other.names) {
            return Some(Mismatch::Another(format!("another source ({} samples)", other.samples)));
        }
        if self.layout != other.layout {
            return Some(Mismatch::Another("another version of gpufeed".to_owned()));
        }
        if self.fields != other.fields {
            return Some(Mismatch::Another(format!("other fields: {}", other.described_fields())));
        }
        if self == &(Job { files: self.files.clone(), ..other.clone() }) {
            return (self.files != other.files).then_some(Mismatch::Changed);
        }
        let Job { to, shard_bytes, prefix, recoding: Recoding { max_side, quality }, .. } = other;
        let mut settings =
            vec![("to", to.name().to_owned()), ("shard_bytes", shard_bytes.to_string()), ("prefix", prefix.clone())];
        settings.extend(max_side.map(|side| ("max_side", side.to_string())));
        settings.extend(quality.map(|quality| ("quality", quality.to_string())));
        Some(Mismatch::Settings(settings))
    }
}

impl Mismatch {
    /// Makes the error for a folder in which `what` (such as "a plan") belongs to a job that differs in this way.
    pub(super) fn error(self, folder: &Folder, what: &'static str) -> Error {
        let path = folder.path("");
        match self {
            Mismatch::Settings(settings) => ErrorKind::OtherSettings { path, what, settings }.into(),
            Mismatch::Another(of) => occupied(folder, &format!("{what} of {of}")),
            Mismatch::Changed => occupied(folder, &format!("{what} {CHANGED}")),
        }
    }
}

/// Describes, in an error, a pack that was made before the files of its source changed.
pub(super) const CHANGED: &str = "of what the source was before its files changed (their sizes or times)";

/// Makes the error for a folder that cannot be packed into because it already holds `what`.
pub(super) fn occupied(folder: &Folder, what: &str) -> Error {
    there(folder, format!("there is {what}; remove it, or pack elsewhere"))
}
