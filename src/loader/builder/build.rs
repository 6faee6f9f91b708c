//! Building a loader from its settings: its plan, its executor, its buffers.

use super::{DataLoaderBuilder, mixing};
use crate::advice::{self, Reason, Setting};
use crate::backend::Backend;
use crate::dataset::{Dataset, Field, SampleData, log_notices};
use crate::decode::Decoder;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::Gpu;
use crate::gpu::kernels::{Kernels, MixSizes};
use crate::gpu::staging::SLOTS;
use crate::gpu::submission::CACHED_IN_FLIGHT;
use crate::gpu::target::{Target, check_batch, check_made_batch};
use crate::gpu::workspace::Workspace;
use crate::launcher::Shard;
use crate::loader::buffers::{BESIDES, Budget, BufferRing, HostBuffer, HostMemory, Workers};
use crate::loader::cache::{self, Cache, DeviceCache, HostCache};
use crate::loader::executor_buffers::{COPY_SLOTS, CopyUp, CpuBuffers, GpuBuffers};
use crate::loader::feed::SMALL;
use crate::loader::intermediates::{self, LargeImages};
use crate::loader::pipeline::{Execution, Pipeline};
use crate::loader::remote::RemoteParts;
use crate::loader::settings::{LoaderSettings, ShardChoice};
use crate::loader::stats::Counters;
use crate::loader::{DataLoader, Execute, OnError};
use crate::plan::cpu_fallback::REGION_BYTES;
use crate::plan::split::{CacheMemory, CacheSplit, Executor};
use crate::plan::{Plan, Semantics, normalized_twice};
use crate::recipe::{Recipe, check_views};
use crate::sampler::Sampler;
use crossbeam_channel::bounded;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

impl DataLoaderBuilder {
    fn check_numbers(&self, workers: usize) -> Result<()> {
        if !(1..=4096).contains(&workers) {
            return Err(Error::argument("workers", format!("{workers}; 1 to 4096 work")));
        }
        if !(1..=4096).contains(&self.settings.queue_depth) {
            return Err(Error::argument("queue_depth", format!("{}; 1 to 4096 work", self.settings.queue_depth)));
        }
        if self.settings.slot_bytes < REGION_BYTES {
            return Err(Error::argument(
                "slot_bytes",
                format!("{} is too small; {REGION_BYTES} or more work", self.settings.slot_bytes),
            ));
        }
        if self.settings.max_pixels == 0 {
            return Err(Error::argument("max_pixels", "0 refuses every image"));
        }
        if self.settings.max_decode_bytes == 0 {
            return Err(Error::argument("max_decode_bytes", "0 refuses every image"));
        }
        if self.settings.scaled_decode && self.settings.cache != Cache::Off {
            let reason = "cached pixels serve every crop, and need images that are decoded at their full size";
            return Err(Error::argument("cache", Reason::new(reason).advise(advice::WITHOUT_SCALED_DECODE)));
        }
        check_views(self.view_count())?;
        match self.settings.on_error {
            OnError::Skip { max_share } if !(0.0..=1.0).contains(&max_share) => {
                Err(Error::argument("on_error", format!("max_share = {max_share} is not a share; 0 to 1 work")))
            }
            _ => Ok(()),
        }
    }

