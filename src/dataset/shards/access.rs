//! Reads ahead for files in stores: which bytes the announced samples take, and how many samples are worth announcing.

use std::sync::atomic::Ordering::Relaxed;

use super::{ShardFormat, Shards};
use crate::dataset::Access;
use crate::storage::Remote;

/// The bytes of an image if no file is open that shows more: those of ImageNet's images.
const USUAL_BYTES: u64 = 110_000;

impl<F: ShardFormat> Shards<F> {
    /// Returns the access to files in stores; `None` for files of this machine.
    pub(in crate::dataset) fn access(&self) -> Option<&dyn Access> {
        self.is_remote().then_some(self)
    }

    /// Opens the files of these samples that are not open, several at a time. Errors are left to the reads of the
    /// samples.
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
    /// Returns how many samples fill the memory for reading ahead, by the mean size of a sample in the open files.
    fn prefetch_samples(&self) -> usize {
        let Some(remote) = self.listed.remote() else { return 0 };
        if self.unopened.load(Relaxed) == self.files.len() {
            // An error is left to the read of the sample.
            let _ = self.opened(0);
        }
        let (mut bytes, mut samples) = (0, 0);
        for index in self.files.iter().filter_map(|shard| shard.index.lock().clone()) {
            bytes += index.length;
            samples += index.samples as u64;
        }
        remote.samples_ahead(bytes.checked_div(samples).unwrap_or(USUAL_BYTES))
    }

    /// Announces the bytes of these samples to the connection. Reads of the same page that follow each other count as
    /// one.
    fn prefetch(&self, indices: &[usize]) {
        let Some(remote) = self.listed.remote() else { return };
        self.open_together(indices);
        let mut last = None;
        for index in indices {
            // Errors are left to the reads. A file that could not be opened now is not tried again for each sample.
            if self.place(*index).is_none_or(|(number, _)| !self.is_open(number)) {
                continue;
            }
            let Ok(found) = self.find(*index) else { continue };
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
