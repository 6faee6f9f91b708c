//! Announces to a data set in a store which samples come after the batches that are under way. Does nothing for a data
//! set that does not ask for it.

use super::BatchRange;
use crate::dataset::Access;
use crate::loader::cache::CacheStore;
use crate::loader::pipeline::Pipeline;
use crate::sampler::EpochOrder;
use crate::storage::RemoteRun;

/// The samples that are announced to the data set before the feeder hands them out.
pub(super) struct LookAhead<'a> {
    pipeline: &'a Pipeline,
    /// The access of the data set, if it wants to know samples ahead.
    access: Option<&'a dyn Access>,
    /// How many it wants to know.
    wanted: usize,
    /// Samples that are announced and not handed out yet.
    ahead: usize,
    /// The next batch to announce: its epoch's order, and its number there.
    order: Option<EpochOrder>,
    batch: usize,
    /// The epoch whose order comes next, which may not be known yet.
    next: Option<u64>,
    /// The epoch at which the run ends.
    end: u64,
    indices: Vec<usize>,
    /// The runs of the data set's connections, while anything is announced.
    _runs: Vec<RemoteRun>,
}

impl<'a> LookAhead<'a> {
    /// For a run of these batches.
    pub(super) fn new(pipeline: &'a Pipeline, BatchRange { epoch, batch, end }: BatchRange) -> Self {
        let access = pipeline.dataset.access();
        let wanted = access.map_or(0, |access| access.prefetch_samples());
        let access = access.filter(|_| wanted > 0);
        let next = (access.is_some() && epoch < end).then_some(epoch);
        let _runs = access.map_or(Vec::new(), |_| pipeline.remote.begin_run());
        let (order, batch, indices) = (None, batch as usize, Vec::new());
        LookAhead { pipeline, access, wanted, ahead: 0, order, next, batch, end, indices, _runs }
    }

    /// Announces whole batches until as many samples are announced as are wanted. Called before a batch of `samples` samples
    /// is handed out.
    pub(super) fn before(&mut self, samples: usize) {
        let Some(access) = self.access else { return };
        while self.ahead < self.wanted.max(samples) {
            if let (None, Some(epoch)) = (&self.order, self.next) {
                // The feeder reports the error of an order.
                self.order = self.pipeline.sampler.epoch_if_known(epoch).ok().flatten();
            }
            let Some(order) = &self.order else { break };
            if self.batch >= order.batches() {
                let next = order.epoch() + 1;
                let more = next < self.end && order.batches() > 0;
                (self.order, self.next, self.batch) = (None, more.then_some(next), 0);
                continue;
            }
            let positions = order.batch(self.batch);
            self.ahead += positions.len();
            let cache = &self.pipeline.cache;
            let cached = |index: usize| match cache {
                CacheStore::Device(cache) => cache.get(index).is_some(),
                CacheStore::Off | CacheStore::Host(_) => cache.in_host_memory(index).is_some(),
            };
            self.indices.clear();
            self.indices.extend(positions.map(|position| position.index).filter(|index| !cached(*index)));
            access.prefetch(&self.indices);
            self.batch += 1;
        }
        self.ahead = self.ahead.saturating_sub(samples);
    }
}
