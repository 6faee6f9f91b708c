//! Building the seek indexes of a whole data set ahead of its first epoch.

use super::in_order::InOrder;
use super::{Dataset, SampleData};
use crate::decode::seek::FilesToIndex;
use crate::decode::{IndexSummary, SeekIndexes};
use crate::error::{Error, Result};
use crate::storage::is_network_failure;
use std::path::Path;
use std::sync::Mutex;

/// A data set whose samples are read in their order.
struct Scanned<'a> {
    data: &'a dyn Dataset,
    in_order: InOrder<'a>,
}

impl<'a> Scanned<'a> {
    fn new(data: &'a dyn Dataset) -> Self {
        Scanned { data, in_order: InOrder::new(data, 0..data.len()) }
    }
}

impl FilesToIndex for Scanned<'_> {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn folder(&self) -> Option<&Path> {
        self.data.folder()
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn read<'a>(&'a self, index: usize, file: &'a mut Vec<u8>) -> Result<(usize, Option<&'a [u8]>)> {
        self.in_order.before(index);
        let data = self.data.read(index, file)?.data;
        Ok((data.len(), if let SampleData::Encoded(bytes) = data { Some(bytes) } else { None }))
    }

    fn is_fatal(&self, error: &Error) -> bool {
        is_network_failure(error)
    }
}

impl SeekIndexes {
    /// Builds the missing indexes of all samples of `dataset` with the given number of threads, and writes the file
    /// every two seconds and at the end. Indexes in the file stay, and other processes may write to it at the same
    /// time. `progress` receives the number of finished samples; if it returns `false`, the work ends early, and the
    /// indexes built so far are written.
    ///
    /// # Errors
    /// Where a store or web server fails: its [`ErrorKind::Io`](crate::ErrorKind::Io), after the indexes built so far are written.
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for 0 threads, or if there is no file to write: with
    /// `Memory` and `Off`, or with `Beside` for a data set without a folder. [`ErrorKind::Io`](crate::ErrorKind::Io) if
    /// the file cannot be written or is of another kind, before any sample is read where possible.
    /// [`ErrorKind::Panic`](crate::ErrorKind::Panic) if the data set or `progress` panics, after the indexes built so
    /// far are written. Samples that fail are listed in the summary instead.
    pub fn build(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(&Scanned::new(dataset), threads, None, progress)
    }

    /// Builds as [`build`](Self::build) does, and then removes every record that belongs to none of the samples:
    /// records of files that were replaced or deleted, which stay otherwise. Don't use it for a file that several data
    /// sets share, since it removes the records of the others. It removes nothing if the work has ended early or a
    /// sample could not be read.
    ///
    /// ```no_run
    /// use gpufeed::ImageFolder;
    /// use gpufeed::decode::SeekIndexes;
    ///
    /// let summary = SeekIndexes::Beside.prune(&ImageFolder::open("imagenet/train")?, 8, |_| true)?;
    /// println!("{} records of files that are gone", summary.pruned.unwrap_or(0));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`build`](Self::build).
    pub fn prune(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(&Scanned::new(dataset), threads, Some(Mutex::default()), progress)
    }
}
