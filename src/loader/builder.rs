//! The settings of a loader. `build` reports every mistake, with the setting to change.

mod build;
mod mixing;
mod order;

use super::buffers::{HostBufferHook, HostMemory};
use super::cache::Cache;
use super::{Execute, OnError};
use crate::dataset::Dataset;
use crate::decode::{DecodeOptions, Orientation, SeekIndexes, Truncated};
use crate::plan::{DType, Layout, Output, Semantics};
use crate::recipe::Recipe;
use crate::sampler::{LastBatch, Order};
use crate::transforms::{BatchTransform, Transform};
use std::path::PathBuf;
use std::sync::Arc;

/// Settings of a [`DataLoader`](crate::DataLoader); made by [`DataLoader::builder`](crate::DataLoader::builder).
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
    semantics: Semantics,
    views: usize,
    batch_transform: Option<BatchTransform>,
    batch_size: usize,
    shuffle: bool,
    order: Option<Order>,
    lanes: Option<usize>,
    seed: u64,
    /// Set by hand: rank and world.
    shard: Option<(usize, usize)>,
    shard_auto: bool,
    last_batch: LastBatch,
    workers: Option<usize>,
    queue_depth: usize,
    slot_bytes: u64,
    read_ahead: Option<u64>,
    remote_cache: Option<(PathBuf, u64)>,
    memory_budget: u64,
    host_memory: HostMemory,
    decode: DecodeOptions,
    scaled_decode: bool,
    cache: Cache,
    cache_in_bytes: bool,
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
            semantics: Semantics::Float,
            views: 1,
            batch_transform: None,
            batch_size: 1,
            shuffle: false,
            order: None,
            lanes: None,
            seed: 0,
            shard: None,
            shard_auto: false,
            last_batch: LastBatch::default(),
            workers: None,
            queue_depth: 2,
            slot_bytes: 32 << 20,
            read_ahead: None,
            remote_cache: None,
            memory_budget: 4 << 30,
            host_memory: HostMemory::default(),
            decode: DecodeOptions::default(),
            scaled_decode: false,
            cache: Cache::Off,
            cache_in_bytes: false,
            seek_indexes: SeekIndexes::default(),
            seek_memory: 256 << 20,
            on_error: OnError::default(),
            execute: Execute::default(),
        }
    }

    /// Adds an operator; operators apply in the order in which they are added.
    pub fn transform(mut self, transform: impl Into<Transform>) -> Self {
        self.transforms.push(transform.into());
        // The added operator makes the list differ from the named recipe, so the name is removed.
        self.name.clear();
        self.description.clear();
        self
    }

    /// Adds a recipe's operators, and takes over its output, views and batch transform if it names them. A recipe is a
    /// list such as [`recipe::imagenet_train`](crate::recipe::imagenet_train), or a [`Recipe`] from
    /// [`recipe::load`](crate::recipe::load).
    ///
    /// A later call of [`output`](Self::output), [`views`](Self::views) or [`batch_transform`](Self::batch_transform)
    /// replaces the recipe's setting.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe { name, description, transforms, output, semantics, views, batch_transform } = recipe.into();
        let first = self.transforms.is_empty();
        (self.name, self.description) = if first { (name, description) } else { Default::default() };
        self.transforms.extend(transforms);
        self.output = output.unwrap_or(self.output);
        self.semantics = semantics.unwrap_or(self.semantics);
        if views != 1 {
            self.views = views;
        }
        self.batch_transform = batch_transform.or(self.batch_transform);
        self
    }

    /// Mixes the images of each batch, once all of them are there; off by default. A later call replaces it.
    ///
    /// Every image of a batch is mixed with its [`Partner`](crate::transforms::Partner) in the same view, padding
    /// included. The random numbers depend on the seed, the epoch, and the batch's first position.
    ///
    /// Samples need whole-number classes ([`Label::Class`](crate::Label::Class)).
    /// [`Batch::mixed`](crate::Batch::mixed) and [`Batch::soft_labels`](crate::Batch::soft_labels) have the labels of a
    /// batch, [`Params::mixed`](crate::transforms::Params::mixed) the partner of an image.
    ///
    /// With [`DType::F16`](crate::DType::F16) the CPU executor blends values that are rounded to f16 already, and rounds
    /// the result again; the GPU rounds once.
    ///
    /// ```
    /// use gpufeed::transforms::{BatchTransform, CenterCrop, CutMix, MixUp};
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..4 {
    ///     data.push_pixels(8, 8, PixelFormat::Rgb8, vec![60 * class as u8; 192], Label::Class(class))?;
    /// }
    /// let loader = DataLoader::builder(data)
    ///     .transform(CenterCrop::new(8))
    ///     .batch_transform(BatchTransform::choice([MixUp::new(0.8).into(), CutMix::new(1.0).into()]))
    ///     .batch_size(4)
    ///     .build(&Backend::Cpu)?;
    /// let batch = loader.epoch(0)?.next().unwrap()?;
    /// let (own, partner, lambda) = batch.mixed().unwrap()[1];
    /// assert_eq!((own, partner), (1, 0));
    /// assert_eq!(batch.soft_labels(4)?[4..8], [1.0 - lambda as f32, lambda as f32, 0.0, 0.0]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn batch_transform(self, transform: impl Into<BatchTransform>) -> Self {
        DataLoaderBuilder { batch_transform: Some(transform.into()), ..self }
    }

    /// Images that a batch has of each sample, for contrastive learning: 1 to 64; 1 by default.
    ///
    /// Each sample is read and decoded once; each view has random numbers of its own. The first view's are those of a
    /// loader with one view. `batch_size` counts samples: a batch has `batch_size * views` images, view `v` of sample
    /// `i` at `i * views + v`, with the label and id of its sample. [`FiveCrop`](crate::transforms::FiveCrop) and
    /// [`TenCrop`](crate::transforms::TenCrop) make several images of each view.
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

    /// The arithmetic of the operators: floats by default; [`Semantics::Uint8`] computes as torchvision does on 8-bit
    /// images.
    pub fn semantics(self, semantics: Semantics) -> Self {
        DataLoaderBuilder { semantics, ..self }
    }

    /// Samples in a batch; 1 by default, as in PyTorch.
    pub fn batch_size(self, batch_size: usize) -> Self {
        DataLoaderBuilder { batch_size, ..self }
    }

    /// Gives each epoch its own random order; off by default. Data that are [remote](Dataset::is_remote) need an
    /// [`order`](Self::order) beside it.
    pub fn shuffle(self, shuffle: bool) -> Self {
        DataLoaderBuilder { shuffle, ..self }
    }

    /// The kind of the epochs' order; [`Order::Full`] by default. It does not shuffle by itself: without
    /// [`shuffle`](Self::shuffle), both kinds keep the order of the data set.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, Order, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..40 {
    ///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
    /// }
    /// // Process 1 of 2; 4 and 8 processes would have the same global batches.
    /// let loader = DataLoader::builder(data)
    ///     .transform(CenterCrop::new(4))
    ///     .batch_size(4)
    ///     .shuffle(true)
    ///     .order(Order::Blocks { samples: 5, window: 2 })
    ///     .lanes(8)
    ///     .shard(1, 2)
    ///     .build(&Backend::Cpu)?;
    /// assert!(loader.explain().contains("order: blocks of 5 samples, shuffled in windows of 2, 8 lanes"));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn order(self, order: Order) -> Self {
        DataLoaderBuilder { order: Some(order), ..self }
    }

    /// The lanes of [`Order::Blocks`], which the number of processes has to divide; as many as there are processes by
    /// default. [`Sampler::lanes`](crate::Sampler::lanes) has the details.
    pub fn lanes(self, lanes: usize) -> Self {
        DataLoaderBuilder { lanes: Some(lanes), ..self }
    }

    /// The seed of every random number; 0 by default.
    pub fn seed(self, seed: u64) -> Self {
        DataLoaderBuilder { seed, ..self }
    }

    /// This process's share of each epoch: `rank` of `world` processes. By default all of it, whatever launcher has
    /// started the process.
    pub fn shard(self, rank: usize, world: usize) -> Self {
        DataLoaderBuilder { shard: Some((rank, world)), ..self }
    }

    /// Takes this process's share from the variables of torchrun, Open MPI, MPICH or Slurm, as [`Shard::auto`](crate::Shard::auto) finds it
    /// when the loader is built. [`DataLoader::shard`](crate::DataLoader::shard) and
    /// [`DataLoader::explain`](crate::DataLoader::explain) say by which. Off by default.
    ///
    /// With [`shard`](Self::shard) as well, `build` is an error: rank and world have one source.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..10 {
    ///     data.push_pixels(8, 8, PixelFormat::Rgb8, vec![class as u8; 192], Label::Class(class))?;
    /// }
    /// // Under `torchrun`, `mpirun` or `srun`, each process gets its part of the ten samples.
    /// let loader = DataLoader::builder(data).transform(CenterCrop::new(8)).shard_auto().build(&Backend::Cpu)?;
    /// println!("{}", loader.shard()); // rank 0 of 1 by no launcher
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn shard_auto(self) -> Self {
        DataLoaderBuilder { shard_auto: true, ..self }
    }

    /// The treatment of an epoch's last, incomplete batch; by default it stays incomplete.
    pub fn last_batch(self, last_batch: LastBatch) -> Self {
        DataLoaderBuilder { last_batch, ..self }
    }

    /// Threads that read and decode: 1 to 4096. By default the cores on which this process may run, divided by the
    /// processes that share them: as many as a launcher (torchrun, Open MPI, MPICH, Slurm's `srun`) has started on this
    /// machine, by the variables that it sets, unless it has bound each to cores of its own.
    pub fn workers(self, workers: usize) -> Self {
        DataLoaderBuilder { workers: Some(workers), ..self }
    }

    /// The most batches that wait for the caller: 1 to 4096; 2 by default.
    pub fn queue_depth(self, queue_depth: usize) -> Self {
        DataLoaderBuilder { queue_depth, ..self }
    }

    /// Bytes of a staging slot (GPU only): at least 16 MiB; 32 MiB by default. Batches do not depend on it.
    pub fn slot_bytes(self, slot_bytes: u64) -> Self {
        DataLoaderBuilder { slot_bytes, ..self }
    }

    /// Bytes for output buffers, slots and workspace together; 4 GiB by default.
    pub fn memory_budget(self, memory_budget: u64) -> Self {
        DataLoaderBuilder { memory_budget, ..self }
    }

    /// Bytes of a data set from afar that are in memory or on their way before a worker asks for them: 256 MiB by
    /// default, outside the memory budget. Data sets that are read from this machine have none. Two loaders of one data
    /// set share it: the one that was built last sets it.
    ///
    /// It holds blocks of 8 MiB. With fewer bytes than the blocks of which samples are expected at a time, blocks are
    /// fetched more than once: [`Stats::remote`](crate::Stats::remote) counts them. While workers wait for blocks that
    /// nobody expected, it is exceeded by at most a block for each of them.
    pub fn read_ahead(self, bytes: u64) -> Self {
        DataLoaderBuilder { read_ahead: Some(bytes), ..self }
    }

    /// Keeps what a data set from afar fetches in a folder on this machine, up to so many bytes and a block more for
    /// each process; off by default. Later epochs and runs fetch nothing of what is there.
    ///
    /// Blocks of 8 MiB are there whole or not at all, whenever a process is killed, and their hashes are compared
    /// whenever they are read. Processes that name the same folder share it, and each block is fetched by one of them.
    /// Objects that were used least recently make room, never one that is in use. A folder that cannot be written, a
    /// full disk and a bound below a block are no errors: the data set streams, and a warning says so once. A data set
    /// keeps the first folder that it was given.
    pub fn remote_cache(self, folder: impl Into<PathBuf>, bytes: u64) -> Self {
        DataLoaderBuilder { remote_cache: Some((folder.into(), bytes)), ..self }
    }

    /// Begins and ends each output buffer in host memory at a page's border, so that each can be page-locked by itself:
    /// at multiples of 64 KiB, which the pages of every system divide. Off by default: multiples of 64 bytes. The budget
    /// does not count the bytes between buffers.
    pub fn page_aligned(mut self, page_aligned: bool) -> Self {
        self.host_memory.page_aligned = page_aligned;
        self
    }

    /// Tells `hook` of each output buffer in host memory that is made and freed; only with
    /// [`Backend::Cpu`](crate::Backend::Cpu), as no other batch lies there. None by default.
    pub fn host_buffer_hook(mut self, hook: Arc<dyn HostBufferHook>) -> Self {
        self.host_memory.hook = Some(hook);
        self
    }

    /// The treatment of EXIF orientation; it is applied by default (torchvision ignores it).
    pub fn exif(mut self, exif: Orientation) -> Self {
        self.decode.exif = exif;
        self
    }

    /// The treatment of truncated image files; they fail by default.
    pub fn truncated(mut self, truncated: Truncated) -> Self {
        self.decode.truncated = truncated;
        self
    }

    /// The most pixels that an image may declare; 2^28 by default.
    pub fn max_pixels(mut self, max_pixels: u64) -> Self {
        self.decode.max_pixels = max_pixels;
        self
    }

    /// The most bytes of memory that decoding one image may take, for its pixels and all that its decoder holds; 3 GiB
    /// by default ([`DecodeOptions::max_decode_bytes`] has the details). An image that would take more fails. Each of
    /// the [`workers`](Self::workers) may take as much; [`memory_budget`](Self::memory_budget) does not count it.
    pub fn max_decode_bytes(mut self, max_decode_bytes: u64) -> Self {
        self.decode.max_decode_bytes = max_decode_bytes;
        self
    }

    /// Decodes JPEGs at a half, a quarter or an eighth of their size if a resize reduces them by at least as much; off
    /// by default.
    ///
    /// For data sets of large photographs. It changes pixels: of photographs of 12 megapixels by 0.8 levels of 255 on
    /// average with `Resize(224)`, 1.1 with `RandomResizedCrop(224)`, 1.5 with `Resize(700)`; single ones by up to 40,
    /// at sharp edges. The parameters stay those of the full size, and every output is centred where it would be on the
    /// full image. Only the edges of a crop are rounded, to whole pixels of the smaller image: a crop gains or loses up
    /// to 1, 2 or 4 pixels of the full one.
    ///
    /// It applies to files of gpufeed's own JPEG engine (baseline and extended sequential), for lists whose first stage
    /// has only crops and flips before a resize with antialiasing, such as `Resize` and `RandomResizedCrop`, that
    /// reduces both sides by 2 or more; with several views of a sample, in all of them.
    /// [`Params::scale`](crate::transforms::Params::scale) has the scale of each image.
    pub fn scaled_decode(self, scaled_decode: bool) -> Self {
        DataLoaderBuilder { scaled_decode, ..self }
    }

    /// Stores decoded samples between epochs, in RAM or on the GPU; off by default.
    ///
    /// The cache stores the result of the list's prefix, the transforms before the first random one, which every epoch
    /// computes alike:
    ///
    /// - If the prefix has no [`Resize`](crate::transforms::Resize): the region of the image that the prefix leaves
    ///   visible, in bytes, 3 a pixel in RAM, 4 on the GPU (float pixels stay floats, 16 bytes a pixel).
    /// - If it has one: the result of that `Resize`, or of a `CenterCrop` that follows it. In bytes, as above, if these
    ///   hold it exactly (nearest-neighbour resizes, crops, flips, borders of one of the 256 levels), else in f32, 16
    ///   bytes a pixel.
    /// - If f32 would not give the bits that batches have without a cache: the region of the image in bytes after all.
    ///   This is so in RAM if the GPU augments, after a resize that a `Pad` follows, and on a GPU for outputs of more
    ///   than 4,194,304 pixels.
    ///
    /// [`DataLoader::explain`](crate::DataLoader::explain) shows which form is stored. Batches have the same bits as
    /// without a cache. Some samples are not stored but read in every epoch, into the same batches: those for which
    /// there is no room, those that the CPU executor finishes for the GPU, and on a GPU those whose resized image
    /// exceeds 16 MiB.
    /// [`Stats::cache_hits`](crate::Stats::cache_hits) counts samples that came from the cache,
    /// [`DataLoader::cached`](crate::DataLoader::cached) those that are stored.
    ///
    /// The cache's budget is separate from [`memory_budget`](Self::memory_budget). Pixels that the data set holds in
    /// RAM anyway ([`Dataset::is_in_memory`](crate::Dataset::is_in_memory)) are not stored there a second time.
    ///
    /// ```
    /// use gpufeed::transforms::{RandomCrop, Resize};
    /// use gpufeed::{Backend, Cache, DataLoader, ImageFolder};
    ///
    /// # fn run() -> gpufeed::Result<()> {
    /// let loader = DataLoader::builder(ImageFolder::open("flowers")?)
    ///     .transform(Resize::new(256)) // once
    ///     .transform(RandomCrop::new(224)) // in every epoch
    ///     .cache(Cache::Device(8 << 30))
    ///     .build(&Backend::auto()?)?;
    /// # Ok(()) }
    /// ```
    pub fn cache(self, cache: Cache) -> Self {
        DataLoaderBuilder { cache, ..self }
    }

    /// Makes a [`cache`](Self::cache) round the result of a prefix with a [`Resize`](crate::transforms::Resize) to
    /// bytes: 3 instead of 16 bytes a pixel in RAM, 4 on the GPU. Off by default: only results that bytes hold exactly
    /// are stored in bytes.
    ///
    /// The workers then run the prefix of the list, and round its result to the nearest of 256 levels, as torchvision
    /// stores a resized image: a difference of at most half a level before the transforms that follow, none after
    /// nearest-neighbour resizes of bytes. Values below 0 and above 1, which bicubic resizes and float pixels may have,
    /// are clamped, as torchvision does for bytes. All samples are rounded, also those that are not stored, so batches
    /// depend neither on the budget nor on which samples are cached. The prefix ends before a `Normalize`, whose result
    /// bytes cannot hold. Without a cache, or without a `Resize` in the prefix, this changes nothing.
    ///
    /// ```
    /// use gpufeed::transforms::{RandomCrop, Resize};
    /// use gpufeed::{Backend, Cache, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// data.push_pixels(64, 64, PixelFormat::Rgb8, vec![100; 3 * 64 * 64], Label::Class(0))?;
    /// let loader = DataLoader::builder(data)
    ///     .transform(Resize::new(32))
    ///     .transform(RandomCrop::new(24))
    ///     .batch_size(1)
    ///     .cache(Cache::Host(1 << 20))
    ///     .cache_in_bytes(true)
    ///     .build(&Backend::Cpu)?;
    /// loader.epoch(0)?.try_for_each(|batch| batch.map(drop))?;
    /// assert_eq!(loader.cached(), (1, 3 * 32 * 32));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn cache_in_bytes(self, cache_in_bytes: bool) -> Self {
        DataLoaderBuilder { cache_in_bytes, ..self }
    }

    /// The storage of seek indexes of JPEGs, with which every epoch after the first decodes little more than its crops;
    /// a file in the data set's folder by default.
    pub fn seek_indexes(self, seek_indexes: SeekIndexes) -> Self {
        DataLoaderBuilder { seek_indexes, ..self }
    }

    /// Bytes of memory for seek indexes that are not in a file; 256 MiB by default, enough for 130,000 photographs as
    /// in ImageNet. When it is full, the file is written early; without a file further images get no index.
    pub fn seek_memory(self, seek_memory: u64) -> Self {
        DataLoaderBuilder { seek_memory, ..self }
    }

    /// The treatment of samples that fail; they are replaced by default.
    pub fn on_error(self, on_error: OnError) -> Self {
        DataLoaderBuilder { on_error, ..self }
    }

    /// The executor that augments on a GPU backend. [`Execute::Gpu`] with [`Backend::Cpu`](crate::Backend::Cpu) is an
    /// error.
    pub fn execute(self, execute: Execute) -> Self {
        DataLoaderBuilder { execute, ..self }
    }
}
