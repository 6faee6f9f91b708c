//! `gpufeed doctor`.

use crate::Outcome;

/// Says which adapters there are and which one is taken; with a folder, what is wrong with its files.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Outcome {
    Err("not built yet".into())
}
