//! The buffers of each executor, and the GPU's kernels. They belong to the loader and outlive its runs. `cpu.rs` and
//! `gpu.rs` have one executor's each.

mod cpu;
mod gpu;

pub(super) use cpu::{COPY_SLOTS, CopyUp, CpuBuffers};
pub(super) use gpu::GpuBuffers;

use crate::error::Result;
use crate::gpu::{Compile, Export, Gpu};

/// The buffers of an executor, between and during runs.
pub(super) trait ExecutorBuffers {
    /// Returns the GPU, if the executor uses one.
    fn gpu(&self) -> Option<&Gpu>;
    /// Begins a run; an error if the budget has no room for it.
    fn enter(&self) -> Result<()>;
    /// Makes the GPU's buffers for a run of batches of `batch_bytes` bytes, unless those of an earlier run are free.
    fn allocate(&self, batch_bytes: u64) -> Result<()>;
    /// Ends a run.
    fn leave(&self);
    /// The time and the number of pipelines that compiling its shaders took; `None` without shaders.
    fn compile(&self) -> Option<Compile> {
        None
    }
    /// A description of the executor, for people.
    fn describe(&self) -> String;
}

/// The line of `explain` on batches that another API can import; nothing where it cannot.
fn handed_over(gpu: &Gpu, export: Export) -> String {
    match (export, gpu.handover()) {
        (Export::Auto, Ok(handover)) => format!("\nhanded over: memory that another API imports, by {handover}"),
        _ => String::new(),
    }
}
