//! Building the seek indexes of a whole data set ahead of its first epoch.

use super::{Dataset, SampleData};
use crate::decode::seek::Files;
use crate::decode::{IndexSummary, SeekIndexes};
use crate::error::Result;
use std::path::Path;
use std::sync::Mutex;

impl Files for &dyn Dataset {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn folder(&self) -> Option<&Path> {
        (**self).folder()
    }

    fn name(&self, index: usize) -> String {
        (**self).name(index)
    }

    fn read<'a>(&'a self, index: usize, file: &'a mut Vec<u8>) -> Result<(usize, Option<&'a [u8]>)> {
        let data = (**self).read(index, file)?.data;
        Ok((data.len(), if let SampleData::Encoded(bytes) = data { Some(bytes) } else { None }))
    }
}

impl SeekIndexes {
    /// Builds the indexes that are missing of all samples of `dataset`, on so many threads, and writes the file: every
    /// two seconds, and at the end. Nothing that is in the file is lost, and other processes may write to it meanwhile.
    /// `progress` is called with the number of samples that are done; where it returns `false` the work ends early, and
    /// what is built is written.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no file to write, as for `Memory` and `Off`, or
    /// `Beside` where the data set has no folder, and for 0 threads; [`ErrorKind::Io`](crate::ErrorKind::Io) if the
    /// file cannot be written, or is something else: before any sample is read where that can be known;
    /// [`ErrorKind::Panic`](crate::ErrorKind::Panic) if the data set or `progress` panics, after what was built is
    /// written. Samples that fail are no error, but listed.
    pub fn build(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(&dataset, threads, None, progress)
    }

    /// As [`build`](Self::build), and then removes every record from the file that belongs to none of the samples:
    /// those of files that were replaced or deleted, which stay otherwise. It is not for a file that other data sets
    /// share, whose records would go, too. Nothing is removed if the work has ended early or a sample could not be
    /// read.
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
    /// Those of [`build`](Self::build).
    pub fn prune(
        &self,
        dataset: &dyn Dataset,
        threads: usize,
        progress: impl Fn(usize) -> bool + Sync,
    ) -> Result<IndexSummary> {
        self.go_through(&dataset, threads, Some(Mutex::default()), progress)
    }
}
