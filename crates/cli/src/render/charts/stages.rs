//! Draws bars: each stage's time per image. The part that is spent on a core is darker.

use super::figure::Figure;
use super::ink::{MAIN, MUTED, PALE, TEXT};
use super::svg::{bar, join, short, text};
use crate::results::{Report, Stage};
use crate::units;
use maud::{Markup, html};

const WIDTH: u32 = 640;
const ROW: f64 = 34.0;
const LEFT: f64 = 112.0;
/// The width of the longest bar. It leaves room for the bar's numbers.
const BARS: f64 = 310.0;

pub(crate) fn figure(report: &Report) -> Figure {
    let total: f64 = report.stages.iter().map(|stage| stage.seconds_per_image).sum();
    let longest = report.stages.iter().max_by(|a, b| a.seconds_per_image.total_cmp(&b.seconds_per_image));
    let unsampled: Vec<&str> =
        report.stages.iter().filter(|stage| stage.cpu_seconds_per_image.is_none()).map(|s| s.name.as_str()).collect();
    Figure {
        id: "chart-stages",
        title: "Time for an image, by stage",
        legend: &[(MAIN, "on a core"), (PALE, "waiting, or not sampled")],
        caption: html! {
            @match longest {
                Some(longest) if total > 0.0 => {
                    (units::duration(total)) " for all steps of an image; " b { (longest.name) } " takes "
                    (units::percent(longest.seconds_per_image / total)) " of it. "
                    @if !unsampled.is_empty() { "Time on a core is not sampled for " (unsampled.join(", ")) "." }
                }
                _ => "Stages have their times in a run of the pipeline."
            }
        },
        chart: if total > 0.0 { Ok(chart(&report.stages, total)) } else { Err("no stages measured") },
    }
}

fn chart(stages: &[Stage], total: f64) -> Markup {
    let longest = stages.iter().map(|stage| stage.seconds_per_image).fold(f64::MIN_POSITIVE, f64::max);
    let mut parts = Vec::new();
    for (i, stage) in stages.iter().enumerate() {
        let (top, middle) = (i as f64 * ROW + 5.0, (i as f64 + 0.5) * ROW);
        let width = BARS * stage.seconds_per_image / longest;
        let whole = units::duration(stage.seconds_per_image);
        parts.push(text((LEFT - 10.0, middle), "end", 15, TEXT, &short(&stage.name, 14)));
        // Draws at least a thin line, so that a stage of almost no time stays visible.
        parts.push(bar((LEFT, top), (width.max(1.5), ROW - 10.0), PALE, &format!("{}: {whole}", stage.name)));
        let mut note = units::percent(stage.seconds_per_image / total);
        if let Some(cpu) = stage.cpu_seconds_per_image {
            let share = (cpu / stage.seconds_per_image.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let meaning = format!("{}: {} on a core", stage.name, units::duration(cpu));
            parts.push(bar((LEFT, top), ((width * share).max(1.5), ROW - 10.0), MAIN, &meaning));
            note = format!("{note}, {} on core", units::percent(share));
        }
        let after = LEFT + width + 8.0;
        parts.push(html! {
            text x=(format!("{after:.1}")) y=(format!("{middle:.1}")) dy="0.35em" font-size="15" fill=(TEXT.hex()) {
                (whole) tspan dx="8" font-size="13" fill=(MUTED.hex()) { (note) }
            }
        });
    }
    join((WIDTH, (stages.len() as f64 * ROW) as u32 + 4), "Time for an image, by stage", &parts)
}
