//! Images per second by number of workers: the measured spread, and the ideal line.

use super::figure::Figure;
use super::ink::{GRID, MAIN, MUTED, WARM};
use super::svg::{Area, Drawn, plot, text_style};
use crate::results::{Report, Sweep};
use crate::units;
use maud::html;
use plotters::prelude::*;
use std::io;

const SIZE: (u32, u32) = (640, 330);

pub(crate) fn figure(report: &Report) -> io::Result<Figure> {
    let mut points: Vec<&Sweep> =
        report.sweep.iter().filter(|point| point.workers > 0 && point.images_per_second.median > 0.0).collect();
    points.sort_by_key(|point| point.workers);
    let best = points.iter().max_by(|a, b| a.images_per_second.median.total_cmp(&b.images_per_second.median));
    let cores = report.machine.cores;
    Ok(Figure {
        id: "chart-sweep",
        title: "Workers",
        legend: &[
            (MAIN, "measured: median, least to greatest"),
            (WARM, "ideal: as many times the first, up to the cores"),
        ],
        caption: html! {
            @match best {
                Some(best) => {
                    "Most with " b { (best.workers) @if best.workers == 1 { " worker" } @else { " workers" } } ": "
                    (units::number(best.images_per_second.median)) " images/s"
                    @if cores > 0 { ", on " (cores) @if cores == 1 { " core" } @else { " cores" } } "."
                }
                None => { "With " code { "--workers LIST" } " the pipeline is measured with each number of workers." }
            }
        },
        chart: match points.is_empty() {
            true => Err("no worker sweep measured"),
            false => Ok(plot(SIZE, "Images a second by workers", |area| draw(area, &points, cores))?),
        },
    })
}

/// Returns the rate that `workers` workers would reach if each did as much as each worker of `first`, the measurement
/// with the fewest workers. Workers beyond the number of cores add nothing.
fn ideal(first: &Sweep, cores: usize, workers: usize) -> f64 {
    let useful = |workers: usize| if cores > 0 { workers.min(cores) } else { workers };
    first.images_per_second.median * useful(workers) as f64 / useful(first.workers) as f64
}

fn draw(area: &Area, points: &[&Sweep], cores: usize) -> Drawn {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Ok(()) };
    let most = last.workers;
    let mut line: Vec<(f64, f64)> = vec![(first.workers as f64, ideal(first, cores, first.workers))];
    // The ideal line bends at the number of cores.
    if (first.workers + 1..most).contains(&cores) {
        line.push((cores as f64, ideal(first, cores, cores)));
    }
    line.push((most as f64, ideal(first, cores, most)));
    let measured = points.iter().map(|point| point.images_per_second.max.max(point.images_per_second.median));
    let top = measured.chain(line.iter().map(|(_, rate)| *rate)).fold(0.0, f64::max) * 1.1;
    let right = most as f64 + 0.5;

    let mut chart = ChartBuilder::on(area)
        .margin_top(14)
        .margin_left(8)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.colour())
        .axis_style(MUTED.colour())
        .label_style(text_style(13, MUTED))
        .x_labels(most.min(12) + 1)
        .y_labels(6)
        // Only whole numbers are labelled.
        .x_label_formatter(&|workers| if workers.fract() == 0.0 { format!("{workers:.0}") } else { String::new() })
        .y_label_formatter(&|rate| units::tick(*rate))
        .x_desc("workers")
        .y_desc("images/s")
        .axis_desc_style(text_style(13, MUTED))
        .draw()?;
    if line.len() > 1 && most > first.workers {
        chart.draw_series(DashedLineSeries::new(line, 7, 5, WARM.colour().stroke_width(2)))?;
    }
    let main = MAIN.colour();
    chart.draw_series(LineSeries::new(
        points.iter().map(|point| (point.workers as f64, point.images_per_second.median)),
        main.stroke_width(2),
    ))?;
    for point in points {
        let at = point.workers as f64;
        let rate = &point.images_per_second;
        let (x, y) = chart.backend_coord(&(at, rate.median));
        let (_, low) = chart.backend_coord(&(at, rate.min.min(rate.median)));
        let (_, high) = chart.backend_coord(&(at, rate.max.max(rate.median)));
        for ends in [[(x, low), (x, high)], [(x - 6, low), (x + 6, low)], [(x - 6, high), (x + 6, high)]] {
            area.draw(&PathElement::new(ends, main.stroke_width(2)))?;
        }
        area.draw(&Circle::new((x, y), 5, main.filled()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Spread;

    #[test]
    fn the_ideal_ends_at_the_cores() {
        let first =
            Sweep { workers: 1, images_per_second: Spread { median: 600.0, ..Spread::default() }, ..Sweep::default() };
        assert_eq!([1, 2, 4].map(|workers| ideal(&first, 2, workers)), [600.0, 1200.0, 1200.0]);
        assert_eq!(ideal(&first, 0, 4), 2400.0, "as far as is known");
    }
}
