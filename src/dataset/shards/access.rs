//! Files in stores: which bytes the announced samples take, and how many samples are worth announcing.

use std::sync::atomic::Ordering::Relaxed;

use super::{ShardFormat, Shards};
use crate::dataset::Access;
use crate::storage::Remote;

/// Bytes of an image where no file says more: those of ImageNet.
const USUAL_BYTES: u64 = 110_000;

impl<F: ShardFormat> Shards<F> {
    /// Returns the access to files in stores; `None` for files of this machine.
    pub(in crate::dataset) fn access(&self) -> Option<&dyn Access> {
        self.is_remote().then_some(self)
    }

    /// Opens the files of these samples that are not open, several at a time. An error belongs to the read of a sample.
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
    /// Returns how many samples fill what is read ahead, by the mean size of a sample in the files that are open.
    fn prefetch_samples(&self) -> usize {
        let Some(remote) = self.listed.remote() else { return 0 };
        if self.unopened.load(Relaxed) == self.files.len() {
            // An error belongs to the read of its sample.
            let _ = self.opened(0);
        }
        let (mut bytes, mut samples) = (0, 0);
        for index in self.files.iter().filter_map(|shard| shard.index.lock().clone()) {
            bytes += index.length;
            samples += index.samples as u64;
        }
        remote.samples_ahead(bytes.checked_div(samples).unwrap_or(USUAL_BYTES))
    }

    /// Announces to the connection the bytes of these samples. Reads of one page that follow each other are one.
    fn prefetch(&self, indices: &[usize]) {
        let Some(remote) = self.listed.remote() else { return };
        self.open_together(indices);
        let mut last = None;
        for index in indices {
            // An error belongs to the read. A file that could not be opened now is not tried again for each sample.
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
