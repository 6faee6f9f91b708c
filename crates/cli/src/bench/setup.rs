//! What is measured: the arguments, resolved to a backend, samples and transforms.

use super::data::{self, Source};
use super::{Arguments, BackendChoice};
use gpufeed::decode::{Orientation, SeekIndexes};
use gpufeed::recipe::Recipe;
use gpufeed::{Backend, Cache, DataLoader, DataLoaderBuilder, Execute, Gpu};
use std::error::Error;
use std::time::Duration;

/// Everything that a loader is built of, but for the number of its workers.
pub(super) struct Setup {
    pub(super) backend: Backend,
    pub(super) execute: Execute,
    pub(super) source: Source,
    pub(super) recipe: Recipe,
    pub(super) seek_indexes: SeekIndexes,
    pub(super) cache: Cache,
    pub(super) scaled_decode: bool,
    pub(super) batch_size: usize,
    /// How long the consumer works on a batch.
    pub(super) step: Duration,
}

impl Setup {
    pub(super) fn new(arguments: &Arguments) -> Result<Setup, Box<dyn Error>> {
        let backend = backend(arguments)?;
        let recipe = crate::recipe(&arguments.recipe)?;
        Ok(Setup {
            execute: if arguments.shaders { Execute::Gpu } else { Execute::Auto },
            source: data::open(&arguments.data, &arguments.recipe)?,
            recipe,
            seek_indexes: arguments.seek_index.place(),
            cache: arguments.cache.of(arguments.cache_mib),
            scaled_decode: arguments.scaled_decode,
            batch_size: arguments.batch_size,
            step: arguments.step(),
            backend,
        })
    }

    pub(super) fn loader(&self, workers: usize) -> gpufeed::Result<DataLoader> {
        self.builder(workers).build(&self.backend)
    }

    pub(super) fn builder(&self, workers: usize) -> DataLoaderBuilder {
        DataLoader::builder(self.source.dataset.clone())
            .recipe(self.recipe.clone())
            .batch_size(self.batch_size)
            .workers(workers)
            .shuffle(true)
            // As torchvision decodes.
            .exif(Orientation::Ignore)
            .seek_indexes(self.seek_indexes.clone())
            .cache(self.cache)
            .scaled_decode(self.scaled_decode)
            .execute(self.execute)
    }

    pub(super) fn gpu(&self) -> Option<&Gpu> {
        match &self.backend {
            Backend::Gpu(gpu) => Some(gpu),
            _ => None,
        }
    }

    /// Whether the GPU augments.
    pub(super) fn shaders(&self) -> bool {
        self.gpu().is_some_and(|gpu| self.execute == Execute::Gpu || !gpu.is_software())
    }

    /// Who augments.
    pub(super) fn executor(&self) -> &'static str {
        match self.gpu() {
            None => "CPU executor",
            Some(_) if self.shaders() => "shaders",
            Some(_) => "CPU executor, batches copied up",
        }
    }
}

fn backend(arguments: &Arguments) -> Result<Backend, Box<dyn Error>> {
    let backend = match (arguments.backend, &arguments.adapter) {
        (BackendChoice::Cpu, _) => Backend::Cpu,
        (_, Some(name)) => Backend::gpu(name)?,
        // The best of them; a software adapter if there is no other.
        (BackendChoice::Gpu, None) => Backend::gpu("0")?,
        (BackendChoice::Auto, None) => Backend::auto()?,
    };
    if arguments.shaders && matches!(backend, Backend::Cpu) {
        return Err(
            "shaders: there is no GPU here that `auto` would take; name a software adapter with --adapter".into()
        );
    }
    Ok(backend)
}
