//! gpufeed feeds any GPU with augmented image batches.

pub mod dataset;
mod error;
pub mod sampler;

pub use dataset::{
    Dataset, ImageFolder, ImageFolderBuilder, InMemory, Label, PixelFormat, Pixels, Sample,
    SampleData,
};
pub use error::{Error, ErrorKind, Result};
pub use sampler::{EpochOrder, LastBatch, Sampler, Slot, State};
