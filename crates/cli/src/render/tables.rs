//! Makes the tables of a report as cells of text. The page decides their layout.

use crate::results::{Group, Kernels, Rate, Report, Spread};
use crate::units;

/// A table's rows. Without a head, the first cell of each row is its name.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) head: Vec<&'static str>,
    /// The columns of text after the first; all other columns are numbers.
    pub(crate) text: Vec<usize>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: Option<String>,
}

impl Table {
    /// Returns true for a column of numbers.
    pub(crate) fn is_number(&self, column: usize) -> bool {
        column > 0 && !self.head.is_empty() && !self.text.contains(&column)
    }
}

/// Returns all tables that have rows, in reading order.
pub(crate) fn all(report: &Report) -> Vec<Table> {
    [machine(report), settings(report)]
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .chain(measured(report))
        .collect()
}

/// Returns the tables of measurements that have rows.
pub(crate) fn measured(report: &Report) -> Vec<Table> {
    let tables = [
        pipeline(report),
        stages(report),
        pools(report),
        remote(report),
        gpu(report),
        slots(report),
        perturbations(report),
        sweep(report),
        kernels(report),
        roofline(report),
        upload(report),
        memory(report),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Makes a table of names and values. Names with an empty value are left out.
fn named(title: &'static str, facts: Vec<(&str, String)>) -> Table {
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let rows = known.map(|(name, value)| vec![name.to_owned(), value]).collect();
    Table { title, head: Vec::new(), text: Vec::new(), rows, note: None }
}

/// Returns an empty text for the value 0, because a number that an older file lacks is read as 0.
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
            ("adapter", adapter(report)),
            ("driver", report.driver.clone().unwrap_or_default()),
            ("other processes", format!("{} cores busy", units::number(machine.other_cores_busy))),
            ("gpufeed", report.version.clone()),
            ("measured", units::date(report.unix_time)),
        ],
    )
}

/// The adapter's name, and its PCI address where the driver reports it.
fn adapter(report: &Report) -> String {
    match (&report.adapter, &report.adapter_pci) {
        (None, _) => "none".to_owned(),
        (Some(name), None) => name.clone(),
        (Some(name), Some(address)) => format!("{name}, PCI {address}"),
    }
}

fn settings(report: &Report) -> Table {
    let data = &report.data;
    named(
        "Settings",
        vec![
            ("recipe", report.recipe.clone()),
            ("images of a sample", report.groups.iter().map(Group::describe).collect::<Vec<_>>().join(", ")),
            ("data", data.name.clone()),
            ("data set", unless_zero(data.samples as u64, data.describe())),
            ("backend", report.backend.clone()),
            ("who augments", report.executor.clone()),
            ("workers", unless_zero(report.workers as u64, report.workers.to_string())),
            ("batch size", unless_zero(report.batch_size as u64, report.batch_size.to_string())),
            ("cache", report.cache.clone()),
            ("set by hand", report.switches.join(", ")),
        ],
    )
}

fn pipeline(report: &Report) -> Table {
    let measured = report.images_per_second.median > 0.0;
    let samples = report.samples_per_second.filter(|_| !report.groups.is_empty());
    let known = |seconds: f64| if seconds > 0.0 { units::duration(seconds) } else { String::new() };
    named(
        "The pipeline",
        vec![
            ("images/s", if measured { spread(&report.images_per_second) } else { String::new() }),
            ("samples/s", samples.map_or_else(String::new, units::number)),
            ("CPU time for an image", known(report.cpu_seconds_per_image)),
            ("consumer waits", if measured { units::percent(report.data_stall) } else { String::new() }),
            ("first batch after", known(report.time_to_first_batch)),
            ("files skipped", if measured { units::count(report.files_skipped) } else { String::new() }),
        ],
    )
}

