//! Prepares everything that is known before the first measurement, and measures nothing. `mod.rs` resolves the options
//! (`arguments.rs`) to a backend, a recipe and data. `data.rs` opens `--data`: a data set, or samples drawn by
//! `procedural.rs` with `texture.rs`. `samples.rs` looks at some samples, and `hash.rs` has the pseudo-random numbers.

mod arguments;
pub(crate) mod data;
pub(crate) mod hash;
pub(crate) mod procedural;
pub(crate) mod samples;
mod texture;

use crate::backend::{Opened, executor};
pub(crate) use arguments::BenchArguments;
use gpufeed::Dataset;
use gpufeed::internals::{Switches, switched};
use gpufeed::recipe::Recipe;
use gpufeed::{Backend, Cache, DataLoader, DataLoaderBuilder, Gpu, LoaderSettings, Order};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// The order of remote data sets, in which neighbours come together. Two windows of images of 110 KB fit into the
/// memory into which a loader reads ahead by default. So each block is fetched once an epoch.
const REMOTE_ORDER: Order = Order::Blocks { samples: 256, window: 4 };

/// The samples of a run.
pub(crate) struct BenchData {
    pub(crate) dataset: Arc<dyn Dataset>,
    /// The bytes that an epoch reads.
    pub(crate) bytes: u64,
    /// True if the samples are pictures drawn in memory.
    pub(crate) drawn: bool,
    /// A remark about the samples for readers of the report.
    pub(crate) note: Option<String>,
}

/// Everything of which a loader is built, except the number of its workers.
pub(crate) struct Setup {
    pub(crate) backend: Backend,
    /// How the adapter, or the CPU, was chosen; `None` for the CPU of `--backend cpu`.
    pub(crate) chosen: Option<String>,
    pub(crate) data: BenchData,
    /// The recipe, with what a file of settings says about its batches: measurements without a loader need this, too.
    pub(crate) recipe: Recipe,
    pub(crate) settings: LoaderSettings,
    /// The time for which the consumer works on a batch.
    pub(crate) step: Duration,
    /// The choices about the GPU's work that are set by hand.
    pub(crate) switches: Switches,
}

impl Setup {
    pub(crate) fn new(arguments: &BenchArguments, mut settings: LoaderSettings) -> Result<Setup, Box<dyn Error>> {
        let switches = arguments.switches()?;
        let Opened { backend, chosen } = arguments.backend.open(arguments.adapter.as_deref(), arguments.shaders)?;
        let backend = match backend {
            Backend::Gpu(gpu) => Backend::Gpu(switched(gpu, &switches)?),
            _ if switches != Switches::default() => {
                return Err(
                    "--switch: there is no GPU here that `auto` would take; name an adapter with --adapter".into()
                );
            }
            backend => backend,
        };
        let mut recipe = crate::recipe(&arguments.recipe)?;
        let data = data::open(&arguments.data, &arguments.recipe, &arguments.fields)?;
        let order = if crate::dataset::is_remote(&*data.dataset) { REMOTE_ORDER } else { Order::Full };
        settings.order = settings.order.or(Some(order));
        crate::settings::move_into(&mut recipe, &mut settings);
        Ok(Setup { backend, chosen, data, recipe, settings, step: arguments.step(), switches })
    }

    pub(crate) fn loader(&self, workers: usize) -> gpufeed::Result<DataLoader> {
        self.builder(workers).build(&self.backend)
    }

    /// Returns the kind of an epoch's order.
    pub(crate) fn order(&self) -> Order {
        self.settings.order.unwrap_or_default()
    }

    /// Names the cache for the report.
    pub(crate) fn cache(&self) -> &'static str {
        match self.settings.cache {
            Cache::Host(_) => "host",
            Cache::Device(_) => "device",
            _ => "none",
        }
    }

    pub(crate) fn builder(&self, workers: usize) -> DataLoaderBuilder {
        let builder = DataLoader::builder(self.data.dataset.clone()).recipe(self.recipe.clone());
        builder.settings(self.settings.clone()).workers(workers)
    }

    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        match &self.backend {
            Backend::Gpu(gpu) => Some(gpu),
            _ => None,
        }
    }

    /// Names the executor that augments.
    pub(crate) fn executor(&self) -> &'static str {
        executor(&self.backend, self.settings.execute)
    }
}
