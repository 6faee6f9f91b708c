//! A measured kernel before and after its times are known.

use crate::results::{Rate, median};

/// A row of the report before it is timed.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) images: u64,
    pub(crate) bytes: u64,
    pub(crate) flops: Option<f64>,
}

impl Case {
    /// Returns the GB/s of one run.
    fn rate(&self, seconds: f64) -> f64 {
        self.bytes as f64 / seconds / 1e9
    }

    fn row(self, turns: &[f64], copy: f64) -> Rate {
        let seconds = median(turns);
        let (rate, runs) = (self.rate(seconds), turns.iter().map(|&seconds| self.rate(seconds)).collect());
        let flops_per_byte = self.flops.map(|flops| flops / self.bytes as f64);
        let Case { name, images, bytes, .. } = self;
        Rate { name, images, bytes, seconds, gb_per_second: rate, of_copy: Some(rate / copy), runs, flops_per_byte }
    }
}

/// Makes the rows of timed cases. The first case is the copy that the others are compared with.
pub(crate) fn rows(cases: Vec<Case>, seconds: &[Vec<f64>]) -> Vec<Rate> {
    let copy = cases.first().zip(seconds.first()).map_or(f64::INFINITY, |(case, turns)| case.rate(median(turns)));
    cases.into_iter().zip(seconds).map(|(case, turns)| case.row(turns, copy)).collect()
}
