//! The JSON object of one `gpufeed bench` run. This file also reads it.
//!
//! Unless a name says otherwise, times are in seconds, sizes in bytes, rates per second, and shares from 0 to 1.
//! Missing fields are read as empty, so that `compare` and `report` can read older files.

use super::{
    Bottleneck, Data, GpuTime, Group, Kernels, Machine, Memory, Perturbation, Pool, Rate, Remote, Slots, Spread, Stage,
    Sweep,
};
use gpufeed::internals::{Shown, regular_file};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::path::Path;

/// The schema of the reports that this version writes, and the highest that it can read. It goes up when a field
/// changes its meaning or goes away, and stays when a field is added. Schema 1, until gpufeed 0.2.0, had more fields,
/// which [`Report::read`] ignores.
pub(crate) const SCHEMA: u64 = 2;

/// Returns the schema of a report without the number: such reports are of schema 1.
fn unnumbered() -> u64 {
    1
}

/// One run of `gpufeed bench`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    /// The [`SCHEMA`] of the gpufeed that wrote the report.
    #[serde(default = "unnumbered")]
    pub(crate) schema: u64,
    /// gpufeed's version.
    pub(crate) version: String,
    /// The time of the run in seconds since 1970, UTC.
    pub(crate) unix_time: u64,
    pub(crate) machine: Machine,
    /// The adapter's name from wgpu; `None` without a GPU.
    pub(crate) adapter: Option<String>,
    pub(crate) driver: Option<String>,
    /// The adapter's PCI address, which tells equal cards apart; `None` if the driver does not report it.
    pub(crate) adapter_pci: Option<String>,
    /// The adapter's UUID; `None` if the driver does not report it.
    pub(crate) adapter_uuid: Option<String>,
    /// The rule that chose the adapter or the CPU, as a sentence; `None` for the CPU of `--backend cpu`.
    pub(crate) chosen: Option<String>,
    /// `cpu`, `vulkan`, `metal`, `dx12` or `gl`.
    pub(crate) backend: String,
    /// The executor that augments: `CPU executor`, `CPU executor, batches copied up`, `shaders`.
    pub(crate) executor: String,
    /// The recipe's name or file.
    pub(crate) recipe: String,
    /// The recipe as TOML.
    pub(crate) recipe_toml: String,
    pub(crate) data: Data,
    /// The cache; `none` if only the system caches.
    pub(crate) cache: String,
    /// The choices about the GPU's work that were set by hand, `name=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) switches: Vec<String>,
    pub(crate) workers: usize,
    pub(crate) batch_size: usize,
    /// The groups of views that a batch has; empty for a recipe with one list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<Group>,
    /// Images of all groups.
    pub(crate) images_per_second: Spread,
    /// The median of `images_per_second`, divided by the images of a sample; `None` in reports from before groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) samples_per_second: Option<f64>,
    /// Describes rates of the same setting that differ too much to be one number; `None` if they agree.
    pub(crate) unstable: Option<String>,
    /// CPU time of the whole process, the driver's threads included.
    pub(crate) cpu_seconds_per_image: f64,
    /// `cpu_seconds_per_image` of each run, in the order of `images_per_second.runs`; empty if it was measured once.
    pub(crate) cpu_seconds_per_image_runs: Vec<f64>,
    /// The share of the time for which the consumer waited for batches.
    pub(crate) data_stall: f64,
    /// The time from `build()` to the first batch in a new process, including the compilation of shaders.
    pub(crate) time_to_first_batch: f64,
    pub(crate) stages: Vec<Stage>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) gpu: GpuTime,
    /// `None` if no GPU augments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slots: Option<Slots>,
    /// `None` if all data is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<Remote>,
    pub(crate) bottleneck: Bottleneck,
    pub(crate) perturbations: Vec<Perturbation>,
    pub(crate) kernels: Kernels,
    pub(crate) upload: Vec<Rate>,
    pub(crate) sweep: Vec<Sweep>,
    pub(crate) memory: Memory,
    pub(crate) files_skipped: u64,
    /// Measurements that were left out, and the reasons.
    pub(crate) notes: Vec<String>,
}

/// The fields that tell which gpufeed wrote a report.
#[derive(Deserialize)]
struct Writer {
    #[serde(default = "unnumbered")]
    schema: u64,
    #[serde(default)]
    version: String,
}

impl Report {
    /// Reads a file of `gpufeed bench --json`. The error names the file and its fault.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let shown = Shown(path.display());
        let text = regular_file::read_to_string(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let not_a_report =
            |reason: &dyn Display| format!("{shown} is not a report of `gpufeed bench --json`: {reason}");
        // Reads these two fields first, because in a newer schema any other field may have another type.
        let Writer { schema, version } = serde_json::from_str(&text).map_err(|error| not_a_report(&error))?;
        if version.is_empty() {
            return Err(not_a_report(&"it has no `version`"));
        }
        if schema > SCHEMA {
            return Err(format!(
                "{shown} has schema {schema}, and gpufeed {} reads reports up to schema {SCHEMA}: update gpufeed to {}, \
                 which wrote the file, or to a later version",
                env!("CARGO_PKG_VERSION"),
                Shown(&version),
            ));
        }
        let mut report: Self = serde_json::from_str(&text).map_err(|error| not_a_report(&error))?;
        report.rename_stages();
        Ok(report)
    }

    /// Gives the stages of reports from before November 2026 today's names, so that `compare` finds the same stage in
    /// both reports.
    fn rename_stages(&mut self) {
        for stage in &mut self.stages {
            let today = match &*stage.name {
                "draw" => "params",
                "put" => "copy",
                "upload" => "submit",
                _ => continue,
            };
            today.clone_into(&mut stage.name);
        }
    }
}

/// Reads the tests' report, which has every field filled. It is not a measurement.
#[cfg(test)]
pub(crate) fn sample() -> Report {
    Report::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json")).unwrap()
}
