//! Tells a data set that reads from afar what comes after the batches that are announced. A data set that does not ask
//! for it costs nothing.

use crate::loader::cache::CacheStore;
use crate::loader::pipeline::Pipeline;
use crate::loader::remote::RemoteRuns;
use crate::sampler::EpochOrder;

/// The samples that the data set was told of, and that are not announced yet.
pub(super) struct LookAhead<'a> {
    pipeline: &'a Pipeline,
    /// How many the data set wants to be told of; 0: none.
    wanted: usize,
    /// Samples of the batches that were told and not announced.
    told: usize,
    /// The next batch to tell: its epoch's order, and its number there.
    order: Option<EpochOrder>,
    batch: usize,
    /// The epoch at which the run ends.
    end: u64,
    indices: Vec<usize>,
    /// Held while the run expects anything.
    _run: Option<RemoteRuns>,
}

impl<'a> LookAhead<'a> {
    /// For a run from a batch of an epoch to epoch `end`.
    pub(super) fn new(pipeline: &'a Pipeline, (epoch, batch): (u64, u64), end: u64) -> Self {
        let wanted = pipeline.dataset.prefetch_samples();
        let order = (wanted > 0 && epoch < end).then(|| pipeline.sampler.epoch(epoch));
        let run = (wanted > 0).then(|| pipeline.remote.begin_run());
        LookAhead { pipeline, wanted, told: 0, order, batch: batch as usize, end, indices: Vec::new(), _run: run }
    }

    /// Tells of whole batches until as many samples are told as are wanted; before a batch of `samples` is announced.
    pub(super) fn announce(&mut self, samples: usize) {
        if self.wanted == 0 {
            return;
        }
        while self.told < self.wanted.max(samples) {
            let Some(order) = &self.order else { break };
            if self.batch >= order.batches() {
                let next = order.epoch() + 1;
                let more = next < self.end && order.batches() > 0;
                (self.order, self.batch) = (more.then(|| self.pipeline.sampler.epoch(next)), 0);
                continue;
            }
            let positions = order.batch(self.batch);
            self.told += positions.len();
            let cache = &self.pipeline.cache;
            let cached = |index: usize| match cache {
                CacheStore::Device(cache) => cache.get(index).is_some(),
                CacheStore::Off | CacheStore::Host(_) => cache.in_host_memory(index).is_some(),
            };
            self.indices.clear();
            self.indices.extend(positions.map(|position| position.index).filter(|index| !cached(*index)));
            self.pipeline.dataset.prefetch(&self.indices);
            self.batch += 1;
        }
        self.told = self.told.saturating_sub(samples);
    }
}
