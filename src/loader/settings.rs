//! The settings of a loader as data: what a file, a checkpoint or a caller in another language writes.
//!
//! `scripts/settings.py` reads this struct, and writes the keywords of Python's `DataLoader` and the guide's table from
//! it. The script parses each field's documentation. It ends with `Default: ` and the default as users write it, or
//! words if the field is an `Option`. Write a range as `1 to 64` or `at least 1`: the script takes its lower bound from
//! these words.

mod file;
mod written;

pub use file::given;

use super::cache::Cache;
use super::{Execute, OnError};
use crate::byte_size as size;
use crate::decode::{DecodeOptions, Orientation, SeekIndexes, Truncated};
use crate::error::{Error, Result};
use crate::plan::{Arrangement, DType, Layout, Semantics};
use crate::sampler::{LastBatch, Order};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The settings of a [`DataLoader`](crate::DataLoader), without its data set, its transforms and its backend.
///
/// [`DataLoaderBuilder`](crate::DataLoaderBuilder) has a method for each setting, with more documentation; its method
/// `output` sets the layout and the type. [`DataLoaderBuilder::settings`](crate::DataLoaderBuilder::settings) takes all
/// settings together, and [`DataLoader::settings`](crate::DataLoader::settings) returns those in force.
///
/// In TOML and JSON the settings have the form that users of Python write: words in lower case, and bytes as a number or as
/// text with a unit of 1024, `"16G"`, `"512M"`, `"64K"`. Absent keys have their defaults, and unknown ones are errors.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, Cache, DataLoader, InMemory, Label, LoaderSettings, Order, PixelFormat};
///
/// let settings: LoaderSettings = serde_json::from_str(
///     r#"{"batch_size": 2, "shuffle": true, "order": ["blocks", 2, 1], "cache": "host:64M", "on_error": "fail"}"#,
/// )?;
/// assert_eq!(settings.cache, Cache::Host(64 << 20));
/// assert_eq!(settings.order, Some(Order::Blocks { samples: 2, window: 1 }));
/// assert_eq!(settings.queue_depth, LoaderSettings::default().queue_depth);
///
/// let mut data = InMemory::new();
/// for class in 0..4 {
///     data.push_pixels(8, 8, PixelFormat::Rgb8, vec![0; 192], Label::Class(class))?;
/// }
/// let builder = DataLoader::builder(data).transform(CenterCrop::new(4)).settings(settings);
/// let loader = builder.workers(1).build(&Backend::Cpu)?;
/// assert_eq!(loader.len(), 2);
/// println!("{}", serde_json::to_string_pretty(loader.settings())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LoaderSettings {
    /// Samples in a batch: at least 1. Default: `1`.
    #[serde(with = "written")]
    pub batch_size: usize,
    /// Gives each epoch its own random order. Default: `false`.
    #[serde(with = "written")]
    pub shuffle: bool,
    /// The seed of every random number. Default: `0`.
    #[serde(with = "written")]
    pub seed: u64,
    /// The kind of a shuffled epoch's order: `"full"`, or `["blocks", samples, window]`, which permutes blocks of
    /// `samples` neighbours and shuffles within windows of `window` blocks. Default: full; remote data are shuffled
    /// only in an order that is set here.
    #[serde(with = "written")]
    pub order: Option<Order>,
    /// The number of lanes of an order of blocks: at least 1. The number of ranks has to divide it. Default: as many as
    /// there are ranks.
    #[serde(with = "written")]
    pub lanes: Option<usize>,
    /// The share of each epoch that this process takes: `[rank, world]`, or `"auto"` for the one that the launcher's
    /// variables name. Default: all of it.
    #[serde(with = "written")]
    pub shard: Option<ShardChoice>,
    /// The treatment of an epoch's last, incomplete batch: `"partial"` leaves it smaller, `"drop"` leaves it out,
    /// `"pad"` fills it up. Default: `"partial"`.
    #[serde(with = "written")]
    pub last_batch: LastBatch,
    /// Images that a batch has of each sample, each with random numbers of its own: 1 to 64. Default: the recipe's,
    /// else 1.
    #[serde(with = "written")]
    pub views: Option<usize>,
    /// The order of a batch's elements: `"nchw"` or `"nhwc"`. Default: the recipe's, else NCHW.
    #[serde(with = "written")]
    pub layout: Option<Layout>,
    /// The type of a batch's elements: `"float32"`, `"float16"`, `"bfloat16"` or `"uint8"`. Default: the recipe's, else
    /// float32.
    #[serde(with = "written")]
    pub dtype: Option<DType>,
    /// The arithmetic of the operators: `"float"`, or `"uint8"` for torchvision's on 8-bit images. Default: the
    /// recipe's, else floats.
    #[serde(with = "written")]
    pub semantics: Option<Semantics>,
    /// How images of a batch lie, whose sizes may differ: `"uniform"`, all of one size; `"padded"`, to the largest of the batch,
    /// or `["padded", multiple_of]`; `"listed"`, each by itself. `["padded", multiple_of, [height, width]]` and
    /// `["listed", [height, width]]` say the largest image, where the transforms do not bound it. Default: the recipe's,
    /// else one size.
    pub arrangement: Option<Arrangement>,
    /// The treatment of samples that cannot be used: `"fail"` ends the run with the first one; `"skip"` replaces each
    /// by another sample, up to a tenth of all, or up to the share that is given, 0 to 1. Default: `"skip"`.
    #[serde(with = "written")]
    pub on_error: OnError,
    /// Threads that read and decode: 1 to 4096. Default: one for each core of this process, divided by the ranks that
    /// share them.
    #[serde(with = "written")]
    pub workers: Option<usize>,
    /// The most batches that wait for the caller: 1 to 4096. Default: `2`.
    #[serde(with = "written")]
    pub queue_depth: usize,
    /// Bytes for output buffers, staging slots, workspace, and images between the stages of the plan, together.
    /// Default: `"4G"`.
    #[serde(with = "size")]
    pub memory_budget: u64,
    /// Bytes of a staging slot, on a GPU alone: at least 16 MiB. Default: `"32M"`.
    #[serde(with = "size")]
    pub slot_bytes: u64,
    /// Decoded samples that stay between epochs: `"host:16G"` in RAM, `"device:8G"` on the GPU, up to so many bytes, or
    /// `"off"`. Default: `"off"`.
    #[serde(with = "written")]
    pub cache: Cache,
    /// Rounds what the cache stores after a resize to bytes: less memory, and pixels that differ by up to half a level.
    /// Default: `false`.
    #[serde(with = "written")]
    pub cache_in_bytes: bool,
    /// The executor that augments on a GPU backend: `"gpu"`, `"cpu"`, or `"auto"`, the GPU unless it is a software adapter.
    /// Default: `"auto"`.
    #[serde(with = "written")]
    pub execute: Execute,
    /// Turns and mirrors images as their EXIF or XMP orientation says. Default: `true`.
    #[serde(with = "written")]
    pub exif: Orientation,
    /// The treatment of truncated image files: `"error"`, or `"fill"`, which uses the pixels that can be decoded.
    /// Default: `"error"`.
    #[serde(with = "written")]
    pub truncated: Truncated,
    /// The most pixels that an image may declare: at least 1. Default: `268435456`.
    #[serde(with = "written")]
    pub max_pixels: u64,
    /// The most bytes of memory that decoding one image may take. Default: `"3G"`.
    #[serde(with = "size")]
    pub max_decode_bytes: u64,
    /// Decodes JPEGs at a half, a quarter or an eighth of their size where a resize reduces them by as much; changes
    /// pixels. Default: `false`.
    #[serde(with = "written")]
    pub scaled_decode: bool,
    /// The storage of seek indexes of JPEGs: a file `"beside"` the data, a file by its path, `"memory"`, or `"off"`.
    /// Default: `"beside"`.
    #[serde(with = "written")]
    pub seek_indexes: SeekIndexes,
    /// Bytes of memory for seek indexes that are not in a file. Default: `"256M"`.
    #[serde(with = "size")]
    pub seek_memory: u64,
    /// Bytes of remote data that are in memory or on their way before a worker asks for them. Default: 256 MiB.
    #[serde(with = "size")]
    pub read_ahead: Option<u64>,
    /// A folder on this machine that keeps what is fetched of remote data, and its bytes: `["/scratch/photos",
    /// "200G"]`. Default: none.
    #[serde(with = "written")]
    pub remote_cache: Option<(PathBuf, u64)>,
}

