//! Results of other loaders and of gpufeed, measured in turns: the JSON object that `benches/peers/run.py` prints and
//! `gpufeed report --peers` reads.
//!
//! ```json
//! {
//!   "unix_time": 1795266629,
//!   "machine": {"os": "Debian 12", "cpu": "AMD EPYC", "cores": 2, "memory_bytes": 25769803776, "other_cores_busy": 0.03},
//!   "data": {"name": "ImageNet, 250 files, four hard links each", "samples": 1000, "bytes": 110000000},
//!   "workers": 2,
//!   "batch_size": 64,
//!   "recipes": [{"name": "imagenet-train", "what": "A: RandomResizedCrop(224), flip, Normalize, f32 NCHW"}],
//!   "rows": [
//!     {"recipe": "imagenet-train", "name": "gpufeed", "version": "0.1.0",
//!      "images_per_s": {"median": 1164, "min": 1105, "max": 1177, "runs": [1105, 1164, 1177]},
//!      "cpu_ms_per_image": 1.66, "peak_rss_mb": 99, "note": "CPU backend"},
//!     {"recipe": "imagenet-train", "name": "DALI", "version": "2.4", "images_per_s": null, "note": "no wheel for this Python"}
//!   ],
//!   "notes": ["page cache warm"]
//! }
//! ```
//!
//! - A row needs `recipe` and `name`. Each recipe needs a row named exactly `gpufeed`; the other rows are compared with
//!   it. Further rows of gpufeed have other names, such as `gpufeed (llvmpipe)`.
//! - The loaders take turns: the i-th number of `runs` in every row of a recipe is from the i-th round. So a ratio is
//!   the median of the rounds' ratios, and other work on the machine affects both sides of a round. Rows with different
//!   numbers of runs are compared by their medians.
//! - `images_per_s` is null if a loader did not run; `note` gives the reason. `note` also names differences in the work
//!   ("no antialias").
//! - `cpu_ms_per_image` is the CPU time of all processes and threads of a loader, `peak_rss_mb` their peak resident
//!   memory in 10^6 bytes; null if not measured.
//! - `machine`, `data` and `images_per_s` are those of the report (`sections.rs`, `spread.rs`).
//! - Everything but `rows` may be left out. Unknown keys are ignored, so that scripts may write more than is shown.

use super::{Data, Machine, Spread};
use gpufeed::internals::{Shown, regular_file};
use serde::Deserialize;
use std::path::Path;

/// The results of one run of `benches/peers/run.py`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Peers {
    /// Seconds since 1970, UTC; 0 if unknown.
    #[serde(default)]
    pub(crate) unix_time: u64,
    #[serde(default)]
    pub(crate) machine: Machine,
    #[serde(default)]
    pub(crate) data: Data,
    /// Worker threads or processes of each loader; 0 if unknown.
    #[serde(default)]
    pub(crate) workers: usize,
    #[serde(default)]
    pub(crate) batch_size: usize,
    /// Descriptions of the recipes, in the order of their tables.
    #[serde(default)]
    pub(crate) recipes: Vec<PeerRecipe>,
    pub(crate) rows: Vec<PeerRow>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct PeerRecipe {
    pub(crate) name: String,
    /// A description in one line.
    #[serde(default)]
    pub(crate) what: String,
}

/// The result of one loader with one recipe.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct PeerRow {
    pub(crate) recipe: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
    /// `None` if the loader did not run.
    #[serde(default)]
    pub(crate) images_per_s: Option<Spread>,
    #[serde(default)]
    pub(crate) cpu_ms_per_image: Option<f64>,
    #[serde(default)]
    pub(crate) peak_rss_mb: Option<f64>,
    #[serde(default)]
    pub(crate) note: String,
}

/// The name of the row that all others are compared with.
const OWN: &str = "gpufeed";

/// gpufeed's images/s divided by those of another row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Ratio {
    /// Returns true if gpufeed is slower in the median.
    pub(crate) fn loses(self) -> bool {
        self.median < 1.0
    }

    /// Returns true if gpufeed is faster in some rounds and slower in others.
    pub(crate) fn undecided(self) -> bool {
        self.min < 1.0 && self.max > 1.0
    }
}

impl Peers {
    /// Reads and checks a file. The error names the file and its fault.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let shown = Shown(path.display());
        let text = regular_file::read_to_string(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let peers: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{shown} does not hold the rows of benches/peers/run.py: {error}"))?;
        peers.check().map_err(|reason| format!("{shown}: {reason}"))?;
        Ok(peers)
    }

    fn check(&self) -> Result<(), String> {
        if self.rows.is_empty() {
            return Err("`rows` is empty: nothing was measured".into());
        }
        for row in &self.rows {
            let Some(rate) = &row.images_per_s else { continue };
            let good = |rate: f64| rate.is_finite() && rate > 0.0;
            if ![rate.median, rate.min, rate.max].into_iter().chain(rate.runs.iter().copied()).all(good) {
                return Err(format!(
                    "row `{}` of recipe `{}`: every number of `images_per_s` must be above 0; null where it did not run",
                    row.name, row.recipe
                ));
            }
        }
        for recipe in self.recipes() {
            if self.own(recipe).is_none() {
                return Err(format!(
                    "recipe `{recipe}` has no row named `{OWN}` with `images_per_s`, which the others are compared with"
                ));
            }
        }
        Ok(())
    }

    /// Returns the recipes that have rows: those of `recipes` first, then the others in the order of the rows.
    pub(crate) fn recipes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let known = self.recipes.iter().map(|recipe| recipe.name.as_str());
        for name in known.chain(self.rows.iter().map(|row| row.recipe.as_str())) {
            if !names.contains(&name) && self.rows.iter().any(|row| row.recipe == name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns a recipe's rows, fastest first. Loaders that did not run are last.
    pub(crate) fn rows_of(&self, recipe: &str) -> Vec<&PeerRow> {
        let mut rows: Vec<&PeerRow> = self.rows.iter().filter(|row| row.recipe == recipe).collect();
        let rate = |row: &PeerRow| row.images_per_s.as_ref().map_or(0.0, |rate| rate.median);
        rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        rows
    }

    fn own(&self, recipe: &str) -> Option<&Spread> {
        self.rows.iter().find(|row| row.recipe == recipe && row.name == OWN)?.images_per_s.as_ref()
    }

    /// Compares a row with gpufeed's. `None` for gpufeed's own row and for loaders that did not run.
    pub(crate) fn ratio(&self, row: &PeerRow) -> Option<Ratio> {
        if row.name == OWN {
            return None;
        }
        let (own, theirs) = (self.own(&row.recipe)?, row.images_per_s.as_ref()?);
        if own.runs.is_empty() || own.runs.len() != theirs.runs.len() {
            let (median, min, max) = (own.median / theirs.median, own.min / theirs.max, own.max / theirs.min);
            return Some(Ratio { median, min, max });
        }
        let rounds: Vec<f64> = own.runs.iter().zip(&theirs.runs).map(|(own, theirs)| own / theirs).collect();
        let Spread { median, min, max, .. } = Spread::of_runs(rounds);
        Some(Ratio { median, min, max })
    }
}
