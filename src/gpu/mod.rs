//! The only folder that calls wgpu: it runs a plan's passes on a device, and knows neither data sets, nor the loader's
//! threads and queues.
//!
//! A device is opened in `device.rs` (`adapters.rs` lists adapters; `caps.rs` alone asks for limits and features).
//! `choice/` chooses an adapter by rules, `identity.rs` asks the driver what tells equal cards apart, and `missing/` says
//! why a GPU has no adapter.
//! `errors.rs` turns wgpu's errors into gpufeed's; `watch.rs` has the errors that a device reports by itself.
//! `compile.rs` compiles shaders, `pipelines.rs` keeps them for the life of a device and `pipeline_cache.rs` between
//! processes, `kernels.rs` holds those of a plan, `encode.rs` records their dispatches, and `submission.rs` submits
//! them (through `queue.rs`, as all that is submitted or mapped). `mix.rs` records the mixing of a batch, which
//! `mix_dispatches.rs` divides into dispatches. The buffers are in `staging.rs` (towards the GPU, in one of the memories
//! of `staging_memory.rs`), `workspace.rs` (parameters and intermediates), `target.rs` (batches), `cache_pages.rs`
//! (cached samples) and `readback.rs` (back to the host). `timing.rs` times the passes and the copies; `measure.rs` is
//! for benches, `mock.rs` for tests of devices that misbehave.
//! `exported.rs` says when a batch in exported memory is another API's, and `external/vulkan.rs` has Vulkan's calls for that.
//! `switches.rs` has the choices that a measurement may set by hand, and `vulkan.rs` what wgpu does not tell of memory.

pub(crate) mod adapters;
#[cfg(test)]
mod arithmetic_tests;
pub(crate) mod cache_pages;
mod caps;
mod choice;
mod compile;
mod device;
pub(crate) mod encode;
mod errors;
pub(crate) mod exported;
mod external;
mod identity;
pub(crate) mod kernels;
pub(crate) mod measure;
pub(crate) mod missing;
mod mix;
pub(crate) mod mix_dispatches;
mod mock;
mod pipeline_cache;
mod pipelines;
mod queue;
pub(crate) mod readback;
pub(crate) mod staging;
pub(crate) mod staging_memory;
pub(crate) mod submission;
pub(crate) mod switches;
pub(crate) mod target;
pub(crate) mod timing;
mod vulkan;
mod watch;
pub(crate) mod workspace;

pub(crate) use choice::Want;
pub use choice::{ADAPTER_VARIABLE, Choice, Doubt, Narrowed, Rule, Verdict};
pub use compile::Compile;
pub use device::{Attached, Gpu, attached, mocked};
pub use errors::run_checked;
pub use exported::{Export, External, SharedSemaphore};
pub use external::{ExternalHandle, Handover};
pub use identity::Identity;
pub use mock::{Clock, Fault, Mock};
pub use vulkan::DeviceMemory;

/// Offsets of storage bindings are multiples of this on every device (WebGPU's default limit).
const ALIGNMENT: u64 = 256;
