//! Labels are checked by the facts in the heads of indexes, when a file's index is read.

use std::path::Path;

use super::entry::SEGMENT;
use super::index::{Index, LabelFacts};
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
    /// There is none.
    Unlabelled,
    /// The class has no name, though this many have.
    Class(u32, usize),
}

/// A sample whose label has a fault.
#[derive(Debug)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "tar shards name a sample by its key and offset"))]
pub(in crate::dataset) struct Faulty<'a> {
    pub(in crate::dataset) file: &'a Path,
    /// Its number in the file.
    pub(in crate::dataset) number: usize,
    /// Its key there.
    pub(in crate::dataset) key: String,
    /// Offset of its image.
    pub(in crate::dataset) offset: u64,
    pub(in crate::dataset) fault: Fault,
}

impl<F: ShardFormat> Shards<F> {
    /// Checks the labels of all files that are open, and from now on those of each file that is opened.
    ///
    /// # Errors
    /// The format's, for the first sample with a fault.
    pub(in crate::dataset) fn check(&mut self, checks: Checks) -> Result<()> {
        self.checks = Some(checks);
        self.files.iter().try_for_each(|shard| match &*shard.index.lock() {
            Some(index) => self.check_one(&shard.name, index),
            None => Ok(()),
        })
    }

    pub(super) fn check_one(&self, file: &Path, index: &Index) -> Result<()> {
        let Some(checks) = self.checks else { return Ok(()) };
        let LabelFacts { unlabelled, first_unlabelled, classes, largest } = index.facts;
        let named = checks.classes == 0 || classes <= checks.classes as u64;
        let (number, fault) = match (unlabelled > 0 && !checks.allow_unlabelled, named) {
            (true, _) => (first_unlabelled, Fault::Unlabelled),
            (false, false) => (largest, Fault::Class((classes - 1) as u32, checks.classes)),
            (false, true) => return Ok(()),
        };
        let number = number as usize;
        let segment = index.segment(number / SEGMENT, |_, _| true).ok().flatten();
        let offset = segment.and_then(|segment| Some(segment.entries.get(number % SEGMENT)?.offset)).unwrap_or(0);
        let key = index.key(number).unwrap_or_default();
        Err(self.format.refuse(&Faulty { file, number, key, offset, fault }))
    }
}
