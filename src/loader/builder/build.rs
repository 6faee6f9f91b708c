//! Building a loader from its settings: its plan, its executor, its buffers.

use super::groups::Compiled;
use super::{DataLoaderBuilder, mosaic};
use crate::advice::{self, Reason};
use crate::backend::Backend;
use crate::dataset::{Dataset, Field, FieldKind, SampleData, log_notices};
use crate::decode::Decoder;
use crate::error::{Error, Result};
use crate::gpu::target::check_batch;
use crate::gpu::{Export, Gpu};
use crate::launcher::Shard;
use crate::loader::buffers::{BESIDES, Budget, BufferRing, HostBuffer, HostMemory, Workers};
use crate::loader::cache::{self, Cache, DeviceCache, HostCache};
use crate::loader::executor_buffers::{COPY_SLOTS, CopyUp, CpuBuffers};
use crate::loader::feed::SMALL;
use crate::loader::group::Group;
use crate::loader::intermediates::{self, LargeImages};
use crate::loader::moved_objects::ObjectField;
use crate::loader::pipeline::{Execution, Pipeline};
use crate::loader::remote::RemoteParts;
use crate::loader::settings::{LoaderSettings, ShardChoice};
use crate::loader::stats::Counters;
use crate::loader::{DataLoader, Execute, OnError};
use crate::plan::Semantics;
use crate::plan::cpu_fallback::REGION_BYTES;
use crate::plan::split::{CacheMemory, Executor};
use crate::sampler::Sampler;
use crossbeam_channel::bounded;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

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
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the setting's name;
    /// [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset); [`ErrorKind::Snippet`](crate::ErrorKind::Snippet)
    /// for the WGSL of a [`CustomColor`](crate::transforms::CustomColor);
    /// [`ErrorKind::DoesNotFit`](crate::ErrorKind::DoesNotFit) if a batch or a slot exceeds the memory budget or the
    /// adapter; [`ErrorKind::IntermediateTooLarge`](crate::ErrorKind::IntermediateTooLarge) if what lies between the
    /// stages of the plan does for every image; [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the
    /// system has none for the batches; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the GPU has no
    /// memory left for the small buffers of compiling; [`ErrorKind::Device`](crate::ErrorKind::Device) if it refuses a
    /// shader or is lost.
    pub fn build(mut self, backend: &Backend) -> Result<DataLoader> {
        let workers = self.settings.workers.unwrap_or_else(crate::cores::of_this_process);
        self.check_numbers(workers)?;
        let shard = self.chosen_shard()?;
        let sampler = Sampler::new(self.dataset.len(), self.settings.batch_size)?;
        let sampler = self.listed(sampler)?.shuffle(self.settings.shuffle).seed(self.settings.seed);
        let sampler = sampler.shard(shard.rank, shard.world)?.last_batch(self.settings.last_batch)?;
        let mut sampler = self.ordered(sampler)?;
        if let Some(weights) = self.dataset.weights() {
            sampler = sampler.weights(weights)?;
        }
        let fields = self.dataset.fields().to_vec();
        Field::check(&fields)?;
        let compiled = self.compile(backend)?;
        for (number, field) in fields.iter().enumerate().filter(|(_, field)| field.values() == Some(FieldKind::Image)) {
            if !compiled.sources.iter().any(|source| source.field() == Some(number)) {
                tracing::warn!(field = field.name(), "a field of images is read, but no batch has it");
            }
        }
        let mixing = self.recipe.batch_transform.as_ref();
        let objects = ObjectField::of(&fields, &compiled.sources, &compiled.groups, mixing)?;
        let cache = self.settings.cache;
        let mosaic = mosaic::of(&self.recipe, &compiled.groups, &compiled.sources, cache, &*self.dataset)?;
        let most_intermediate = self.settings.memory_budget.max(BESIDES);
        // Batches that do not fit are refused below, by the sizes that are theirs.
        let batches_fit =
            compiled.batch_bytes.saturating_mul(self.settings.queue_depth as u64 + 2) <= self.settings.memory_budget;
        let most = if batches_fit { most_intermediate } else { u64::MAX };
        let least = |group: &Group| intermediates::least(&group.split, most);
        let of_groups = compiled.groups.iter().map(least).collect::<Result<Vec<_>>>()?;
        let a_worker = Workers { count: workers as u64, bytes: of_groups.into_iter().max().unwrap_or(0) };
        let (execution, budget) = self.execution(backend, &compiled, a_worker)?;
        let Compiled { groups, sources, mut recipes, batch_bytes } = compiled;
        // Shaders that were compiled before call nothing on the device, so that its loss has not been noticed.
        execution.executor().gpu().map_or(Ok(()), |gpu| gpu.alive("building a loader"))?;
        let len = self.dataset.len();
        let cache = match (self.settings.cache, &execution) {
            (Cache::Off, _) => cache::CacheStore::Off,
            (Cache::Device(budget), Execution::Gpu(gpu)) => {
                cache::CacheStore::Device(DeviceCache::new(&gpu.gpu, len, budget))
            }
            (Cache::Host(budget) | Cache::Device(budget), _) => cache::CacheStore::Host(HostCache::new(len, budget)),
        };
        for recipe in &mut recipes {
            recipe.semantics = recipe.semantics.filter(|semantics| *semantics != Semantics::Float);
        }
        let recipe = self.whole_recipe(&recipes);
        let of_settings = LoaderSettings {
            shard: (shard != Shard::WHOLE).then_some(ShardChoice::ByHand { rank: shard.rank, world: shard.world }),
            workers: Some(workers),
            ..self.settings.clone()
        };
        // Each group has these itself.
        let settings = match &groups[..] {
            [group] => LoaderSettings {
                layout: Some(group.plan().output().layout),
                dtype: Some(group.plan().output().dtype),
                semantics: Some(group.plan().semantics()),
                arrangement: Some(group.arrangement),
                views: Some(group.views()),
                ..of_settings
            },
            _ => of_settings,
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
            turned_apart: AtomicBool::new(false),
            cache,
            dataset: self.dataset,
            fields,
            objects,
            mosaic,
            outputs: groups.iter().map(|group| group.outputs).sum(),
            batch_bytes,
            groups,
            sources,
            sampler,
            shard,
            batch_transform: self.recipe.batch_transform.clone(),
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
            recipes,
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

    pub(super) fn executor(&self, backend: &Backend) -> Executor {
        match (backend, self.settings.execute) {
            (Backend::Gpu(_), Execute::Gpu) => Executor::Gpu,
            (Backend::Gpu(gpu), Execute::Auto) if !gpu.is_software() => Executor::Gpu,
            _ => Executor::Cpu,
        }
    }

    /// The memory of the cache: host memory if the CPU executor augments.
    pub(super) fn cache_memory(&self, backend: &Backend) -> Option<CacheMemory> {
        match (self.settings.cache, self.executor(backend)) {
            (Cache::Off, _) => None,
            (Cache::Device(_), Executor::Gpu) => Some(CacheMemory::Device),
            (Cache::Host(_), _) | (Cache::Device(_), Executor::Cpu) => Some(CacheMemory::Host),
        }
    }

    fn execution(&self, backend: &Backend, compiled: &Compiled, workers: Workers) -> Result<(Execution, Budget)> {
        // One buffer is being filled, `queue_depth` are ready, one is with the caller.
        let (base, batch) = (self.settings.queue_depth + 2, compiled.batch_bytes);
        if self.export != Export::Off {
            match backend {
                Backend::Gpu(gpu) => gpu.handover().map(drop)?,
                Backend::Cpu => {
                    return Err(Error::argument("export", "the backend is the CPU, whose batches are in host memory"));
                }
            }
        }
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
                let group_bytes = compiled.group_bytes(self.settings.batch_size);
                group_bytes.iter().try_for_each(|&bytes| check_batch(gpu, bytes))?;
                match self.executor(backend) {
                    Executor::Gpu => self.on_gpu(gpu, &compiled.groups, group_bytes, workers, base),
                    Executor::Cpu => self.host_to_gpu(gpu, batch, group_bytes, workers, base),
                }
            }
        }
    }

    fn host_to_gpu(
        &self,
        gpu: &Gpu,
        batch: u64,
        group_bytes: Vec<u64>,
        workers: Workers,
        base: usize,
    ) -> Result<(Execution, Budget)> {
        let copies = batch.saturating_mul(COPY_SLOTS as u64 + 2);
        let budget = Budget::new(self.settings.memory_budget, base, copies, batch, workers)?;
        let outputs = BufferRing::new(base, budget);
        // The caller never sees this ring.
        let memory = HostMemory::default();
        let host = host_ring(2, Budget::unlimited(batch), batch, &memory)?;
        let (gpu, export) = (gpu.clone(), self.export);
        let copy_up = Some(CopyUp { gpu, outputs, group_bytes, export, staging: bounded(1) });
        Ok((Execution::Cpu(Arc::new(CpuBuffers { host, memory, copy_up })), budget))
    }
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
