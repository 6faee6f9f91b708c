//! The pipeline: a data set becomes a queue of augmented batches.
//!
//! ```text
//! feed ─▶ jobs ─▶ workers (read, params, decode, augment or copy) ─▶ messages ─▶ assemble ─▶ ready ─▶ Epochs::next
//! ```
//!
//! Data flows in one direction, through bounded channels; buffers return through the rings in `buffers/`. The loader
//! knows no transform and no file format.
//!
//! | file | has |
//! |---|---|
//! | `feed/`, `worker/`, `assemble/`, `epochs.rs` | a thread each: feeder, workers, batch thread, caller |
//! | `run.rs`, `pipeline.rs`, `messages.rs` | starts them; what they share; what they tell each other |
//! | `settings.rs`, `settings/` | the settings as data, their written forms, files of them |
//! | `builder.rs`, `builder/` | the setters; `builder/build.rs` makes the loader |
//! | `views.rs`, `group.rs`, `batch_group.rs` | a group of views as it is asked for, in the pipeline, in a batch |
//! | `arrangement.rs` | images of different sizes in one batch: their places, their padding |
//! | `source.rs` | the image of a sample that a group reads |
//! | `batch_store.rs` | where the images of a batch are |
//! | `batch.rs`, `columns.rs`, `mixed.rs` | what the caller gets; its fields; the labels of a mixed batch |
//! | `moved_objects.rs` | the objects of a sample, moved as each of its images |
//! | `buffers/`, `executor_buffers/`, `scratch.rs` | memory of batches, of executors, of a worker: it outlives a run |
//! | `intermediates.rs` | bounds what lies between the stages of a plan |
//! | `cache/` | samples that stay between epochs |
//! | `stats/` | the counters and their conclusions |
//! | `iteration.rs`, `replay.rs`, `explain.rs` | `for batch in &loader`; one sample again; the loader in words |
//! | `remote.rs` | the connections of the data set |

mod arrangement;
mod assemble;
mod batch;
mod batch_group;
mod batch_store;
mod buffers;
mod builder;
mod cache;
mod columns;
mod epochs;
mod executor_buffers;
mod explain;
mod feed;
mod group;
mod intermediates;
mod iteration;
mod messages;
pub(crate) mod mixed;
mod mosaic;
mod moved_objects;
mod pipeline;
mod remote;
mod replay;
pub(crate) mod run;
mod scratch;
pub(crate) mod settings;
mod source;
pub(crate) mod stats;
mod views;
mod worker;

pub use batch::{Batch, Failure};
pub use batch_group::BatchGroup;
pub use batch_store::Images;
pub use buffers::HostBufferHook;
pub use builder::DataLoaderBuilder;
pub use cache::Cache;
pub use columns::{Column, ColumnValues};
pub use epochs::Epochs;
pub use iteration::NextEpoch;
pub use settings::{LoaderSettings, ShardChoice};
pub use stats::{
    Bottleneck, Change, GpuClock, GpuTime, Latency, PassTime, PoolStats, QueueStats, Resource, SlotStats, Stage,
    StageStats, Stats,
};
pub use views::Views;

use crate::backend::Backend;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::launcher::Shard;
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::sampler::{Sampler, State};
use feed::BatchRange;
use pipeline::Pipeline;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The treatment of samples that cannot be read, decoded or transformed. An object store or web server that fails ends
/// the run in any case: batches must not depend on the network.
///
/// ```
/// assert_eq!(gpufeed::OnError::default(), gpufeed::OnError::Skip { max_share: 0.1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OnError {
    /// Another sample replaces it, from a chain that depends on (seed, epoch, position) alone; [`Batch::failures`]
    /// lists it.
    Skip {
        /// The run ends once more than this share of the samples has failed, 0 to 1 (computed from 100 samples on, in
        /// batch order).
        max_share: f64,
    },
    /// The run ends with the first such sample.
    Fail,
}

impl Default for OnError {
    fn default() -> Self {
        OnError::Skip { max_share: 0.1 }
    }
}

