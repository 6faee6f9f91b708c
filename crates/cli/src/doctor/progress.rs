//! The progress bar of a scan.

use indicatif::{ProgressBar, ProgressStyle};

pub(super) fn progress(length: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}, {per_sec}, {eta} left");
    // The template is a valid constant. If it were not, indicatif's own style would do.
    style.map_or(bar.clone(), |style| bar.with_style(style))
}
