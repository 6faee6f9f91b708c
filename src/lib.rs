//! gpufeed feeds any GPU with augmented image batches.

mod backend;
mod cpu;
pub mod dataset;
pub mod decode;
mod error;
mod gpu;
mod loader;
pub mod plan;
mod processor;
mod random;
pub mod recipe;
pub mod sampler;
pub mod transforms;

pub use backend::{ADAPTER_VARIABLE, Backend};
pub use dataset::{Dataset, ImageFolder, ImageFolderBuilder, InMemory, Label, PixelFormat, Pixels, Sample, SampleData};
pub use error::{Error, ErrorKind, Result};
pub use gpu::Gpu;
pub use loader::{Batch, DataLoader, DataLoaderBuilder, Epochs, Execute, Failure, Images, OnError, Stats};
pub use plan::{DType, Layout, Output, Plan};
pub use processor::Processor;
pub use sampler::{EpochOrder, LastBatch, Sampler, Slot, State};
pub use wgpu;
