//! Turns the loader's `Stats` into the report's types. Only this file knows both.

use crate::results::{Bottleneck, GpuTime, Pool, Remote, Report, Slots, Stage as Row};
use gpufeed::{DataLoader, Resource, SlotStats, Stage, Stats};
use std::time::Duration;

/// The loader's statistics over a period of time.
pub(crate) struct Interval {
    pub(crate) stats: Stats,
}

/// Returns the JSON's name of a resource.
pub(crate) fn resource_name(resource: Resource) -> String {
    format!("{resource:?}").to_lowercase()
}

fn share(time: Duration, of: Duration, threads: usize) -> f64 {
    time.as_secs_f64() / (of.as_secs_f64() * threads.max(1) as f64).max(1e-9)
}

/// Returns the staging slots; `None` if none was submitted.
fn slots(slots: &SlotStats) -> Option<Slots> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    (slots.slots > 0).then(|| Slots {
        slots: slots.slots,
        bytes_per_slot: slots.bytes as f64 / slots.slots as f64,
        write_seconds: seconds(slots.write_time()),
        write_gb_per_second: slots.write_rate().map(|rate| rate / 1e9),
        copy_seconds: seconds(slots.copy_time()),
        copy_gb_per_second: slots.copy_rate().map(|rate| rate / 1e9),
    })
}

impl Interval {
    pub(crate) fn since(loader: &DataLoader, before: &Stats) -> Interval {
        Interval { stats: loader.stats().since(before) }
    }

    /// Fills the report's stages, pools, GPU time, staging slots and bottleneck.
    pub(crate) fn fill(&self, report: &mut Report) {
        let stats = &self.stats;
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
        report.slots = slots(&stats.slots);
        report.remote = stats.remote.as_ref().map(|remote| Remote {
            requests_per_image: remote.requests as f64 / stats.images.max(1) as f64,
            retries: remote.retries,
            bytes_per_second: remote.bytes as f64 / stats.running.as_secs_f64().max(1e-9),
            blocks: remote.blocks,
            cache_hits: remote.cache_hits,
            evicted_unread: remote.evicted_unread,
            waited: share(remote.waited, stats.running, stats.workers),
        });
        report.bottleneck = self.bottleneck();
    }

    /// Returns the seconds per image of the stage of this name; `None` if it had no work.
    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        let row = self.stats.stages.iter().find(|row| row.stage.to_string() == name && row.items > 0)?;
        Some(row.busy.as_secs_f64() / row.items as f64)
    }

    /// Returns the statistics' verdict on what limits the pipeline.
    pub(crate) fn bottleneck(&self) -> Bottleneck {
        let found = self.stats.bottleneck();
        Bottleneck {
            resource: found.resource.map(resource_name),
            verdict: found.reason.clone(),
            change: found.change.as_ref().map(|change| change.what.clone()),
            predicted_gain: found.change.as_ref().map(|change| change.gain),
            refuted: None,
            utilisation: found.utilisation.iter().map(|&(resource, share)| (resource_name(resource), share)).collect(),
        }
    }

    /// Returns the seconds per image of a stage; `None` if it had no work.
    pub(crate) fn service(&self, stage: Stage) -> Option<f64> {
        let row = self.stats.stages.iter().find(|row| row.stage == stage && row.items > 0)?;
        Some(row.busy.as_secs_f64() / row.items as f64)
    }
}