impl Default for LoaderSettings {
    fn default() -> Self {
        let DecodeOptions { exif, truncated, max_pixels, max_decode_bytes, .. } = DecodeOptions::default();
        LoaderSettings {
            batch_size: 1,
            shuffle: false,
            seed: 0,
            order: None,
            lanes: None,
            shard: None,
            last_batch: LastBatch::default(),
            views: None,
            layout: None,
            dtype: None,
            semantics: None,
            arrangement: None,
            on_error: OnError::default(),
            workers: None,
            queue_depth: 2,
            memory_budget: 4 << 30,
            slot_bytes: 32 << 20,
            cache: Cache::default(),
            cache_in_bytes: false,
            execute: Execute::default(),
            exif,
            truncated,
            max_pixels,
            max_decode_bytes,
            scaled_decode: false,
            seek_indexes: SeekIndexes::default(),
            seek_memory: 256 << 20,
            read_ahead: None,
            remote_cache: None,
        }
    }
}

/// Says which share of each epoch this process takes: [`LoaderSettings::shard`].
///
/// ```
/// use gpufeed::{LoaderSettings, ShardChoice};
///
/// let settings: LoaderSettings = serde_json::from_str(r#"{"shard": [3, 8]}"#)?;
/// assert_eq!(settings.shard, Some(ShardChoice::ByHand { rank: 3, world: 8 }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShardChoice {
    /// The launcher's variables name the share: those of torchrun, Open MPI, MPICH or Slurm, as
    /// [`Shard::auto`](crate::Shard::auto) finds them.
    Auto,
    /// These numbers name the share.
    ByHand {
        /// The number of this process, from 0 on.
        rank: usize,
        /// The number of processes.
        world: usize,
    },
}

