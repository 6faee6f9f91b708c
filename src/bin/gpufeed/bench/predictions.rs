//! What more workers were predicted to bring, and what they brought.

use super::sweep::Step;
use crate::report::Prediction;

/// For each number of workers of the sweep and the next larger one: the prediction from the smaller one's statistics.
pub(super) fn of(steps: &[Step], notes: &mut Vec<String>) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for pair in steps.windows(2) {
        let [few, many] = [&pair[0], &pair[1]];
        let change = format!("workers {} -> {}", few.row.workers, many.row.workers);
        match few.interval.gain_of(many.row.workers) {
            Ok(gain) => predictions.push(Prediction {
                predicted_gain: gain,
                measured_gain: many.row.images_per_second.median / few.row.images_per_second.median.max(1e-9) - 1.0,
                change,
            }),
            Err(reason) => notes.push(format!("predictions: none for {change}: {reason}")),
        }
    }
    predictions
}
