//! A histogram of batch latencies, with the percentiles as lines.

use super::figure::Figure;
use super::ink::{GRID, MAIN, MUTED, TEXT, WARM};
use super::svg::{Area, Drawn, decades, plot, text_style};
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
                "From a batch's announcement to its arrival among the ready ones: " (batches) " batches, half within "
                b { (units::duration(latency.p50)) } ", the slowest " (units::duration(latency.max)) "."
            }
        },
        chart: match bars.is_empty() {
            true => Err("no batch latencies measured"),
            false => Ok(plot(SIZE, "Histogram of batch latencies", |area| draw(area, latency, &bars))?),
        },
    })
}

/// Returns the bins between the first and the last that are not empty. The bin below the first edge gets the same
/// width, as a factor, as the next bin.
fn bars(histogram: &[(f64, u64)]) -> Vec<Bar> {
    let edges: Vec<(f64, u64)> =
        histogram.iter().copied().filter(|(edge, _)| edge.is_finite() && *edge > 0.0).collect();
    let below = match edges.as_slice() {
        [(first, _), (second, _), ..] if second > first => first * first / second,
        [(first, _), ..] => first / 2.0,
        [] => return Vec::new(),
    };
    let from = std::iter::once(below).chain(edges.iter().map(|(edge, _)| *edge));
    let all: Vec<Bar> = from.zip(&edges).map(|(from, &(to, batches))| Bar { from, to, batches }).collect();
    let full = |bar: &Bar| bar.batches > 0;
    let (Some(first), Some(last)) = (all.iter().position(full), all.iter().rposition(full)) else { return Vec::new() };
    all.into_iter().take(last + 1).skip(first).filter(|bar| bar.to > bar.from).collect()
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
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .build_cartesian_2d((low..high).log_scale().with_key_points(decades(low, high)), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.colour())
        .axis_style(MUTED.colour())
        .label_style(text_style(13, MUTED))
        .x_label_formatter(&|seconds| units::duration(*seconds))
        .y_labels(6)
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

    // Names that would touch are stacked.
    let mut taken: Vec<(i32, i32)> = Vec::new();
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
        area.draw(&Text::new(label, (centre, y), text_style(13, TEXT).pos(Pos::new(HPos::Center, VPos::Bottom))))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_ends_are_left_out_and_holes_stay() {
        let bars = bars(&[(0.01, 0), (0.02, 3), (0.04, 0), (0.08, 1), (0.16, 0)]);
        let shown: Vec<(f64, f64, u64)> = bars.iter().map(|bar| (bar.from, bar.to, bar.batches)).collect();
        assert_eq!(shown, [(0.01, 0.02, 3), (0.02, 0.04, 0), (0.04, 0.08, 1)]);
    }

    #[test]
    fn an_empty_histogram_has_no_bars() {
        assert!(bars(&[]).is_empty() && bars(&[(0.01, 0)]).is_empty());
    }
}
