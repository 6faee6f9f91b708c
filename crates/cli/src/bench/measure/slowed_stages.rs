//! Slows the stages down a little, in turn, and watches the pipeline's rate. Only a delay in the limiting stage reaches
//! the rate in full, so this tests the statistics' verdict with an independent method.

use super::loader_stats::{Interval, resource_name};
use super::pipeline::Consumer;
use crate::results::Perturbation;
use crate::results::median;
use gpufeed::{DataLoader, Resource, Stage};
use std::error::Error;
use std::time::Duration;

/// The number of rounds. In each, the unchanged pipeline and every slowed one have a turn.
const ROUNDS: usize = 5;
/// The delay as a share of the stage's own time.
const SHARE: f64 = 0.15;
/// The least delay, as a share of the pipeline's time per image. A smaller delay would not show in the rate.
const LEAST: f64 = 0.1;
/// Batches until the pipeline has settled after a change: the one that is being filled, and one more.
const SETTLE: usize = 2;

/// A slowed stage, and the uncertainty of its elasticity.
pub(crate) struct Slowed {
    pub(crate) row: Perturbation,
    pub(crate) uncertainty: f64,
}

/// Returns the resources that can be slowed, if this pipeline uses them, each with the stage to slow. The CPU's is the
/// slower of decoding and augmenting. The GPU is not among them: its passes cannot be slowed from outside.
fn slowable_stages(seen: &Interval) -> Vec<(Resource, Stage)> {
    let longer = |a: Stage, b: Stage| if seen.service(b) > seen.service(a) { b } else { a };
    let all = [
        (Resource::Disk, Stage::Read),
        (Resource::Cpu, longer(Stage::Decode, Stage::Augment)),
        (Resource::Upload, Stage::Submit),
        (Resource::Consumer, Stage::Consume),
    ];
    all.into_iter().filter(|(_, stage)| seen.service(*stage).is_some()).collect()
}

/// The measurements of one turn, as logarithms: of the rate, and of the stages' times.
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

/// Slows each stage in turn, for `seconds` in all. `seen` and `rate` are the statistics and the images per second of
/// the undisturbed pipeline.
pub(crate) fn measure(
    loader: &DataLoader,
    step: Duration,
    seen: &Interval,
    rate: f64,
    workers: usize,
    seconds: f64,
) -> Result<Vec<Slowed>, Box<dyn Error>> {
    let stages = slowable_stages(seen);
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
    // For each stage and round: the changes of the rate and of the stage's time.
    let mut changes = vec![Vec::new(); stages.len()];
    for _ in 0..ROUNDS {
        let base = turn(loader, &mut consumer, &stages, time)?;
        for (i, &(_, stage)) in stages.iter().enumerate() {
            loader.delay(stage, Duration::from_secs_f64(delays[i]));
            let slowed = turn(loader, &mut consumer, &stages, time);
            // Ends the delay before an error can return, so that later turns are not slowed.
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

/// Calculates the elasticity of a stage from its changes of rate and time, which are differences of logarithms.
pub(crate) fn slowed(resource: Resource, delay: f64, changes: &[(f64, f64)]) -> Slowed {
    let rates: Vec<f64> = changes.iter().map(|(rate, _)| *rate).collect();
    let times: Vec<f64> = changes.iter().map(|(_, time)| *time).collect();
    let (rate, time) = (median(&rates), median(&times).max(1e-3));
    // Estimates the uncertainty of the median by the median distance to it.
    let distances: Vec<f64> = rates.iter().map(|other| (other - rate).abs()).collect();
    let uncertainty = 1.5 * median(&distances) / (changes.len().max(1) as f64).sqrt();
    Slowed {
        row: Perturbation { resource: resource_name(resource), delay, elasticity: rate / time },
        uncertainty: uncertainty / time,
    }
}
