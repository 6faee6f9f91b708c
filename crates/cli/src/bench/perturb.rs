//! Stages made a little slower on purpose, in turn. Only the one that limits the line is felt in full: that is a test
//! of what the statistics say which shares nothing with how they say it.

use super::line::Consumer;
use super::statistics::{Interval, resource_name};
use crate::results::median;
use crate::results::{Bottleneck, Perturbation};
use gpufeed::{DataLoader, Resource, Stage};
use std::error::Error;
use std::time::Duration;

/// Turns of the line as it is and of each slowed one.
const ROUNDS: usize = 5;
/// Of a stage's own time, added to it.
const SHARE: f64 = 0.15;
/// Of the time that the line spends on an image, added at the least: less would not be seen in the rate.
const LEAST: f64 = 0.1;
/// Batches after a change until the line has settled: the one that is being filled, and one more.
const SETTLE: usize = 2;
/// An elasticity nearer to 0 says nothing: the stage has a part in the time at the most.
const FELT: f64 = 0.3;

/// A slowed stage, and how far its elasticity may be off.
pub(super) struct Slowed {
    pub(super) row: Perturbation,
    uncertain: f64,
}

/// The stage that stands for each resource on this line; the GPU's passes cannot be slowed from outside.
fn stages(seen: &Interval) -> Vec<(Resource, Stage)> {
    let longer = |a: Stage, b: Stage| if seen.service(b) > seen.service(a) { b } else { a };
    let all = [
        (Resource::Disk, Stage::Read),
        (Resource::Cpu, longer(Stage::Decode, Stage::Augment)),
        (Resource::Upload, Stage::Submit),
        (Resource::Consumer, Stage::Consume),
    ];
    all.into_iter().filter(|(_, stage)| seen.service(*stage).is_some()).collect()
}

/// One turn: the logarithms of the rate and of the stages' times.
struct Turn {
    rate: f64,
    services: Vec<f64>,
}

fn turn(
    loader: &DataLoader,
    consumer: &mut Consumer,
    stages: &[(Resource, Stage)],
    time: Duration,
) -> Result<Turn, Box<dyn Error>> {
    consumer.skip(SETTLE)?;
    let before = loader.stats();
    let rate = consumer.window(time)?.rate().ln();
    let seen = Interval::since(loader, &before);
    let services = stages.iter().map(|(_, stage)| seen.service(*stage).unwrap_or(0.0).max(1e-9).ln());
    Ok(Turn { rate, services: services.collect() })
}

/// Slows each stage in turn, for `seconds` in all. `seen` is what the undisturbed line showed, `rate` its images a second.
pub(super) fn measure(
    loader: &DataLoader,
    step: Duration,
    (seen, rate): (&Interval, f64),
    workers: usize,
    seconds: f64,
) -> Result<Vec<Slowed>, Box<dyn Error>> {
    let stages = stages(seen);
    let time = Duration::from_secs_f64(seconds / (ROUNDS * (1 + stages.len())) as f64);
    let delays: Vec<f64> = stages
        .iter()
        .map(|&(_, stage)| {
            let threads = if matches!(stage, Stage::Submit | Stage::Consume) { 1.0 } else { workers as f64 };
            (SHARE * seen.service(stage).unwrap_or(0.0)).max(LEAST * threads / rate.max(1e-9))
        })
        .collect();
    let mut consumer = Consumer::start(loader, step)?;
    consumer.skip(SETTLE)?;
    // For each stage, of each round: the change of the rate, and of the stage's time.
    let mut changes = vec![Vec::new(); stages.len()];
    for _ in 0..ROUNDS {
        let base = turn(loader, &mut consumer, &stages, time)?;
        for (i, &(_, stage)) in stages.iter().enumerate() {
            loader.delay(stage, Duration::from_secs_f64(delays[i]));
            let slowed = turn(loader, &mut consumer, &stages, time);
            // Whatever happened: nothing later may be slowed.
            loader.delay(stage, Duration::ZERO);
            let slowed = slowed?;
            changes[i].push((slowed.rate - base.rate, slowed.services[i] - base.services[i]));
        }
    }
    Ok(stages
        .iter()
        .zip(&delays)
        .zip(&changes)
        .map(|((&(resource, _), &delay), changes)| slowed(resource, delay, changes))
        .collect())
}

