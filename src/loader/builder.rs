//! The settings of a loader; every mistake is reported by `build`, with the setting to change.

use super::budget::Budget;
use super::host::HostBuffer;
use super::line::{Execution, Line};
use super::outputs::Outputs;
use super::stats::Counters;
use super::{DataLoader, Execute, OnError};
use crate::backend::Backend;
use crate::dataset::Dataset;
use crate::decode::seek::Store;
use crate::decode::{DecodeOptions, Orientation, SeekIndexes, Truncated};
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernels, Target, check_batch};
use crate::gpu::limits::REGION_BYTES;
use crate::gpu::workspace::Workspace;
use crate::plan::{DType, Layout, Output, Plan};
use crate::recipe::{Recipe, check_views};
use crate::sampler::{LastBatch, Sampler};
use crate::transforms::Transform;
use crossbeam_channel::bounded;
use std::sync::Arc;

/// Slots of the ring: one is filled, one is read, one is on its way back.
const SLOTS: usize = 3;
/// Staging buffers for finished batches.
pub(super) const COPY_SLOTS: usize = 2;

/// Settings of a [`DataLoader`]; made by [`DataLoader::builder`].
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DType, DataLoader, InMemory, Label, LastBatch, Layout, PixelFormat};
///
/// let mut data = InMemory::new();
/// data.push_pixels(9, 9, PixelFormat::Rgb8, vec![0; 243], Label::None)?;
/// let loader = DataLoader::builder(data)
///     .transform(CenterCrop::new(8))
///     .output(Layout::Nhwc, DType::U8)
///     .batch_size(4)
///     .last_batch(LastBatch::Pad)
///     .workers(2)
///     .build(&Backend::Cpu)?;
/// assert_eq!(loader.len(), 1);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct DataLoaderBuilder {
    dataset: Arc<dyn Dataset>,
    name: String,
    description: String,
    transforms: Vec<Transform>,
    output: Output,
    views: usize,
    batch_size: usize,
    shuffle: bool,
    seed: u64,
    shard: (usize, usize),
    last_batch: LastBatch,
    workers: Option<usize>,
    queue_depth: usize,
    slot_bytes: u64,
    memory_budget: u64,
    decode: DecodeOptions,
    seek_indexes: SeekIndexes,
    seek_memory: u64,
    on_error: OnError,
    execute: Execute,
}

impl std::fmt::Debug for DataLoaderBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataLoaderBuilder").field("transforms", &self.transforms).finish_non_exhaustive()
    }
}

impl DataLoaderBuilder {
    pub(super) fn new(dataset: Arc<dyn Dataset>) -> Self {
        DataLoaderBuilder {
            dataset,
            name: String::new(),
            description: String::new(),
            transforms: Vec::new(),
            output: Output::default(),
            views: 1,
            batch_size: 1,
            shuffle: false,
            seed: 0,
            shard: (0, 1),
            last_batch: LastBatch::default(),
            workers: None,
            queue_depth: 2,
            slot_bytes: 32 << 20,
            memory_budget: 4 << 30,
            decode: DecodeOptions::default(),
            seek_indexes: SeekIndexes::default(),
            seek_memory: 256 << 20,
            on_error: OnError::default(),
            execute: Execute::default(),
        }
    }

    /// Adds an operator; they apply in the order in which they are added.
    pub fn transform(mut self, transform: impl Into<Transform>) -> Self {
        self.transforms.push(transform.into());
        // No longer what the name says.
        self.name.clear();
        self.description.clear();
        self
    }

