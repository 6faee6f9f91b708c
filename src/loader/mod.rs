//! The line: a data set becomes a queue of augmented batches.
//!
//! ```text
//! feed ─▶ jobs ─▶ workers (read, probe, draw, decode, put or augment) ─▶ inbox ─▶ upload or collect ─▶ ready ─▶ next
//! ```
//!
//! One direction, bounded channels; `outputs` is the one return edge. Knows nothing of any particular transform or format.

mod assembly;
mod batch;
mod budget;
mod builder;
mod cache;
mod collect;
mod drafted;
mod epochs;
mod feed;
mod fill;
mod host;
mod line;
mod outputs;
mod prepare;
mod replay;
mod round;
mod scratch;
pub(crate) mod stats;
mod upload;
mod worker;

pub use batch::{Batch, Failure, Images};
pub use builder::DataLoaderBuilder;
pub use cache::Cache;
pub use epochs::Epochs;
pub use stats::{
    Bottleneck, Change, GpuClock, GpuTime, Latency, PassTime, PoolStats, QueueStats, Resource, Stage, StageStats, Stats,
};

use crate::backend::Backend;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::sampler::{Sampler, State};
use crate::shown::Shown;
use line::{Execution, Line};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What happens to samples that cannot be read, decoded or transformed.
///
/// ```
/// assert_eq!(gpufeed::OnError::default(), gpufeed::OnError::Skip { max_share: 0.1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum OnError {
    /// Another sample takes its place, by a chain that depends on (seed, epoch, position) alone; the batch says so
    /// ([`Batch::failures`]).
    Skip {
        /// The run ends once more than this share of the samples has failed (judged from 100 samples on, in batch order).
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

/// Which executor augments on [`Backend::Gpu`]. On [`Backend::Cpu`] the CPU executor does, and [`Gpu`](Self::Gpu) is
/// an error.
///
/// ```
/// assert_eq!(gpufeed::Execute::default(), gpufeed::Execute::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execute {
    /// The GPU, except on software adapters, where native code is several times faster: there the CPU executor works and
    /// its batches are copied into the GPU's buffers.
    #[default]
    Auto,
    /// The GPU, whatever the adapter. With [`Backend::Cpu`] building the loader is an
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) that names both settings.
    Gpu,
    /// The CPU executor.
    Cpu,
}

/// A data set, a plan and a backend: gives the batches of any epoch.
///
/// See the [crate page](crate) for a whole program.
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
    line: Arc<Line>,
    recipe: Recipe,
    backend: Backend,
    budget: budget::Budget,
}

impl DataLoader {
    /// Starts a loader of `dataset`; [`DataLoaderBuilder`] lists the settings.
    pub fn builder(dataset: impl Dataset + 'static) -> DataLoaderBuilder {
        DataLoaderBuilder::new(Arc::new(dataset))
    }

    /// The batches of one epoch. Each call has its own threads; several may run beside each other, on as many threads
    /// of the caller or in turn on one, each with slots and output buffers of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for epoch `u64::MAX`, which has no end;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if threads cannot be started, or if the GPU is lost;
    /// [`ErrorKind::DoesNotFit`](crate::ErrorKind::DoesNotFit) if the memory budget has no room for another run. What
    /// goes wrong later is an item of [`Epochs`]: again `Device` if the GPU is lost, and
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it has no memory left for the buffers of the run.
    pub fn epoch(&self, epoch: u64) -> Result<Epochs> {
        self.epochs(epoch..after(epoch)?)
    }

    /// The batches of several epochs, one after the other; the next epoch's first batches are prepared while the last
    /// one's are consumed.
    ///
    /// # Errors
    /// As [`epoch`](Self::epoch).
    pub fn epochs(&self, epochs: Range<u64>) -> Result<Epochs> {
        Epochs::start(&self.line, State { seed: self.line.seed, epoch: epochs.start, batch: 0 }, epochs.end)
    }

    /// The rest of the epoch in which `state` was taken, with the very batches that were due.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the state belongs to another seed or lies behind the
    /// epoch's end.
    pub fn resume(&self, state: &State) -> Result<Epochs> {
        self.resume_until(state, after(state.epoch)?)
    }

