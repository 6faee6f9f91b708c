//! What the settings of a loader make of it: its plan, its executor, its buffers.

use super::DataLoaderBuilder;
use crate::backend::Backend;
use crate::dataset::{Dataset, SampleData};
use crate::decode::seek::{Saver, Store};
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernels, Target, check_batch};
use crate::gpu::limits::{INTERMEDIATE_BYTES, REGION_BYTES};
use crate::gpu::submission::KEPT_IN_FLIGHT;
use crate::gpu::workspace::Workspace;
use crate::loader::budget::Budget;
use crate::loader::cache::{self, Cache, DeviceCache, HostCache};
use crate::loader::feed::SMALL;
use crate::loader::host::HostBuffer;
use crate::loader::line::{COPY_SLOTS, Execution, Line};
use crate::loader::outputs::Outputs;
use crate::loader::stats::Counters;
use crate::loader::{DataLoader, Execute, OnError};
use crate::plan::Plan;
use crate::plan::head::Behind;
use crate::recipe::{Recipe, check_views};
use crate::sampler::Sampler;
use crossbeam_channel::bounded;
use std::sync::Arc;

/// Slots of the ring: one is filled, one is read, one is on its way back.
const SLOTS: usize = 3;

impl DataLoaderBuilder {
    fn check_numbers(&self, workers: usize) -> Result<()> {
        if !(1..=4096).contains(&workers) {
            return Err(Error::argument("workers", format!("{workers}; 1 to 4096 work")));
        }
        if !(1..=4096).contains(&self.queue_depth) {
            return Err(Error::argument("queue_depth", format!("{}; 1 to 4096 work", self.queue_depth)));
        }
        if self.slot_bytes < REGION_BYTES {
            return Err(Error::argument("slot_bytes", format!("{}; {REGION_BYTES} at least", self.slot_bytes)));
        }
        if self.decode.max_pixels == 0 {
            return Err(Error::argument("max_pixels", "0 refuses every image"));
        }
        if self.decode.max_decode_bytes == 0 {
            return Err(Error::argument("max_decode_bytes", "0 refuses every image"));
        }
        if self.scaled_decode && self.cache != Cache::Off {
            let reason = "not together with scaled_decode(true): what is kept serves every crop, so it has full size";
            return Err(Error::argument("cache", reason));
        }
        check_views(self.views)?;
        match self.on_error {
            OnError::Skip { max_share } if !(0.0..=1.0).contains(&max_share) => {
                Err(Error::argument("on_error", format!("max_share = {max_share} is no share; 0 to 1 work")))
            }
            _ => Ok(()),
        }
    }

