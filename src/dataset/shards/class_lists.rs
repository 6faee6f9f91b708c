//! Compares the names of classes in the files of a set: all files that have names must have the same.
//!
//! Files are opened in any order and by many threads, but this does not change which files are compared. Without
//! `counts`, all files are opened first, and each file with names is compared with the first one that has some. With
//! `counts`, each file with names is compared with the first file of the set, if that has some. If the first file
//! cannot be opened, the other files are compared once it can.

use crate::advice::{self, Advice, Reason};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use super::index::Index;
use super::{ShardFormat, Shards};
use crate::error::{Error, Result};
use crate::quote::{Shown, shortened};

impl<F: ShardFormat> Shards<F> {
    /// Compares the names of all files, which are open.
    ///
    /// # Errors
    /// The first file whose names are not those of the first file that has any.
    pub(super) fn compare_all(&self) -> Result<()> {
        let hashes = self.files.iter().map(|shard| shard.index.lock().as_ref().and_then(|index| index.names));
        let mut named = hashes.enumerate().filter_map(|(number, names)| Some((number, names?)));
        let Some((first, of_first)) = named.next() else { return Ok(()) };
        let Some((other, _)) = named.find(|(_, names)| *names != of_first) else { return Ok(()) };
        let (a, b) = (self.names_of(first), self.names_of(other));
        Err(self.unlike(first, &a, other, &b))
    }

    /// Compares the names of a file that is opened late with those of the first file.
    ///
    /// # Errors
    /// Other names.
    pub(super) fn compare_late(&self, number: usize, found: &Index) -> Result<()> {
        if number == 0 || found.classes.is_empty() || !self.settings.classes.is_empty() {
            return Ok(());
        }
        if self.first_names.get().is_none() {
            // An error of the first file belongs to its own samples. Its names may be known all the same.
            let _ = self.opened(0);
        }
        *self.files[number].uncompared.lock() = Some(found.classes.clone());
        if self.first_names.get().is_none() {
            self.uncompared.store(true, Relaxed);
        }
        self.compare_again(number)
    }

    /// Compares the names of a file, if they were not compared yet and the names of the first file are known.
    ///
    /// # Errors
    /// Other names.
    pub(super) fn compare_again(&self, number: usize) -> Result<()> {
        let mut uncompared = self.files[number].uncompared.lock();
        let (Some(names), Some(first)) = (&*uncompared, self.first_names.get()) else { return Ok(()) };
        if !first.is_empty() && first != names {
            return Err(self.unlike(0, first, number, names));
        }
        *uncompared = None;
        Ok(())
    }

    /// Reads the names of a file again, for an error. Returns an empty list if that fails.
    fn names_of(&self, number: usize) -> Vec<String> {
        let read = self.listed.open(number).and_then(|file| self.open_one(file, false));
        read.map(|(_, index)| index.classes).unwrap_or_default()
    }

    /// Returns the error for two files with different names.
    fn unlike(&self, first: usize, names: &[String], other: usize, of_other: &[String]) -> Error {
        let name = |number: usize| self.files[number].name();
        unlike(name(first), names, name(other), of_other, vec![F::CLASSES])
    }

    /// Compares the names of the set with the names of its test split.
    ///
    /// # Errors
    /// Other names.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet files have splits"))]
    pub(in crate::dataset) fn compare_with(&self, names: &[String], other: &Self, of_other: &[String]) -> Result<()> {
        if names == of_other || names.is_empty() || of_other.is_empty() || !self.settings.classes.is_empty() {
            return Ok(());
        }
        let file = |set: &Self| set.file(set.own_classes.lock().0).unwrap_or(Path::new("")).to_owned();
        let advice = vec![F::CLASSES, advice::ONE_SPLIT];
        Err(unlike(&file(self), names, &file(other), of_other, advice))
    }
}

/// Returns the error for two files with different names. `advice` is what a user can set, apart from giving both the
/// same names.
pub(in crate::dataset) fn unlike(
    first: &Path,
    names: &[String],
    other: &Path,
    of_other: &[String],
    advice: Vec<Advice>,
) -> Error {
    let differs = names.iter().zip(of_other).position(|(a, b)| a != b);
    let at = differs.unwrap_or(names.len().min(of_other.len()));
    let called = |names: &[String]| match names.get(at) {
        Some(name) => format!("called {:?}", shortened(name)),
        None => "without a name".to_owned(),
    };
    let text = format!(
        "its {} names of classes are not the {} of {}: class {at} is {} here and {} there, so that labels would mean different \
         things; give all files the same names",
        of_other.len(),
        names.len(),
        Shown(first.display()),
        called(of_other),
        called(names),
    );
    Error::data_file(other, "names of classes", Reason { text, advice })
}
