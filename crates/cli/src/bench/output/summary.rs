//! Prints the report to the terminal: first the verdict, then the numbers.

use crate::results::{
    Bottleneck, IsolatedStage, Memory, Perturbation, Pool, Prediction, Rate, Remote, Report, Roofline, Spread, Stage,
};
use crate::units::{self, duration, percent};
use console::style;
use gpufeed::internals::Shown;

/// Prints rows of a name and a text under a title; nothing if there are no rows.
fn section(title: &str, rows: impl IntoIterator<Item = (String, String)>) -> Result<(), String> {
    let rows: Vec<_> = rows.into_iter().map(|(name, text)| (Shown(name).to_string(), Shown(text))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    say!("\n{}", style(Shown(title)).bold());
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, text) in rows {
        say!("  {name:width$}  {text}");
    }
    Ok(())
}

fn row(name: impl Into<String>, text: impl Into<String>) -> (String, String) {
    (name.into(), text.into())
}

fn images(rate: f64) -> String {
    format!("{} images/s", units::number(rate))
}

fn spread(spread: &Spread) -> String {
    let [min, max] = [spread.min, spread.max].map(units::number);
    format!("{} ({min} to {max} in {} runs)", images(spread.median), spread.runs.len())
}

fn rate(rate: &Rate) -> (String, String) {
    let share = rate.of_copy.map_or(String::new(), |share| format!(", {} of a copy", percent(share)));
    let limit = rate.predicted_limit.as_deref().unwrap_or_default();
    let predicted =
        rate.predicted_seconds.map_or(String::new(), |seconds| format!("; predicted {} by {limit}", duration(seconds)));
    row(
        &rate.name,
        format!(
            "{}{share}; {} for {}{predicted}",
            units::gigabytes(rate.gb_per_second),
            duration(rate.seconds),
            units::bytes(rate.bytes as f64)
        ),
    )
}

/// Describes the roofs, and the recipe's passes as predicted and as measured.
fn roofline(roofline: &Roofline) -> [(String, String); 3] {
    let gflop = units::number(roofline.gflop_per_second);
    let share = |rate: f64| percent(rate / roofline.predicted_images_per_second);
    [
        row("roofs", format!("{}, {gflop} GFLOP/s", units::gigabytes(roofline.gb_per_second))),
        row(
            "the recipe's passes, predicted",
            format!("{}, limited by {}", images(roofline.predicted_images_per_second), roofline.limit),
        ),
        row(
            "the recipe's passes, measured",
            roofline.measured_images_per_second.map_or("not measured, see the notes".to_owned(), |rate| {
                format!("{}, {} of the prediction", images(rate), share(rate))
            }),
        ),
    ]
}

/// Describes the verdict in one sentence: the limit, the evidence, and the change that would help.
fn verdict(bottleneck: &Bottleneck) -> String {
    let limit = bottleneck.resource.as_ref().map_or("unexplained".to_owned(), |name| format!("limited by {name}"));
    let gain = bottleneck.predicted_gain.map_or(String::new(), |gain| format!(", predicted {}", units::gain(gain)));
    let change = bottleneck.change.as_ref().map_or(String::new(), |change| format!("; {change}{gain}"));
    let refuted = bottleneck.refuted.as_ref().map_or(String::new(), |reason| format!(" (refuted: {reason})"));
    format!("{limit}: {}{change}{refuted}", bottleneck.verdict)
}

fn stage(stage: &Stage) -> (String, String) {
    let cpu = stage.cpu_seconds_per_image.map_or(String::new(), |time| format!(", {} of it on a core", duration(time)));
    row(&stage.name, format!("{} an image{cpu}", duration(stage.seconds_per_image)))
}

fn pool(pool: &Pool) -> (String, String) {
    let shares = [("busy", pool.busy), ("starved", pool.starved), ("blocked", pool.blocked)];
    let shares = shares.map(|(name, share)| format!("{name} {}", percent(share)));
    row(format!("{} × {}", pool.name, pool.threads), shares.join(", "))
}

