//! The parts of a report: one struct for each object of its JSON.

use super::Spread;
use crate::units;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) os: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    /// The number of cores that other processes kept busy during the measurement.
    pub(crate) other_cores_busy: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Data {
    /// A folder's name, or `procedural`.
    pub(crate) name: String,
    pub(crate) samples: usize,
    pub(crate) bytes: u64,
    /// True if the samples were drawn in memory and no data set was read.
    pub(crate) drawn: bool,
}

impl Data {
    /// Describes the samples: `250 samples, 27.6 MB`.
    pub(crate) fn describe(&self) -> String {
        let drawn = if self.drawn { " drawn in memory, no data set" } else { "" };
        format!("{} samples{drawn}, {}", units::count(self.samples as u64), units::bytes(self.bytes as f64))
    }
}

/// A group of views of a batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Images of each sample: its views, times the crops of each.
    pub(crate) images_per_sample: usize,
    pub(crate) height: u32,
    pub(crate) width: u32,
}

impl Group {
    /// Describes the images of a sample: `local 8 x 96x96`.
    pub(crate) fn describe(&self) -> String {
        let Group { name, images_per_sample, height, width } = self;
        format!("{name} {images_per_sample} x {width}x{height}")
    }
}

/// The data that came from object stores and web servers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remote {
    pub(crate) requests_per_image: f64,
    pub(crate) retries: u64,
    pub(crate) bytes_per_second: f64,
    /// Blocks that came into memory.
    pub(crate) blocks: u64,
    /// Reads from the cache on disk.
    pub(crate) cache_hits: u64,
    /// Blocks that left memory before all their samples were read.
    pub(crate) evicted_unread: u64,
    /// The share of the workers' time for which they waited for bytes.
    pub(crate) waited: f64,
}

/// Time of one stage per image.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stage {
    pub(crate) name: String,
    pub(crate) seconds_per_image: f64,
    /// The part of `seconds_per_image` that was spent on a core; `None` if it was not sampled.
    pub(crate) cpu_seconds_per_image: Option<f64>,
    pub(crate) bytes_per_image: f64,
    /// `seconds_per_image` of each run; empty if it was measured once.
    pub(crate) runs: Vec<f64>,
}

/// A pool of threads with the same task, and the shares of their time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) threads: usize,
    pub(crate) busy: f64,
    pub(crate) starved: f64,
    pub(crate) blocked: f64,
}

/// The GPU's time while the pipeline ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GpuTime {
    /// How the time was measured: `timestamps`, `waits` (the wall time for which the pipeline waited for the GPU, a
    /// lower bound) or `none`.
    pub(crate) clock: String,
    /// The share of the time for which the GPU worked.
    pub(crate) busy: f64,
    /// The share of the time for which the pipeline waited for the GPU.
    pub(crate) waited: f64,
    /// The names of passes, each with the seconds of one dispatch.
    pub(crate) passes: Vec<(String, f64)>,
}

/// The staging slots through which pixels reached a GPU that augments.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Slots {
    /// Slots that were submitted.
    pub(crate) slots: u64,
    pub(crate) bytes_per_slot: f64,
    /// The time in which workers write a slot, summed over them; `None` if it was not timed.
    pub(crate) write_seconds: Option<f64>,
    pub(crate) write_gb_per_second: Option<f64>,
    /// The time of a slot's copy on the device; `None` if shaders read slots in place, or without timestamps.
    pub(crate) copy_seconds: Option<f64>,
    pub(crate) copy_gb_per_second: Option<f64>,
}

/// The answer of `Stats::bottleneck()`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bottleneck {
    /// The resource that limits; `None` if it is unexplained.
    pub(crate) resource: Option<String>,
    /// The evidence, or the reason for the missing answer.
    pub(crate) verdict: String,
    /// The single change that would help, if there is one.
    pub(crate) change: Option<String>,
    /// The predicted gain of that change: 0.94 is + 94 %.
    pub(crate) predicted_gain: Option<f64>,
    /// A measurement of the same report that contradicts the prediction; `None` if all agree.
    pub(crate) refuted: Option<String>,
    /// Names of resources, and the share of each one's capacity in use.
    pub(crate) utilisation: Vec<(String, f64)>,
}

/// The effect on the rate of slowing a stage down on purpose.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Perturbation {
    pub(crate) resource: String,
    /// Seconds added to each image.
    pub(crate) delay: f64,
    /// The relative change of the rate for a relative change of the resource's time: -1 at a bottleneck, 0 elsewhere.
    pub(crate) elasticity: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Kernels {
    /// How the time was measured: `timestamps` or `wall`; or the reason why there are no rows.
    pub(crate) clock: String,
    pub(crate) rows: Vec<Rate>,
    /// The recipe's passes as predicted; `None` without a GPU.
    pub(crate) roofline: Option<Roofline>,
}

/// The two roofs from which the time of kernels was predicted, and the rate of all of the recipe's passes. The roofs are
/// the rates of this run's copy kernel and arithmetic kernel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Roofline {
    /// The roof of the memory: the rate of a copy.
    pub(crate) gb_per_second: f64,
    /// The roof of the arithmetic, in thousand millions of operations a second.
    pub(crate) gflop_per_second: f64,
    /// The roof that limits the prediction: `memory` or `arithmetic`.
    pub(crate) limit: String,
    pub(crate) predicted_images_per_second: f64,
    /// `None` if the recipe's own passes were not measured; `notes` has the reason.
    pub(crate) measured_images_per_second: Option<f64>,
}

/// The throughput of a kernel or of an upload path. Bytes are the least that must move.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rate {
    pub(crate) name: String,
    pub(crate) images: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// The rate in decimal gigabytes a second.
    pub(crate) gb_per_second: f64,
    /// This rate as a share of a plain copy's rate in the same run.
    pub(crate) of_copy: Option<f64>,
    /// The seconds that the roofline predicts; `None` without a GPU, or if operations were not counted.
    pub(crate) predicted_seconds: Option<f64>,
    /// The roof that limits the prediction: `memory` or `arithmetic`.
    pub(crate) predicted_limit: Option<String>,
    /// `gb_per_second` of each run; empty if it was measured once.
    pub(crate) runs: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sweep {
    /// Worker threads of this point of the sweep.
    pub(crate) workers: usize,
    pub(crate) images_per_second: Spread,
    pub(crate) cpu_seconds_per_image: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// Resident memory of the process while the pipeline ran steadily.
    pub(crate) steady_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// The bytes that `memory_budget` accounts for.
    pub(crate) declared_bytes: u64,
}
