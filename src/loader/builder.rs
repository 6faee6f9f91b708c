//! The settings of a loader. `build` reports every mistake, with the setting to change.

mod build;
mod cache;
mod decoding;
mod groups;
mod mixing;
mod mosaic;
mod on_gpu;
mod order;
mod sources;

use super::buffers::{HostBufferHook, HostMemory};
use super::settings::LoaderSettings;
use super::views::Views;
use super::{Execute, OnError};
use crate::dataset::Dataset;
use crate::gpu::Export;
use crate::plan::{Arrangement, DType, Layout, Output, Semantics};
use crate::recipe::Recipe;
use crate::sampler::Orders;
use crate::transforms::{BatchTransform, Mosaic, Transform};
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
    /// The transforms, with the output, the semantics and the views that recipes have named.
    recipe: Recipe,
    /// The groups of views; empty for a loader with one list.
    groups: Vec<(String, Views)>,
    /// The output and the semantics that each recipe with groups says for all of them.
    shared: Vec<(Option<Output>, Option<Semantics>)>,
    /// Where both name the output, the semantics or the views, the settings count and not the recipe.
    settings: LoaderSettings,
    /// Asked for by [`shard_auto`](Self::shard_auto), beside the settings, which may have a share set by hand.
    shard_auto: bool,
    host_memory: HostMemory,
    export: Export,
    /// Lists for each epoch, in the place of the settings' order.
    orders: Option<Orders>,
}

impl std::fmt::Debug for DataLoaderBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataLoaderBuilder").field("transforms", &self.recipe.transforms).finish_non_exhaustive()
    }
}

impl DataLoaderBuilder {
    pub(super) fn new(dataset: Arc<dyn Dataset>) -> Self {
        let (recipe, settings) = (Recipe::default(), LoaderSettings::default());
        let (groups, shared, host_memory, export) = (Vec::new(), Vec::new(), HostMemory::default(), Export::Off);
        DataLoaderBuilder {
            dataset,
            recipe,
            groups,
            shared,
            settings,
            shard_auto: false,
            host_memory,
            export,
            orders: None,
        }
    }