/// The executor that augments on [`Backend::Gpu`]. On [`Backend::Cpu`] the CPU executor does, and [`Gpu`](Self::Gpu) is
/// an error.
///
/// ```
/// assert_eq!(gpufeed::Execute::default(), gpufeed::Execute::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execute {
    /// The GPU, except on software adapters, where native code is several times faster: there the CPU executor
    /// augments, and its batches are copied into the GPU's buffers.
    #[default]
    Auto,
    /// The GPU, whatever the adapter. With [`Backend::Cpu`] building the loader returns an
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) that names both settings.
    Gpu,
    /// The CPU executor, also where batches go to a GPU.
    Cpu,
}

/// A data set, a plan and a backend: makes the batches of any epoch.
///
/// The [crate page](crate) has a whole program.
///
/// ```
/// use gpufeed::transforms::{Normalize, RandomHorizontalFlip, RandomResizedCrop};
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// for class in 0..10 {
///     data.push_pixels(8, 6, PixelFormat::Rgb8, vec![100; 8 * 6 * 3], Label::Class(class))?;
/// }
/// let loader = DataLoader::builder(data)
///     .transform(RandomResizedCrop::new(4))
///     .transform(RandomHorizontalFlip::new(0.5))
///     .transform(Normalize::IMAGENET)
///     .batch_size(4)
///     .shuffle(true)
///     .seed(42)
///     .build(&Backend::Cpu)?;
/// for batch in loader.epoch(0)? {
///     let batch = batch?;
///     println!("{:?} {:?}", batch.shape(), batch.classes());
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct DataLoader {
    pipeline: Arc<Pipeline>,
    /// The recipe of all groups.
    recipe: Recipe,
    /// The recipe of each group.
    recipes: Vec<Recipe>,
    backend: Backend,
    budget: buffers::Budget,
    /// The epoch that the next loop over `&loader` takes.
    next_epoch: AtomicU64,
}

impl DataLoader {
    /// Starts a loader of `dataset`; [`DataLoaderBuilder`] lists the settings.
    pub fn builder(dataset: impl Dataset + 'static) -> DataLoaderBuilder {
        DataLoaderBuilder::new(Arc::new(dataset))
    }

    /// The batches of one epoch. Each call starts its own threads, with slots and output buffers of their own; several
    /// runs may be under way at once, in one thread of the caller or in several.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for epoch `u64::MAX`, which has no end;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if threads cannot be started, or if the GPU is lost;
    /// [`ErrorKind::DoesNotFit`](crate::ErrorKind::DoesNotFit) if the memory budget has no room for another run;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the GPU has no memory left for its buffers. Later
    /// errors are items of [`Epochs`]: `Device` if the GPU is lost, and `OutOfMemory` if more buffers are needed, because
    /// the caller keeps batches, and there is no memory for them.
    pub fn epoch(&self, epoch: u64) -> Result<Epochs> {
        self.epochs(epoch..after(epoch)?)
    }

    /// The batches of several epochs, one after the other; the next epoch's first batches are prepared while the last
    /// batches of an epoch are consumed.
    ///
    /// # Errors
    /// Those of [`epoch`](Self::epoch).
    pub fn epochs(&self, epochs: Range<u64>) -> Result<Epochs> {
        Epochs::start(&self.pipeline, BatchRange { epoch: epochs.start, batch: 0, end: epochs.end })
    }

    /// The rest of the epoch in which `state` was taken, with exactly the batches that were still due.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the setting that does not fit, as
    /// [`Sampler::batch_of`] has them; also those of [`epoch`](Self::epoch).
    pub fn resume(&self, state: &State) -> Result<Epochs> {
        self.resume_until(state, after(state.epoch())?)
    }

    /// The rest of the epoch as by [`resume`](Self::resume), and the epochs up to but excluding `end`.
    ///
    /// # Errors
    /// Those of [`resume`](Self::resume).
    pub fn resume_until(&self, state: &State, end: u64) -> Result<Epochs> {
        let batch = self.pipeline.sampler.batch_of(state)?;
        Epochs::start(&self.pipeline, BatchRange { epoch: state.epoch(), batch, end })
    }

    /// Batches of an epoch, at least 1.
    pub fn len(&self) -> usize {
        self.pipeline.sampler.batches()
    }

    /// Always false: `build` refuses an epoch without a batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set that it was built of.
    pub fn dataset(&self) -> &dyn Dataset {
        &*self.pipeline.dataset
    }

