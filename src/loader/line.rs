//! What the threads of a run share: everything immutable, and the pools that outlive a run.

use super::OnError;
use super::cache;
use super::host::HostBuffer;
use super::outputs::{Lease, Outputs, Run};
use super::scratch::Scratch;
use super::stats::{Capacities, Counters};
use crate::dataset::Dataset;
use crate::decode::DecodeOptions;
use crate::decode::seek;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernels, Target};
use crate::gpu::staging::Staging;
use crate::gpu::submission::Resources;
use crate::plan::Plan;
use crate::sampler::Sampler;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Staging buffers for finished batches.
pub(super) const COPY_SLOTS: usize = 2;

/// Everything immutable that the threads of a run share, and the pools that outlive a run.
pub(super) struct Line {
    pub(super) dataset: Arc<dyn Dataset>,
    pub(super) plan: Plan,
    /// (width, height) of every output.
    pub(super) size: (u32, u32),
    pub(super) sampler: Sampler,
    pub(super) seed: u64,
    pub(super) batch_size: usize,
    /// Images that a batch has of each sample.
    pub(super) views: usize,
    pub(super) decode: DecodeOptions,
    /// Whether JPEGs may be decoded smaller than they are.
    pub(super) scaled_decode: bool,
    /// Seek indexes, where they are wanted.
    pub(super) seek: Option<seek::Saver>,
    pub(super) cache: cache::Store,
    /// Whether the data set holds pixels of small images in memory, as far as its first sample tells.
    pub(super) small_in_memory: bool,
    pub(super) on_error: OnError,
    pub(super) workers: usize,
    pub(super) queue_depth: usize,
    pub(super) execution: Execution,
    /// Workers' memory between runs, so that an epoch after the first allocates nothing.
    pub(super) scratch: (Sender<Scratch>, Receiver<Scratch>),
    pub(super) stats: Counters,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("plan", &self.plan).field("sampler", &self.sampler).finish_non_exhaustive()
    }
}

/// Who augments, and with what.
#[derive(Debug)]
pub(super) enum Execution {
    /// The workers, for the host.
    Host { outputs: Arc<Outputs<HostBuffer>> },
    /// The workers; finished batches are copied up.
    HostToGpu {
        gpu: Gpu,
        host: Arc<Outputs<HostBuffer>>,
        outputs: Arc<Outputs<Target>>,
        pool: (Sender<Staging>, Receiver<Staging>),
    },
    /// The GPU.
    Gpu {
        kernels: Box<Kernels>,
        outputs: Arc<Outputs<Target>>,
        pool: (Sender<Resources>, Receiver<Resources>),
        slots: usize,
        slot_bytes: u64,
    },
}

/// A run's parts in the rings of the execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) outputs: Arc<Run>,
    /// Host memory whose content is copied up.
    pub(super) host: Arc<Run>,
}

impl Line {
    pub(super) fn batch_bytes(&self) -> u64 {
        (self.batch_size * self.sample_bytes()) as u64
    }

    /// All views of a sample.
    pub(super) fn sample_bytes(&self) -> usize {
        self.views * self.plan.image_bytes(self.size)
    }

    /// Of the queues of a run.
    pub(super) fn capacities(&self) -> Capacities {
        // Deep enough that no worker waits for the next job, of which a thousand small ones take a millisecond, and
        // short enough that little is announced ahead.
        let jobs = (16 * self.workers).min(self.batch_size / 2).max(2 * self.workers);
        // As many as there are output buffers, and those that the jobs ahead belong to.
        let announced = self.queue_depth + 4 + (jobs + self.workers).div_ceil(self.batch_size);
        Capacities { jobs, inbox: 4 * self.workers + 16, ready: self.queue_depth, announced }
    }

    pub(super) fn sample_elements(&self) -> u64 {
        u64::from(self.size.0) * u64::from(self.size.1) * u64::from(self.plan.channels()) * self.views as u64
    }

    /// Samples in a slot at the most: a batch's, and as many that failed late in batches before it.
    pub(super) fn slot_samples(&self) -> usize {
        2 * self.batch_size
    }

