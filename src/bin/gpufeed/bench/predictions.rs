//! What more workers were predicted to bring, and what they brought.

use super::sweep::Step;
use crate::report::Prediction;

/// For each number of workers of the sweep and the next larger one: the prediction from the smaller one's statistics.
pub(super) fn of(steps: &[Step], notes: &mut Vec<String>) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for pair in steps.windows(2) {
        let [few, many] = [&pair[0], &pair[1]];
        let change = format!("workers {} -> {}", few.row.workers, many.row.workers);
        match few.interval.more_workers() {
            Ok((next, gain)) => predictions.push(Prediction {
                predicted_gain: extended(gain, few.row.workers, next, many.row.workers),
                measured_gain: many.row.images_per_second.median / few.row.images_per_second.median.max(1e-9) - 1.0,
                change,
            }),
            Err(reason) => notes.push(format!("predictions: none for {change}: {reason}")),
        }
    }
    predictions
}

/// The gain of going from `from` to `to` workers where going to `next` gains `gain`: each further one brings as much.
fn extended(gain: f64, from: usize, next: usize, to: usize) -> f64 {
    gain * (to - from) as f64 / (next - from).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::extended;

    #[test]
    fn further_workers_bring_as_much_as_the_next() {
        assert!((extended(0.9, 1, 2, 2) - 0.9).abs() < 1e-12);
        assert!((extended(0.5, 2, 3, 4) - 1.0).abs() < 1e-12);
    }
}
