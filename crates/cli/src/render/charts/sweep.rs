//! Draws the images per second by number of workers: bars with the measured spread, and the ideal rates.

use super::figure::Figure;
use super::ink::{MAIN, TEXT, WARM};
use super::svg::{bar, join, text};
use crate::results::{Report, Sweep};
use crate::units;
use maud::{Markup, html};

const WIDTH: u32 = 640;
const ROW: f64 = 34.0;
const LEFT: f64 = 112.0;
/// The width of the longest bar. It leaves room for the bar's number.
const BARS: f64 = 430.0;

pub(crate) fn figure(report: &Report) -> Figure {
    let mut points: Vec<&Sweep> =
        report.sweep.iter().filter(|point| point.workers > 0 && point.images_per_second.median > 0.0).collect();
    points.sort_by_key(|point| point.workers);
    let best = points.iter().max_by(|a, b| a.images_per_second.median.total_cmp(&b.images_per_second.median));
    let cores = report.machine.cores;
    Figure {
        id: "chart-sweep",
        title: "Images a second by workers",
        legend: &[
            (MAIN, "measured: median"),
            (TEXT, "least to greatest"),
            (WARM, "ideal: as many times the first, up to the cores"),
        ],
        caption: html! {
            @match best {
                Some(best) => {
                    "Most with " b { (workers(best.workers)) } ": "
                    (units::number(best.images_per_second.median)) " images/s"
                    @if cores > 0 { ", on " (cores) @if cores == 1 { " core" } @else { " cores" } } "."
                }
                None => { "With " code { "--workers LIST" } " the pipeline is measured with each number of workers." }
            }
        },
        chart: points.first().map(|first| chart(&points, first, cores)).ok_or("no worker sweep measured"),
    }
}

fn workers(number: usize) -> String {
    if number == 1 { "1 worker".to_owned() } else { format!("{number} workers") }
}

/// Returns the rate that `workers` workers would reach if each did as much as each worker of `first`, the measurement
/// with the fewest workers. Workers beyond the number of cores add nothing.
fn ideal(first: &Sweep, cores: usize, workers: usize) -> f64 {
    let useful = |workers: usize| if cores > 0 { workers.min(cores) } else { workers };
    first.images_per_second.median * useful(workers) as f64 / useful(first.workers) as f64
}

fn chart(points: &[&Sweep], first: &Sweep, cores: usize) -> Markup {
    let most = |point: &&Sweep| point.images_per_second.max.max(ideal(first, cores, point.workers));
    let scale = BARS / points.iter().map(most).fold(f64::MIN_POSITIVE, f64::max);
    let mut parts = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let (top, middle) = (i as f64 * ROW + 5.0, (i as f64 + 0.5) * ROW);
        let (rate, ideal) = (&point.images_per_second, ideal(first, cores, point.workers));
        let [median, low, high, ideal_at] = [rate.median, rate.min, rate.max, ideal].map(|rate| LEFT + scale * rate);
        let [number, least, greatest, ideal] = [rate.median, rate.min, rate.max, ideal].map(units::number);
        parts.push(text((LEFT - 10.0, middle), "end", 15, TEXT, &workers(point.workers)));
        // Draws at least thin lines, so that small values stay visible.
        parts.push(bar((LEFT, top), ((median - LEFT).max(1.5), ROW - 10.0), MAIN, &format!("{number} images/s")));
        parts.push(bar((low, middle - 1.0), ((high - low).max(1.5), 2.0), TEXT, &format!("{least} to {greatest}")));
        parts.push(bar((ideal_at - 1.0, top - 3.0), (2.0, ROW - 4.0), WARM, &format!("ideal: {ideal}")));
        parts.push(text((median.max(high).max(ideal_at) + 8.0, middle), "start", 15, TEXT, &number));
    }
    join((WIDTH, (points.len() as f64 * ROW) as u32 + 8), "Images a second by workers", &parts)
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
