//! The settings of a loader, from the dictionary that `gpufeed/loader.py` makes of its arguments.

use crate::errors;
use crate::transforms;
use gpufeed::decode::{Orientation, SeekIndexes, Truncated};
use gpufeed::{
    Backend, Cache, DType, DataLoader, Dataset, Error, ErrorKind, Execute, HostBufferHook, LastBatch, Layout, OnError,
    Semantics,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The settings; those that are `None` or absent keep the library's default.
#[derive(Default)]
pub(crate) struct Settings {
    recipe: String,
    batch_size: Option<usize>,
    shuffle: bool,
    seed: Option<u64>,
    /// As `Order` is written.
    order: Option<String>,
    lanes: Option<usize>,
    read_ahead: Option<u64>,
    remote_cache: Option<(String, u64)>,
    shard: Option<(usize, usize)>,
    last_batch: Option<String>,
    workers: Option<usize>,
    queue_depth: Option<usize>,
    slot_bytes: Option<u64>,
    memory_budget: Option<u64>,
    page_aligned: bool,
    exif: Option<bool>,
    truncated: Option<String>,
    max_pixels: Option<u64>,
    max_decode_bytes: Option<u64>,
    scaled_decode: bool,
    cache: Option<(String, u64)>,
    cache_in_bytes: bool,
    seek_indexes: Option<String>,
    seek_memory: Option<u64>,
    /// The share of samples that may fail; negative for none at all.
    on_error: Option<f64>,
    execute: Option<String>,
    views: Option<usize>,
    layout: Option<String>,
    dtype: Option<String>,
    semantics: Option<String>,
    backend: Option<String>,
    /// Seconds.
    pub(crate) exit_timeout: Option<f64>,
    pub(crate) num_classes: Option<usize>,
}

/// An error for a word that is none of those that work.
fn refuse(setting: &'static str, word: &str, works: &str) -> Error {
    ErrorKind::Argument { setting, reason: format!("{word:?}; {works} work") }.into()
}

impl Settings {
    pub(crate) fn read(settings: &Bound<'_, PyDict>) -> PyResult<Settings> {
        let py = settings.py();
        let mut read = Settings::default();
        for (name, value) in settings {
            let name: String = name.extract()?;
            let extracted = match name.as_str() {
                "recipe" => value.extract().map(|value| read.recipe = value),
                "batch_size" => value.extract().map(|value| read.batch_size = value),
                "shuffle" => value.extract().map(|value| read.shuffle = value),
                "seed" => value.extract().map(|value| read.seed = value),
                "order" => value.extract().map(|value| read.order = value),
                "lanes" => value.extract().map(|value| read.lanes = value),
                "read_ahead" => value.extract().map(|value| read.read_ahead = value),
                "remote_cache" => value.extract().map(|value| read.remote_cache = value),
                "shard" => value.extract().map(|value| read.shard = value),
                "last_batch" => value.extract().map(|value| read.last_batch = value),
                "workers" => value.extract().map(|value| read.workers = value),
                "queue_depth" => value.extract().map(|value| read.queue_depth = value),
                "slot_bytes" => value.extract().map(|value| read.slot_bytes = value),
                "memory_budget" => value.extract().map(|value| read.memory_budget = value),
                "page_aligned" => value.extract().map(|value| read.page_aligned = value),
                "exif" => value.extract().map(|value| read.exif = value),
                "truncated" => value.extract().map(|value| read.truncated = value),
                "max_pixels" => value.extract().map(|value| read.max_pixels = value),
                "max_decode_bytes" => value.extract().map(|value| read.max_decode_bytes = value),
                "scaled_decode" => value.extract().map(|value| read.scaled_decode = value),
                "cache" => value.extract().map(|value| read.cache = value),
                "cache_in_bytes" => value.extract().map(|value| read.cache_in_bytes = value),
                "seek_indexes" => value.extract().map(|value| read.seek_indexes = value),
                "seek_memory" => value.extract().map(|value| read.seek_memory = value),
                "on_error" => value.extract().map(|value| read.on_error = value),
                "execute" => value.extract().map(|value| read.execute = value),
                "views" => value.extract().map(|value| read.views = value),
                "layout" => value.extract().map(|value| read.layout = value),
                "dtype" => value.extract().map(|value| read.dtype = value),
                "semantics" => value.extract().map(|value| read.semantics = value),
                "backend" => value.extract().map(|value| read.backend = value),
                "exit_timeout" => value.extract().map(|value| read.exit_timeout = value),
                "num_classes" => value.extract().map(|value| read.num_classes = value),
                _ => return Err(errors::raise(py, "ArgumentError", "Argument", &format!("{name}: no such setting"))),
            };
            extracted.map_err(|error: PyErr| {
                let text = format!("{name}: {}", error.value(py));
                errors::raise(py, "ArgumentError", "Argument", &text)
            })?;
        }
        Ok(read)
    }

    /// The backend: `cpu`, `gpu` (the best adapter, software ones included by name alone), `auto`, or an adapter's name.
    fn backend(&self) -> Result<Backend, Error> {
        match self.backend.as_deref() {
            None | Some("cpu") => Ok(Backend::Cpu),
            Some("auto") => Backend::auto(),
            Some("gpu") => match Backend::auto()? {
                Backend::Cpu => {
                    let reason = "backend=\"gpu\": there is none but the CPU and software adapters; backend=\"auto\" takes \
                                  the CPU then, and GPUFEED_ADAPTER or backend=\"NAME\" a software adapter";
                    Err(ErrorKind::NoAdapter { reason: reason.to_owned() }.into())
                }
                backend => Ok(backend),
            },
            Some(name) => Backend::gpu(name),
        }
    }

    /// Builds the loader; `hook` is told of its host buffers.
    pub(crate) fn build(self, data: Arc<dyn Dataset>, hook: Arc<dyn HostBufferHook>) -> Result<DataLoader, Error> {
        let mut recipe = transforms::read(&self.recipe)?;
        let mut output = recipe.output.unwrap_or_default();
        match self.layout.as_deref() {
            None => {}
            Some("nchw") => output.layout = Layout::Nchw,
            Some("nhwc") => output.layout = Layout::Nhwc,
            Some(word) => return Err(refuse("layout", word, "nchw and nhwc")),
        }
        match self.dtype.as_deref() {
            None => {}
            Some("float32") => output.dtype = DType::F32,
            Some("float16") => output.dtype = DType::F16,
            Some("uint8") => output.dtype = DType::U8,
            Some(word) => return Err(refuse("dtype", word, "float32, float16 and uint8")),
        }
        match self.semantics.as_deref() {
            None => {}
            Some("float") => recipe.semantics = Some(Semantics::Float),
            Some("uint8") => recipe.semantics = Some(Semantics::Uint8),
            Some(word) => return Err(refuse("semantics", word, "float and uint8")),
        }
        let backend = self.backend()?;
        let mut builder = DataLoader::builder(data)
            .recipe(recipe)
            .output(output.layout, output.dtype)
            .shuffle(self.shuffle)
            .page_aligned(self.page_aligned)
            .scaled_decode(self.scaled_decode)
            .cache_in_bytes(self.cache_in_bytes)
            .host_buffer_hook(hook);
        if let Some(views) = self.views {
            builder = builder.views(views);
        }
        if let Some(batch_size) = self.batch_size {
            builder = builder.batch_size(batch_size);
        }
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        if let Some(order) = &self.order {
            builder = builder.order(order.parse()?);
        }
        if let Some(lanes) = self.lanes {
            builder = builder.lanes(lanes);
        }
        if let Some(read_ahead) = self.read_ahead {
            builder = builder.read_ahead(read_ahead);
        }
        if let Some((folder, bytes)) = &self.remote_cache {
            builder = builder.remote_cache(folder, *bytes);
        }
        if let Some((rank, world)) = self.shard {
            builder = builder.shard(rank, world);
        }
        builder = match self.last_batch.as_deref() {
            None => builder,
            Some("partial") => builder.last_batch(LastBatch::Partial),
            Some("drop") => builder.last_batch(LastBatch::Drop),
            Some("pad") => builder.last_batch(LastBatch::Pad),
            Some(word) => return Err(refuse("last_batch", word, "partial, drop and pad")),
        };
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(queue_depth) = self.queue_depth {
            builder = builder.queue_depth(queue_depth);
        }
        if let Some(slot_bytes) = self.slot_bytes {
            builder = builder.slot_bytes(slot_bytes);
        }
        if let Some(memory_budget) = self.memory_budget {
            builder = builder.memory_budget(memory_budget);
        }
        if let Some(exif) = self.exif {
            builder = builder.exif(if exif { Orientation::Apply } else { Orientation::Ignore });
        }
        builder = match self.truncated.as_deref() {
            None => builder,
            Some("error") => builder.truncated(Truncated::Error),
            Some("fill") => builder.truncated(Truncated::Fill),
            Some(word) => return Err(refuse("truncated", word, "error and fill")),
        };
        if let Some(max_pixels) = self.max_pixels {
            builder = builder.max_pixels(max_pixels);
        }
        if let Some(max_decode_bytes) = self.max_decode_bytes {
            builder = builder.max_decode_bytes(max_decode_bytes);
        }
        builder = match &self.cache {
            None => builder,
            Some((place, bytes)) if place == "host" => builder.cache(Cache::Host(*bytes)),
            Some((place, bytes)) if place == "device" => builder.cache(Cache::Device(*bytes)),
            Some((place, _)) => return Err(refuse("cache", place, "host and device")),
        };
        builder = match self.seek_indexes.as_deref() {
            None => builder,
            Some("beside") => builder.seek_indexes(SeekIndexes::Beside),
            Some("memory") => builder.seek_indexes(SeekIndexes::Memory),
            Some("off") => builder.seek_indexes(SeekIndexes::Off),
            Some(path) => builder.seek_indexes(SeekIndexes::File(path.into())),
        };
        if let Some(seek_memory) = self.seek_memory {
            builder = builder.seek_memory(seek_memory);
        }
        builder = match self.on_error {
            None => builder,
            Some(share) if share < 0.0 => builder.on_error(OnError::Fail),
            Some(max_share) => builder.on_error(OnError::Skip { max_share }),
        };
        builder = match self.execute.as_deref() {
            None => builder,
            Some("auto") => builder.execute(Execute::Auto),
            Some("gpu") => builder.execute(Execute::Gpu),
            Some("cpu") => builder.execute(Execute::Cpu),
            Some(word) => return Err(refuse("execute", word, "auto, gpu and cpu")),
        };
        builder.build(&backend)
    }
}