fn slowed(resource: Resource, delay: f64, changes: &[(f64, f64)]) -> Slowed {
    let rates: Vec<f64> = changes.iter().map(|(rate, _)| *rate).collect();
    let times: Vec<f64> = changes.iter().map(|(_, time)| *time).collect();
    let (rate, time) = (median(&rates), median(&times).max(1e-3));
    // Of the median, from the median distance to it.
    let distances: Vec<f64> = rates.iter().map(|other| (other - rate).abs()).collect();
    let uncertain = 1.5 * median(&distances) / (changes.len().max(1) as f64).sqrt();
    Slowed {
        row: Perturbation { resource: resource_name(resource), delay, elasticity: rate / time },
        uncertain: uncertain / time,
    }
}

/// Compares the two answers. Where they disagree the report's becomes "unexplained".
pub(super) fn judge(slowed: &[Slowed], bottleneck: &mut Bottleneck, notes: &mut Vec<String>) {
    let strongest = slowed.iter().min_by(|a, b| a.row.elasticity.total_cmp(&b.row.elasticity));
    let Some(strongest) = strongest else { return };
    let (found, off) = (&strongest.row, 2.0 * strongest.uncertain);
    if found.elasticity > -FELT - off {
        notes.push(format!(
            "perturbations: none is felt beyond doubt (the strongest: {}, {:.2} ± {off:.2}), so they neither confirm nor \
             contradict the statistics",
            found.resource, found.elasticity
        ));
        return;
    }
    let Some(named) = bottleneck.resource.clone() else {
        notes.push(format!(
            "perturbations: the statistics name nothing; slowing {} is felt most ({:.2})",
            found.resource, found.elasticity
        ));
        return;
    };
    let own = slowed.iter().find(|slowed| slowed.row.resource == named);
    // Not distinguishable from the strongest: no disagreement.
    let alike = own.is_some_and(|own| own.row.elasticity - found.elasticity <= off + 2.0 * own.uncertain);
    if found.resource == named || alike {
        return;
    }
    bottleneck.verdict = format!(
        "the statistics name {named} ({}), but slowing {} is felt most (elasticity {:.2})",
        bottleneck.verdict, found.resource, found.elasticity
    );
    (bottleneck.resource, bottleneck.change, bottleneck.predicted_gain) = (None, None, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(resource: Resource, elasticity: f64) -> Slowed {
        slowed(resource, 1e-3, &[(0.2 * elasticity, 0.2), (0.21 * elasticity, 0.2), (0.19 * elasticity, 0.2)])
    }

    fn judged(named: Option<&str>, slowed: &[Slowed]) -> (Bottleneck, Vec<String>) {
        let mut bottleneck = Bottleneck {
            resource: named.map(str::to_owned),
            verdict: "as it was".to_owned(),
            predicted_gain: Some(0.5),
            ..Bottleneck::default()
        };
        let mut notes = Vec::new();
        judge(slowed, &mut bottleneck, &mut notes);
        (bottleneck, notes)
    }

    #[test]
    fn agreement_leaves_the_verdict() {
        let slowed = [row(Resource::Cpu, -0.9), row(Resource::Disk, -0.05), row(Resource::Consumer, 0.0)];
        let (bottleneck, notes) = judged(Some("cpu"), &slowed);
        assert_eq!((bottleneck.resource.as_deref(), bottleneck.predicted_gain), (Some("cpu"), Some(0.5)));
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn disagreement_is_unexplained() {
        let slowed = [row(Resource::Cpu, -0.1), row(Resource::Consumer, -0.95)];
        let (bottleneck, _) = judged(Some("cpu"), &slowed);
        assert_eq!((bottleneck.resource, bottleneck.predicted_gain), (None, None));
        assert!(
            bottleneck.verdict.contains("as it was") && bottleneck.verdict.contains("consumer"),
            "{}",
            bottleneck.verdict
        );
        // The GPU is not slowed itself, but it does not limit a line that feels another stage in full.
        assert_eq!(judged(Some("gpu"), &slowed).0.resource, None);
    }

    #[test]
    fn what_is_not_felt_decides_nothing() {
        let slowed = [row(Resource::Cpu, -0.1), row(Resource::Consumer, -0.2)];
        let (bottleneck, notes) = judged(Some("gpu"), &slowed);
        assert_eq!(bottleneck.resource.as_deref(), Some("gpu"));
        assert!(notes[0].contains("neither confirm"), "{notes:?}");
    }

    #[test]
    fn noise_is_not_taken_for_disagreement() {
        let noisy = slowed(Resource::Disk, 1e-3, &[(-0.4, 0.2), (0.3, 0.2), (-0.1, 0.2), (-0.6, 0.2), (0.5, 0.2)]);
        let (bottleneck, _) = judged(Some("cpu"), &[row(Resource::Cpu, -0.4), noisy]);
        assert_eq!(bottleneck.resource.as_deref(), Some("cpu"));
    }
}
