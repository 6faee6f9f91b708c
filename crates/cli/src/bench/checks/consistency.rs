//! Finds contradictions within a report: a prediction that the sweep refutes, and rates that differ too much between
//! runs.

use crate::results::{Report, Spread};
use crate::units;

/// A prediction is refuted if the measured gain is below this share of the predicted one.
const SHARE: f64 = 0.5;
/// Gains up to this are within the noise.
const NOISE: f64 = 0.05;
/// Rates of one setting that differ by more than this factor are not one number.
const APART: f64 = 1.5;

/// Marks both kinds of contradictions in the report.
pub(crate) fn check(report: &mut Report) {
    report.bottleneck.refuted = refutation(report);
    report.unstable = instability(report);
}

/// Describes the measurement that refutes the bottleneck's prediction, or a prediction made with the same method.
fn refutation(report: &Report) -> Option<String> {
    let predicted = report.bottleneck.predicted_gain.filter(|gain| *gain > NOISE)?;
    let fails = |predicted: f64, measured: f64| predicted > NOISE && measured < SHARE * predicted;
    let rate = |workers: usize| {
        let step = report.sweep.iter().find(|step| step.workers == workers);
        step.map(|step| step.images_per_second.median).filter(|rate| *rate > 0.0)
    };
    let workers = report.bottleneck.change.as_ref().and_then(|change| change.strip_prefix("--workers "));
    let workers = workers.and_then(|text| text.split(',').next()?.parse().ok());
    if let Some((now, then)) = rate(report.workers).zip(workers.and_then(rate)) {
        let measured = then / now - 1.0;
        return fails(predicted, measured)
            .then(|| format!("the sweep measured {} with as many workers", units::gain(measured)));
    }
    let failed = report.predictions.iter().rfind(|made| fails(made.predicted_gain, made.measured_gain))?;
    let [predicted, measured] = [failed.predicted_gain, failed.measured_gain].map(units::gain);
    Some(format!("{} was predicted in the same way to bring {predicted}, and brought {measured}", failed.change))
}

/// Describes the rates of the main run's setting that are furthest apart.
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
    use crate::results::{Prediction, Sweep};

    fn rates(runs: &[f64]) -> Spread {
        Spread::of_runs(runs.to_vec())
    }

    /// Two workers at 1,000 images per second. `--workers 3` is predicted to bring + 50 %.
    fn report(sweep: &[(usize, f64)]) -> Report {
        let mut report = Report { workers: 2, images_per_second: rates(&[1000.0, 990.0, 1010.0]), ..Report::default() };
        report.bottleneck.change = Some("--workers 3".into());
        report.bottleneck.predicted_gain = Some(0.5);
        let step =
            |&(workers, rate): &(usize, f64)| Sweep { workers, images_per_second: rates(&[rate]), ..Sweep::default() };
        report.sweep = sweep.iter().map(step).collect();
        report
    }

    fn predicted(report: &mut Report, predicted_gain: f64, measured_gain: f64) {
        let change = "workers 1 -> 2".to_owned();
        report.predictions.push(Prediction { change, core_speed: None, predicted_gain, measured_gain });
    }

    #[test]
    fn a_prediction_that_the_sweep_refutes_is_marked() {
        let mut tried = report(&[(2, 1000.0), (3, 950.0)]);
        check(&mut tried);
        assert!(tried.bottleneck.refuted.as_ref().unwrap().contains("−5 %"), "{:?}", tried.bottleneck.refuted);
        let mut alike = report(&[(1, 1000.0), (2, 950.0)]);
        predicted(&mut alike, 0.94, -0.05);
        check(&mut alike);
        let said = alike.bottleneck.refuted.unwrap();
        assert!(said.contains("workers 1 -> 2") && said.contains("+94 %") && said.contains("−5 %"), "{said}");
    }

    #[test]
    fn a_prediction_without_contradiction_is_not_marked() {
        let mut right = report(&[(2, 1000.0), (3, 1450.0)]);
        // The sweep's own measurement of the change outweighs another prediction.
        predicted(&mut right, 0.94, -0.05);
        check(&mut right);
        let mut small = report(&[(1, 990.0), (2, 1000.0)]);
        predicted(&mut small, 0.04, 0.0);
        check(&mut small);
        let mut none = report(&[(2, 1000.0)]);
        check(&mut none);
        assert_eq!([&right, &small, &none].map(|report| report.bottleneck.refuted.as_ref()), [None; 3]);
        assert_eq!([&right, &small, &none].map(|report| report.unstable.as_ref()), [None; 3]);
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
