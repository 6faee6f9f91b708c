//! gpufeed feeds any GPU with augmented image batches.

mod cpu;
pub mod dataset;
pub mod decode;
mod error;
pub mod plan;
pub mod sampler;
pub mod transforms;

pub use dataset::{
    Dataset, ImageFolder, ImageFolderBuilder, InMemory, Label, PixelFormat, Pixels, Sample, SampleData,
};
pub use error::{Error, ErrorKind, Result};
pub use plan::{DType, Layout, Output, Plan};
pub use sampler::{EpochOrder, LastBatch, Sampler, Slot, State};