    /// As [`resume`](Self::resume), on to (not including) epoch `end`.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_until(&self, state: &State, end: u64) -> Result<Epochs> {
        if state.seed != self.line.seed {
            let reason = format!("{} was saved with the state, the loader has {}", state.seed, self.line.seed);
            return Err(Error::argument("seed", reason));
        }
        if state.batch > self.line.sampler.batches() as u64 {
            let reason = format!("batch {} of an epoch of {} batches", state.batch, self.line.sampler.batches());
            return Err(Error::argument("state", reason));
        }
        Epochs::start(&self.line, *state, end)
    }

    /// Batches of an epoch.
    pub fn len(&self) -> usize {
        self.line.sampler.batches()
    }

    /// Never: `build` refuses an epoch without a batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data set.
    pub fn dataset(&self) -> &dyn Dataset {
        &*self.line.dataset
    }

    /// What it does to every image, as a recipe: [`Recipe::to_toml`] writes it, and a loader of what
    /// [`recipe::from_toml`](crate::recipe::from_toml) reads then has the same plan.
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

    /// The plan, divided where a cache keeps what lies behind a resize in f32 or rounded. With `cache_in_bytes` it does
    /// not round there; [`replay`](Self::replay) does.
    pub fn plan(&self) -> &Plan {
        &self.line.plan
    }

    /// The order of the samples; the same sampler gives the ids of every batch without reading a file.
    pub fn sampler(&self) -> &Sampler {
        &self.line.sampler
    }

    /// The seed, as [`State`] has it.
    pub fn seed(&self) -> u64 {
        self.line.seed
    }

    /// The backend.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// What has been done since the loader was built.
    pub fn stats(&self) -> Stats {
        self.line.stats.read(self.line.capacities())
    }

    /// Adds `time` to what `stage` takes for every image, from now on; zero ends it. To find out what the line is
    /// limited by: a delay at the bottleneck is felt in full, elsewhere not at all. Reading and the consumer sleep, the
    /// others compute.
    pub fn delay(&self, stage: Stage, time: Duration) {
        self.line.stats.delay(stage, time);
    }

    /// Bytes of one run's output buffers, slots and workspace, which `memory_budget` limits; the workers' own memory and
    /// the decoders' are not counted.
    pub fn memory(&self) -> u64 {
        self.budget.of_a_run()
    }

    /// What the [cache](crate::Cache) keeps: samples, and their bytes (on the GPU: of the buffers that they lie in).
    pub fn cached(&self) -> (u64, u64) {
        self.line.cache.kept()
    }

    /// The plan with its passes, where it runs, the bytes that come out, and the memory it takes; known before any run.
    pub fn explain(&self) -> String {
        let line = &self.line;
        let executor = match &line.execution {
            Execution::Host { .. } => "CPU executor in the workers, batches in host memory".to_owned(),
            Execution::HostToGpu { gpu, .. } => format!("CPU executor in the workers, batches copied to {gpu}"),
            Execution::Gpu { kernels, slots, slot_bytes, .. } => {
                let way = if kernels.gpu().mappable() { "read in place" } else { "copied" };
                format!("{}, {slots} slots of {} MiB, {way}", kernels.gpu(), slot_bytes >> 20)
            }
        };
        let seek = match &line.seek {
            None => "none".to_owned(),
            Some(seek) => seek.store().path().map_or("in memory".to_owned(), |path| Shown(path.display()).to_string()),
        };
        let mib = |bytes: u64| bytes >> 20;
        let cache = match &line.cache {
            cache::Store::Off => "off".to_owned(),
            store => {
                let ((where_to, budget), (samples, bytes)) = (store.place(), store.kept());
                let what = match line.plan.first_stage() {
                    0 if line.plan.keeps_exact() => {
                        format!("bytes, exact, behind {}", line.plan.kept_names().join(" + "))
                    }
                    0 => "decoded pixels in bytes".to_owned(),
                    _ if line.plan.rounds() => format!("bytes, rounded, behind {}", line.plan.kept_names().join(" + ")),
                    _ => format!("f32 behind {}", line.plan.kept_names().join(" + ")),
                };
                let (budget, bytes) = (mib(budget), mib(bytes));
                format!(
                    "{what}, {where_to}, up to {budget} MiB; what has no room streams; {samples} samples in {bytes} MiB now"
                )
            }
        };
        let scaled = match line.scaled_decode {
            false => "off",
            true => {
                "JPEGs at 1/2, 1/4 or 1/8 where the first stage reduces them by as much; pixels differ from those at full size"
            }
        };
        // Where the head's result is rounded, the workers run the head.
        let plan = if line.augments_on_cpu() { line.plan.clone() } else { line.plan.for_kernels() };
        format!(
            "{}runs on: {executor}\ncache: {cache}\nscaled decode: {scaled}\nseek indexes: {seek}\n{} samples, {} batches of {}{}, {} workers, {} ready batches at most\nout: {} bytes an image, {:.1} MiB a batch\n{}",
            plan,
            line.dataset.len(),
            self.len(),
            line.batch_size,
            if line.views == 1 { String::new() } else { format!(" with {} views each", line.views) },
            line.workers,
            line.queue_depth,
            line.plan.image_bytes(line.size),
            line.batch_bytes() as f64 / f64::from(1 << 20),
            self.budget
        )
    }
}

/// The end of one epoch's range.
fn after(epoch: u64) -> Result<u64> {
    epoch.checked_add(1).ok_or_else(|| Error::argument("epoch", format!("{epoch}; up to {} works", u64::MAX - 1)))
}
