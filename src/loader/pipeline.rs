//! The state that the threads of all runs share: the settings, and the memory that outlives a run.

use super::cache;
use super::executor_buffers::{CpuBuffers, ExecutorBuffers, GpuBuffers};
use super::group::{Group, of_source};
use super::intermediates::LargeImages;
use super::mosaic::LoaderMosaic;
use super::moved_objects::ObjectField;
use super::remote::RemoteParts;
use super::scratch::WorkerScratch;
use super::settings::LoaderSettings;
use super::source::Source;
use super::stats::{Capacities, Counters};
use crate::dataset::{Dataset, Field};
use crate::decode::Decoder;
use crate::error::Result;
use crate::launcher::Shard;
use crate::plan::Plan;
use crate::sampler::{Position, Sampler};
use crate::transforms::{BatchParams, BatchTransform, Key};
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A loader as its threads see it. During a run only counters and pools change.
pub(super) struct Pipeline {
    pub(super) dataset: Arc<dyn Dataset>,
    /// The data set's fields.
    pub(super) fields: Vec<Field>,
    /// The field of objects, if the data set has one.
    pub(super) objects: Option<ObjectField>,
    /// The mosaic that the list gets in the place of a sample's image.
    pub(super) mosaic: Option<LoaderMosaic>,
    /// The groups, at least one.
    pub(super) groups: Vec<Group>,
    /// The images of a sample that the groups read; the first one is that of the first group.
    pub(super) sources: Vec<Source>,
    pub(super) sampler: Sampler,
    /// The sampler's rank and world, and who has set them.
    pub(super) shard: Shard,
    /// The settings in force, of which nothing is left to the recipe or to the machine.
    pub(super) settings: LoaderSettings,
    /// Images of each sample in a batch: those of all groups.
    pub(super) outputs: usize,
    /// Bytes of the images of a whole batch, all groups together.
    pub(super) batch_bytes: u64,
    pub(super) batch_transform: Option<BatchTransform>,
    pub(super) decoder: Decoder,
    pub(super) cache: cache::CacheStore,
    /// True if the data set holds small images in memory, as its first sample shows.
    pub(super) small_in_memory: bool,
    /// True once a sample was met whose images are turned in several ways, of groups of which one follows the other.
    pub(super) turned_apart: AtomicBool,
    pub(super) workers: usize,
    /// The most bytes that a worker may take between the stages of the plan for a sample. It depends on `memory_budget`
    /// alone, so that the same samples fail whatever the number of workers.
    pub(super) most_intermediate: u64,
    pub(super) large_images: LargeImages,
    pub(super) execution: Execution,
    /// The workers' memory between runs, so that an epoch after the first allocates nothing.
    pub(super) scratch: (Sender<WorkerScratch>, Receiver<WorkerScratch>),
    pub(super) stats: Counters,
    pub(super) remote: RemoteParts,
}

/// The executor that augments.
#[derive(Debug)]
pub(super) enum Execution {
    Cpu(Arc<CpuBuffers>),
    Gpu(Arc<GpuBuffers>),
}

impl Execution {
    pub(super) fn executor(&self) -> &dyn ExecutorBuffers {
        match self {
            Execution::Cpu(executor) => &**executor,
            Execution::Gpu(executor) => &**executor,
        }
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("groups", &self.groups).field("sampler", &self.sampler).finish_non_exhaustive()
    }
}

impl Pipeline {
    /// The first group: that of a loader without further ones.
    pub(super) fn first(&self) -> &Group {
        &self.groups[0]
    }

    /// The plan of the first group as it was compiled.
    pub(super) fn plan(&self) -> &Plan {
        self.first().plan()
    }

    /// The number of images of each view that is made of a source, view by view, group by group.
    pub(super) fn crops(&self, source: usize) -> impl Iterator<Item = usize> {
        of_source(&self.groups, source).flat_map(|group| std::iter::repeat_n(group.plan().crops(), group.views()))
    }

    /// The lengths of a run's queues.
    pub(super) fn capacities(&self) -> Capacities {
        // Deep enough that no worker waits for the next job (a thousand small jobs take a millisecond), and short
        // enough that few batches are under way.
        let jobs = (16 * self.workers).min(self.settings.batch_size / 2).max(2 * self.workers);
        // Sized for the output buffers, and for the batches of the queued jobs.
        let announced = self.settings.queue_depth + 4 + (jobs + self.workers).div_ceil(self.settings.batch_size);
        Capacities { jobs, inbox: 4 * self.workers + 16, ready: self.settings.queue_depth, announced }
    }

    /// Begins a run. [`leave`](Self::leave) ends it. The first run makes the GPU's buffers, not `build`: software drivers
    /// write zeros to them, 70-180 ms for the default slots on OpenGL and SwiftShader.
    pub(super) fn enter(&self) -> Result<()> {
        let executor = self.execution.executor();
        executor.gpu().map_or(Ok(()), |gpu| gpu.alive("starting a run"))?;
        executor.enter()?;
        executor.allocate(self.batch_bytes).inspect_err(|_| self.leave())
    }

    pub(super) fn leave(&self) {
        self.execution.executor().leave();
    }

    pub(super) fn take_scratch(&self) -> WorkerScratch {
        self.scratch.1.try_recv().unwrap_or_default()
    }

    pub(super) fn return_scratch(&self, scratch: WorkerScratch) {
        // The pool is full only after several concurrent runs have ended: the surplus is dropped.
        let _ = self.scratch.0.try_send(scratch);
    }

    /// Grows every worker's memory to the size of the largest, after a run. Chance decides which worker meets the
    /// largest image, so without this a later run would still allocate.
    pub(super) fn level_scratch(&self) {
        let mut all: Vec<WorkerScratch> = self.scratch.1.try_iter().collect();
        // There are fewer than `workers` if a worker that began late took over the memory of one that had ended.
        all.resize_with(self.workers, WorkerScratch::default);
        WorkerScratch::level(&mut all);
        all.into_iter().for_each(|scratch| self.return_scratch(scratch));
    }

    /// How the batch of so many samples with this first position is mixed. It does not matter whether that sample fails.
    pub(super) fn batch_params(&self, epoch: u64, first: &Position, samples: usize) -> Option<BatchParams> {
        let transform = self.batch_transform.as_ref()?;
        let (_, key) = self.candidate(epoch, first, 0);
        let (width, height) = self.first().size;
        transform.make_params(width, height, samples, &key)
    }

    /// The sample for a position after `failures` failed candidates, and its key.
    pub(super) fn candidate(&self, epoch: u64, position: &Position, failures: u64) -> (usize, Key) {
        let seed = self.settings.seed;
        if failures == 0 {
            let sample = self.dataset.id(position.index);
            return (position.index, Key { seed, epoch, sample, occurrence: position.occurrence, view: 0 });
        }
        // The chain of replacements depends on (seed, epoch, position) alone.
        let chain = Key { seed, epoch, sample: position.global, occurrence: u32::MAX, view: u32::MAX };
        let index = self.sampler.draw(epoch, position.index, &mut chain.numbers(failures));
        // A replacement has an occurrence of its own: the same sample at its own position has other random numbers.
        let occurrence = 1 << 31 | (position.global as u32 & (u32::MAX >> 1));
        (index, Key { seed, epoch, sample: self.dataset.id(index), occurrence, view: 0 })
    }
}
