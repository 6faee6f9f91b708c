//! Reads ahead in files that are in stores: announces the bytes of samples that are read soon, and says how many
//! samples ahead are worth announcing.

use std::sync::atomic::Ordering::Relaxed;

use super::{ShardFormat, Shards};
use crate::dataset::Access;
use crate::storage::Remote;

/// The bytes of an image that are assumed while no open file shows the mean size: those of ImageNet's images.
const USUAL_BYTES: u64 = 110_000;

impl<F: ShardFormat> Shards<F> {
    /// Returns this set as an [`Access`] if its files are in stores; `None` for files of this machine.
    pub(in crate::dataset) fn access(&self) -> Option<&dyn Access> {
        self.is_remote().then_some(self)
    }

    /// Opens those files of these samples that are not open yet, several at a time. Ignores errors, because the reads
    /// of the samples will report them.
    fn open_together(&self, indices: &[usize]) {
        if self.unopened.load(Relaxed) == 0 {
            return;
        }
        let numbers = indices.iter().filter_map(|index| self.place(*index)).map(|(number, _)| number);
        let mut numbers: Vec<_> = numbers.filter(|number| !self.is_open(*number)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let _ = self.open_these(&numbers);
    }
}

impl<F: ShardFormat> Access for Shards<F> {
    /// Returns how many samples fit into the memory for reading ahead, by the mean size of a sample in the open files.
    fn prefetch_samples(&self) -> usize {
        let Some(remote) = self.listed.remote() else { return 0 };
        if self.unopened.load(Relaxed) == self.files.len() {
            // Opens one file for its mean size. An error is ignored, because the read of a sample will report it.
            let _ = self.opened(0);
        }
        let (mut bytes, mut samples) = (0, 0);
        for index in self.files.iter().filter_map(|shard| shard.index.lock().clone()) {
            bytes += index.length;
            samples += index.samples as u64;
        }
        remote.samples_ahead(bytes.checked_div(samples).unwrap_or(USUAL_BYTES))
    }

    /// Announces to the connection which bytes the reads of these samples take. Samples of the same page of a Parquet
    /// file count as one read if they follow each other.
    fn prefetch(&self, indices: &[usize]) {
        let Some(remote) = self.listed.remote() else { return };
        self.open_together(indices);
        let mut last = None;
        for index in indices {
            // Skips samples whose file could not be opened, so that the file is not tried again for each of them. Their
            // reads will report the error.
            if self.place(*index).is_none_or(|(number, _)| !self.is_open(number)) {
                continue;
            }
            let Ok(found) = self.find(*index) else { continue };
            let members = found.members();
            if !members.is_empty() {
                self.format.reads_with(found.entry(), members).into_iter().for_each(|range| found.file.expect(range));
                continue;
            }
            let page = found.segment.page(found.entry());
            let range = F::bytes_read(found.entry(), page);
            let this = (found.number, range.clone());
            if page.is_none() || last.as_ref() != Some(&this) {
                found.file.expect(range);
            }
            last = Some(this);
        }
        remote.fetch_expected();
    }

    fn remotes(&self) -> Vec<Remote> {
        self.listed.remote().cloned().into_iter().collect()
    }
}
