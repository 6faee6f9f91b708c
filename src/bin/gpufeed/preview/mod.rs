//! `gpufeed preview`.

use crate::Outcome;

/// Writes a contact sheet: each original beside what a recipe makes of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Outcome {
    Err("not built yet".into())
}
