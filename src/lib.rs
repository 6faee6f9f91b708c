//! gpufeed turns images into batches for training: it decodes them on a pool of threads, applies torchvision's
//! transforms to whole batches in fused [wgpu] compute shaders, and delivers a queue of GPU storage buffers. Without a
//! GPU the same plan runs as native code on the CPU.
//!
//! # Which types to use
//!
//! | type | for |
//! |---|---|
//! | [`Backend`] | where the augmentation runs: [`Backend::auto`], [`Backend::gpu`], [`Backend::Cpu`], or [`Gpu::from_wgpu`] with your own device |
//! | [`ImageFolder`], [`ImageList`], [`TarShards`], [`Idx`], [`Cifar`], [`Numpy`], [`Arrays`], [`InMemory`], [`Dataset`] | where samples come from: [`dataset`] |
//! | [`transforms`], [`recipe`] | the operations on images |
//! | [`DataLoader`], [`DataLoaderBuilder`] | all settings; [`DataLoader::epoch`] returns the batches, [`DataLoader::resume`] the rest of an epoch; each `for batch in &loader` takes the next epoch |
//! | [`Batch`], [`Images`] | a batch: its buffer, shape, labels, ids, parameters, failures |
//! | [`Plan`], [`Processor`] | the same augmentation for single images in memory |
//! | [`Stats`], [`Bottleneck`] | the time of each stage, and the bottleneck |
//! | [`pack`] | tar shards or an LMDB of any data set |
//! | [`Sampler`], [`Order`] | the order of samples alone, without a loader; its kinds |
//! | [`Error`], [`ErrorKind`] | the kinds of errors, with the setting that changes each |
//!
//! # A whole program
//!
//! ```
//! use gpufeed::transforms::{ColorJitter, Normalize, RandomHorizontalFlip, RandomResizedCrop};
//! use gpufeed::{Backend, DataLoader, DType, Images, InMemory, Label, Layout, PixelFormat};
//!
//! fn main() -> gpufeed::Result<()> {
//!     // Images that are there already; a folder of files is `ImageFolder::open("imagenet/train")?`.
//!     let mut data = InMemory::new();
//!     for number in 0..40 {
//!         let pixels: Vec<u8> = (0..64 * 48 * 3).map(|i| (i / 36 + number) as u8).collect();
//!         data.push_pixels(64, 48, PixelFormat::Rgb8, pixels, Label::Class(number % 4))?;
//!     }
//!
//!     let backend = Backend::auto()?; // the best GPU, else the CPU
//!     let loader = DataLoader::builder(data)
//!         .transform(RandomResizedCrop::new(32))
//!         .transform(RandomHorizontalFlip::new(0.5))
//!         .transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1))
//!         .transform(Normalize::IMAGENET)
//!         .output(Layout::Nchw, DType::F16)
//!         .batch_size(16)
//!         .shuffle(true)
//!         .seed(42)
//!         .build(&backend)?; // every mistake is reported here, with the setting to change
//!     println!("{}", loader.explain());
//!
//!     for epoch in 0..2 {
//!         for batch in loader.epoch(epoch)? {
//!             let batch = batch?;
//!             if let Images::Gpu { buffer, offset } = batch.images() {
//!                 // Bind it, and submit what reads it before the batch is dropped.
//!                 println!("{} bytes on the GPU from byte {offset}", buffer.size());
//!             }
//!             println!("{:?} {:?}", batch.shape(), batch.classes());
//!         }
//!     }
//!     println!("{}", loader.stats().bottleneck());
//!     Ok(())
//! }
//! ```
//!
//! # Backends
//!
//! On [`Backend::Gpu`] batches are storage buffers of that device; work submitted to [`Gpu::queue`] after a batch has
//! arrived runs after the batch's own. On [`Backend::Cpu`] they are bytes in host memory. Software adapters (lavapipe,
//! llvmpipe, WARP) run shaders on the CPU, several times slower than the CPU executor: [`Backend::auto`] never chooses
//! one, and on one that you choose the CPU executor augments and its batches are copied to buffers of the adapter,
//! unless [`Execute::Gpu`] is set. wgpu's backends are those of its default features.
//!
//! The environment variable `GPUFEED_ADAPTER` ([`ADAPTER_VARIABLE`]) decides what [`Backend::auto`] opens: `cpu`, a
//! number of [`Gpu::adapters`], a UUID, a PCI address, or part of an adapter's name. Without it, each rank that a launcher
//! starts on a machine takes a card of its own, and `CUDA_VISIBLE_DEVICES` and ROCm's variables hide cards;
//! [`Backend::choose`] says which rule has chosen. wgpu's own variables, such as `WGPU_BACKEND`, have their effect too.
//!
//! # Cargo features
//!
//! | feature | |
//! |---|---|
//! | `lmdb` | `dataset::LmdbWriter`, and [`pack`] to an LMDB; needs a C compiler. Reading an LMDB does not |
//! | `parquet` | `dataset::Parquet`; needs a C compiler |
//! | `remote` | data sets in object stores and on web servers, with [`RemoteOptions`](storage::RemoteOptions); needs a C compiler (TLS) |
//!
//! The command `gpufeed` (bench, compare, completions, doctor, explain, index, man, pack, preview, report) is the
//! package `gpufeed-cli`. Batches as tensors of [Burn](https://burn.dev) on the same GPU are the crate `gpufeed-burn`.
//!
//! # What stays the same
//!
//! Parameters depend on the seed, the epoch and the sample alone: the number of workers, the queue's depth, the shards
//! and a resumed run change none. On one backend and adapter the bits of a batch are the same as well. Operators have
//! the names, arguments, defaults and numbers of `torchvision.transforms.v2`: for float images by default, for 8-bit
//! images with [`Semantics::Uint8`]. The guide's chapter on augmentation lists the differences.

