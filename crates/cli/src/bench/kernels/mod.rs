//! Measures a GPU's kernels and copies by themselves, on data that is already in memory: the least bytes that they
//! move, and their rate as a share of a plain copy's rate. Nothing here runs the pipeline.
//!
//! `on_gpu.rs` times the passes of fixed plans and of the recipe, `upload.rs` the paths into the GPU's memory. `plans.rs`
//! has the fixed plans, `case.rs` turns times into rows, `reference.rs` the kernels to compare with, `timer.rs` times
//! dispatches, and `turns.rs` lets measurements take turns. `roofline.rs` predicts times.
//!
//! Bytes are the least that must move: each source pixel is read once, each output written once. Operations are those of
//! `gpufeed::internals::work`.

mod case;
mod on_gpu;
mod plans;
pub mod reference;
mod roofline;
pub mod timer;
mod turns;
pub(crate) mod upload;

use super::setup::Setup;
use super::setup::samples::Samples;
use crate::results::Kernels;
use gpufeed::Plan;
use std::error::Error;
use std::time::Duration;

/// Measures the kernels of the run's GPU, for `seconds` in all.
pub(crate) fn measure(
    setup: &Setup,
    plan: &Plan,
    samples: &Samples,
    seconds: f64,
    notes: &mut Vec<String>,
) -> Result<Kernels, Box<dyn Error>> {
    let time = Duration::from_secs_f64(seconds);
    match setup.gpu() {
        Some(gpu) => {
            let mixes = setup.recipe.batch_transform.is_some();
            on_gpu::measure(gpu, &setup.switches, (plan, mixes), samples, time, notes)
        }
        None => Ok(Kernels { clock: "not measured: there is no GPU in this run".to_owned(), ..Kernels::default() }),
    }
}
