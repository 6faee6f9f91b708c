//! Writes a report as one HTML file that needs no script, no font and nothing from a network.

use super::charts::{ink, pools, stages, sweep};
use super::tables::{self, Table};
use crate::output::Output;
use crate::results::{Bottleneck, Report};
use crate::units;
use gpufeed::internals::ShownLines;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Writes the page.
pub(crate) fn write(report: &Report, output: &Output) -> Result<(), String> {
    output.write_all(text(report))
}

/// Returns the page's text. maud escapes HTML. `ShownLines` also escapes control characters, which terminals and
/// editors obey, and which the page's own markup does not contain.
fn text(report: &Report) -> String {
    ShownLines(page(report).into_string()).to_string()
}

fn page(report: &Report) -> Markup {
    let title = format!("gpufeed {} · {}", report.version, report.recipe);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(ink::css())) (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main {
                    header {
                        h1 { "gpufeed bench" @if !report.recipe.is_empty() { ": " (report.recipe) } }
                        p { (subtitle(report)) }
                    }
                    div.tiles { (tiles(report)) }
                    @if let Some(unstable) = &report.unstable { p { b { "Unstable. " } (unstable) } }
                    (verdict(&report.bottleneck))
                    div.grid.charts {
                        (stages::figure(report).markup())
                        (pools::figure(report).markup())
                        (sweep::figure(report).markup())
                    }
                    div.tables {
                        @for table in tables::all(report) { (card(&table)) }
                        @if !report.recipe_toml.trim().is_empty() {
                            section { h2 { "Recipe" } pre { (report.recipe_toml.trim()) } }
                        }
                        @if !report.notes.is_empty() {
                            section { h2 { "Notes" } ul { @for note in &report.notes { li { (note) } } } }
                        }
                    }
                    footer {
                        "Written by gpufeed " (report.version) ". Times are of this machine in this run; sizes are decimal. "
                        "The same numbers are in the JSON of the run."
                    }
                }
            }
        }
    }
}

fn subtitle(report: &Report) -> String {
    let adapter = report.adapter.as_deref().unwrap_or("no GPU");
    let all = [adapter, &report.backend, &report.executor, &report.machine.cpu];
    let mut parts: Vec<String> = all.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect();
    parts.push(units::date(report.unix_time));
    parts.join(" · ")
}

fn tiles(report: &Report) -> Markup {
    let rate = &report.images_per_second;
    // 0 means that the value was not measured: nothing takes no time and no memory.
    let tile = |what: &str, value: f64, shown: String, note: String| {
        let (number, unit) = split(&shown);
        html! {
            div.tile {
                span.what { (what) }
                @if value > 0.0 { b { (number) " " small { (unit) } } span { (note) } } @else { b { "–" } span { "not measured" } }
            }
        }
    };
    let memory = &report.memory;
    let cores = rate.median * report.cpu_seconds_per_image;
    let stall_note = "of the time, for batches".to_owned();
    html! {
        (tile("Throughput", rate.median, format!("{} images/s", units::number(rate.median)), rate.describe_runs()))
        (tile("CPU time for an image", report.cpu_seconds_per_image, units::duration(report.cpu_seconds_per_image),
            format!("{} cores in use, drivers included", units::number(cores))))
        // This share may really be 0: it was measured if the rate was.
        (tile("The consumer waits", rate.median, units::percent(report.data_stall), stall_note))
        (tile("First batch", report.time_to_first_batch, units::duration(report.time_to_first_batch),
            "in a new process, shaders compiled".to_owned()))
        (tile("Memory", memory.steady_bytes as f64, units::bytes(memory.steady_bytes as f64),
            format!("steady; peak {}", units::bytes(memory.peak_bytes as f64))))
    }
}

/// Splits a text into a number and its unit.
fn split(text: &str) -> (String, String) {
    text.split_once(' ').map_or((text.to_owned(), String::new()), |(number, unit)| (number.to_owned(), unit.to_owned()))
}