pub mod advice;
mod allocate;
mod backend;
mod byte_size;
mod color;
mod cores;
mod cpu;
mod credentials;
pub mod dataset;
pub mod decode;
mod elastic;
mod error;
mod geometry;
mod gpu;
#[cfg(any(doc, doctest))]
pub mod guide;
#[doc(hidden)]
pub mod internals;
mod launcher;
mod loader;
mod objects;
pub mod pack;
mod pillow;
mod pixels;
pub mod plan;
mod processor;
mod quote;
mod random;
pub mod recipe;
pub mod sampler;
mod spelling;
pub mod storage;
pub mod targets;
pub mod transforms;
mod warp;

pub use backend::Backend;
pub use dataset::{
    Arrays, Cifar, Dataset, Field, FieldKind, FieldValue, Idx, ImageFolder, ImageFolderBuilder, ImageList,
    ImageListBuilder, InMemory, Label, Numpy, PixelFormat, Pixels, Sample, SampleData, Split, TarShards,
};
pub use decode::SeekIndexes;
pub use error::{Error, ErrorKind, Result};
pub use gpu::{
    ADAPTER_VARIABLE, Choice, Compile, Doubt, Export, External, ExternalHandle, Gpu, Handover, Identity, Narrowed,
    Rule, SharedSemaphore,
};
pub use launcher::Shard;
pub use loader::{
    Batch, BatchGroup, Bottleneck, Cache, Change, Column, ColumnValues, DataLoader, DataLoaderBuilder, Epochs, Execute,
    Failure, GpuClock, GpuTime, HostBufferHook, Images, Latency, LoaderSettings, NextEpoch, OnError, PassTime,
    PoolStats, QueueStats, Resource, ShardChoice, SlotStats, Stage, StageStats, Stats, Views,
};
pub use plan::{Arrangement, DType, Layout, Output, Plan, Semantics};
pub use processor::Processor;
pub use recipe::Recipe;
pub use sampler::{EpochOrder, LastBatch, Order, Orders, Position, Sampler, State};
pub use wgpu;

/// Runs the README's program as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
