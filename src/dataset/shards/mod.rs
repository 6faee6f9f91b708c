//! Files that hold many samples each, with indexes that say where the samples are. Tar shards and Parquet files share
//! this.
//!
//! | file | |
//! |---|---|
//! | `brace.rs`, `listing.rs`, `files.rs` | which files a set has |
//! | `open_files.rs` | how many of them stay open |
//! | `settings.rs`, `counts.rs` | what can be set; the numbers of samples from a JSON file |
//! | `entry.rs`, `index.rs`, `index_builder.rs`, `binding.rs` | a sample, the index file, how it is made, which file it belongs to |
//! | `label_facts.rs` | what is true of the labels of a file |
//! | `stored_at.rs`, `beside.rs`, `spool.rs` | where indexes are stored |
//! | `in_use.rs` | the parts of indexes that are in memory |
//! | `open.rs`, `open_one.rs` | opens the files, and makes the indexes that are missing |
//! | `member.rs`, `asked_members.rs` | the members of samples beside their images; those that fields ask for |
//! | `alternatives.rs` | members that another one of their field hides |
//! | `access.rs` | files in stores: announces the samples that are read next |
//! | `checks.rs`, `class_lists.rs` | labels that are missing, classes without a name; names of classes that differ between files |
//! | `noticed.rs`, `described.rs` | what scans noticed: members that are not read, where labels come from |

mod access;
mod alternatives;
mod asked_members;
mod beside;
mod binding;
mod brace;
mod checks;
mod class_lists;
mod counts;
mod described;
mod entry;
mod files;
mod in_use;
mod index;
mod index_builder;
mod label_facts;
mod listing;
mod member;
mod noticed;
mod open;
mod open_files;
mod open_one;
mod settings;
mod spool;
mod stored_at;
#[cfg(test)]
mod tests;

use super::ObjectStamp;
use crate::advice::Advice;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::storage::file::DataFile;
pub(super) use asked_members::SeenEndings;
pub(super) use checks::{Checks, Fault, Faulty};
#[cfg(feature = "parquet")]
pub(super) use class_lists::unlike;
use counts::SampleCounts;
use entry::SEGMENT;
pub(super) use entry::{Labelled, Page, SampleEntry, Segment};
pub(super) use files::FileList;
pub use files::addresses_of;
use in_use::InUse;
use index::Index;
pub(super) use index_builder::{IndexBuilder, StoredImage};
pub(super) use member::{Ending, FoundMember, Member};
use noticed::Noticed;
pub(super) use noticed::OTHER_KINDS;
pub(super) use settings::{Settings, of_files, setters};
use spool::Spool;
pub use stored_at::ShardIndexes;

/// A format of files with many samples.
pub(super) trait ShardFormat: std::fmt::Debug + Send + Sync {
    /// The advice of an error about files with different names of classes: it is the setting that names the classes.
    const CLASSES: Advice;

    /// Returns a hash of the format and of the settings that decide what a scan finds.
    fn settings(&self) -> u64;

    /// Scans a file for its samples.
    ///
    /// # Errors
    /// Names the file, the offset in it, and what to do.
    fn scan(&self, file: &DataFile) -> Result<IndexBuilder>;

    /// Returns true if an image can be where an index of a file of `length` bytes says.
    fn fits(&self, entry: &SampleEntry, page: Option<&Page>, length: u64) -> bool;

    /// Returns the bytes of a file that a read of an image takes.
    fn bytes_read(entry: &SampleEntry, page: Option<&Page>) -> Range<u64>;