    /// The loader's transforms, output and views, or its groups, as a recipe. [`Recipe::to_toml`] writes it; a loader of the
    /// recipe that [`recipe::from_toml`](crate::recipe::from_toml) reads from that text has the same plan.
    ///
    /// ```
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat, recipe};
    ///
    /// let mut data = InMemory::new();
    /// data.push_pixels(40, 40, PixelFormat::Rgb8, vec![0; 4800], Label::None)?;
    /// let loader = DataLoader::builder(data).recipe(recipe::load("cifar-train")?).build(&Backend::Cpu)?;
    /// assert_eq!(loader.recipe(), &recipe::named("cifar-train")?);
    /// println!("{}", loader.recipe().to_toml()?);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The name of each group with its list, output and views as a recipe; `image` is that of a loader without groups. Of a
    /// group that follows another one it is its own list alone; no recipe says whom it follows, or of what its images are.
    pub fn recipes(&self) -> impl Iterator<Item = (&str, &Recipe)> {
        self.pipeline.groups.iter().zip(&self.recipes).map(|(group, recipe)| (group.name.as_str(), recipe))
    }

    /// The name of each group with the plan of its transforms, as [`recipes`](Self::recipes) has their recipes.
    pub fn plans(&self) -> impl Iterator<Item = (&str, &Plan)> {
        self.pipeline.groups.iter().map(|group| (group.name.as_str(), group.plan()))
    }

    /// The settings in force. Those that were left to the recipe, to this machine or to a launcher are filled in. A
    /// checkpoint that holds them beside its [`State`] says how its batches were made.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DType, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// data.push_pixels(8, 8, PixelFormat::Rgb8, vec![0; 192], Label::Class(0))?;
    /// let loader = DataLoader::builder(data).transform(CenterCrop::new(4)).seed(7).build(&Backend::Cpu)?;
    /// let settings = loader.settings();
    /// assert_eq!((settings.seed, settings.dtype), (7, Some(DType::F32)));
    /// assert!(settings.workers.is_some());
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn settings(&self) -> &LoaderSettings {
        &self.pipeline.settings
    }

    /// The plan of the transforms, of the first group where there are several. With [`cache_in_bytes`](DataLoaderBuilder::cache_in_bytes) batches and
    /// [`replay`](Self::replay) are rounded after a resize, but this plan alone does not round.
    pub fn plan(&self) -> &Plan {
        self.pipeline.plan()
    }

    /// The order of the samples; the same sampler returns the ids of every batch without reading a file.
    pub fn sampler(&self) -> &Sampler {
        &self.pipeline.sampler
    }

    /// This process's share of each epoch, and who has said so.
    pub fn shard(&self) -> Shard {
        self.pipeline.shard
    }

    /// The seed, which is also in [`State`].
    pub fn seed(&self) -> u64 {
        self.pipeline.settings.seed
    }

    /// The backend that it was built on.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Statistics since the loader was built.
    pub fn stats(&self) -> Stats {
        let mut stats = self.pipeline.stats.read(self.pipeline.capacities());
        stats.remote = self.pipeline.remote.stats();
        stats.compile = self.pipeline.execution.executor().compile().unwrap_or_default();
        stats
    }

    /// Adds `time` to the time that `stage` takes for every image, from now on; zero ends the delay. It shows what
    /// limits the pipeline: a delay at the bottleneck slows the whole run by as much, elsewhere not at all. Reading and
    /// the consumer sleep, the other stages compute.
    pub fn delay(&self, stage: Stage, time: Duration) {
        self.pipeline.stats.delay(stage, time);
    }

    /// Bytes of one run's output buffers, slots and workspace, and of what the workers take between the stages of the
    /// plan whatever the image, if that is more than 64 MiB each: what `memory_budget` limits. Excludes other memory of
    /// workers and decoders.
    pub fn memory(&self) -> u64 {
        self.budget.of_a_run()
    }

    /// For `internals::memory_of_workers`.
    pub(crate) fn memory_of_workers(&self) -> u64 {
        self.budget.of_workers()
    }

    /// The number of samples in the [cache](crate::Cache), and their bytes (on the GPU: those of the pages that hold
    /// them).
    pub fn cached(&self) -> (u64, u64) {
        self.pipeline.cache.usage()
    }
}

/// The end of the range that holds one epoch.
fn after(epoch: u64) -> Result<u64> {
    epoch.checked_add(1).ok_or_else(|| Error::argument("epoch", format!("{epoch}; up to {} works", u64::MAX - 1)))
}