    /// Checks everything, and compiles the plan and its shaders. The first run makes the GPU's buffers.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] with the setting's name; [`ErrorKind::EmptyDataset`]; [`ErrorKind::Snippet`] for the
    /// WGSL of a [`CustomColor`](crate::transforms::CustomColor); [`ErrorKind::DoesNotFit`] if a batch or a slot
    /// exceeds the memory budget or the adapter; [`ErrorKind::IntermediateTooLarge`] if what lies between the stages of
    /// the plan does for every image; [`ErrorKind::NoHostMemory`] if the system has none for the batches;
    /// [`ErrorKind::OutOfMemory`] if the GPU has no memory left for the small
    /// buffers of compiling; [`ErrorKind::Device`] if it refuses a shader or is lost.
    pub fn build(mut self, backend: &Backend) -> Result<DataLoader> {
        let workers = self.settings.workers.unwrap_or_else(crate::cores::of_this_process);
        self.check_numbers(workers)?;
        let shard = self.chosen_shard()?;
        let mut sampler = Sampler::new(self.dataset.len(), self.settings.batch_size)?
            .shuffle(self.settings.shuffle)
            .seed(self.settings.seed)
            .shard(shard.rank, shard.world)?
            .last_batch(self.settings.last_batch)?;
        sampler = self.ordered(sampler)?;
        if let Some(weights) = self.dataset.weights() {
            sampler = sampler.weights(weights)?;
        }
        if let Some(transform) = &self.recipe.batch_transform {
            mixing::check(transform, &*self.dataset, self.form().dtype)?;
        }
        let fields = self.dataset.fields().to_vec();
        Field::check(&fields)?;
        let (output, semantics, views) = (self.form(), self.arithmetic(), self.view_count());
        let plan = Plan::compile_as(semantics, self.dataset.channels(), &self.recipe.transforms, &output)?;
        if let Some((first, second)) = normalized_twice(&self.recipe.transforms) {
            tracing::warn!(first, second, "Normalize stands twice in the list, and images are normalised by both");
        }
        let without_shaders = plan.without_shaders();
        if !without_shaders.is_empty() {
            if self.settings.execute == Execute::Gpu {
                let reason = Reason::new(format!("there are no shaders for {}", without_shaders.join(", ")));
                return Err(Error::argument("execute", reason.advise(advice::EXECUTE_AUTO_COPIES)));
            }
            self.settings.execute = Execute::Cpu;
        }
        let plan = match backend {
            Backend::Gpu(gpu) if self.executor(backend) == Executor::Gpu => {
                plan.on_device(gpu.caps().traits, self.recipe.batch_transform.is_some())
            }
            _ => plan,
        };
        let size = plan.output_size().ok_or_else(|| plan.sizes_differ())?;
        let outputs = views * plan.crops();
        // Computed in floats, because u64 can overflow: 2^22 pixels a side, 2^64 images.
        let images = self.settings.batch_size as f64 * outputs as f64;
        let too_large = images * plan.image_bytes(size) as f64 > u64::MAX as f64 / 64.0;
        let batch_bytes = if too_large {
            u64::MAX / 64
        } else {
            (self.settings.batch_size * outputs * plan.image_bytes(size)) as u64
        };
        let split =
            CacheSplit::new(plan, self.executor(backend), self.cache_memory(backend), self.settings.cache_in_bytes);
        let most_intermediate = self.settings.memory_budget.max(BESIDES);
        // Batches that do not fit are refused below, by the sizes that are theirs.
        let batches_fit =
            batch_bytes.saturating_mul(self.settings.queue_depth as u64 + 2) <= self.settings.memory_budget;
        let a_worker = intermediates::least(&split, if batches_fit { most_intermediate } else { u64::MAX })?;
        let a_worker = Workers { count: workers as u64, bytes: a_worker };
        let (execution, budget) = self.execution(backend, &split, batch_bytes, a_worker, size)?;
        // Shaders that were compiled before call nothing on the device, so that its loss has not been noticed.
        execution.executor().gpu().map_or(Ok(()), |gpu| gpu.alive("building a loader"))?;
        let len = self.dataset.len();
        let cache = match (self.settings.cache, &execution) {
            (Cache::Off, _) => cache::CacheStore::Off,
            (Cache::Device(budget), Execution::Gpu(gpu)) => {
                cache::CacheStore::Device(DeviceCache::new(gpu.kernels.gpu(), len, budget))
            }
            (Cache::Host(budget) | Cache::Device(budget), _) => cache::CacheStore::Host(HostCache::new(len, budget)),
        };
        let recipe = Recipe {
            output: Some(output),
            semantics: (semantics != Semantics::Float).then_some(semantics),
            views,
            ..self.recipe
        };
        let settings = LoaderSettings {
            shard: (shard != Shard::WHOLE).then_some(ShardChoice::ByHand { rank: shard.rank, world: shard.world }),
            layout: Some(output.layout),
            dtype: Some(output.dtype),
            semantics: Some(semantics),
            views: Some(views),
            workers: Some(workers),
            ..self.settings
        };
        log_notices(&*self.dataset);
        let decoder = Decoder::new(
            settings.decode_options(),
            &settings.seek_indexes,
            self.dataset.folder(),
            settings.seek_memory,
        );
        let pipeline = Pipeline {
            remote: RemoteParts::new(&*self.dataset, settings.read_ahead, settings.remote_cache.as_ref()),
            decoder,
            small_in_memory: is_small_in_memory(&*self.dataset),
            cache,
            dataset: self.dataset,
            fields,
            split,
            size,
            sampler,
            shard,
            outputs,
            batch_transform: recipe.batch_transform.clone(),
            workers,
            most_intermediate,
            large_images: LargeImages::new(budget.share(), most_intermediate),
            execution,
            scratch: bounded(workers),
            stats: Counters::new(workers),
            settings,
        };
        Ok(DataLoader {
            pipeline: Arc::new(pipeline),
            recipe,
            backend: backend.clone(),
            budget,
            next_epoch: AtomicU64::new(0),
        })
    }