fn verdict(bottleneck: &Bottleneck) -> Markup {
    let class = if bottleneck.resource.is_some() { "verdict" } else { "verdict unexplained" };
    html! {
        div class=(class) id="verdict" {
            div {
                p {
                    @match &bottleneck.resource {
                        Some(resource) => { b { "Limited by " (resource) ". " } }
                        None => b { "Unexplained: no single limit is named. " },
                    }
                    (bottleneck.verdict)
                }
                @if let Some(change) = &bottleneck.change {
                    p.change {
                        @if let Some(gain) = bottleneck.predicted_gain { span.gain { (units::gain(gain)) } " predicted: " }
                        (change)
                        @if let Some(refuted) = &bottleneck.refuted { " (refuted: " (refuted) ")" }
                    }
                }
            }
            @if !bottleneck.utilisation.is_empty() {
                div.usage {
                    @for (resource, share) in &bottleneck.utilisation {
                        span { (resource) }
                        i class=(if Some(resource) == bottleneck.resource.as_ref() { "limit" } else { "other" }) {
                            i style=(format!("width:{:.1}%;height:100%", (share * 100.0).clamp(0.0, 100.0))) {}
                        }
                        span { (units::percent(*share)) }
                    }
                }
            }
        }
    }
}

fn card(table: &Table) -> Markup {
    html! {
        section {
            h2 { (table.title) }
            table class=(if table.head.is_empty() { "facts" } else { "rows" }) {
                @if !table.head.is_empty() {
                    thead { tr { @for (i, name) in table.head.iter().enumerate() { th.n[table.is_number(i)] { (name) } } } }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 && table.head.is_empty() { th scope="row" { (cell) } }
                                @else {
                                    td.n[table.is_number(i)] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(note) = &table.note { p { (note) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    const CHARTS: [&str; 3] = ["chart-stages", "chart-pools", "chart-sweep"];

    /// Returns a figure of the page.
    fn figure<'a>(page: &'a str, id: &str) -> &'a str {
        let start = page.find(&format!("<figure id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
        let length = page[start..].find("</figure>").unwrap();
        &page[start..start + length]
    }

    #[test]
    fn every_chart_has_marks_and_a_caption() {
        let page = text(&sample());
        // The number of marks in each chart, in order: bars; segments; bars, their spreads and their ideals.
        for (id, marks) in CHARTS.into_iter().zip([9, 8, 12]) {
            let figure = figure(&page, id);
            let found = figure.matches("class=\"mark\"").count();
            assert!(found >= marks, "{id}: {found} marks");
            assert!(figure.contains("<figcaption>") && figure.contains("role=\"img\""), "{id}");
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = text(&sample());
        for outside in ["<script", "src=", "href=", "url(", "@import", "http"] {
            assert!(!page.contains(outside), "`{outside}` is in the page");
        }
        assert!(page.starts_with("<!DOCTYPE html>"));
    }

    #[test]
    fn numbers_have_their_units() {
        let page = text(&sample());
        for part in [
            "<b>1,164 <small>images/s</small></b>",
            "<b>1.66 <small>ms</small></b>",
            "Limited by decode CPU.",
            "+52 %",
            "7.38 GB/s",
            "name = &quot;random_resized_crop&quot;",
        ] {
            assert!(page.contains(part), "`{part}` is not in the page");
        }
    }

    #[test]
    fn a_report_without_measurements_says_so() {
        let page = text(&Report { version: "0.1.0".into(), ..Report::default() });
        for (id, reason) in
            CHARTS.into_iter().zip(["no stages measured", "no pools measured", "no worker sweep measured"])
        {
            assert!(figure(&page, id).contains(reason), "{id}");
        }
        assert_eq!(page.matches("not measured").count(), 5, "five tiles");
        assert!(page.contains("Unexplained") && !page.contains("NaN") && !page.contains("inf"));
    }

    /// The texts and numbers of a file may be anything. They must not break the page, and must not become markup.
    #[test]
    fn hostile_numbers_and_names_are_drawn() {
        let mut report = sample();
        report.recipe = "</title><script>alert(1)</script>".into();
        for (stage, seconds) in report.stages.iter_mut().zip([0.0, -1.0, 1e-30, 1e30, 5.0]) {
            stage.name = "<b onload=\"x\">".repeat(20);
            stage.seconds_per_image = seconds;
        }
        for (kernel, gb) in report.kernels.rows.iter_mut().zip([0.0, 1e-9, 1e12, -3.0]) {
            kernel.name = "</svg><script>".into();
            kernel.gb_per_second = gb;
        }
        report.sweep[0].workers = 100_000;
        report.sweep[1].images_per_second.max = 1e300;
        report.pools[0].busy = 40.0;
        report.bottleneck.utilisation.push(("<i>".into(), 1e9));
        report.notes.push("data: \u{1b}[2J\u{202e}.jpg".into());
        let page = text(&report);
        assert!(!page.contains("<script") && !page.contains("<b onload"));
        assert!(!page.contains(['\u{1b}', '\u{202e}']) && page.contains("data: \\u{1b}[2J\\u{202e}.jpg"));
    }
}
