//! The two outputs that only `gpufeed bench` writes: `summary.rs` prints the report to the terminal, `trace.rs` writes
//! the trace of a short run. JSON is written by `../mod.rs`, the page by `crate::render`.

pub(crate) mod summary;
pub(crate) mod trace;
