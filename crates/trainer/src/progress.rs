//! Shows the progress of a run: a bar on a terminal, lines of text elsewhere.

use crate::history::{EpochResults, Partial};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// The display of a run's progress.
pub struct Display {
    bar: ProgressBar,
    lines: bool,
}

impl Display {
    /// Makes a display on standard output, or with `quiet` one that shows nothing.
    pub fn new(quiet: bool) -> Display {
        let terminal = std::io::stdout().is_terminal() && !quiet;
        let target = if terminal { ProgressDrawTarget::stdout() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:20} {pos}/{len}  {msg}") {
            bar.set_style(style);
        }
        Display { bar, lines: !terminal && !quiet }
    }

    /// Begins an epoch of `steps` steps.
    pub(crate) fn epoch(&self, epoch: u64, epochs: u64, steps: u64) {
        self.bar.set_length(steps);
        self.bar.set_prefix(format!("epoch {}/{epochs}", epoch + 1));
        self.bar.reset();
    }

    /// Shows the sums of the unfinished epoch in the bar.
    pub(crate) fn show(&self, partial: &Partial) {
        let (score, time) = (partial.score(), &partial.time);
        self.bar.set_message(format!(
            "loss {:.3}  accuracy {:.1} %  {:.0} images/s  data stall {:.1} %",
            score.loss,
            100.0 * score.accuracy,
            time.rate(partial.images),
            time.stall()
        ));
        self.bar.set_position(partial.steps);
    }

    /// Prints the results of a finished epoch.
    pub(crate) fn finished(&self, row: &EpochResults, epochs: u64) {
        let val = row.val.map_or(String::new(), |val| {
            format!("  val loss {:.4}  val accuracy {:.2} %", val.loss, 100.0 * val.accuracy)
        });
        self.say(&format!(
            "epoch {}/{epochs}  loss {:.4}  accuracy {:.2} %{val}  {:.0} images/s  data stall {:.1} %",
            row.epoch + 1,
            row.train.loss,
            100.0 * row.train.accuracy,
            row.time.rate(row.images),
            row.time.stall()
        ));
    }

    /// Prints a line, above the bar if there is one.
    #[allow(clippy::print_stdout, reason = "its purpose")]
    pub(crate) fn say(&self, line: &str) {
        if self.lines { println!("{line}") } else { self.bar.println(line) }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
