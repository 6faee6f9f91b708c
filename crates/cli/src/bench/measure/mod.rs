//! The measurements of the pipeline and of its parts on the CPU. Each file measures one thing and returns rows of the
//! report; `../run.rs` calls them in order, and GPU kernels are in `../kernels`.
//!
//! - `memory_estimate.rs` refuses arguments that would not fit into memory.
//! - `first_batch.rs` is the time to the first batch, in new processes.
//! - `pipeline.rs` runs the whole pipeline and takes its rate; `loader_stats.rs` turns the loader's statistics of such
//!   a run into the report's types; `machine.rs` describes the machine and watches other processes.
//! - `slowed_stages.rs` slows each stage down and watches the rate.
//! - `memory.rs` watches the process's memory.
//! - `worker_sweep.rs` compares numbers of workers.

pub(crate) mod first_batch;
pub(crate) mod loader_stats;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod memory_estimate;
pub(crate) mod pipeline;
pub(crate) mod slowed_stages;
pub(crate) mod worker_sweep;