    /// Checks everything, compiles the plan, allocates GPU buffers.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] with the setting's name; [`ErrorKind::EmptyDataset`]; [`ErrorKind::Snippet`] for the
    /// WGSL of a [`CustomColor`](crate::transforms::CustomColor); [`ErrorKind::DoesNotFit`] if a batch or a slot
    /// exceeds the memory budget or the adapter; [`ErrorKind::OutOfMemory`] if the GPU has no memory left for a buffer;
    /// [`ErrorKind::Device`] if it refuses a shader or is lost.
    pub fn build(self, backend: &Backend) -> Result<DataLoader> {
        let workers = self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        self.check_numbers(workers)?;
        let (rank, world) = self.shard;
        let mut sampler = Sampler::new(self.dataset.len(), self.batch_size)?
            .shuffle(self.shuffle)
            .seed(self.seed)
            .shard(rank, world)?
            .last_batch(self.last_batch)?;
        if let Some(weights) = self.dataset.weights() {
            sampler = sampler.weights(weights)?;
        }
        let mut plan = Plan::compile_for(self.dataset.channels(), &self.transforms, &self.output)?;
        if self.cache != Cache::Off {
            // Floats are kept by the executor that makes them: each has bits of its own.
            let on_gpu = self.augments_on_gpu(backend);
            let device = matches!(self.cache, Cache::Device(_));
            // Behind the border an image as large as the output is an intermediate, too.
            let fits = plan.output_size().is_none_or(|(w, h)| 16 * u64::from(w) * u64::from(h) <= INTERMEDIATE_BYTES);
            plan = plan.with_head(match self.cache_in_bytes {
                true => Behind::Bytes,
                false if !on_gpu || (device && fits) => Behind::Floats,
                false if fits => Behind::Exact,
                false => Behind::Nothing,
            });
        }
        let Some(size) = plan.output_size() else {
            let reason = "images of a batch must have one size: end with RandomResizedCrop, RandomCrop, CenterCrop or Resize((height, width))";
            return Err(Error::argument("transforms", reason));
        };
        // In floats, in case u64 overflows: 2^22 pixels a side, 2^64 images.
        let images = self.batch_size as f64 * self.views as f64;
        let too_large = images * plan.image_bytes(size) as f64 > u64::MAX as f64 / 64.0;
        let batch_bytes =
            if too_large { u64::MAX / 64 } else { (self.batch_size * self.views * plan.image_bytes(size)) as u64 };
        let (execution, budget) = self.execution(backend, &plan, batch_bytes, size)?;
        let len = self.dataset.len();
        let cache = match (self.cache, &execution) {
            (Cache::Off, _) => cache::Store::Off,
            (Cache::Device(budget), Execution::Gpu { kernels, .. }) => {
                cache::Store::Device(DeviceCache::new(kernels.gpu(), len, budget))
            }
            (Cache::Host(budget) | Cache::Device(budget), _) => cache::Store::Host(HostCache::new(len, budget)),
        };
        let recipe = Recipe {
            name: self.name,
            description: self.description,
            transforms: self.transforms,
            output: Some(self.output),
            views: self.views,
        };
        let line = Line {
            seek: Store::open(&self.seek_indexes, self.dataset.folder(), self.seek_memory).map(Saver::new),
            small_in_memory: is_small_in_memory(&*self.dataset),
            cache,
            dataset: self.dataset,
            plan,
            size,
            sampler,
            seed: self.seed,
            batch_size: self.batch_size,
            views: self.views,
            decode: self.decode,
            scaled_decode: self.scaled_decode,
            on_error: self.on_error,
            workers,
            queue_depth: self.queue_depth,
            execution,
            scratch: bounded(workers),
            stats: Counters::new(workers),
        };
        // Under error scopes, before any thread: what the GPU cannot hold is an error of `build`.
        match &line.execution {
            Execution::Host { .. } => {}
            Execution::HostToGpu { .. } => line.return_copy_staging(line.take_copy_staging()?),
            Execution::Gpu { .. } => line.return_resources(line.take_resources()?),
        }
        Ok(DataLoader { line: Arc::new(line), recipe, backend: backend.clone(), budget })
    }

    /// Whether shaders augment, not the workers.
    fn augments_on_gpu(&self, backend: &Backend) -> bool {
        match backend {
            Backend::Cpu => false,
            Backend::Gpu(gpu) => self.execute == Execute::Gpu || (self.execute == Execute::Auto && !gpu.is_software()),
        }
    }

    fn execution(&self, backend: &Backend, plan: &Plan, batch: u64, size: (u32, u32)) -> Result<(Execution, Budget)> {
        // One is filled, `queue_depth` are ready, one is with the caller.
        let base = self.queue_depth + 2;
        let budget = |fixed: u64, output: u64| Budget::new(self.memory_budget, base, fixed, output);
        match (backend, self.execute) {
            (Backend::Cpu, Execute::Gpu) => {
                let reason = "Execute::Gpu needs a GPU, but the loader was built with Backend::Cpu; Execute::Auto works with both";
                Err(Error::argument("execute", reason))
            }
            (Backend::Cpu, _) => {
                let budget = budget(0, batch)?;
                let outputs = host_ring(base, budget, batch);
                Ok((Execution::Host { outputs }, budget))
            }
            (Backend::Gpu(gpu), _) => {
                check_batch(gpu, batch)?;
                if self.augments_on_gpu(backend) {
                    self.on_gpu(gpu, &plan.for_kernels(), batch, size, base)
                } else {
                    self.host_to_gpu(gpu, batch, base)
                }
            }
        }
    }

