//! A histogram of batch latencies, with the percentiles as lines.

use super::figure::Figure;
use super::ink::{GRID, MAIN, MUTED, PAPER, TEXT, WARM};
use super::svg::{Area, Drawn, log_ticks, plot, text_style};
use crate::results::{Latency, Report};
use crate::units;
use maud::html;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::io;

const SIZE: (u32, u32) = (640, 330);

/// A bin of the histogram: its edges in seconds, and its batches.
struct Bar {
    from: f64,
    to: f64,
    batches: u64,
}

pub(crate) fn figure(report: &Report) -> io::Result<Figure> {
    let latency = &report.latency;
    let bars = bars(&latency.histogram);
    let batches: u64 = bars.iter().map(|bar| bar.batches).sum();
    Ok(Figure {
        id: "chart-latency",
        title: "Batch latency",
        legend: &[],
        caption: html! {
            @if bars.is_empty() {
                "From a batch's announcement to its arrival among the ready ones."
            } @else {
                "From a batch's announcement to its arrival among the ready ones: " (units::count(batches))
                @if batches == 1 { " batch" } @else { " batches" } ", half within "
                b { (units::duration(latency.p50)) } ", the slowest " (units::duration(latency.max)) "."
            }
        },
        chart: match bars.is_empty() {
            true => Err("no batch latencies measured"),
            false => Ok(plot(SIZE, "Histogram of batch latencies", |area| draw(area, latency, &bars))?),
        },
    })
}

/// Returns the bins that are not empty.
fn bars(histogram: &[(f64, u64)]) -> Vec<Bar> {
    let full = histogram.iter().filter(|(to, batches)| to.is_finite() && *to > 0.0 && *batches > 0);
    full.map(|&(to, batches)| Bar { from: lower_edge(to), to, batches }).collect()
}

/// Returns the lower edge of a bin by its upper one. The bin before it may be empty, and is then not in the report. Each
/// power of two of microseconds from 8 on has eight bins; below, each microsecond is a bin.
fn lower_edge(to: f64) -> f64 {
    let micros = (to * 1e6).round() as u64;
    let power = micros.saturating_sub(1).checked_ilog2().unwrap_or(0);
    let width = (1u64 << power.saturating_sub(3)) as f64 * 1e-6;
    // A logarithmic axis has no 0, the lower edge of the first microsecond.
    (to - width).max(to / 2.0)
}

