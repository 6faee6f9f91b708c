//! The facts that scans of a set's files noticed. They are stored in the files' indexes, and added up for the set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use serde::{Deserialize, Serialize};

use super::{ShardFormat, Shards};
use crate::dataset::Notice;

/// The most kinds of members that are counted separately. Further kinds are counted together.
const KINDS: usize = 32;
/// The name under which all further kinds are counted.
pub(in crate::dataset) const OTHER_KINDS: &str = "members of other kinds";
/// The most bytes of a name that are stored.
const NAME: usize = 200;

/// The facts that the scan of a file noticed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::dataset) struct Noticed {
    /// Members that are not read: for each kind their number, and the name of the first.
    unread: BTreeMap<String, (u64, String)>,
    /// The number of samples whose names have dots, and the first of these names.
    dotted: Option<(u64, String)>,
    /// The first text that could be a label or a caption.
    text: Option<String>,
    /// The sources of labels, such as "members in .cls".
    pub(in crate::dataset) labels: BTreeSet<String>,
    /// Columns that are not read.
    pub(in crate::dataset) columns: Vec<String>,
    /// Keys of JSON documents beside that of the label.
    pub(super) keys: BTreeSet<String>,
    /// The reason for which the key `huggingface` cannot be read.
    pub(in crate::dataset) broken_key: Option<String>,
}

impl Noticed {
    /// Counts something that is not read.
    pub(in crate::dataset) fn unread(&mut self, what: &str, name: &[u8]) {
        self.count(what, 1, || text_of(name));
    }

    fn count(&mut self, what: &str, more: u64, name: impl FnOnce() -> String) {
        let what = if self.unread.contains_key(what) || self.unread.len() < KINDS { what } else { OTHER_KINDS };
        if let Some((count, _)) = self.unread.get_mut(what) {
            *count += more;
        } else {
            self.unread.insert(what.to_owned(), (more, name()));
        }
    }

    /// Takes back what was counted, as it is read for a field.
    pub(super) fn read(&mut self, what: &str, count: u64) {
        let what = if self.unread.contains_key(what) { what } else { OTHER_KINDS };
        if let Some((left, _)) = self.unread.get_mut(what) {
            *left = left.saturating_sub(count);
        }
    }

    /// Counts a sample whose name has dots.
    pub(in crate::dataset) fn dotted(&mut self, key: &str) {
        self.dotted.get_or_insert_with(|| (0, text_of(key.as_bytes()))).0 += 1;
    }

    /// Notes the first text that could be a label or a caption.
    pub(in crate::dataset) fn text(&mut self, name: &[u8]) {
        self.text.get_or_insert_with(|| text_of(name));
    }

    /// Notes from where a label came.
    pub(in crate::dataset) fn label(&mut self, from: &str) {
        if !self.labels.contains(from) {
            self.labels.insert(from.to_owned());
        }
    }

    /// Notes a key of a document from which only the label is read.
    pub(in crate::dataset) fn key(&mut self, key: &str) {
        if self.keys.len() < KINDS && !self.keys.contains(key) {
            self.keys.insert(text_of(key.as_bytes()));
        }
    }

    /// Adds what the scan of a later file noticed.
    fn add(&mut self, other: &Noticed) {
        for (what, (count, first)) in &other.unread {
            self.count(what, *count, || first.clone());
        }
        if let Some((count, first)) = &other.dotted {
            self.dotted.get_or_insert_with(|| (0, first.clone())).0 += count;
        }
        self.text = self.text.take().or_else(|| other.text.clone());
        self.labels.extend(other.labels.iter().cloned());
        other.keys.iter().for_each(|key| self.key(key));
        for column in &other.columns {
            if !self.columns.contains(column) {
                self.columns.push(column.clone());
            }
        }
    }

    fn not_read(&self) -> impl Iterator<Item = Notice> + '_ {
        self.unread.iter().filter_map(|(what, (count, first))| Notice::not_read(what.as_str(), *count, first.as_str()))
    }
}

fn text_of(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(NAME)]).into_owned()
}

impl<F: ShardFormat> Shards<F> {
    /// Returns what was noticed in the files that are open. `classes` is the number of classes that have names.
    pub(in crate::dataset) fn notices(&self, classes: usize) -> Vec<Notice> {
        let (mut all, mut notices) = (Noticed::default(), Vec::new());
        let (mut texts, mut captions, mut unlabelled, mut samples, mut open) = (0, 0, 0, 0, 0);
        for shard in &self.files {
            let Some(noticed) = shard.noticed.get() else { continue };
            let index = shard.index.lock().clone();
            all.add(&self.without_fields(noticed, index.as_ref().and_then(|index| index.members.as_ref())));
            if let Some(reason) = &noticed.broken_key
                && !notices.iter().any(|notice| matches!(notice, Notice::BrokenKey { .. }))
            {
                let (file, reason) = (shard.name().to_owned(), reason.clone());
                notices.push(Notice::BrokenKey { file, reason });
            }
            let Some(index) = index else { continue };
            open += 1;
            texts += index.facts.texts;
            captions += index.facts.captions;
            unlabelled += index.facts.unlabelled;
            samples += index.samples as u64;
        }
        if open == 0 {
            return notices;
        }
        let texts_are_labels = self.texts_are_labels();
        if texts > 0 && texts_are_labels {
            all.labels.insert("members in .txt".to_owned());
        } else {
            unlabelled += texts;
        }
        let unread_texts = match (self.format.wanted().iter().any(|ending| ending == "txt"), texts_are_labels) {
            (true, _) => 0,
            (false, true) => captions,
            (false, false) => captions + texts,
        };
        let from = all.labels.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
        let what = match (from.is_empty(), classes) {
            (true, _) => "none".to_owned(),
            (false, 0) => format!("class numbers, or vectors, from {from}"),
            (false, classes) => format!("{classes} classes with names, from {from}"),
        };
        notices.insert(0, Notice::Labels { what });
        if !all.columns.is_empty() {
            notices.push(Notice::ColumnsNotRead { columns: all.columns.clone() });
        }
        if !all.keys.is_empty() {
            notices.push(Notice::KeysNotRead { keys: all.keys.iter().cloned().collect() });
        }
        if let Some((samples, first)) = all.dotted.clone() {
            notices.push(Notice::DottedNames { samples, first });
        }
        if texts > 0 && captions > 0 && self.settings.text_labels.is_none() {
            notices.push(Notice::TextsAreCaptions { numbers: texts, texts: texts + captions });
        }
        if unlabelled > 0 && unlabelled < samples {
            notices.push(Notice::Unlabelled { samples: unlabelled, of: samples });
        }
        if unread_texts > 0 {
            let first = all.text.clone().unwrap_or_default();
            notices.push(Notice::CaptionsNotRead { count: unread_texts, first });
        }
        notices.extend(all.not_read());
        notices.extend(self.passed_over());
        notices
    }

    /// Logs what a file that is opened late does not read, once for the set: a loader could not know this when it was
    /// built.
    pub(super) fn warn_late(&self, file: &Path, noticed: &Noticed) {
        let broken = noticed.broken_key.clone().map(|reason| Notice::BrokenKey { file: file.to_owned(), reason });
        let Some(notice) = broken.into_iter().chain(noticed.not_read()).next() else { return };
        if self.counts.is_some() && !self.warned.swap(true, Relaxed) {
            tracing::warn!(file = %crate::quote::Shown(file.display()), "{notice}");
        }
    }
}
