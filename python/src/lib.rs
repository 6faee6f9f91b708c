//! The native module `gpufeed._gpufeed`. The Python files of the package make gpufeed's API of it.
//!
//! | file | has |
//! |---|---|
//! | `loader.rs`, `settings.rs`, `transforms.rs` | makes a loader, of its settings and a recipe |
//! | `orders.rs` | orders of samples: gpufeed's own, and those that are given epoch by epoch |
//! | `adapters.rs` | the machine's GPU adapters |
//! | `run.rs`, `open_run.rs` | runs it; runs with threads, and their ends |
//! | `batch.rs`, `batch/`, `dlpack.rs` | hands a batch over, its groups, labels and columns; shares its memory |
//! | `dataset.rs`, `dataset/` | data sets; what they know of their samples; how one was made, for pickles |
//! | `opening/` | opens a path: the keywords of each format, and what opens it |
//! | `python_dataset.rs`, `python_dataset/`, `turns.rs` | reads objects of Python; one call at a time into each |
//! | `objects.rs` | boxes, keypoints and values of objects, as Python gives them |
//! | `own_code.rs` | calls the user's own code between the transforms |
//! | `interpreter_end.rs` | calls that the interpreter's end may cut off |
//! | `pack.rs` | packs a data set |
//! | `errors.rs`, `advice.rs`, `warnings.rs` | errors and warnings in Python's words |
//! | `stats.rs`, `shard.rs` | the statistics; the launcher's rank |
//! | `process.rs` | forks, panics, and the command |

mod adapters;
mod advice;
mod batch;
mod dataset;
mod dlpack;
mod errors;
mod external;
mod interpreter_end;
mod loader;
mod objects;
mod open_run;
mod opening;
mod orders;
mod own_code;
mod pack;
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
    use super::adapters::{adapters, missing_gpus};
    #[pymodule_export]
    use super::advice::every_advice;
    #[pymodule_export]
    use super::batch::{Batch, Failure, Group};
    #[pymodule_export]
    use super::dataset::{Dataset, shown};
    #[pymodule_export]
    use super::dlpack::Array;
    #[pymodule_export]
    use super::loader::Loader;
    #[pymodule_export]
    use super::open_run::{end_all, open_runs};
    #[pymodule_export]
    use super::pack::pack;
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
