//! What more workers were predicted to bring, and what they brought.

use super::sweep::Step;
use crate::results::Prediction;
use crate::results::median;

/// For each number of workers of the sweep and the next larger one: the prediction from the smaller one's statistics,
/// and from what a core still does when so many are at work.
pub(super) fn of(steps: &[Step], notes: &mut Vec<String>) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for pair in steps.windows(2) {
        let [few, many] = [&pair[0], &pair[1]];
        let change = format!("workers {} -> {}", few.row.workers, many.row.workers);
        // Of the same turn, so that what else the machine does disturbs both alike.
        let speeds = few.alone.iter().zip(&many.alone).map(|(few, many)| many / few.max(1e-9));
        // More than before would be noise: nothing speeds a core up because others work.
        let core_speed = median(&speeds.collect::<Vec<_>>()).min(1.0);
        match few.interval.gain_of(many.row.workers, core_speed) {
            Ok(gain) => predictions.push(Prediction {
                core_speed: Some(core_speed),
                predicted_gain: gain,
                measured_gain: many.row.images_per_second.median / few.row.images_per_second.median.max(1e-9) - 1.0,
                change,
            }),
            Err(reason) => notes.push(format!("predictions: none for {change}: {reason}")),
        }
    }
    predictions
}
