//! What `gpufeed bench` has measured, as its JSON holds it. Times are seconds, sizes bytes, rates a second, shares 0 to 1,
//! unless a name says otherwise. Fields are added, never renamed, and a file that lacks some is read with empty ones: so
//! `compare` and `report` read older files.

mod charts;
pub(crate) mod command;
mod facts;
#[cfg(test)]
mod frozen;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod peers;
mod section;
pub(crate) mod units;

use gpufeed::internals::{Shown, regular_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One run of `gpufeed bench`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    /// gpufeed's version.
    pub(crate) version: String,
    /// Seconds since 1970, UTC.
    pub(crate) unix_time: u64,
    pub(crate) machine: Machine,
    /// As wgpu names it; `None` without a GPU.
    pub(crate) adapter: Option<String>,
    pub(crate) driver: Option<String>,
    /// `cpu`, `vulkan`, `metal`, `dx12` or `gl`.
    pub(crate) backend: String,
    /// Who augments: `CPU executor`, `CPU executor, batches copied up`, `shaders`.
    pub(crate) executor: String,
    /// Its name or file.
    pub(crate) recipe: String,
    /// The same as TOML.
    pub(crate) recipe_toml: String,
    pub(crate) data: Data,
    /// `none`: nothing is cached but what the system caches.
    pub(crate) cache: String,
    pub(crate) workers: usize,
    pub(crate) batch_size: usize,
    pub(crate) images_per_second: Spread,
    /// Rates of one setting that differ too much to be one number; `None` where they agree.
    pub(crate) unstable: Option<String>,
    /// Of the whole process, the driver's threads included.
    pub(crate) cpu_seconds_per_image: f64,
    /// The same of each run, in the order of `images_per_second.runs`; empty where it was taken once.
    pub(crate) cpu_seconds_per_image_runs: Vec<f64>,
    /// Share of the time that the consumer waited for batches.
    pub(crate) data_stall: f64,
    /// From `build()` to the first batch, in a new process: shaders are compiled in it.
    pub(crate) time_to_first_batch: f64,
    pub(crate) latency: Latency,
    pub(crate) stages: Vec<Stage>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) gpu: GpuTime,
    pub(crate) statistics: Statistics,
    /// Each stage by itself, with unlimited input.
    pub(crate) alone: Vec<Alone>,
    pub(crate) bottleneck: Bottleneck,
    pub(crate) perturbations: Vec<Perturbation>,
    pub(crate) predictions: Vec<Prediction>,
    pub(crate) kernels: Kernels,
    pub(crate) upload: Vec<Rate>,
    pub(crate) sweep: Vec<Sweep>,
    pub(crate) memory: Memory,
    pub(crate) files_skipped: u64,
    /// What was not measured, and why.
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) os: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    /// Cores that other processes kept busy during the measurement.
    pub(crate) other_cores_busy: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Data {
    /// A folder, or `procedural`.
    pub(crate) name: String,
    pub(crate) samples: usize,
    pub(crate) bytes: u64,
    /// True if the samples were drawn in memory: no data set was read.
    pub(crate) drawn: bool,
}

impl Data {
    /// `250 samples, 27.6 MB`.
    pub(crate) fn said(&self) -> String {
        let drawn = if self.drawn { " drawn in memory, no data set" } else { "" };
        format!("{} samples{drawn}, {}", units::count(self.samples as u64), units::bytes(self.bytes as f64))
    }
}

impl Report {
    /// Reads what `gpufeed bench --json` wrote; the error names the file and what is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let shown = Shown(path.display());
        let text = regular_file::read_to_string(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let mut report: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{shown} is not a report of `gpufeed bench --json`: {error}"))?;
        if report.version.is_empty() {
            return Err(format!("{shown} is not a report of `gpufeed bench --json`: it has no `version`"));
        }
        report.rename_stages();
        Ok(report)
    }
}

impl Report {
    /// Gives the stages of reports that were written before November 2026 the names of today, so that `compare` finds
    /// the same stage in both.
    fn rename_stages(&mut self) {
        let names = self.stages.iter_mut().map(|stage| &mut stage.name);
        for name in names.chain(self.alone.iter_mut().map(|alone| &mut alone.stage)) {
            let today = match &**name {
                "draw" => "params",
                "put" => "copy",
                "upload" => "submit",
                _ => continue,
            };
            today.clone_into(name);
        }
    }
}