    fn chosen_shard(&self) -> Result<Shard> {
        match (self.settings.shard, self.shard_auto) {
            (Some(ShardChoice::ByHand { rank, world }), true) => {
                let reason = format!(
                    "set to rank {rank} of {world}, and to be taken from the launcher's variables; choose one of the two"
                );
                Err(Error::argument("shard", reason))
            }
            (Some(ShardChoice::ByHand { rank, world }), false) => Ok(Shard::by_hand(rank, world)),
            (Some(ShardChoice::Auto), _) | (None, true) => Shard::auto(),
            (None, false) => Ok(Shard::WHOLE),
        }
    }

    fn executor(&self, backend: &Backend) -> Executor {
        match (backend, self.settings.execute) {
            (Backend::Gpu(_), Execute::Gpu) => Executor::Gpu,
            (Backend::Gpu(gpu), Execute::Auto) if !gpu.is_software() => Executor::Gpu,
            _ => Executor::Cpu,
        }
    }

    /// The memory of the cache: host memory if the CPU executor augments.
    fn cache_memory(&self, backend: &Backend) -> Option<CacheMemory> {
        match (self.settings.cache, self.executor(backend)) {
            (Cache::Off, _) => None,
            (Cache::Device(_), Executor::Gpu) => Some(CacheMemory::Device),
            (Cache::Host(_), _) | (Cache::Device(_), Executor::Cpu) => Some(CacheMemory::Host),
        }
    }

    fn execution(
        &self,
        backend: &Backend,
        split: &CacheSplit,
        batch: u64,
        workers: Workers,
        size: (u32, u32),
    ) -> Result<(Execution, Budget)> {
        // One buffer is being filled, `queue_depth` are ready, one is with the caller.
        let base = self.settings.queue_depth + 2;
        match (backend, self.settings.execute) {
            (Backend::Cpu, Execute::Gpu) => {
                let reason = Reason::new("shaders need a GPU, but the backend is the CPU");
                Err(Error::argument("execute", reason.advise(advice::EXECUTE_AUTO)))
            }
            (Backend::Cpu, _) => {
                let budget = Budget::new(self.settings.memory_budget, base, 0, batch, workers)?;
                let memory = self.host_memory.clone();
                let host = host_ring(base, budget, batch, &memory)?;
                Ok((Execution::Cpu(Arc::new(CpuBuffers { host, memory, copy_up: None })), budget))
            }
            (Backend::Gpu(gpu), _) => {
                check_batch(gpu, batch)?;
                match self.executor(backend) {
                    Executor::Gpu => self.on_gpu(gpu, split, batch, workers, size, base),
                    Executor::Cpu => self.host_to_gpu(gpu, batch, workers, base),
                }
            }
        }
    }

