//! Finds contradictions within a report: a prediction that the sweep refutes, and rates that differ too much between
//! runs.

use crate::results::{Report, Spread};
use crate::units;

/// A prediction is refuted if the measured gain is below this share of the predicted one.
const SHARE: f64 = 0.5;
/// Gains up to this one are within the noise.
const NOISE: f64 = 0.05;
/// If rates of the same setting differ by more than this factor, the report has no single rate.
const APART: f64 = 1.5;

/// Marks both kinds of contradictions in the report.
pub(crate) fn check(report: &mut Report) {
    report.bottleneck.refuted = refutation(report);
    report.unstable = instability(report);
}

/// Describes the step of the sweep that refutes a predicted gain of more workers. It is the step to the number of
/// workers that the prediction names, or else the step to the run's own number.
fn refutation(report: &Report) -> Option<String> {
    let predicted = report.bottleneck.predicted_gain.filter(|gain| *gain > NOISE)?;
    let change = report.bottleneck.change.as_ref().filter(|change| change.contains("worker"))?;
    let rate = |workers: usize| {
        let step = report.sweep.iter().find(|step| step.workers == workers);
        step.map(|step| step.images_per_second.median).filter(|rate| *rate > 0.0)
    };
    let named = change.split_once(" workers").and_then(|(workers, _)| workers.parse().ok());
    let (few, many) = match named.filter(|&workers| rate(workers).is_some()) {
        Some(workers) => (report.workers, workers),
        None => {
            let fewer = report.sweep.iter().map(|step| step.workers).filter(|&workers| workers < report.workers);
            (fewer.max()?, report.workers)
        }
    };
    let measured = rate(many)? / rate(few)? - 1.0;
    (measured < SHARE * predicted)
        .then(|| format!("from {few} to {many} workers the sweep measured {}", units::gain(measured)))
}

/// Describes the two rates of the main run's setting that differ most.
fn instability(report: &Report) -> Option<String> {
    let main = &report.images_per_second;
    let within = |spread: &Spread| spread.max > APART * spread.min && spread.runs.len() > 1;
    let rate = |rate: f64| format!("{} images/s", units::number(rate));
    let again = report.sweep.iter().find(|step| step.workers == report.workers).map(|step| &step.images_per_second);
    if let Some(again) = again
        && main.median.max(again.median) > APART * main.median.min(again.median)
    {
        let (first, second) = (rate(main.median), rate(again.median));
        return Some(format!(
            "{first} in the main run and {second} in the sweep, with the same {} workers",
            report.workers
        ));
    }
    within(main).then(|| format!("its runs are {} to {} apart", units::number(main.min), rate(main.max)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sweep;

    fn rates(runs: &[f64]) -> Spread {
        Spread::of_runs(runs.to_vec())
    }

    /// Two workers at 1,000 images per second. A third one is predicted to bring + 50 %.
    fn report(sweep: &[(usize, f64)]) -> Report {
        let mut report = Report { workers: 2, images_per_second: rates(&[1000.0, 990.0, 1010.0]), ..Report::default() };
        report.bottleneck.change = Some("3 workers".into());
        report.bottleneck.predicted_gain = Some(0.5);
        let step =
            |&(workers, rate): &(usize, f64)| Sweep { workers, images_per_second: rates(&[rate]), ..Sweep::default() };
        report.sweep = sweep.iter().map(step).collect();
        report
    }

    #[test]
    fn a_prediction_that_the_sweep_refutes_is_marked() {
        let mut tried = report(&[(1, 500.0), (2, 1000.0), (3, 950.0)]);
        check(&mut tried);
        assert_eq!(tried.bottleneck.refuted.unwrap(), "from 2 to 3 workers the sweep measured −5 %");
        let mut alike = report(&[(1, 1000.0), (2, 950.0)]);
        alike.bottleneck.change = Some("one more core and worker".into());
        check(&mut alike);
        assert_eq!(alike.bottleneck.refuted.unwrap(), "from 1 to 2 workers the sweep measured −5 %");
    }

    #[test]
    fn a_prediction_without_contradiction_is_not_marked() {
        // If the sweep has measured the predicted change itself, this outweighs the measurement of another step.
        let mut right = report(&[(1, 1000.0), (2, 1000.0), (3, 1450.0)]);
        check(&mut right);
        let mut small = report(&[(1, 1000.0), (2, 1000.0)]);
        small.bottleneck.predicted_gain = Some(0.04);
        check(&mut small);
        let mut other = report(&[(1, 1000.0), (2, 1000.0)]);
        other.bottleneck.change = Some("fewer bytes".into());
        check(&mut other);
        let mut none = report(&[(2, 1000.0)]);
        check(&mut none);
        let all = [&right, &small, &other, &none];
        assert_eq!(all.map(|report| report.bottleneck.refuted.as_ref()), [None; 4]);
        assert_eq!(all.map(|report| report.unstable.as_ref()), [None; 4]);
    }

    #[test]
    fn two_rates_of_one_setting_that_differ_by_two_are_unstable() {
        let mut apart = report(&[(2, 2000.0)]);
        check(&mut apart);
        let said = apart.unstable.unwrap();
        assert!(said.contains("1,000 images/s") && said.contains("2,000 images/s"), "{said}");
        let mut within = report(&[(2, 1000.0)]);
        within.images_per_second = rates(&[1000.0, 500.0, 1050.0]);
        check(&mut within);
        assert!(within.unstable.unwrap().contains("500"));
    }
}
