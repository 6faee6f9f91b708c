//! A number measured several times: its median, its extremes, and all runs.

use crate::units;
use serde::{Deserialize, Serialize};

/// A number measured several times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// All runs, in the order in which they were measured.
    pub(crate) runs: Vec<f64>,
}

impl Spread {
    pub(crate) fn of_runs(runs: Vec<f64>) -> Spread {
        let (min, max) =
            runs.iter().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), &run| (low.min(run), high.max(run)));
        Spread { median: median(&runs), min: if runs.is_empty() { 0.0 } else { min }, max, runs }
    }

    /// Describes the runs: `1,105 to 1,177, 5 runs`.
    pub(crate) fn describe_runs(&self) -> String {
        match self.runs.len() {
            0 | 1 => "one run".to_owned(),
            runs => format!("{} to {}, {runs} runs", units::number(self.min), units::number(self.max)),
        }
    }
}

/// Returns the middle number, the mean of the two middle ones of an even count, or 0 for an empty slice.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        even if even.is_multiple_of(2) => 0.5 * (sorted[middle - 1] + sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::{Spread, median};

    #[test]
    fn the_middle_and_the_ends() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[])), (2.0, 2.5, 0.0));
        let Spread { median, min, max, runs } = Spread::of_runs(vec![2.0, 5.0, 1.0]);
        assert_eq!((median, min, max, runs), (2.0, 1.0, 5.0, vec![2.0, 5.0, 1.0]));
    }
}