    /// The most samples in a staging slot: those of one batch, and the same number that replace failed ones of earlier
    /// batches; fewer where a binding has no room for their parameters.
    fn slot_samples(&self, gpu: &Gpu, plan: &Plan) -> Result<usize> {
        let (outputs, most) = (self.view_count() * plan.crops(), Workspace::most_images(gpu.caps(), plan));
        if most < outputs {
            return Err(ErrorKind::DoesNotFit {
                what: "the parameters of one sample",
                needed: Workspace::bytes_for(plan, outputs, 0),
                limit: gpu.caps().max_binding_bytes,
                whose: "a binding of this adapter",
                settings: &[Setting::Views],
            }
            .into());
        }
        let of_a_slot = (most / outputs / gpu.caps().merged_slots).max(1);
        Ok(self.settings.batch_size.saturating_mul(2).min(of_a_slot))
    }

    /// Bytes that mixing adds to each target; `None` if batches are not mixed.
    fn mix_sizes(&self, gpu: &Gpu, plan: &Plan, size: (u32, u32)) -> Result<Option<MixSizes>> {
        let sizes =
            |_| MixSizes::new(gpu, self.settings.batch_size, self.view_count() * plan.crops(), elements(plan, size));
        self.recipe.batch_transform.as_ref().map(sizes).transpose()
    }

    fn host_to_gpu(&self, gpu: &Gpu, batch: u64, workers: Workers, base: usize) -> Result<(Execution, Budget)> {
        let copies = batch.saturating_mul(COPY_SLOTS as u64 + 2);
        let budget = Budget::new(self.settings.memory_budget, base, copies, batch, workers)?;
        let outputs = BufferRing::new(base, budget);
        // The caller never sees this ring.
        let memory = HostMemory::default();
        let host = host_ring(2, Budget::unlimited(batch), batch, &memory)?;
        let copy_up = Some(CopyUp { gpu: gpu.clone(), outputs, staging: bounded(1) });
        Ok((Execution::Cpu(Arc::new(CpuBuffers { host, memory, copy_up })), budget))
    }