fn draw(area: &Area, latency: &Latency, bars: &[Bar]) -> Drawn {
    let marks =
        [("p50", latency.p50), ("p90", latency.p90), ("p99", latency.p99)].map(|(name, at)| (name, at.max(0.0)));
    let known = || marks.iter().map(|(_, at)| *at).filter(|at| *at > 0.0);
    let low = bars.iter().map(|bar| bar.from).chain(known()).fold(f64::INFINITY, f64::min) / 1.15;
    let high = bars.iter().map(|bar| bar.to).chain(known()).fold(0.0, f64::max) * 1.15;
    let most = bars.iter().map(|bar| bar.batches).max().unwrap_or(1) as f64;
    let top = most * 1.05;

    let mut chart = ChartBuilder::on(area)
        // The names of the percentiles stand above.
        .margin_top(58)
        .margin_left(8)
        // Room for half of a label below the right end.
        .margin_right(28)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d((low..high).log_scale().with_key_points(log_ticks(low, high)), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.colour())
        .axis_style(MUTED.colour())
        .label_style(text_style(13, MUTED))
        .x_label_formatter(&|seconds| units::duration_tick(*seconds))
        // So few where there are few batches that none of them is a fraction.
        .y_labels(most.min(5.0) as usize + 1)
        .y_label_formatter(&|batches| units::tick(*batches))
        .y_desc("batches")
        .x_desc("latency, logarithmic")
        .axis_desc_style(text_style(13, MUTED))
        .draw()?;
    chart.draw_series(bars.iter().map(|bar| {
        let mut shape = Rectangle::new([(bar.from, 0.0), (bar.to, bar.batches as f64)], MAIN.colour().filled());
        // A gap between neighbours.
        shape.set_margin(0, 0, 1, 1);
        shape
    }))?;

    // Names that would touch are stacked. They are drawn after all lines, each on its own ground, which hides the line to
    // a name above it.
    let mut taken: Vec<(i32, i32)> = Vec::new();
    let mut names = Vec::new();
    for (name, at) in marks.into_iter().filter(|(_, at)| *at > 0.0) {
        let (x, bottom) = chart.backend_coord(&(at, 0.0));
        let (_, ceiling) = chart.backend_coord(&(at, top));
        let label = format!("{name} {}", units::duration(at));
        let half = label.chars().count() as i32 * 4 + 4;
        let centre = x.clamp(half, SIZE.0 as i32 - half);
        let level = (0..3).find(|level| !taken.iter().any(|(on, to)| on == level && centre - half < *to)).unwrap_or(2);
        taken.push((level, centre + half));
        let y = ceiling - 8 - level * 17;
        area.draw(&PathElement::new([(x, bottom), (x, y + 2)], WARM.colour().stroke_width(2)))?;
        names.push((label, (centre, y), half));
    }
    for (name, (x, y), half) in names {
        area.draw(&Rectangle::new([(x - half, y - 16), (x + half, y + 1)], PAPER.colour().filled()))?;
        area.draw(&Text::new(name, (x, y), text_style(13, TEXT).pos(Pos::new(HPos::Center, VPos::Bottom))))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_the_widths_of_the_loader_and_holes_stay() {
        let bars = bars(&[(2e-6, 1), (0.02, 0), (0.036_864, 3), (0.065_536, 4), (0.073_728, 1), (2.097_152, 9)]);
        let micros = |seconds: f64| (seconds * 1e6).round() as u64;
        let shown: Vec<_> = bars.iter().map(|bar| (micros(bar.from), micros(bar.to), bar.batches)).collect();
        let expected =
            [(1, 2, 1), (32_768, 36_864, 3), (61_440, 65_536, 4), (65_536, 73_728, 1), (1_966_080, 2_097_152, 9)];
        assert_eq!(shown, expected);
    }

    /// Returns the position and the words of each text of a chart.
    fn texts(svg: &str) -> Vec<(f64, &str)> {
        let text = |text| -> Option<(f64, &str)> {
            let (x, rest) = str::split_once(text, '"')?;
            let (_, words) = rest.split_once('>')?;
            Some((x.parse().ok()?, words.split_once('<')?.0.trim()))
        };
        svg.split("<text x=\"").skip(1).map(|part| text(part).unwrap()).collect()
    }

    #[test]
    fn every_histogram_has_round_ticks_inside_the_box() {
        let cases: [&[(f64, u64)]; 9] = [
            &[(0.036_864, 317)],
            &[(0.032_768, 78), (0.036_864, 111), (0.040_96, 43), (0.053_248, 1)],
            &[(0.002_048, 5), (0.147_456, 40), (2.097_152, 1)],
            &[(0.851_968, 3), (0.983_04, 20_000), (1.179_648, 2)],
            &[(2e-6, 1)],
            &[(2e-6, 1), (134_217.728, 2)],
            &[(0.147_456, 3)],
            &[(0.147_456, 4)],
            &[(0.147_456, 7)],
        ];
        for histogram in cases {
            // Also with percentiles in one place, and without any.
            for at in [0.0, histogram[0].0] {
                let (histogram, mut report) = (histogram.to_vec(), Report::default());
                report.latency = Latency { p50: at, p90: at, p99: at, max: at, histogram };
                let svg = figure(&report).unwrap().chart.unwrap().into_string();
                let number = |(_, words): &(f64, &str)| words.replace(',', "").parse::<f64>();
                let is_time = |words: &str| {
                    let (number, unit) = words.split_once(' ').unwrap_or_default();
                    number.replace(',', "").parse::<f64>().is_ok() && ["µs", "ms", "s"].contains(&unit)
                };
                let texts = texts(&svg);
                let times: Vec<_> = texts.iter().filter(|(_, words)| is_time(words)).collect();
                assert!(times.len() >= 3, "{texts:?}");
                // A letter has at most 8 pixels.
                let half = |words: &str| 4.0 * words.chars().count() as f64;
                let ends = |&&(x, words): &&(f64, &str)| (x - half(words), x + half(words));
                assert!(times.windows(2).all(|two| ends(&two[0]).1 < ends(&two[1]).0), "{times:?} touch");
                assert!(times.iter().all(|time| ends(time).0 > 0.0 && ends(time).1 < 640.0), "{times:?}");
                let counts: Vec<f64> = texts.iter().filter_map(|text| number(text).ok()).collect();
                assert!(counts.len() >= 2 && counts.iter().all(|count| count.fract() == 0.0), "{counts:?}");
            }
        }
    }

    #[test]
    fn an_empty_histogram_has_no_bars() {
        assert!(bars(&[]).is_empty() && bars(&[(0.01, 0)]).is_empty());
    }
}