impl LoaderSettings {
    /// Reads settings from a file, TOML or (with the ending `.json`) JSON. Keys that are absent have their defaults.
    ///
    /// ```
    /// use gpufeed::LoaderSettings;
    ///
    /// # let root = tempfile::tempdir()?;
    /// let file = root.path().join("run.toml");
    /// std::fs::write(&file, "batch_size = 256\nshuffle = true\nworker = 8\n")?;
    /// let error = LoaderSettings::load(&file).unwrap_err().to_string();
    /// assert!(error.ends_with("run.toml: line 3: worker: no such setting; did you mean \"workers\"?"), "{error}");
    ///
    /// std::fs::write(&file, "batch_size = 256\nshuffle = true\nworkers = 8\n")?;
    /// assert_eq!(LoaderSettings::load(&file)?.workers, Some(8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the file, the line, the key and the values that work,
    /// or the known key that is nearest; [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no such file. Numbers that
    /// do not go together are errors of [`DataLoaderBuilder::build`](crate::DataLoaderBuilder::build).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        LoaderSettings::default().updated(path)
    }

    /// Returns a copy of these settings in which the settings of a file replace the values here.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn updated(&self, path: impl AsRef<Path>) -> Result<Self> {
        let refused = |error: serde_json::Error| Error::argument("settings", error.to_string());
        let mut all = serde_json::to_value(self).map_err(refused)?;
        for (key, value) in given(path.as_ref())? {
            all[key] = value;
        }
        serde_json::from_value(all).map_err(refused)
    }

    /// Returns the settings that [`decode`](crate::decode::decode) reads.
    ///
    /// ```
    /// use gpufeed::{LoaderSettings, decode::DecodeOptions};
    ///
    /// assert_eq!(LoaderSettings::default().decode_options(), DecodeOptions::default());
    /// ```
    pub fn decode_options(&self) -> DecodeOptions {
        let LoaderSettings { exif, truncated, max_pixels, max_decode_bytes, .. } = *self;
        DecodeOptions { exif, truncated, max_pixels, max_decode_bytes }
    }
}

#[cfg(test)]
mod tests;
