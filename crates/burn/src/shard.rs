//! One of the loaders of a [`BurnLoader`](crate::BurnLoader), and where its items lie in its batches.

use burn::tensor::Device;
use gpufeed::{DataLoader, Epochs, Result, State};
use std::ops::Range;

/// A loader, and the device of its tensors.
pub(crate) struct Shard {
    pub(crate) loader: DataLoader,
    pub(crate) device: Device,
    /// For each batch, the number of items up to its end; the same in every epoch.
    ends: Box<[usize]>,
}

impl Shard {
    /// Counts the samples of each batch, with those of the padding or without.
    pub(crate) fn new(loader: DataLoader, device: Device, padding: bool) -> Shard {
        let order = loader.sampler().epoch(0);
        let items = |batch| order.batch(batch).filter(|position| padding || !position.padding).count();
        let sum = |sum: &mut usize, batch| {
            *sum += items(batch);
            Some(*sum)
        };
        let ends = (0..order.batches()).scan(0, sum).collect();
        Shard { loader, device, ends }
    }

    pub(crate) fn items(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The batch that holds an item.
    pub(crate) fn batch_of(&self, item: usize) -> usize {
        self.ends.partition_point(|&end| end <= item)
    }

    /// The items of a batch.
    pub(crate) fn items_of(&self, batch: usize) -> Range<usize> {
        batch.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[batch]
    }

    /// Begins an epoch at one of its batches.
    ///
    /// # Errors
    /// Those of [`DataLoader::resume`].
    pub(crate) fn begin(&self, epoch: u64, batch: usize) -> Result<Epochs> {
        self.loader.resume(&State::at(self.loader.seed(), epoch, batch as u64))
    }
}
