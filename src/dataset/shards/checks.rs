//! Checks the labels of a file when its index is read, by the facts in the head of the index.

use std::path::Path;

use super::entry::SEGMENT;
use super::index::Index;
use super::label_facts::LabelFacts;
use super::{ShardFormat, Shards};
use crate::error::Result;

/// The checks of the labels of a set.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataset) struct Checks {
    /// True if samples may have no label.
    pub(in crate::dataset) allow_unlabelled: bool,
    /// The number of classes that have names; 0 if the classes have none.
    pub(in crate::dataset) classes: usize,
}

/// The fault of a label.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataset) enum Fault {
    /// The sample has no label.
    Unlabelled,
    /// The sample has no label: the text beside it is a caption, but the first file decided that texts are labels.
    Caption,
    /// The sample has no label: the text beside it is a number, but the first file decided that texts are captions.
    Number,
    /// The class of this number has no name, though as many classes as the second number have names.
    Class(u32, usize),
}

/// A sample whose label has a fault.
#[derive(Debug)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "tar shards name a sample by its key and offset"))]
pub(in crate::dataset) struct Faulty<'a> {
    pub(in crate::dataset) file: &'a Path,
    /// The number of the sample in the file.
    pub(in crate::dataset) number: usize,
    /// The key of the sample in the file.
    pub(in crate::dataset) key: String,
    /// The offset of the sample's image.
    pub(in crate::dataset) offset: u64,
    pub(in crate::dataset) fault: Fault,
}

impl<F: ShardFormat> Shards<F> {
    /// Checks the labels of all files that are open, and from now on those of each file that is opened. First checks
    /// whether files differ in their names of classes, unless a setting names the classes.
    ///
    /// # Errors
    /// The format's, for the first sample with a fault; two files with other names of classes.
    pub(in crate::dataset) fn check(&mut self, checks: Checks) -> Result<()> {
        if self.counts.is_none() && self.settings.classes.is_empty() {
            self.compare_all()?;
        }
        self.checks = Some(checks);
        if self.counts.is_none() {
            let captions = self
                .files
                .iter()
                .any(|shard| shard.index.lock().as_ref().is_some_and(|index| index.facts.captions > 0));
            let _ = self.texts.set(self.settings.text_labels.unwrap_or(!captions));
        }
        self.files.iter().enumerate().try_for_each(|(number, shard)| match &*shard.index.lock() {
            Some(index) => self.check_one(number, index),
            None => Ok(()),
        })
    }

    /// Returns true if the texts of the open files are numbers, and no setting says what they are.
    pub(in crate::dataset) fn texts_may_be_labels(&self) -> bool {
        let facts = self.files.iter().filter_map(|shard| shard.index.lock().as_ref().map(|index| index.facts));
        let (texts, captions) =
            facts.fold((0, 0), |(texts, captions), facts| (texts + facts.texts, captions + facts.captions));
        self.settings.text_labels.is_none() && texts > 0 && captions == 0
    }

    /// Takes all texts for captions.
    pub(in crate::dataset) fn take_captions(&mut self) {
        self.settings.text_labels = Some(false);
    }

    /// Returns true if numbers in texts are labels.
    pub(super) fn texts_are_labels(&self) -> bool {
        self.texts.get().copied().unwrap_or(true)
    }

    /// Decides whether numbers in texts are labels. If no setting decides, files that are opened late follow the first
    /// file, whichever of them is opened first.
    ///
    /// # Errors
    /// The first file if it cannot be opened.
    pub(super) fn decide_texts(&self, number: usize, facts: &LabelFacts) -> Result<bool> {
        if let Some(set) = self.settings.text_labels {
            return Ok(*self.texts.get_or_init(|| set));
        }
        if number == 0 {
            return Ok(*self.texts.get_or_init(|| facts.captions == 0));
        }
        if self.texts.get().is_none() {
            // The first file may decide this although it is refused for another reason.
            let opened = self.opened(0);
            if self.texts.get().is_none() {
                opened?;
            }
        }
        Ok(self.texts_are_labels())
    }

    pub(super) fn check_one(&self, file_number: usize, index: &Index) -> Result<()> {
        let Some(checks) = self.checks else { return Ok(()) };
        let (file, facts) = (&*self.files[file_number].name, index.facts);
        let LabelFacts { mut unlabelled, mut first_unlabelled, mut classes, mut largest, .. } = facts;
        let mut unlike = None;
        if file_number == 0 || facts.texts + facts.captions > 0 {
            let texts = self.decide_texts(file_number, &facts)?;
            if self.counts.is_some() && self.settings.text_labels.is_none() {
                unlike = match (texts, facts.texts > 0, facts.captions > 0) {
                    (true, _, true) => Some((facts.first_caption, Fault::Caption)),
                    (false, true, false) => Some((facts.first_text, Fault::Number)),
                    _ => None,
                };
            }
            if texts && facts.text_classes > classes {
                (classes, largest) = (facts.text_classes, facts.largest_text);
            }
            if !texts && facts.texts > 0 {
                first_unlabelled =
                    if unlabelled == 0 { facts.first_text } else { first_unlabelled.min(facts.first_text) };
                unlabelled += facts.texts;
            }
        }
        let named = checks.classes == 0 || classes <= checks.classes as u64;
        let (number, fault) = match (unlike, unlabelled > 0 && !checks.allow_unlabelled, named) {
            (Some(unlike), ..) => unlike,
            (None, true, _) => (first_unlabelled, Fault::Unlabelled),
            (None, false, false) => (largest, Fault::Class((classes - 1) as u32, checks.classes)),
            (None, false, true) => return Ok(()),
        };
        let number = number as usize;
        let segment = index.segment(number / SEGMENT, |_, _| true).ok().flatten();
        let offset = segment.and_then(|segment| Some(segment.entries.get(number % SEGMENT)?.offset)).unwrap_or(0);
        let key = index.key(number).unwrap_or_default();
        Err(self.format.refuse(&Faulty { file, number, key, offset, fault }))
    }
}