    fn on_gpu(
        &self,
        gpu: &Gpu,
        split: &CacheSplit,
        batch: u64,
        workers: Workers,
        size: (u32, u32),
        base: usize,
    ) -> Result<(Execution, Budget)> {
        let (plan, cached_stage) = split.plan_for_kernels();
        let plan = &plan;
        gpu.caps().check_image(size)?;
        let a_float_image = 16 * u64::from(size.0) * u64::from(size.1);
        let binding = gpu.caps().max_binding_bytes;
        // An image that the CPU executor finishes takes four floats a pixel; all views of a sample are in one slot. The
        // crops of a view share the pixels that they read.
        let a_view = match plan.crops() as u64 {
            1 => a_float_image.max(REGION_BYTES),
            crops => REGION_BYTES + crops * a_float_image,
        };
        let a_sample =
            if self.view_count() * plan.crops() == 1 { a_float_image } else { self.view_count() as u64 * a_view };
        let slot_bytes = self.settings.slot_bytes.max(a_sample);
        let slot_bytes = slot_bytes.checked_next_multiple_of(256).unwrap_or(slot_bytes);
        if slot_bytes > binding {
            let settings: &[_] = match self.view_count() {
                _ if self.settings.slot_bytes > binding => &[Setting::SlotBytes],
                1 => &[Setting::OutputSize],
                _ => &[Setting::Views],
            };
            return Err(ErrorKind::DoesNotFit {
                what: "a slot",
                needed: slot_bytes,
                limit: binding,
                whose: "a binding of this adapter",
                settings,
            }
            .into());
        }
        let slot_samples = self.slot_samples(gpu, plan)?;
        let copies = SLOTS as u64 + u64::from(!gpu.mappable());
        let cached = if matches!(self.settings.cache, Cache::Device(_)) { CACHED_IN_FLIGHT } else { 0 };
        let in_flight = (SLOTS + cached) as u64;
        let submission_images = slot_samples * self.view_count() * plan.crops() * gpu.caps().merged_slots;
        let fixed = slot_bytes.saturating_mul(copies) + Workspace::bytes_for(plan, submission_images, in_flight);
        let mix_sizes = self.mix_sizes(gpu, plan, size)?;
        let a_target = Target::bytes_for(plan, batch) + mix_sizes.map_or(0, |sizes| sizes.bytes());
        let budget = Budget::new(self.settings.memory_budget, base, fixed, a_target, workers)?;
        check_made_batch(gpu, plan, batch)?;
        let outputs = BufferRing::new(base, budget);
        let mut kernels = Kernels::new(gpu, plan, cached_stage)?;
        if let Some(sizes) = mix_sizes {
            kernels = kernels.with_mixer(sizes, (self.view_count() * plan.crops() * elements(plan, size)) as u64)?;
        }
        kernels.warm_up();
        let (slots, resources, sample_images) = (SLOTS, bounded(1), self.view_count() * plan.crops());
        let gpu = GpuBuffers { kernels, outputs, resources, slots, slot_bytes, slot_samples, sample_images };
        Ok((Execution::Gpu(Arc::new(gpu)), budget))
    }
}

/// Elements of an image.
fn elements(plan: &Plan, size: (u32, u32)) -> usize {
    plan.image_bytes(size) / plan.output().dtype.bytes()
}

/// Makes all buffers of a run at once, so that no epoch makes one. The system provides the memory when it is first
/// written.
fn host_ring(base: usize, budget: Budget, batch: u64, memory: &HostMemory) -> Result<Arc<BufferRing<HostBuffer>>> {
    let outputs = BufferRing::new(base, budget);
    outputs.fill(|| HostBuffer::new(usize::try_from(batch).unwrap_or(usize::MAX), memory))?;
    Ok(outputs)
}

/// True if the data set holds pixels in memory, and those of the first sample are few.
fn is_small_in_memory(dataset: &dyn Dataset) -> bool {
    let mut buffer = Vec::new();
    let small =
        |data: &SampleData<'_>| matches!(data, SampleData::Pixels(pixels) if pixels.bytes().len() as u64 <= SMALL);
    dataset.is_in_memory() && dataset.read(0, &mut buffer).is_ok_and(|sample| small(&sample.data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, InMemory, Label, PixelFormat, transforms::CenterCrop};

    fn builder() -> DataLoaderBuilder {
        let mut data = InMemory::new();
        for class in 0..5 {
            data.push_pixels(2, 2, PixelFormat::Rgb8, vec![0; 12], Label::Class(class)).unwrap();
        }
        DataLoader::builder(data).transform(CenterCrop::new(2))
    }

    #[test]
    fn a_shard_has_one_source_and_is_explained() {
        let error = builder().shard(1, 2).shard_auto().build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.starts_with("shard: set to rank 1 of 2, and to be taken from"), "{error}");
        let by_hand = builder().shard(1, 2).build(&Backend::Cpu).unwrap();
        assert!(by_hand.explain().contains("\nshard: rank 1 of 2 by hand\n"), "{}", by_hand.explain());
        assert_eq!((by_hand.shard().rank, by_hand.shard().world, by_hand.len()), (1, 2, 3));
        let whole = builder().build(&Backend::Cpu).unwrap();
        assert_eq!(whole.shard(), Shard::WHOLE);
        assert!(!whole.explain().contains("shard"), "{}", whole.explain());
    }
}