    /// Returns the error for a label with a fault.
    fn refuse(&self, sample: &Faulty<'_>) -> Error;

    /// Returns true if the set reads fields, so that indexes have to list the members of samples.
    fn lists_members(&self) -> bool {
        false
    }

    /// Returns the endings of the members that the set's fields ask for.
    fn wanted(&self) -> &[String] {
        &[]
    }

    /// Returns the numbers of the endings of each field, of which the first that a sample has counts; none if no field has
    /// more than one.
    fn alternatives(&self) -> Vec<Vec<u32>> {
        Vec::new()
    }

    /// Returns true if a member can be where an index of a file of `length` bytes says.
    fn member_fits(&self, member: &Member, length: u64) -> bool {
        let _ = (member, length);
        false
    }

    /// Returns the bytes of a file that the reads of an image and of its sample's members take, a range a read. None if
    /// the sample is not read, because a member is larger than the set allows.
    fn reads_with(&self, entry: &SampleEntry, members: &[Member]) -> Vec<Range<u64>> {
        let _ = (entry, members);
        Vec::new()
    }
}

/// The files of a set, in order, and where their samples are.
#[derive(Debug)]
pub(super) struct Shards<F> {
    format: F,
    settings: Settings,
    /// The files as they were listed. With `counts`, each is opened when one of its samples is read.
    listed: FileList,
    counts: Option<SampleCounts>,
    checks: Option<Checks>,
    /// True if numbers in texts are labels; `None` until that is decided.
    texts: OnceLock<bool>,
    /// True once a warning about a file that was opened late was given.
    warned: AtomicBool,
    files: Vec<Shard>,
    /// The number of files that are not open yet.
    unopened: AtomicUsize,
    /// The index of the first sample of each file, and at the end the number of samples.
    starts: Vec<usize>,
    /// Number of the first segment of each file.
    segments: Vec<usize>,
    in_use: InUse,
    /// The class names in the first file that has any, and its number.
    own_classes: Mutex<(usize, Vec<String>)>,
    /// With `counts`, the class names in the first file, once it was opened.
    first_names: OnceLock<Vec<String>>,
    /// True once a file was opened whose class names could not be compared with `first_names`.
    uncompared: AtomicBool,
    /// The file without a name for indexes that are stored nowhere else. It is made for the first such index.
    spool: OnceLock<Option<Arc<Spool>>>,
}

/// A file, and its index while it is open.
#[derive(Debug)]
struct Shard {
    name: Box<Path>,
    file: OnceLock<DataFile>,
    /// The index. It is replaced if a part of it turns out to be damaged. The lock is held while the file is opened, so
    /// that it is opened once.
    index: Mutex<Option<Arc<Index>>>,
    /// The index of a file that was refused. It is held so that other reads of the file's samples do not scan the file
    /// again.
    refused: OnceLock<Index>,
    /// The names of the file's classes, if they are still to be compared with those of the first file.
    uncompared: Mutex<Option<Vec<String>>>,
    noticed: OnceLock<Noticed>,
}

impl Shard {
    /// Returns the file's name in errors.
    fn name(&self) -> &Path {
        self.file.get().map_or(&self.name, DataFile::name)
    }
}

/// Where a sample is.
pub(super) struct IndexedSample<'a> {
    /// The file that has the sample, and the sample's number there.
    pub(super) file: &'a DataFile,
    pub(super) number: usize,
    pub(super) segment: Arc<Segment>,
    at: usize,
    texts: bool,
}

impl IndexedSample<'_> {
    pub(super) fn entry(&self) -> &SampleEntry {
        &self.segment.entries[self.at]
    }

    /// Returns the members of the sample that fields ask for.
    pub(super) fn members(&self) -> &[Member] {
        self.segment.members(self.at)
    }

    pub(super) fn label(&self) -> super::Label {
        self.segment.label(self.entry(), self.texts)
    }
}

impl<F: ShardFormat> Shards<F> {
    /// Returns the number of samples.
    pub(super) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Returns the format, with its settings.
    pub(super) fn format(&self) -> &F {
        &self.format
    }

    pub(super) fn format_mut(&mut self) -> &mut F {
        &mut self.format
    }

    /// Returns the files as they were listed.
    pub(super) fn listed(&self) -> &FileList {
        &self.listed
    }