    /// Adds a recipe's operators, and takes over its output and views where it names them: a list such as
    /// [`recipe::imagenet_train`](crate::recipe::imagenet_train), or a [`Recipe`] by [`recipe::load`](crate::recipe::load).
    ///
    /// What is set after it, by [`output`](Self::output) or [`views`](Self::views), replaces what it says.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe { name, description, transforms, output, views } = recipe.into();
        let first = self.transforms.is_empty();
        (self.name, self.description) = if first { (name, description) } else { Default::default() };
        self.transforms.extend(transforms);
        self.output = output.unwrap_or(self.output);
        if views != 1 {
            self.views = views;
        }
        self
    }

    /// Images that a batch has of each sample, for contrastive learning; 1 by default, up to 64.
    ///
    /// Each sample is read and decoded once; each view draws random numbers of its own. The first view's are those of a
    /// loader with one view. `batch_size` counts samples: a batch has `batch_size * views` images, view `v` of sample
    /// `i` at `i * views + v`, with its sample's label and id.
    ///
    /// ```
    /// use gpufeed::transforms::RandomCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..4 {
    ///     data.push_pixels(9, 9, PixelFormat::Rgb8, vec![class as u8; 243], Label::Class(class))?;
    /// }
    /// let loader = DataLoader::builder(data).transform(RandomCrop::new(4)).batch_size(4).views(2).build(&Backend::Cpu)?;
    /// let batch = loader.epoch(0)?.next().unwrap()?;
    /// assert_eq!(batch.shape(), [8, 3, 4, 4]);
    /// assert_eq!(batch.classes().unwrap(), [0, 0, 1, 1, 2, 2, 3, 3]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn views(self, views: usize) -> Self {
        DataLoaderBuilder { views, ..self }
    }

    /// Layout and type of the batches; NCHW in f32 by default.
    pub fn output(self, layout: Layout, dtype: DType) -> Self {
        DataLoaderBuilder { output: Output { layout, dtype }, ..self }
    }

    /// Samples in a batch; 1 by default, as torch's.
    pub fn batch_size(self, batch_size: usize) -> Self {
        DataLoaderBuilder { batch_size, ..self }
    }

    /// Whether each epoch has its own order; off by default.
    pub fn shuffle(self, shuffle: bool) -> Self {
        DataLoaderBuilder { shuffle, ..self }
    }

    /// Fixes every random number; 0 by default.
    pub fn seed(self, seed: u64) -> Self {
        DataLoaderBuilder { seed, ..self }
    }

    /// This process's part of each epoch: `rank` of `world`.
    pub fn shard(self, rank: usize, world: usize) -> Self {
        DataLoaderBuilder { shard: (rank, world), ..self }
    }

    /// What becomes of an epoch's last, incomplete batch; it stays incomplete by default.
    pub fn last_batch(self, last_batch: LastBatch) -> Self {
        DataLoaderBuilder { last_batch, ..self }
    }

    /// Threads that decode; the machine's cores by default.
    pub fn workers(self, workers: usize) -> Self {
        DataLoaderBuilder { workers: Some(workers), ..self }
    }

    /// Ready batches at most; 2 by default.
    pub fn queue_depth(self, queue_depth: usize) -> Self {
        DataLoaderBuilder { queue_depth, ..self }
    }

    /// Bytes of a staging slot (GPU only); 32 MiB by default, 16 MiB at least. Changes no batch.
    pub fn slot_bytes(self, slot_bytes: u64) -> Self {
        DataLoaderBuilder { slot_bytes, ..self }
    }

    /// Bytes for output buffers, slots and workspace together; 4 GiB by default.
    pub fn memory_budget(self, memory_budget: u64) -> Self {
        DataLoaderBuilder { memory_budget, ..self }
    }

    /// Whether EXIF orientation is applied; it is by default (torchvision ignores it).
    pub fn exif(mut self, exif: Orientation) -> Self {
        self.decode.exif = exif;
        self
    }

    /// What becomes of image files that are cut short; they count as bad by default.
    pub fn truncated(mut self, truncated: Truncated) -> Self {
        self.decode.truncated = truncated;
        self
    }

    /// The most pixels that an image may declare; 2^28 by default.
    pub fn max_pixels(mut self, max_pixels: u64) -> Self {
        self.decode.max_pixels = max_pixels;
        self
    }

    /// Where the seek indexes of JPEGs are kept, which make every epoch after the first decode little more than its crops; a file in the data set's folder by default.
    pub fn seek_indexes(self, seek_indexes: SeekIndexes) -> Self {
        DataLoaderBuilder { seek_indexes, ..self }
    }

    /// Bytes of memory for seek indexes that are not in a file; 256 MiB by default, enough for a quarter of a million photographs. When it is full, the file is written early; without a file further images
    /// get no index.
    pub fn seek_memory(self, seek_memory: u64) -> Self {
        DataLoaderBuilder { seek_memory, ..self }
    }

    /// What becomes of samples that fail; they are replaced by default.
    pub fn on_error(self, on_error: OnError) -> Self {
        DataLoaderBuilder { on_error, ..self }
    }

    /// Which executor augments on a GPU backend.
    pub fn execute(self, execute: Execute) -> Self {
        DataLoaderBuilder { execute, ..self }
    }

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
        let sampler = Sampler::new(self.dataset.len(), self.batch_size)?
            .shuffle(self.shuffle)
            .seed(self.seed)
            .shard(rank, world)?
            .last_batch(self.last_batch)?;
        let plan = Plan::compile_for(self.dataset.channels(), &self.transforms, &self.output)?;
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
        let recipe = Recipe {
            name: self.name,
            description: self.description,
            transforms: self.transforms,
            output: Some(self.output),
            views: self.views,
        };
        let line = Line {
            seek: Store::open(&self.seek_indexes, self.dataset.folder(), self.seek_memory).map(Arc::new),
            dataset: self.dataset,
            plan,
            size,
            sampler,
            seed: self.seed,
            batch_size: self.batch_size,
            views: self.views,
            decode: self.decode,
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

    fn execution(&self, backend: &Backend, plan: &Plan, batch: u64, size: (u32, u32)) -> Result<(Execution, Budget)> {
        // One is filled, `queue_depth` are ready, one is with the caller.
        let base = self.queue_depth + 2;
        let budget = |fixed: u64, output: u64| Budget::new(self.memory_budget, base, fixed, output);
        match (backend, self.execute) {
            (Backend::Cpu, Execute::Gpu) => Err(Error::argument("execute", "Execute::Gpu needs Backend::Gpu")),
            (Backend::Cpu, _) => {
                let budget = budget(0, batch)?;
                let outputs = host_ring(base, budget, batch);
                Ok((Execution::Host { outputs }, budget))
            }
            (Backend::Gpu(gpu), execute) => {
                check_batch(gpu, batch)?;
                let on_cpu = execute == Execute::Cpu || (execute == Execute::Auto && gpu.is_software());
                if on_cpu { self.host_to_gpu(gpu, batch, base) } else { self.on_gpu(gpu, plan, batch, size, base) }
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
        let fixed = slot_bytes * copies + Workspace::bytes_for(plan, 2 * self.batch_size * self.views, SLOTS as u64);
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
