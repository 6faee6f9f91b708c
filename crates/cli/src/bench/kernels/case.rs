//! A kernel in the report: before its times are known, and after.

use super::roofline::Roofs;
use crate::results::{Rate, median};
use gpufeed::internals::Work;

/// A row of the report before its kernel is timed.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) images: u64,
    pub(crate) bytes: u64,
    /// The work of the passes, which run one after the other.
    pub(crate) works: Vec<Work>,
}

impl Case {
    /// Returns the GB/s of one run that took `seconds`.
    pub(crate) fn rate(&self, seconds: f64) -> f64 {
        self.bytes as f64 / seconds / 1e9
    }

    /// Returns the thousand millions of operations a second of one run that took `seconds`.
    pub(crate) fn gflop_rate(&self, seconds: f64) -> f64 {
        self.operations() / seconds / 1e9
    }

    fn operations(&self) -> f64 {
        self.works.iter().map(|work| work.operations).sum()
    }

    fn row(self, turns: &[f64], copy: f64, roofs: &Roofs) -> Rate {
        let seconds = median(turns);
        let (rate, runs) = (self.rate(seconds), turns.iter().map(|&seconds| self.rate(seconds)).collect());
        // A case without images is a roof, and has no prediction.
        let predicted = (self.images > 0).then(|| roofs.predict(&self.works));
        let Case { name, images, bytes, .. } = self;
        Rate {
            name,
            images,
            bytes,
            seconds,
            gb_per_second: rate,
            of_copy: Some(rate / copy),
            runs,
            predicted_seconds: predicted.map(|predicted| predicted.seconds),
            predicted_limit: predicted.map(|predicted| predicted.limit().to_owned()),
        }
    }
}

/// Makes the rows of timed cases, with predictions. The first case is the copy with which the others are compared.
pub(crate) fn rows(cases: Vec<Case>, seconds: &[Vec<f64>], roofs: &Roofs) -> Vec<Rate> {
    let copy = cases.first().zip(seconds.first()).map_or(f64::INFINITY, |(case, turns)| case.rate(median(turns)));
    cases.into_iter().zip(seconds).map(|(case, turns)| case.row(turns, copy, roofs)).collect()
}
