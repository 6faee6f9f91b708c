//! The settings of a loader; every mistake is reported by `build`, with the setting to change.

mod build;

use super::cache::Cache;
use super::{Execute, OnError};
use crate::dataset::Dataset;
use crate::decode::{DecodeOptions, Orientation, SeekIndexes, Truncated};
use crate::plan::{DType, Layout, Output};
use crate::recipe::Recipe;
use crate::sampler::LastBatch;
use crate::transforms::Transform;
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
            scaled_decode: false,
            cache: Cache::Off,
            cache_in_bytes: false,
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

    /// The most bytes of memory that decoding one image may take, for its pixels and all that its decoder holds; 3 GiB by
    /// default ([`DecodeOptions::max_decode_bytes`] says more). An image that would take more counts as bad. Each of the
    /// [`workers`](Self::workers) may take as much; [`memory_budget`](Self::memory_budget) does not count it.
    pub fn max_decode_bytes(mut self, max_decode_bytes: u64) -> Self {
        self.decode.max_decode_bytes = max_decode_bytes;
        self
    }

    /// Whether JPEGs are decoded at a half, a quarter or an eighth of their size where a resize reduces them by as much at
    /// least; off by default.
    ///
    /// For data sets of large photographs. It changes pixels: of photographs of 12 megapixels by 0.8 levels of 255 on
    /// average with `Resize(224)`, 1.1 with `RandomResizedCrop(224)`, 1.5 with `Resize(700)`; single ones by up to 40,
    /// at sharp edges. The numbers that are drawn do not change, nor what they mean: they are those of the full size,
    /// and every output is centred where it would be on the full image. Only where a crop ends is rounded, to whole
    /// pixels of the smaller image: up to 1, 2 or 4 of the full one come in or stay out.
    ///
    /// Scaled are files of our own JPEG engine (baseline and extended sequential), for lists whose first stage resizes
    /// with antialiasing, such as `Resize` and `RandomResizedCrop`, after nothing but crops and flips, and reduces both
    /// sides by 2 or more; of several views of a sample, all. [`Params::scale`](crate::transforms::Params::scale) says
    /// what became of each image.
    pub fn scaled_decode(self, scaled_decode: bool) -> Self {
        DataLoaderBuilder { scaled_decode, ..self }
    }

    /// Keeps samples in memory once they are decoded, in RAM or on the GPU; off by default.
    ///
    /// What is kept is what every epoch does alike: what the list's head gives, the transforms before the first random
    /// one.
    ///
    /// - Without a [`Resize`](crate::transforms::Resize) there, the image in bytes, as far as the head leaves it in
    ///   sight: 3 bytes a pixel in RAM, 4 on the GPU (floats stay floats, of 16 bytes a pixel).
    /// - Behind a `Resize` that transform's result, or a following `CenterCrop`'s: in as few bytes where these hold it
    ///   exactly (nearest-neighbour resizes, crops, flips, borders of one of the 256 levels), else in f32, 16 bytes a
    ///   pixel.
    /// - The image in bytes after all where that f32 would not have the bits that batches have without a cache: in RAM
    ///   for a GPU that augments, where a `Pad` follows the resize, on a GPU also for outputs of more than 4,194,304
    ///   pixels.
    ///
    /// [`DataLoader::explain`](crate::DataLoader::explain) says which. Batches have the same bits as without a cache.
    /// Samples that have no room stream, in the same batches, and so do images that the CPU executor finishes for the
    /// GPU, and on a GPU those of which a resize makes more than 16 MiB.
    /// [`Stats::cache_hits`](crate::Stats::cache_hits) counts, [`DataLoader::cached`](crate::DataLoader::cached) says
    /// what is kept.
    ///
    /// The budget is beside [`memory_budget`](Self::memory_budget). Pixels that the data set holds in RAM anyway
    /// ([`Dataset::is_in_memory`](crate::Dataset::is_in_memory)) are not kept there twice.
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

    /// Whether a [`cache`](Self::cache) keeps what lies behind any [`Resize`](crate::transforms::Resize) in bytes, not
    /// only where these hold it exactly: 3 instead of 16 bytes a pixel in RAM, 4 on the GPU. Off by default.
    ///
    /// The workers then run the head of the list, and round its result to the nearest of 256 levels, torchvision's way
    /// to keep a resized image: half a level of difference at most before the transforms that follow, none behind
    /// nearest-neighbour resizes of bytes. Values below 0 and above 1, which bicubic resizes and float pixels may have,
    /// are clamped, as torchvision does for bytes. All samples are rounded, those that have no room too, so batches
    /// depend neither on the budget nor on which samples it keeps. What a `Normalize` gives is not rounded: the head
    /// ends before it. Without a cache, or without a `Resize` in the head, it changes nothing.
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

    /// Where the seek indexes of JPEGs are kept, which make every epoch after the first decode little more than its crops; a
    /// file in the data set's folder by default.
    pub fn seek_indexes(self, seek_indexes: SeekIndexes) -> Self {
        DataLoaderBuilder { seek_indexes, ..self }
    }

    /// Bytes of memory for seek indexes that are not in a file; 256 MiB by default, enough for 130,000 photographs as in
    /// ImageNet. When it is full, the file is written early; without a file further images get no index.
    pub fn seek_memory(self, seek_memory: u64) -> Self {
        DataLoaderBuilder { seek_memory, ..self }
    }

    /// What becomes of samples that fail; they are replaced by default.
    pub fn on_error(self, on_error: OnError) -> Self {
        DataLoaderBuilder { on_error, ..self }
    }

    /// Which executor augments on a GPU backend. [`Execute::Gpu`] with [`Backend::Cpu`](crate::Backend::Cpu) is an error.
    pub fn execute(self, execute: Execute) -> Self {
        DataLoaderBuilder { execute, ..self }
    }
}
