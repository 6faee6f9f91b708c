//! The report for people at a terminal: what limits, then the numbers.

use crate::report::{Bottleneck, Rate, Report, Spread};
use console::style;

/// Rows of a name and a text, under a title.
fn section(title: &str, rows: impl IntoIterator<Item = (String, String)>) {
    let rows: Vec<_> = rows.into_iter().collect();
    if rows.is_empty() {
        return;
    }
    say!("\n{}", style(title).bold());
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, text) in rows {
        say!("  {name:width$}  {text}");
    }
}

fn row(name: impl Into<String>, text: impl Into<String>) -> (String, String) {
    (name.into(), text.into())
}

/// With as many digits as a reader can use.
fn images(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1} images/s") } else { format!("{rate:.0} images/s") }
}

fn spread(spread: &Spread) -> String {
    format!("{} ({:.0} to {:.0} in {} runs)", images(spread.median), spread.min, spread.max, spread.runs.len())
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

fn rate(rate: &Rate) -> (String, String) {
    let share = rate.of_copy.map_or(String::new(), |share| format!(", {} of a copy", percent(share)));
    row(
        &rate.name,
        format!(
            "{:.2} GB/s{share}; {} for {:.1} MB",
            rate.gb_per_second,
            milliseconds(rate.seconds),
            rate.bytes as f64 / 1e6
        ),
    )
}

/// What limits, how it was seen, and what would help, in one sentence.
fn limit(bottleneck: &Bottleneck) -> String {
    let limit = bottleneck.resource.as_ref().map_or("unexplained".to_owned(), |name| format!("limited by {name}"));
    let gain = bottleneck.predicted_gain.map_or(String::new(), |gain| format!(", predicted {:+.0} %", 100.0 * gain));
    let change = bottleneck.change.as_ref().map_or(String::new(), |change| format!("; {change}{gain}"));
    format!("{limit}: {}{change}", bottleneck.verdict)
}

pub(super) fn print(report: &Report) {
    let place = report.adapter.as_deref().map_or(String::new(), |adapter| format!(" on {adapter}"));
    say!(
        "{} {}: {}, {}{place}; {} workers, batches of {}",
        style("gpufeed").bold(),
        report.version,
        report.recipe,
        report.executor,
        report.workers,
        report.batch_size
    );
    let machine = &report.machine;
    say!(
        "{}, {} cores, {}; others kept {:.1} cores busy",
        machine.cpu,
        machine.cores,
        machine.os,
        machine.other_cores_busy
    );
    say!("{}: {} samples, {:.1} MB", report.data.name, report.data.samples, report.data.bytes as f64 / 1e6);
    say!("\n{}", style(spread(&report.images_per_second)).bold().green());
    say!("{}", limit(&report.bottleneck));
    section(
        "The line",
        [
            row("CPU time an image", milliseconds(report.cpu_seconds_per_image)),
            row("data stall", percent(report.data_stall)),
            row(
                "first batch",
                format!("{:.2} s after the start of a new process's loader", report.time_to_first_batch),
            ),
            row(
                "batch latency",
                format!(
                    "p50 {}, p90 {}, p99 {}",
                    milliseconds(report.latency.p50),
                    milliseconds(report.latency.p90),
                    milliseconds(report.latency.p99)
                ),
            ),
            row("files skipped", report.files_skipped.to_string()),
        ],
    );
    let stage = |stage: &crate::report::Stage| {
        let cpu = stage
            .cpu_seconds_per_image
            .map_or(String::new(), |time| format!(", {} of it on a core", milliseconds(time)));
        row(&stage.name, format!("{} an image{cpu}", milliseconds(stage.seconds_per_image)))
    };
    section("Stages", report.stages.iter().map(stage));
    let pool = |pool: &crate::report::Pool| {
        let shares = [("busy", pool.busy), ("starved", pool.starved), ("blocked", pool.blocked)];
        let shares = shares.map(|(name, share)| format!("{name} {}", percent(share)));
        row(format!("{} × {}", pool.name, pool.threads), shares.join(", "))
    };
    section("Threads", report.pools.iter().map(pool));
    let alone = |alone: &crate::report::Alone| {
        row(&alone.stage, format!("{} on {} threads", images(alone.images_per_second), alone.threads))
    };
    section("Each stage alone", report.alone.iter().map(alone));
    let slowed = |slowed: &crate::report::Perturbation| {
        row(&slowed.resource, format!("{:+.2}, {} an image added", slowed.elasticity, milliseconds(slowed.delay)))
    };
    section("Elasticity: -1 where the line feels a delay in full", report.perturbations.iter().map(slowed));
    let workers = |step: &crate::report::Sweep| row(step.workers.to_string(), spread(&step.images_per_second));
    section("Workers", report.sweep.iter().map(workers));
    let prediction = |prediction: &crate::report::Prediction| {
        let text = format!(
            "predicted {:+.0} %{}, measured {:+.0} %",
            100.0 * prediction.predicted_gain,
            prediction.core_speed.map_or(String::new(), |speed| format!(" (a core then does {})", percent(speed))),
            100.0 * prediction.measured_gain
        );
        row(&prediction.change, text)
    };
    section("Predictions", report.predictions.iter().map(prediction));
    section(&format!("Kernels ({})", report.kernels.clock), report.kernels.rows.iter().map(rate));
    section("Ways in", report.upload.iter().map(rate));
    let memory = &report.memory;
    if memory.declared_bytes > 0 {
        let rows = [
            row("steady", mib(memory.steady_bytes as f64)),
            row("peak", mib(memory.peak_bytes as f64)),
            row("drift", mib(memory.drift_bytes as f64)),
            row("declared", mib(memory.declared_bytes as f64)),
            row("GPU buffers made after the first epoch", memory.gpu_buffers_made.to_string()),
        ];
        section("Memory", rows);
    }
    section("Notes", report.notes.iter().map(|note| row("·", note)));
}