/// A number measured several times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) runs: Vec<f64>,
}

/// From a batch's announcement to its arrival in the queue of ready batches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// Upper edge in seconds, and batches up to it (and above the edge before).
    pub(crate) histogram: Vec<(f64, u64)>,
}

/// What a step takes for an image.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stage {
    pub(crate) name: String,
    pub(crate) seconds_per_image: f64,
    /// Of that, on a core; `None` where it is not sampled.
    pub(crate) cpu_seconds_per_image: Option<f64>,
    pub(crate) bytes_per_image: f64,
    /// `seconds_per_image` of each run; empty where it was taken once.
    pub(crate) runs: Vec<f64>,
}

/// Threads that do the same: how their time divides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) threads: usize,
    pub(crate) busy: f64,
    pub(crate) starved: f64,
    pub(crate) blocked: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) capacity: usize,
    /// Mean share that is full.
    pub(crate) occupancy: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Alone {
    pub(crate) stage: String,
    pub(crate) threads: usize,
    pub(crate) images_per_second: f64,
}

/// What the GPU took while the line ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GpuTime {
    /// `timestamps`, `waits` (wall time that the line waited for it, less than it took) or `none`.
    pub(crate) clock: String,
    /// Share of the time.
    pub(crate) busy: f64,
    /// Share of the time that the line waited for it.
    pub(crate) waited: f64,
    /// Seconds of one dispatch.
    pub(crate) passes: Vec<(String, f64)>,
}

/// What the statistics themselves take.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Statistics {
    /// What a worker records for an image: below 1 where not every image is divided into stages.
    pub(crate) sections_per_image: f64,
    pub(crate) seconds_per_image: f64,
    /// Of the CPU time an image.
    pub(crate) share_of_cpu: f64,
}

/// What `Stats::bottleneck()` said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bottleneck {
    /// `None`: unexplained.
    pub(crate) resource: Option<String>,
    /// What it was seen by, or why there is no answer.
    pub(crate) verdict: String,
    /// The single change, where there is one.
    pub(crate) change: Option<String>,
    /// What it is predicted to bring: 0.94 is + 94 %.
    pub(crate) predicted_gain: Option<f64>,
    /// A measurement of the same report that contradicts the prediction; `None` where nothing speaks against it.
    pub(crate) refuted: Option<String>,
    /// Each resource: the share of its capacity in use.
    pub(crate) utilisation: Vec<(String, f64)>,
}

/// A stage made slower on purpose.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Perturbation {
    pub(crate) resource: String,
    /// Seconds added for each image.
    pub(crate) delay: f64,
    /// Relative change of the rate by relative change of the resource's time: -1 at a bottleneck, 0 elsewhere.
    pub(crate) elasticity: f64,
}

/// What a change was predicted to bring, and what it brought.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Prediction {
    pub(crate) change: String,
    /// What a core does after the change, when that was measured beside it: 1 is as much as before.
    pub(crate) core_speed: Option<f64>,
    pub(crate) predicted_gain: f64,
    pub(crate) measured_gain: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Kernels {
    /// `timestamps`, `wall`, or why there are none.
    pub(crate) clock: String,
    pub(crate) rows: Vec<Rate>,
}

/// A kernel, or a way in: the bytes that must move at least.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rate {
    pub(crate) name: String,
    pub(crate) images: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Decimal gigabytes a second.
    pub(crate) gb_per_second: f64,
    /// Share of a plain copy's rate in the same run.
    pub(crate) of_copy: Option<f64>,
    /// Arithmetic per byte, for the roofline; counted by hand.
    pub(crate) flops_per_byte: Option<f64>,
    /// `gb_per_second` of each run; empty where it was taken once.
    pub(crate) runs: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sweep {
    pub(crate) workers: usize,
    pub(crate) images_per_second: Spread,
    pub(crate) cpu_seconds_per_image: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// Of the process while the line ran steadily.
    pub(crate) steady_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// Change from the first steady epoch to the last.
    pub(crate) drift_bytes: i64,
    /// What `memory_budget` accounts for.
    pub(crate) declared_bytes: u64,
    /// GPU buffers made after the first epoch; 0 where memory is steady.
    pub(crate) gpu_buffers_made: u64,
}

/// A report for tests, with every field filled. It is no measurement.
#[cfg(test)]
pub(crate) fn sample() -> Report {
    Report::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json")).unwrap()
}
