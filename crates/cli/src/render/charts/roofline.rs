//! A roofline: the kernels' rates over their arithmetic per byte, below the rate of a plain copy.

use super::figure::Figure;
use super::ink::{GRID, MAIN, MUTED, TEXT, WARM};
use super::svg::{Area, Drawn, log_ticks, plot, short, text_style};
use crate::results::{Kernels, Rate, Report};
use crate::units;
use maud::html;
use plotters::coord::combinators::WithKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::io;

const SIZE: (u32, u32) = (1240, 400);

pub(crate) fn figure(report: &Report) -> io::Result<Figure> {
    let kernels = &report.kernels;
    let (points, unplaced) = placeable(kernels);
    let unplaced: Vec<&str> = unplaced.iter().map(|rate| rate.name.as_str()).collect();
    let roof = copy_rate(kernels);
    Ok(Figure {
        id: "chart-roofline",
        title: "Kernels: roofline",
        legend: &[(MAIN, "kernel"), (WARM, "roofs: a plain copy in the same run, and the most arithmetic seen")],
        caption: html! {
            @if points.is_empty() {
                "Each kernel's rate beside that of a plain copy. "
                @if !kernels.clock.is_empty() { "Clock: " (kernels.clock) ". " }
                @if !unplaced.is_empty() { "No arithmetic is counted for " (unplaced.join(", ")) "." }
            } @else {
                "A kernel at the copy's line moves bytes as fast as this adapter can: only fewer bytes would make it faster. One far below "
                "it is held up by arithmetic, or by latency. Time by " (kernels.clock) ". "
                @if roof.is_none() { "No copy kernel was measured. " }
                @if !unplaced.is_empty() { "Not placed, as no arithmetic is counted: " (unplaced.join(", ")) "." }
            }
        },
        chart: match points.is_empty() {
            true => Err("no GPU kernels measured"),
            false => Ok(plot(SIZE, "GB/s of each kernel over its flops per byte", |area| draw(area, &points, roof))?),
        },
    })
}

/// Splits the kernels into those that logarithmic axes can show, and the others. The copy is the roof and in neither.
fn placeable(kernels: &Kernels) -> (Vec<&Rate>, Vec<&Rate>) {
    let others = kernels.rows.iter().filter(|rate| !is_copy(rate));
    others.partition(|rate| rate.gb_per_second > 0.0 && rate.flops_per_byte.is_some_and(|flops| flops > 0.0))
}

fn is_copy(rate: &Rate) -> bool {
    rate.name.starts_with("copy")
}

/// Returns the GB/s of a plain copy: from its own row, or worked out from another row's share of it.
fn copy_rate(kernels: &Kernels) -> Option<f64> {
    let good = |rate: &f64| rate.is_finite() && *rate > 0.0;
    let own = kernels.rows.iter().find(|rate| is_copy(rate)).map(|rate| rate.gb_per_second).filter(good);
    let share = || {
        let of = |rate: &Rate| rate.of_copy.filter(|share| *share > 0.0).map(|share| rate.gb_per_second / share);
        kernels.rows.iter().find_map(of)
    };
    own.or_else(share).filter(good)
}

type Axis = WithKeyPoints<LogCoord<f64>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// The ranges of the axes: flops per byte from `left` to `right`, GB/s from `low` to `high`.
struct Ranges {
    left: f64,
    right: f64,
    low: f64,
    high: f64,
}

/// A kernel with its position: flops per byte, and GB/s.
type Placed<'a> = (f64, f64, &'a Rate);

fn draw(area: &Area, points: &[&Rate], roof: Option<f64>) -> Drawn {
    let placed: Vec<Placed> =
        points.iter().filter_map(|rate| Some((rate.flops_per_byte?, rate.gb_per_second, *rate))).collect();
    let span = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = span(&mut placed.iter().map(|point| point.0));
    let (low, high) = span(&mut placed.iter().map(|point| point.1).chain(roof));
    // Labels need room at the right.
    let ranges = Ranges { left: left / 2.5, right: right * 6.0, low: low / 2.0, high: high * 1.8 };
    let arithmetic = placed.iter().map(|(flops, rate, _)| flops * rate).fold(0.0, f64::max);

    let mut chart = axes(area, &ranges)?;
    draw_roofs(area, &mut chart, &ranges, roof, arithmetic)?;
    draw_kernels(area, &chart, &placed)
}