    /// Takes all settings at once, in the place of those that were set before; [`LoaderSettings`] lists them. The
    /// layout, the type, the semantics and the views of a recipe stay where `settings` has none.
    ///
    /// ```
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, LoaderSettings, PixelFormat, recipe};
    ///
    /// let mut settings = LoaderSettings::default();
    /// settings.batch_size = 2;
    /// settings.workers = Some(1);
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..4 {
    ///     data.push_pixels(40, 40, PixelFormat::Rgb8, vec![0; 4800], Label::Class(class))?;
    /// }
    /// let loader = DataLoader::builder(data).recipe(recipe::cifar_train()).settings(settings).build(&Backend::Cpu)?;
    /// assert_eq!((loader.len(), loader.settings().batch_size, loader.settings().views), (2, 2, Some(1)));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn settings(self, settings: LoaderSettings) -> Self {
        DataLoaderBuilder { settings, shard_auto: false, ..self }
    }

    /// Adds an operator; operators apply in the order in which they are added.
    pub fn transform(mut self, transform: impl Into<Transform>) -> Self {
        self.recipe.transforms.push(transform.into());
        // The added operator makes the list differ from the named recipe, so the name is removed.
        self.recipe.name.clear();
        self.recipe.description.clear();
        self
    }

    /// Adds a recipe's operators, and takes over its output, views and batch transform if it names them. A recipe is a
    /// list such as [`recipe::imagenet_train`](crate::recipe::imagenet_train), or a [`Recipe`] from
    /// [`recipe::load`](crate::recipe::load). The groups of a recipe are added as [`group`](Self::group) does.
    ///
    /// A later call of [`output`](Self::output), [`views`](Self::views) or [`batch_transform`](Self::batch_transform)
    /// replaces the recipe's setting.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe {
            name,
            description,
            transforms,
            output,
            semantics,
            arrangement,
            views,
            batch_transform,
            mosaic,
            groups,
        } = recipe.into();
        let first = self.recipe.transforms.is_empty() && self.groups.is_empty();
        (self.recipe.name, self.recipe.description) = if first { (name, description) } else { Default::default() };
        self.recipe.transforms.extend(transforms);
        if !groups.is_empty() {
            self.shared.push((output, semantics));
        }
        self.groups.extend(groups.into_iter().map(|group| (group.name.clone(), group.into())));
        // What the recipe names replaces what was set before.
        if output.is_some() {
            self.recipe.output = output;
            (self.settings.layout, self.settings.dtype) = (None, None);
        }
        if semantics.is_some() {
            self.recipe.semantics = semantics;
            self.settings.semantics = None;
        }
        if arrangement.is_some() {
            self.recipe.arrangement = arrangement;
            self.settings.arrangement = None;
        }
        if views != 1 {
            self.recipe.views = views;
            self.settings.views = None;
        }
        self.recipe.batch_transform = batch_transform.or(self.recipe.batch_transform);
        self.recipe.mosaic = mosaic.or(self.recipe.mosaic);
        self
    }

    /// Makes a mosaic of the images of four samples for each image that the list gets; off by default. A later call replaces it.
    ///
    /// ```
    /// use gpufeed::dataset::{Field, FieldKind, FieldValue};
    /// use gpufeed::targets::{BoxFormat, Objects};
    /// use gpufeed::transforms::{CenterCrop, Mosaic, SanitizeBoundingBoxes};
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    /// for class in 0..8 {
    ///     data.push_pixels(60, 40, PixelFormat::Rgb8, vec![30 * class as u8; 7200], Label::None)?;
    ///     let objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 0.0, 60.0, 40.0]]).with_labels(vec![class])?;
    ///     data.push_fields([FieldValue::from(objects)])?;
    /// }
    /// let loader = DataLoader::builder(data)
    ///     .mosaic(Mosaic::new(64))
    ///     .transform(CenterCrop::new(64))
    ///     .transform(SanitizeBoundingBoxes::new())
    ///     .batch_size(4)
    ///     .build(&Backend::Cpu)?;
    /// let batch = loader.epoch(0)?.next().unwrap()?;
    /// assert_eq!(batch.shape(), [4, 3, 64, 64]);
    /// assert!((1..=4).contains(&batch.targets(0).unwrap().len()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn mosaic(mut self, mosaic: Mosaic) -> Self {
        self.recipe.mosaic = Some(mosaic);
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
    /// With [`DType::F16`](crate::DType::F16) and [`DType::BF16`](crate::DType::BF16) the CPU executor blends values
    /// that are rounded to 16 bits already, and rounds the result again; the GPU rounds once.
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
    pub fn batch_transform(mut self, transform: impl Into<BatchTransform>) -> Self {
        self.recipe.batch_transform = Some(transform.into());
        self
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
    pub fn views(mut self, views: usize) -> Self {
        self.settings.views = Some(views);
        self
    }

    /// Layout and type of the batches; NCHW in f32 by default.
    pub fn output(mut self, layout: Layout, dtype: DType) -> Self {
        (self.settings.layout, self.settings.dtype) = (Some(layout), Some(dtype));
        self
    }

    /// The arithmetic of the operators: floats by default; [`Semantics::Uint8`] computes as torchvision does on 8-bit
    /// images.
    pub fn semantics(mut self, semantics: Semantics) -> Self {
        self.settings.semantics = Some(semantics);
        self
    }

    /// How the images of a batch lie, where their sizes may differ: by default all have one size, which the list fixes.
    /// [`Arrangement::padded`] pads them to the largest of each batch, and [`Arrangement::listed`] leaves each by itself.
    /// The memory of a batch is that of images as large as the largest that can come.
    pub fn arrangement(mut self, arrangement: Arrangement) -> Self {
        self.settings.arrangement = Some(arrangement);
        self
    }

    /// Samples in a batch; 1 by default, as in PyTorch.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.settings.batch_size = batch_size;
        self
    }

    /// Threads that read and decode: 1 to 4096. By default the cores on which this process may run, divided by the
    /// processes that share them: as many as a launcher (torchrun, Open MPI, MPICH, Slurm's `srun`) has started on this
    /// machine, by the variables that it sets, unless it has bound each to cores of its own.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = Some(workers);
        self
    }

    /// The most batches that wait for the caller: 1 to 4096; 2 by default.
    pub fn queue_depth(mut self, queue_depth: usize) -> Self {
        self.settings.queue_depth = queue_depth;
        self
    }

    /// Bytes of a staging slot (GPU only): at least 16 MiB; 32 MiB by default. Batches do not depend on it.
    pub fn slot_bytes(mut self, slot_bytes: u64) -> Self {
        self.settings.slot_bytes = slot_bytes;
        self
    }

    /// Bytes for output buffers, slots, workspace, and what the workers take between the stages of the plan, if that
    /// is more than 64 MiB each, together; 4 GiB by default.
    ///
    /// It bounds each image as well: one that takes more between the stages is refused
    /// ([`ErrorKind::IntermediateTooLarge`](crate::ErrorKind::IntermediateTooLarge)), by `build` if every image would.
    pub fn memory_budget(mut self, memory_budget: u64) -> Self {
        self.settings.memory_budget = memory_budget;
        self
    }

    /// Bytes of a remote data set that are in memory or on their way before a worker asks for them: 256 MiB by
    /// default, outside the memory budget. Data sets that are read from this machine have none. Two loaders of one data
    /// set share it: the one that was built last sets it.
    ///
    /// It holds blocks of 8 MiB. With fewer bytes than the blocks of which samples are expected at a time, blocks are
    /// fetched more than once: [`Stats::remote`](crate::Stats::remote) counts them. While workers wait for blocks that
    /// nobody expected, it is exceeded by at most a block for each of them.
    pub fn read_ahead(mut self, bytes: u64) -> Self {
        self.settings.read_ahead = Some(bytes);
        self
    }

    /// Keeps what a remote data set fetches in a folder on this machine, up to so many bytes and a block more for
    /// each process; off by default. Later epochs and runs fetch nothing of what is there.
    ///
    /// Blocks of 8 MiB are there whole or not at all, whenever a process is killed, and their hashes are compared
    /// whenever they are read. Processes that name the same folder share it, and each block is fetched by one of them.
    /// Objects that were used least recently make room, never one that is in use. A folder that cannot be written, a
    /// full disk and a bound below a block are no errors: the data set streams, and a warning says so once. A data set
    /// keeps the first folder that it was given.
    pub fn remote_cache(mut self, folder: impl Into<PathBuf>, bytes: u64) -> Self {
        self.settings.remote_cache = Some((folder.into(), bytes));
        self
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

    /// Puts the batches into memory that another API of the same GPU can import: CUDA, HIP, another device of Vulkan. Off by
    /// default. [`Export`] has an example; [`explain`](crate::DataLoader::explain) says how the two know of each other's work.
    ///
    /// Vulkan's devices that gpufeed has opened do so, where their driver does. With others `build` is an error that says why:
    /// with [`Backend::Cpu`](crate::Backend::Cpu), on a device of [`Gpu::from_wgpu`](crate::Gpu::from_wgpu), and with Metal,
    /// Direct3D 12 and OpenGL.
    pub fn export(mut self, export: Export) -> Self {
        self.export = export;
        self
    }

    /// The treatment of samples that fail; they are replaced by default.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.settings.on_error = on_error;
        self
    }

    /// The executor that augments on a GPU backend. [`Execute::Gpu`] with [`Backend::Cpu`](crate::Backend::Cpu) is an
    /// error.
    pub fn execute(mut self, execute: Execute) -> Self {
        self.settings.execute = execute;
        self
    }

    /// The form of the batches: the settings', else the recipe's.
    fn form(&self) -> Output {
        let Output { layout, dtype } = self.recipe.output.unwrap_or_default();
        Output { layout: self.settings.layout.unwrap_or(layout), dtype: self.settings.dtype.unwrap_or(dtype) }
    }

    /// The arithmetic of the operators: the settings', else the recipe's.
    fn arithmetic(&self) -> Semantics {
        self.settings.semantics.or(self.recipe.semantics).unwrap_or_default()
    }

    /// How images lie: the settings' arrangement, else the recipe's.
    fn arranged(&self) -> Arrangement {
        self.settings.arrangement.or(self.recipe.arrangement).unwrap_or_default()
    }

    /// Views of a sample: the settings', else the recipe's.
    fn view_count(&self) -> usize {
        self.settings.views.unwrap_or(self.recipe.views)
    }
}
