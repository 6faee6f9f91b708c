//! The tables of a report as text cells. Their layout is left to the page.

use crate::results::{Prediction, Rate, Remote, Report, Spread};
use crate::units;

/// A table's rows. Without a head, the first cell of each row is its name.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) head: Vec<&'static str>,
    /// Columns of text, in addition to the first; all others are numbers.
    pub(crate) text: Vec<usize>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: Option<String>,
}

/// A prediction is met if it differs from the measured gain by at most this share of that gain, or by at most `NOISE`.
const MET: f64 = 0.15;
/// A prediction is also met if it differs from the measured gain by at most this much (0.03 is 3 percentage points),
/// because smaller differences are noise.
const NOISE: f64 = 0.03;

/// The cell of a missed prediction, which the page highlights.
const MISS: &str = "missed";

/// Returns true if a cell is to be highlighted.
pub(crate) fn is_highlighted(cell: &str) -> bool {
    cell == MISS
}

/// Returns all tables that have rows, in reading order.
pub(crate) fn all(report: &Report) -> Vec<Table> {
    let tables = [
        machine(report),
        settings(report),
        pipeline(report),
        stages(report),
        isolated_stages(report),
        kernels(report),
        roofline(report),
        upload(report),
        sweep(report),
        gpu(report),
        memory(report),
        perturbations(report),
        predictions(report),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Makes a table of names and values. Names with an empty value are left out.
fn named(title: &'static str, facts: Vec<(&str, String)>) -> Table {
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let rows = known.map(|(name, value)| vec![name.to_owned(), value]).collect();
    Table { title, head: Vec::new(), text: Vec::new(), rows, note: None }
}

/// Returns an empty text for 0: numbers that an older file lacks are read as 0.
fn unless_zero(value: u64, text: String) -> String {
    if value == 0 { String::new() } else { text }
}

fn machine(report: &Report) -> Table {
    let machine = &report.machine;
    named(
        "Machine",
        vec![
            ("processor", machine.cpu.clone()),
            ("cores", unless_zero(machine.cores as u64, machine.cores.to_string())),
            ("memory", unless_zero(machine.memory_bytes, units::bytes(machine.memory_bytes as f64))),
            ("system", machine.os.clone()),
            ("adapter", report.adapter.clone().unwrap_or_else(|| "none".to_owned())),
            ("driver", report.driver.clone().unwrap_or_default()),
            ("other processes", format!("{} cores busy", units::tick(machine.other_cores_busy))),
            ("gpufeed", report.version.clone()),
            ("measured", units::date(report.unix_time)),
        ],
    )
}

fn settings(report: &Report) -> Table {
    let data = &report.data;
    named(
        "Settings",
        vec![
            ("recipe", report.recipe.clone()),
            ("data", data.name.clone()),
            ("data set", unless_zero(data.samples as u64, data.describe())),
            ("backend", report.backend.clone()),
            ("who augments", report.executor.clone()),
            ("workers", unless_zero(report.workers as u64, report.workers.to_string())),
            ("batch size", unless_zero(report.batch_size as u64, report.batch_size.to_string())),
            ("cache", report.cache.clone()),
        ],
    )
}

fn pipeline(report: &Report) -> Table {
    let latency = &report.latency;
    let measured = report.images_per_second.median > 0.0;
    let known = |seconds: f64| if seconds > 0.0 { units::duration(seconds) } else { String::new() };
    let percentiles = [latency.p50, latency.p90, latency.p99, latency.max].map(units::duration).join(" / ");
    named(
        "The pipeline",
        vec![
            ("images/s", if measured { spread(&report.images_per_second) } else { String::new() }),
            ("CPU time for an image", known(report.cpu_seconds_per_image)),
            ("consumer waits", if measured { units::percent(report.data_stall) } else { String::new() }),
            ("first batch after", known(report.time_to_first_batch)),
            (
                "batch latency",
                if latency.max > 0.0 { format!("{percentiles} (p50 / p90 / p99 / max)") } else { String::new() },
            ),
            ("remote", report.remote.as_ref().map(remote).unwrap_or_default()),
            ("files skipped", if measured { units::count(report.files_skipped) } else { String::new() }),
        ],
    )
}

/// Describes what came from object stores and web servers.
fn remote(remote: &Remote) -> String {
    format!(
        "{} a second, {:.4} requests an image, {} retries; workers waited {}",
        units::bytes(remote.bytes_per_second),
        remote.requests_per_image,
        units::count(remote.retries),
        units::percent(remote.waited)
    )
}

/// Formats a spread: `1,164 (1,105 to 1,177, 5 runs)`.
fn spread(spread: &Spread) -> String {
    let median = units::number(spread.median);
    match spread.runs.len() {
        0 | 1 => format!("{median} (one run)"),
        runs => format!("{median} ({} to {}, {runs} runs)", units::number(spread.min), units::number(spread.max)),
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

fn stages(report: &Report) -> Table {
    let rows = report.stages.iter().map(|stage| {
        vec![
            stage.name.clone(),
            units::duration(stage.seconds_per_image),
            or_dash(stage.cpu_seconds_per_image.map(units::duration)),
            units::bytes(stage.bytes_per_image),
        ]
    });
    let head = vec!["stage", "time for an image", "on a core", "bytes of an image"];
    Table { title: "Stages", head, text: vec![], rows: rows.collect(), note: None }
}

fn gpu(report: &Report) -> Table {
    let gpu = &report.gpu;
    if gpu.clock.is_empty() || gpu.clock == "none" {
        return named("The GPU while the pipeline ran", Vec::new());
    }
    let mut facts = vec![
        ("clock", gpu.clock.clone()),
        ("busy", units::percent(gpu.busy)),
        ("the pipeline waited for it", units::percent(gpu.waited)),
    ];
    facts.extend(
        gpu.passes.iter().map(|(name, seconds)| (&**name, format!("{} a dispatch", units::duration(*seconds)))),
    );
    named("The GPU while the pipeline ran", facts)
}

fn isolated_stages(report: &Report) -> Table {
    let rows = report.alone.iter().map(|isolated| {
        vec![isolated.stage.clone(), isolated.threads.to_string(), units::number(isolated.images_per_second)]
    });
    Table {
        title: "Each stage alone",
        head: vec!["stage", "threads", "images/s"],
        text: vec![],
        rows: rows.collect(),
        note: Some("With all the input that it can take, and nothing else running.".to_owned()),
    }
}

fn rate(rate: &Rate) -> Vec<String> {
    vec![
        rate.name.clone(),
        units::count(rate.images),
        units::bytes(rate.bytes as f64),
        units::duration(rate.seconds),
        units::gigabytes(rate.gb_per_second),
        or_dash(rate.of_copy.map(units::percent)),
        or_dash(rate.predicted_seconds.map(units::duration)),
        or_dash(rate.predicted_limit.clone()),
    ]
}

/// `of a copy` and `predicted` are of the rate and of the time; `by` is what limits the prediction.
const RATE: [&str; 8] = ["kernel", "images", "bytes", "time", "rate", "of a copy", "predicted", "by"];

fn kernels(report: &Report) -> Table {
    let kernels = &report.kernels;
    let mut head = RATE.to_vec();
    let (rows, note) = match kernels.rows.is_empty() {
        // The clock's text is the reason why there are no rows.
        true if !kernels.clock.is_empty() => (vec![vec!["none".to_owned(), kernels.clock.clone()]], None),
        true => (Vec::new(), None),
        false => (
            kernels.rows.iter().map(rate).collect(),
            Some(format!("Bytes are those that must move at least. Clock: {}.", kernels.clock)),
        ),
    };
    if kernels.rows.is_empty() {
        head.clear();
    }
    Table { title: "Kernels alone", head, text: vec![7], rows, note }
}

fn roofline(report: &Report) -> Table {
    let Some(roofline) = &report.kernels.roofline else { return named("Roofline", Vec::new()) };
    let rate = |rate: f64| format!("{} images/s", units::number(rate));
    let predicted = format!("{}, limited by {}", rate(roofline.predicted_images_per_second), roofline.limit);
    named(
        "Roofline",
        vec![
            ("memory: the copy kernel", units::gigabytes(roofline.gb_per_second)),
            ("arithmetic: the arithmetic kernel", format!("{} GFLOP/s", units::number(roofline.gflop_per_second))),
            ("the recipe's passes, predicted", predicted),
            (
                "measured: the recipe's passes",
                roofline.measured_images_per_second.map_or("not measured".to_owned(), rate),
            ),
        ],
    )
}

fn upload(report: &Report) -> Table {
    let head = [&["way in"], &RATE[1..6]].concat();
    let rows = report.upload.iter().map(|row| rate(row).into_iter().take(head.len()).collect()).collect();
    Table { title: "Upload", head, text: vec![], rows, note: None }
}

fn sweep(report: &Report) -> Table {
    let rows = report.sweep.iter().map(|point| {
        vec![point.workers.to_string(), spread(&point.images_per_second), units::duration(point.cpu_seconds_per_image)]
    });
    let head = vec!["workers", "images/s", "CPU time for an image"];
    Table { title: "Workers", head, text: vec![], rows: rows.collect(), note: None }
}

fn memory(report: &Report) -> Table {
    let memory = &report.memory;
    if memory.steady_bytes == 0 && memory.peak_bytes == 0 {
        return named("Memory", vec![]);
    }
    named(
        "Memory",
        vec![
            ("while running steadily", units::bytes(memory.steady_bytes as f64)),
            ("peak", units::bytes(memory.peak_bytes as f64)),
            ("first steady epoch to last", units::change_of_bytes(memory.drift_bytes)),
            ("declared by the pipeline", units::bytes(memory.declared_bytes as f64)),
            ("GPU buffers made later", units::count(memory.gpu_buffers_made)),
        ],
    )
}

fn perturbations(report: &Report) -> Table {
    let rows = report.perturbations.iter().map(|perturbation| {
        vec![
            perturbation.resource.clone(),
            units::duration(perturbation.delay),
            format!("{:.2}", perturbation.elasticity).replace('-', "−"),
        ]
    });
    Table {
        title: "Slowed down on purpose",
        head: vec!["resource", "added to an image", "elasticity"],
        text: vec![],
        rows: rows.collect(),
        note: Some("−1: the rate falls as this grows slower, it limits. 0: it does not matter.".to_owned()),
    }
}

/// Returns true if the measured gain is close to the predicted one.
fn met(prediction: &Prediction) -> bool {
    let allowed = (MET * prediction.measured_gain.abs()).max(NOISE);
    (prediction.predicted_gain - prediction.measured_gain).abs() <= allowed
}

fn predictions(report: &Report) -> Table {
    let rows = report.predictions.iter().map(|prediction| {
        let verdict = if met(prediction) { "met" } else { MISS };
        vec![
            prediction.change.clone(),
            prediction.core_speed.map_or("–".to_owned(), units::percent),
            units::gain(prediction.predicted_gain),
            units::gain(prediction.measured_gain),
            verdict.to_owned(),
        ]
    });
    let missed = report.predictions.iter().filter(|prediction| !met(prediction)).count();
    Table {
        title: "Predictions",
        head: vec!["change", "a core then does", "predicted", "measured", ""],
        text: vec![4],
        rows: rows.collect(),
        note: Some(format!(
            "{missed} of {} missed: further off than {} of the measured gain, and than {} points.",
            report.predictions.len(),
            units::percent(MET),
            units::tick(NOISE * 100.0)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_met_within_fifteen_percent_of_the_gain() {
        let prediction = |predicted_gain, measured_gain| Prediction {
            change: "x".into(),
            core_speed: None,
            predicted_gain,
            measured_gain,
        };
        assert!(met(&prediction(0.94, 0.83)) && met(&prediction(0.94, 1.10)));
        assert!(!met(&prediction(0.94, 0.80)) && !met(&prediction(0.94, 1.12)));
        assert!(met(&prediction(0.0, 0.02)) && !met(&prediction(0.0, 0.04)), "small gains: by points");
        assert!(!met(&prediction(0.05, -0.05)), "the sign counts");
    }

    #[test]
    fn an_empty_report_has_one_table() {
        let titles: Vec<&str> = all(&Report::default()).iter().map(|table| table.title).collect();
        assert_eq!(titles, ["Machine"]);
    }
}