    pub(super) fn take_scratch(&self) -> Scratch {
        self.scratch.1.try_recv().unwrap_or_default()
    }

    pub(super) fn return_scratch(&self, scratch: Scratch) {
        // Full only after runs beside each other have ended: the surplus is dropped.
        let _ = self.scratch.0.try_send(scratch);
    }

    /// After a run, while its workers' memory is at rest.
    pub(super) fn level_scratch(&self) {
        let mut all: Vec<Scratch> = self.scratch.1.try_iter().collect();
        // A worker that began when another had ended went on with its memory.
        all.resize_with(self.workers, Scratch::default);
        Scratch::level(&mut all);
        all.into_iter().for_each(|scratch| self.return_scratch(scratch));
    }

    /// Whether the workers augment.
    pub(super) fn augments_on_cpu(&self) -> bool {
        !matches!(self.execution, Execution::Gpu { .. })
    }

    /// The device, where there is one.
    fn gpu(&self) -> Option<&Gpu> {
        match &self.execution {
            Execution::Host { .. } => None,
            Execution::HostToGpu { gpu, .. } => Some(gpu),
            Execution::Gpu { kernels, .. } => Some(kernels.gpu()),
        }
    }

    /// A run begins; `leave` ends it.
    pub(super) fn enter(&self) -> Result<()> {
        self.gpu().map_or(Ok(()), |gpu| gpu.alive("starting a run"))?;
        match &self.execution {
            Execution::Host { outputs } => outputs.enter(),
            Execution::HostToGpu { host, outputs, .. } => outputs.enter().and_then(|()| host.enter()),
            Execution::Gpu { outputs, .. } => outputs.enter(),
        }
    }

    pub(super) fn leave(&self) {
        match &self.execution {
            Execution::Host { outputs } => outputs.leave(),
            Execution::HostToGpu { host, outputs, .. } => {
                outputs.leave();
                host.leave();
            }
            Execution::Gpu { outputs, .. } => outputs.leave(),
        }
    }

    /// Memory for the workers to fill (`Some(None)` where a GPU augments); `None` once the run is stopped.
    pub(super) fn take_host_buffer(&self, runs: &Runs, stop: &AtomicBool) -> Result<Option<Option<Lease<HostBuffer>>>> {
        let (ring, run) = match &self.execution {
            Execution::Host { outputs } => (outputs, &runs.outputs),
            Execution::HostToGpu { host, .. } => (host, &runs.host),
            Execution::Gpu { .. } => return Ok(Some(None)),
        };
        let bytes = self.batch_bytes() as usize;
        Ok(ring.take(run, stop, || Ok(HostBuffer::new(bytes)))?.map(Some))
    }

    pub(super) fn take_copy_staging(&self) -> Result<Staging> {
        let Execution::HostToGpu { gpu, pool, .. } = &self.execution else { return Err(not_that_execution()) };
        match pool.1.try_recv() {
            Ok(staging) => Ok(staging),
            Err(_) => Staging::new(gpu, COPY_SLOTS, self.batch_bytes().next_multiple_of(4), false),
        }
    }

    pub(super) fn return_copy_staging(&self, staging: Staging) {
        if let Execution::HostToGpu { pool, .. } = &self.execution {
            let _ = pool.0.try_send(staging);
        }
    }

    pub(super) fn take_resources(&self) -> Result<Resources> {
        let Execution::Gpu { kernels, pool, slots, slot_bytes, .. } = &self.execution else {
            return Err(not_that_execution());
        };
        if let Ok(resources) = pool.1.try_recv() {
            return Ok(resources);
        }
        Resources::new(kernels, *slots, *slot_bytes, self.slot_samples() * self.views)
    }

    pub(super) fn return_resources(&self, resources: Resources) {
        if let Execution::Gpu { pool, .. } = &self.execution {
            let _ = pool.0.try_send(resources);
        }
    }
}

fn not_that_execution() -> Error {
    Error::argument("execute", "the line was built for another executor")
}
