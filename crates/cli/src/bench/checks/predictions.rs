//! Compares the predicted gain of more workers with the measured one.

use crate::bench::measure::worker_sweep::Step;
use crate::results::{Prediction, median};

/// Returns a prediction for each step of the sweep to the next larger number of workers. It is made from the smaller
/// number's statistics, and from the speed of a core when the larger number works.
pub(crate) fn of(steps: &[Step], notes: &mut Vec<String>) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for pair in steps.windows(2) {
        let [few, many] = [&pair[0], &pair[1]];
        let change = format!("workers {} -> {}", few.row.workers, many.row.workers);
        // Compares rates of the same turn, which other work on the machine disturbs equally.
        let speeds = few.core_rates.iter().zip(&many.core_rates).map(|(few, many)| many / few.max(1e-9));
        // A speed above 1 would be noise: no core gets faster because others work.
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
