//! The only folder that calls wgpu.

mod device;
mod health;
pub(crate) mod kernel;
pub(crate) mod limits;
pub(crate) mod measure;
pub(crate) mod pages;
mod pipelines;
#[cfg(test)]
mod quirks;
pub(crate) mod readback;
pub(crate) mod staging;
pub(crate) mod submission;
pub(crate) mod timing;
pub(crate) mod workspace;

pub use device::{Attached, Gpu, attached};
pub use health::run_checked;
