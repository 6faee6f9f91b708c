//! `gpufeed compare`: two reports of `gpufeed bench`, as ratios with their spread.

use crate::Outcome;

/// Compares two reports: ratios with their spread, and whether a difference is larger than the noise.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments) -> Outcome {
    Err("not built yet".into())
}
