//! The native module `gpufeed._gpufeed`. The Python files of the package make gpufeed's API of it.
//!
//! `loader.rs` makes a loader, `run.rs` runs it, `batch.rs` hands its batches over, `dlpack.rs` shares their memory,
//! `dataset.rs` has data sets, `opening/` opens a path with the keywords of its format, `python_dataset.rs` reads those in
//! Python, `turns.rs` lets one call at a time into an object, `interpreter_end.rs` makes the calls that the interpreter's end
//! may cut off, `source.rs` makes a data set again of its pickle, `transforms.rs` reads recipes, `errors.rs` raises errors,
//! `advice.rs` puts their advice into Python's words, `stats.rs` has the statistics, `settings.rs` builds a loader of its settings,
//! `shard.rs` finds the launcher's rank, `process.rs` knows about forks and the interpreter's end.

mod advice;
mod batch;
mod dataset;
mod dlpack;
mod errors;
mod interpreter_end;
mod loader;
mod open_run;
mod opening;
mod process;
mod python_dataset;
mod run;
mod settings;
mod shard;
mod stats;
mod transforms;
mod turns;
mod warnings;

/// gpufeed's native module.
#[pyo3::pymodule(gil_used = false)]
mod _gpufeed {
    #[pymodule_export]
    use super::advice::every_advice;
    #[pymodule_export]
    use super::batch::{Batch, Failure};
    #[pymodule_export]
    use super::dataset::{Dataset, shown};
    #[pymodule_export]
    use super::dlpack::Array;
    #[pymodule_export]
    use super::loader::Loader;
    #[pymodule_export]
    use super::open_run::{end_all, open_runs};
    #[pymodule_export]
    use super::process::command;
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::settings::settings_of;
    #[pymodule_export]
    use super::shard::launched;
    #[pymodule_export]
    use super::transforms::{normalized_twice, recipe_check, recipe_content, recipe_names, recipe_toml};
    #[pymodule_export]
    use super::warnings::warn_of_library;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        gpufeed_cli::internals::collect_warnings(super::warnings::SAID);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