    /// Returns the number of files.
    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the number of samples of file `number`.
    #[cfg(feature = "parquet")]
    pub(super) fn samples_of(&self, number: usize) -> usize {
        let ends = self.starts.get(number).zip(self.starts.get(number + 1));
        ends.map_or(0, |(begin, end)| end - begin)
    }

    /// Returns the name of file `number`.
    pub(super) fn file(&self, number: usize) -> Option<&Path> {
        Some(self.files.get(number)?.name())
    }

    /// Returns the number of the file of sample `index`, and the sample's number there.
    pub(super) fn place(&self, index: usize) -> Option<(usize, usize)> {
        // Empty files begin where the next one does, so this takes the last file that begins at or before the sample.
        let file = self.starts.partition_point(|start| *start <= index).checked_sub(1)?;
        (file < self.files.len()).then(|| (file, index - self.starts[file]))
    }

    /// Returns the file of sample `index` and the sample's key there, for messages.
    pub(super) fn key(&self, index: usize) -> Option<(&Path, String)> {
        let (number, at) = self.place(index)?;
        let (_, index) = self.opened(number).ok()?;
        Some((self.files[number].name(), index.key(at)?))
    }

    /// Returns true if a file is open: then its index can be read without a request or a scan.
    pub(super) fn is_open(&self, number: usize) -> bool {
        self.files.get(number).is_some_and(|shard| shard.file.get().is_some())
    }

    /// Calls `see` for each file, with its stamp if it is an object that was opened.
    pub(super) fn each_file(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        for each in &self.files {
            let stamp = each.file.get().and_then(|file| file.stamp().ok());
            let object = stamp
                .and_then(|stamp| Some(ObjectStamp { length: stamp.length, seconds: stamp.seconds, tag: stamp.tag? }));
            see(each.name(), object);
        }
    }

    /// Returns true if the files are not on this machine.
    pub(super) fn is_remote(&self) -> bool {
        self.listed.remote().is_some()
    }

    /// Finds sample `index`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `index` is out of range; the errors of a scan, if the
    /// index is damaged.
    pub(super) fn find(&self, index: usize) -> Result<IndexedSample<'_>> {
        let (number, sample) = self.place(index).ok_or_else(|| super::out_of_range(index, self.len()))?;
        let file = match self.files[number].file.get() {
            Some(file) => file,
            None => self.opened(number)?.0,
        };
        if self.uncompared.load(Relaxed) {
            self.compare_again(number)?;
        }
        let segment = sample / SEGMENT;
        let segment = self.in_use.get(self.segments[number] + segment, || self.read_segment(number, segment))?;
        Ok(IndexedSample { file, number, segment, at: sample % SEGMENT, texts: self.texts_are_labels() })
    }

    /// Reads a segment. If the index is damaged, or its file has gone, makes the index again first.
    fn read_segment(&self, file: usize, number: usize) -> Result<Segment> {
        let (data, index) = self.opened(file)?;
        if let Some(segment) = self.usable_segment(&index, number) {
            return Ok(segment);
        }
        let mut current = self.files[file].index.lock();
        // Another thread may have rebuilt the index already.
        if let Some(current) = &*current
            && !Arc::ptr_eq(current, &index)
            && let Some(segment) = self.usable_segment(current, number)
        {
            return Ok(segment);
        }
        // Another process may have replaced the index, for example by one that lists members.
        if let Some(stored) = self.stored_again(data, &index)
            && let Some(segment) = self.usable_segment(&stored, number)
        {
            *current = Some(Arc::new(stored));
            return Ok(segment);
        }
        let again = self.scan_again(data, &index)?;
        let segment = self.usable_segment(&again, number);
        *current = Some(Arc::new(again));
        segment.ok_or_else(|| changed(data.name()))
    }
}

/// Returns an error for a file that has changed since the set was opened.
fn changed(name: &Path) -> Error {
    let reason = "it was changed since its samples were listed; open the data set again";
    Error::io(name, std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
}