    fn host_to_gpu(&self, gpu: &Gpu, batch: u64, base: usize) -> Result<(Execution, Budget)> {
        let budget = Budget::new(self.memory_budget, base, batch * (COPY_SLOTS as u64 + 2), batch)?;
        let outputs = Outputs::new(base, budget);
        (0..base).try_for_each(|_| Target::plain(gpu, batch).map(|target| outputs.add(target)))?;
        let host = host_ring(2, Budget::unlimited(batch), batch);
        Ok((Execution::HostToGpu { gpu: gpu.clone(), host, outputs, pool: bounded(1) }, budget))
    }

    fn on_gpu(&self, gpu: &Gpu, plan: &Plan, batch: u64, size: (u32, u32), base: usize) -> Result<(Execution, Budget)> {
        let limits = gpu.device().limits();
        let a_float_image = 16 * u64::from(size.0) * u64::from(size.1);
        let binding = limits.max_storage_buffer_binding_size;
        // An image that the CPU has reduced takes four floats a pixel; the views of a sample are in one slot.
        let a_sample =
            if self.views == 1 { a_float_image } else { self.views as u64 * a_float_image.max(REGION_BYTES) };
        let slot_bytes = self.slot_bytes.max(a_sample).next_multiple_of(256);
        if slot_bytes > binding {
            let setting = match self.views {
                _ if self.slot_bytes > binding => "slot_bytes",
                1 => "the output size",
                _ => "views",
            };
            return Err(ErrorKind::DoesNotFit {
                what: "a slot",
                needed: slot_bytes,
                limit: binding,
                whose: "what a binding of this adapter holds",
                setting,
            }
            .into());
        }
        let copies = SLOTS as u64 + u64::from(!gpu.mappable());
        let kept = if matches!(self.cache, Cache::Device(_)) { KEPT_IN_FLIGHT } else { 0 };
        let in_flight = (SLOTS + kept) as u64;
        let fixed = slot_bytes * copies + Workspace::bytes_for(plan, 2 * self.batch_size * self.views, in_flight);
        let budget = Budget::new(self.memory_budget, base, fixed, Target::bytes_for(plan, batch))?;
        let largest = Target::bytes_for(plan, batch).saturating_sub(batch).max(batch);
        check_batch(gpu, largest)?;
        let outputs = Outputs::new(base, budget);
        let kernels = Box::new(Kernels::new(gpu, plan)?);
        (0..base).try_for_each(|_| Target::new(gpu, plan, batch).map(|target| outputs.add(target)))?;
        Ok((Execution::Gpu { kernels, outputs, pool: bounded(1), slots: SLOTS, slot_bytes }, budget))
    }
}

/// All made here, so that no epoch makes one; the system gives the memory when it is first written.
fn host_ring(base: usize, budget: Budget, batch: u64) -> Arc<Outputs<HostBuffer>> {
    let outputs = Outputs::new(base, budget);
    (0..base).for_each(|_| outputs.add(HostBuffer::new(batch as usize)));
    outputs
}

/// Whether the data set holds pixels in memory, and those of the first sample are few.
fn is_small_in_memory(dataset: &dyn Dataset) -> bool {
    let mut buffer = Vec::new();
    let small =
        |data: &SampleData<'_>| matches!(data, SampleData::Pixels(pixels) if pixels.bytes().len() as u64 <= SMALL);
    dataset.is_in_memory() && dataset.read(0, &mut buffer).is_ok_and(|sample| small(&sample.data))
}