fn axes<'a, 'b>(area: &Area<'b>, ranges: &Ranges) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let &Ranges { left, right, low, high } = ranges;
    let mut chart = ChartBuilder::on(area)
        .margin_top(12)
        .margin_left(8)
        .margin_right(20)
        .x_label_area_size(46)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (left..right).log_scale().with_key_points(log_ticks(left, right)),
            (low..high).log_scale().with_key_points(log_ticks(low, high)),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.colour())
        .axis_style(MUTED.colour())
        .label_style(text_style(13, MUTED))
        .x_label_formatter(&|flops| units::tick(*flops))
        .y_label_formatter(&|rate| units::tick(*rate))
        .x_desc("floating-point operations for each byte that must move")
        .y_desc("GB/s")
        .axis_desc_style(text_style(13, MUTED))
        .draw()?;
    Ok(chart)
}

/// Draws the two roofs: the copy's rate, and the line of the most arithmetic per second that any kernel reached. The
/// adapter's real limit of arithmetic is unknown, so that line is dashed.
fn draw_roofs(area: &Area, chart: &mut Chart, ranges: &Ranges, roof: Option<f64>, arithmetic: f64) -> Drawn {
    let &Ranges { left, right, low, high } = ranges;
    if let Some(roof) = roof {
        chart.draw_series(LineSeries::new([(left, roof), (right, roof)], WARM.colour().stroke_width(2)))?;
        let (x, y) = chart.backend_coord(&(left, roof));
        let name = format!("copy {}", units::gigabytes(roof));
        let style = text_style(13, TEXT).pos(Pos::new(HPos::Left, VPos::Bottom));
        area.draw(&Text::new(name, (x + 8, y - 5), style))?;
    }
    let bend = roof.map_or(left, |roof| (arithmetic / roof).clamp(left, right));
    let end = (arithmetic / low).min(right);
    if end > bend {
        let start = bend.max(arithmetic / high);
        let slope = [(start, arithmetic / start), (end, arithmetic / end)];
        chart.draw_series(DashedLineSeries::new(slope, 6, 5, WARM.colour().stroke_width(2)))?;
        let (x, y) = chart.backend_coord(&slope[1]);
        let name = format!("most arithmetic seen: {} GFLOP/s", units::number(arithmetic));
        let x = x.min(SIZE.0 as i32 - 260);
        let style = text_style(12, MUTED).pos(Pos::new(HPos::Left, VPos::Bottom));
        area.draw(&Text::new(name, (x + 6, y - 6), style))?;
    }
    Ok(())
}

/// Draws the kernels' points and labels. A label that had to move is joined to its point by a line.
fn draw_kernels(area: &Area, chart: &Chart, placed: &[Placed]) -> Drawn {
    let mut spots: Vec<(i32, i32, String)> = Vec::new();
    for (flops, rate, kernel) in placed {
        let (x, y) = chart.backend_coord(&(*flops, *rate));
        area.draw(&Circle::new((x, y), 6, MAIN.colour().filled()))?;
        let share = kernel.of_copy.map(|share| format!(", {} of the copy", units::percent(share))).unwrap_or_default();
        spots.push((x, y, format!("{}{share}", short(&kernel.name, 34))));
    }
    for ((x, y, label), (left, at)) in spots.iter().zip(place_labels(&spots)) {
        let side = if left { -1 } else { 1 };
        if (at - y).abs() > 4 {
            area.draw(&PathElement::new([(*x, *y), (x + 12 * side, at)], MUTED.colour()))?;
        }
        let from = if left { HPos::Right } else { HPos::Left };
        let style = text_style(13, TEXT).pos(Pos::new(from, VPos::Center));
        area.draw(&Text::new(label.clone(), (x + GAP * side, at), style))?;
    }
    Ok(())
}

