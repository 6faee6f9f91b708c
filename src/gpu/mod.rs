//! The only folder that calls wgpu: it runs a plan's passes on a device, and knows neither files, nor the loader's
//! threads and queues.
//!
//! A device is opened in `device.rs` (`adapters.rs` lists adapters, `caps.rs` has the capabilities). `errors.rs` turns
//! wgpu's errors into gpufeed's; `watch.rs` has the errors that a device reports by itself. `compile.rs` compiles
//! shaders, `pipelines.rs` keeps them for the life of a device and `pipeline_cache.rs` between processes, `kernels.rs` holds
//! those of a plan, `encode.rs` records their dispatches, and `submission.rs` submits them.
//! `mix.rs` records the mixing of a batch, which `mix_dispatches.rs` divides into dispatches.
//! The buffers are in `staging.rs` (towards the GPU), `workspace.rs` (parameters and intermediates), `target.rs`
//! (batches), `cache_pages.rs` (cached samples) and `readback.rs` (back to the host). `timing.rs` times the passes;
//! `measure.rs` is for benches.

pub(crate) mod adapters;
pub(crate) mod cache_pages;
mod caps;
mod compile;
mod device;
pub(crate) mod encode;
mod errors;
pub(crate) mod kernels;
pub(crate) mod measure;
mod mix;
pub(crate) mod mix_dispatches;
mod pipeline_cache;
mod pipelines;
pub(crate) mod readback;
pub(crate) mod staging;
pub(crate) mod submission;
pub(crate) mod target;
pub(crate) mod timing;
mod watch;
pub(crate) mod workspace;

pub use compile::Compile;
pub use device::{Attached, Gpu, attached};
pub use errors::run_checked;

/// Offsets of storage bindings are multiples of this on every device (WebGPU's default limit).
const ALIGNMENT: u64 = 256;