/// Formats a spread: `1,164 (1,105 to 1,177, 5 runs)`.
fn spread(spread: &Spread) -> String {
    format!("{} ({})", units::number(spread.median), spread.describe_runs())
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

fn pools(report: &Report) -> Table {
    let rows = report.pools.iter().map(|pool| {
        let shares = [pool.busy, pool.starved, pool.blocked].map(units::percent);
        [pool.name.clone(), pool.threads.to_string()].into_iter().chain(shares).collect()
    });
    let head = vec!["pool", "threads", "busy", "starved", "blocked"];
    Table { title: "Threads", head, text: vec![], rows: rows.collect(), note: None }
}

fn remote(report: &Report) -> Table {
    let title = "Remote data";
    let Some(remote) = &report.remote else { return named(title, Vec::new()) };
    let requests = format!("{:.4}, {} made again", remote.requests_per_image, units::count(remote.retries));
    let [blocks, unread] = [remote.blocks, remote.evicted_unread].map(units::count);
    named(
        title,
        vec![
            ("requests an image", requests),
            ("bytes", format!("{} a second", units::bytes(remote.bytes_per_second))),
            ("blocks in memory", format!("{blocks}, {unread} of them left before all their samples were read")),
            ("reads from the cache on disk", units::count(remote.cache_hits)),
            ("workers waited for bytes", units::percent(remote.waited)),
        ],
    )
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

fn slots(report: &Report) -> Table {
    let title = "Staging slots";
    let Some(slots) = &report.slots else { return named(title, Vec::new()) };
    let timed = |seconds: Option<f64>, rate: Option<f64>| match (seconds, rate) {
        (Some(seconds), Some(rate)) => format!("{}, {}", units::duration(seconds), units::gigabytes(rate)),
        _ => String::new(),
    };
    named(
        title,
        vec![
            ("submitted", units::count(slots.slots)),
            ("bytes of a slot", units::bytes(slots.bytes_per_slot)),
            ("written by the workers in", timed(slots.write_seconds, slots.write_gb_per_second)),
            ("copied by the device in", timed(slots.copy_seconds, slots.copy_gb_per_second)),
        ],
    )
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

/// `of a copy` and `predicted` belong to the rate and to the time before them; `by` is what limits the prediction.
const RATE: [&str; 8] = ["kernel", "images", "bytes", "time", "rate", "of a copy", "predicted", "by"];

fn kernels(report: &Report) -> Table {
    let title = "Kernels alone";
    let Kernels { clock, rows, .. } = &report.kernels;
    if rows.is_empty() {
        // There are no kernels, and the text of the clock is the reason.
        return named(title, vec![("none", clock.clone())]);
    }
    let note = Some(format!("Bytes are those that must move at least. Clock: {clock}."));
    Table { title, head: RATE.to_vec(), text: vec![7], rows: rows.iter().map(rate).collect(), note }
}

fn roofline(report: &Report) -> Table {
    let Some(roofline) = &report.kernels.roofline else { return named("Roofline", Vec::new()) };
    let rate = |rate: f64| format!("{} images/s", units::number(rate));
    let predicted = format!("{}, limited by {}", rate(roofline.predicted_images_per_second), roofline.limit);
    let measured = roofline.measured_images_per_second.map(|measured| {
        let share = units::percent(measured / roofline.predicted_images_per_second);
        format!("{}, {share} of the prediction", rate(measured))
    });
    let table = named(
        "Roofline",
        vec![
            ("memory: the copy kernel", units::gigabytes(roofline.gb_per_second)),
            ("arithmetic: the arithmetic kernel", format!("{} GFLOP/s", units::number(roofline.gflop_per_second))),
            ("the recipe's passes, predicted", predicted),
            ("the recipe's passes, measured", measured.unwrap_or_else(|| "not measured, see the notes".to_owned())),
        ],
    );
    Table { note: Some("docs/guide/roofline.md has the formula.".to_owned()), ..table }
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
    let shown = |bytes: u64| unless_zero(bytes, units::bytes(bytes as f64));
    let facts = vec![
        ("while running steadily", shown(memory.steady_bytes)),
        ("peak", shown(memory.peak_bytes)),
        ("declared by the pipeline", shown(memory.declared_bytes)),
    ];
    named("Memory", facts)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_report_has_one_table() {
        let titles: Vec<&str> = all(&Report::default()).iter().map(|table| table.title).collect();
        assert_eq!(titles, ["Machine"]);
    }
}
