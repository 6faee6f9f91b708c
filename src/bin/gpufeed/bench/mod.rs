//! `gpufeed bench`.

use crate::Outcome;

/// Measures the whole line, each stage alone, the kernels, the upload path, and says what limits it.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Outcome {
    Err("not built yet".into())
}