/// Describes what came from stores and web servers.
fn remote(remote: &Remote) -> [(String, String); 5] {
    let blocks = format!(
        "{}, {} of them left before all their samples were read",
        units::count(remote.blocks),
        units::count(remote.evicted_unread)
    );
    [
        row("requests an image", format!("{:.4}, {} made again", remote.requests_per_image, remote.retries)),
        row("bytes", format!("{} a second", units::bytes(remote.bytes_per_second))),
        row("blocks in memory", blocks),
        row("reads from the cache on disk", units::count(remote.cache_hits)),
        row("workers waited for bytes", percent(remote.waited)),
    ]
}

fn isolated(stage: &IsolatedStage) -> (String, String) {
    row(&stage.stage, format!("{} on {} threads", images(stage.images_per_second), stage.threads))
}

fn slowed(slowed: &Perturbation) -> (String, String) {
    row(&slowed.resource, format!("{:+.2}, {} an image added", slowed.elasticity, duration(slowed.delay)))
}

fn prediction(prediction: &Prediction) -> (String, String) {
    let text = format!(
        "predicted {}{}, measured {}",
        units::gain(prediction.predicted_gain),
        prediction.core_speed.map_or(String::new(), |speed| format!(" (a core then does {})", percent(speed))),
        units::gain(prediction.measured_gain)
    );
    row(&prediction.change, text)
}

/// Describes the numbers of the main run.
fn pipeline(report: &Report) -> [(String, String); 5] {
    let latency = &report.latency;
    let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(duration);
    let first = duration(report.time_to_first_batch);
    [
        row("CPU time an image", duration(report.cpu_seconds_per_image)),
        row("data stall", percent(report.data_stall)),
        row("first batch", format!("{first} after the start of a new process's loader")),
        row("batch latency", format!("p50 {p50}, p90 {p90}, p99 {p99}")),
        row("files skipped", report.files_skipped.to_string()),
    ]
}

fn memory(memory: &Memory) -> [(String, String); 5] {
    [
        row("steady", units::bytes(memory.steady_bytes as f64)),
        row("peak", units::bytes(memory.peak_bytes as f64)),
        row("drift", units::change_of_bytes(memory.drift_bytes)),
        row("declared", units::bytes(memory.declared_bytes as f64)),
        row("GPU buffers made after the first epoch", memory.gpu_buffers_made.to_string()),
    ]
}

/// Prints the settings, the machine, the rate and the verdict.
fn print_head(report: &Report) -> Result<(), String> {
    let adapter = report.adapter.as_deref().map_or(String::new(), |adapter| format!(" on {}", Shown(adapter)));
    say!(
        "{} {}: {}, {}{adapter}; {} workers, batches of {}",
        style("gpufeed").bold(),
        report.version,
        Shown(&report.recipe),
        report.executor,
        report.workers,
        report.batch_size
    );
    let machine = &report.machine;
    say!(
        "{}, {} cores, {}; others kept {:.1} cores busy",
        Shown(&machine.cpu),
        machine.cores,
        Shown(&machine.os),
        machine.other_cores_busy
    );
    say!("{}: {}", Shown(&report.data.name), report.data.describe());
    say!("\n{}", style(spread(&report.images_per_second)).bold().green());
    if let Some(unstable) = &report.unstable {
        say!("{}", style(format!("unstable: {unstable}")).yellow());
    }
    say!("{}", Shown(verdict(&report.bottleneck)));
    Ok(())
}

pub(crate) fn print(report: &Report) -> Result<(), String> {
    print_head(report)?;
    section("The pipeline", pipeline(report))?;
    section("Stages", report.stages.iter().map(stage))?;
    section("Remote", report.remote.iter().flat_map(remote))?;
    section("Threads", report.pools.iter().map(pool))?;
    section("Each stage alone", report.alone.iter().map(isolated))?;
    section("Elasticity: -1 where the pipeline feels a delay in full", report.perturbations.iter().map(slowed))?;
    let workers = report.sweep.iter().map(|step| row(step.workers.to_string(), spread(&step.images_per_second)));
    section("Workers", workers)?;
    section("Predictions", report.predictions.iter().map(prediction))?;
    section(&format!("Kernels ({})", report.kernels.clock), report.kernels.rows.iter().map(rate))?;
    section("Roofline: docs/guide/roofline.md", report.kernels.roofline.iter().flat_map(roofline))?;
    section("Ways in", report.upload.iter().map(rate))?;
    if report.memory.declared_bytes > 0 {
        section("Memory", memory(&report.memory))?;
    }
    section("Notes", report.notes.iter().map(|note| row("·", note)))
}