/// Pixels from a point to its label.
const GAP: i32 = 14;
/// Pixels from one label's height to the next.
const LINE: i32 = 17;

/// Returns the columns that a label covers on one side of its point.
fn columns((x, _, label): &(i32, i32, String), left: bool) -> (i32, i32) {
    let width = label.chars().count() as i32 * 8;
    if left { (x - GAP - width, x - GAP) } else { (x + GAP, x + GAP + width) }
}

/// Places the labels: for each its side (`true` is left of its point) and its height. No label hides a point or touches
/// another label, as far as there is room.
fn place_labels(spots: &[(i32, i32, String)]) -> Vec<(bool, i32)> {
    let mut order: Vec<usize> = (0..spots.len()).collect();
    order.sort_by_key(|&i| spots[i].1);
    let mut places = vec![(false, 0); spots.len()];
    let mut set: Vec<usize> = Vec::new();
    for i in order {
        let y = spots[i].1;
        let hides = |left: bool| {
            let (from, to) = columns(&spots[i], left);
            let inside = |(other, (x, y2, _)): (usize, &(i32, i32, String))| {
                other != i && (from - 8..to + 8).contains(x) && (y2 - y).abs() < LINE
            };
            from < 0 || spots.iter().enumerate().any(inside)
        };
        let left = hides(false) && !hides(true);
        let (from, to) = columns(&spots[i], left);
        let meets = |other: &&usize| {
            let (from2, to2) = columns(&spots[**other], places[**other].0);
            from < to2 && from2 < to
        };
        let above = set.iter().filter(meets).map(|&other| places[other].1 + LINE).max();
        places[i] = (left, above.map_or(y, |above| above.max(y)));
        set.push(i);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(name: &str, gb: f64, of_copy: Option<f64>, flops: Option<f64>) -> Rate {
        Rate { name: name.into(), gb_per_second: gb, of_copy, flops_per_byte: flops, ..Rate::default() }
    }

    #[test]
    fn the_roof_is_the_copy_measured_or_told() {
        let own = Kernels { rows: vec![rate("copy kernel", 7.4, Some(1.0), None)], ..Kernels::default() };
        assert_eq!(copy_rate(&own), Some(7.4));
        let told = Kernels { rows: vec![rate("strip", 1.0, Some(0.25), Some(2.0))], ..Kernels::default() };
        assert_eq!(copy_rate(&told), Some(4.0));
        assert_eq!(copy_rate(&Kernels::default()), None);
    }

    #[test]
    fn kernels_without_counted_arithmetic_are_not_placed() {
        let rows =
            vec![rate("copy", 7.0, None, Some(0.0)), rate("a", 1.0, None, Some(2.0)), rate("b", 1.0, None, None)];
        let kernels = Kernels { rows, ..Kernels::default() };
        let (placed, unplaced) = placeable(&kernels);
        assert_eq!([placed[0].name.as_str(), unplaced[0].name.as_str()], ["a", "b"]);
        assert_eq!([placed.len(), unplaced.len()], [1, 1]);
    }

    #[test]
    fn a_label_does_not_hide_the_next_point() {
        let spots = [(500, 50, "hides".to_owned()), (530, 52, "next".to_owned())];
        assert_eq!(place_labels(&spots), [(true, 50), (false, 52)]);
        assert!(!place_labels(&[(20, 50, "no room".to_owned()), (50, 52, "next".to_owned())])[0].0);
    }

    #[test]
    fn labels_in_one_place_are_stacked() {
        let spots = [(100, 50, "one".to_owned()), (105, 52, "two".to_owned()), (600, 51, "far".to_owned())];
        assert_eq!(place_labels(&spots), [(false, 50), (false, 67), (false, 51)]);
    }
}
