//! The library's statistics as the report holds them. Only this file knows both.

use crate::results::{Bottleneck, GpuTime, Latency, Pool, Queue, Report, Stage as Row};
use gpufeed::{DataLoader, Resource, Stage, Stats};
use std::time::Duration;

/// What the statistics saw between two looks.
pub(super) struct Interval {
    stats: Stats,
}

/// As JSON names it.
pub(super) fn resource_name(resource: Resource) -> String {
    format!("{resource:?}").to_lowercase()
}

/// A change of the loader's settings as one of the command's options.
fn option_for(change: &str) -> String {
    let text = change.replace("DType::F16 or U8", "dtype = \"F16\" or \"U8\" in the recipe");
    match text.strip_prefix("workers(").and_then(|rest| rest.split_once(')')) {
        Some((workers, rest)) => format!("--workers {workers}{rest}"),
        None => text,
    }
}

fn share(time: Duration, of: Duration, threads: usize) -> f64 {
    time.as_secs_f64() / (of.as_secs_f64() * threads.max(1) as f64).max(1e-9)
}

impl Interval {
    pub(super) fn since(loader: &DataLoader, before: &Stats) -> Interval {
        Interval { stats: loader.stats().since(before) }
    }

    /// Everything that the statistics have for the report.
    pub(super) fn fill(&self, report: &mut Report) {
        let stats = &self.stats;
        let latency = &stats.latency;
        report.latency = Latency {
            p50: latency.p50.as_secs_f64(),
            p90: latency.p90.as_secs_f64(),
            p99: latency.p99.as_secs_f64(),
            max: latency.max.as_secs_f64(),
            histogram: latency.histogram.iter().map(|(edge, batches)| (edge.as_secs_f64(), *batches)).collect(),
        };
        let used = stats.stages.iter().filter(|stage| stage.items > 0);
        report.stages = used
            .map(|stage| {
                let an_image = |time: Duration| time.as_secs_f64() / stage.items as f64;
                Row {
                    name: stage.stage.to_string(),
                    seconds_per_image: an_image(stage.busy),
                    cpu_seconds_per_image: stage.cpu.map(an_image),
                    bytes_per_image: stage.bytes as f64 / stage.items as f64,
                    runs: Vec::new(),
                }
            })
            .collect();
        let pool = |pool: &gpufeed::PoolStats| {
            let share = |time| share(time, stats.running, pool.threads);
            Pool {
                name: pool.name.to_owned(),
                threads: pool.threads,
                busy: share(pool.busy),
                starved: share(pool.starved),
                blocked: share(pool.blocked),
            }
        };
        report.pools = stats.pools.iter().map(pool).collect();
        let queue = |queue: &gpufeed::QueueStats| Queue {
            name: queue.name.to_owned(),
            capacity: queue.capacity,
            occupancy: queue.occupancy,
        };
        report.queues = stats.queues.iter().map(queue).collect();
        let gpu = &stats.gpu;
        report.gpu = GpuTime {
            clock: format!("{:?}", gpu.clock).to_lowercase(),
            busy: share(gpu.busy, stats.running, 1),
            waited: share(gpu.waited, stats.running, 1),
            passes: gpu
                .passes
                .iter()
                .map(|pass| (pass.name.clone(), pass.time.as_secs_f64() / pass.count.max(1) as f64))
                .collect(),
        };
        report.bottleneck = self.bottleneck();
    }

    /// Seconds that the stage of this name takes for an image; `None` where it had nothing to do.
    pub(super) fn seconds(&self, name: &str) -> Option<f64> {
        let row = self.stats.stages.iter().find(|row| row.stage.to_string() == name && row.items > 0)?;
        Some(row.busy.as_secs_f64() / row.items as f64)
    }

    /// Samples that could not be used and were replaced.
    pub(super) fn failed(&self) -> u64 {
        self.stats.failed
    }

    /// What the statistics say limits the line.
    pub(super) fn bottleneck(&self) -> Bottleneck {
        let found = self.stats.bottleneck();
        Bottleneck {
            resource: found.resource.map(resource_name),
            verdict: found.reason.clone(),
            change: found.change.as_ref().map(|change| option_for(&change.what)),
            predicted_gain: found.change.as_ref().map(|change| change.gain),
            refuted: None,
            utilisation: found.utilisation.iter().map(|&(resource, share)| (resource_name(resource), share)).collect(),
        }
    }

    /// What so many workers are predicted to bring, when a core does `core_speed` of what it does now.
    ///
    /// # Errors
    /// Why there is no prediction.
    pub(super) fn gain_of(&self, workers: usize, core_speed: f64) -> Result<f64, String> {
        self.stats.gain_of_workers_at(workers, core_speed).ok_or_else(|| self.stats.bottleneck().to_string())
    }

    /// Seconds that a stage takes for an image; `None` where it has nothing to do.
    pub(super) fn service(&self, stage: Stage) -> Option<f64> {
        let row = self.stats.stages.iter().find(|row| row.stage == stage && row.items > 0)?;
        Some(row.busy.as_secs_f64() / row.items as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::option_for;

    #[test]
    fn changes_are_said_in_the_words_of_the_command() {
        for (change, said) in [
            ("workers(3)", "--workers 3"),
            ("workers(2), whose waits overlap", "--workers 2, whose waits overlap"),
            ("one more core and worker", "one more core and worker"),
            (
                "fewer bytes (DType::F16 or U8, smaller)",
                "fewer bytes (dtype = \"F16\" or \"U8\" in the recipe, smaller)",
            ),
        ] {
            assert_eq!(option_for(change), said);
        }
    }
}
