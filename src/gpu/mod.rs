//! The only folder that calls wgpu.

pub(crate) mod cache_pages;
mod device;
mod health;
pub(crate) mod kernel;
pub(crate) mod measure;
mod pipeline_cache;
mod pipelines;
pub(crate) mod readback;
pub(crate) mod staging;
pub(crate) mod submission;
pub(crate) mod timing;
mod watch;
pub(crate) mod workspace;

pub use device::{Attached, Gpu, attached};
pub use health::run_checked;

/// Offsets of storage bindings are multiples of this on every device (WebGPU's default limit).
const ALIGNMENT: u64 = 256;
