//! Building blocks of the charts' SVGs: hand-made bars and texts, and the frame around charts of `plotters`.

use super::ink::{INKS, Ink};
use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::Pos;
use std::io;

/// The drawing area of a chart of `plotters`.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws an SVG with `plotters`. Elements in the ink of a measurement get the class `mark`.
pub(crate) fn plot(size: (u32, u32), label: &str, draw: impl FnOnce(&Area) -> Drawn) -> io::Result<Markup> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).map_err(|error| io::Error::other(format!("chart `{label}`: {error}")))?;
        area.present().map_err(|error| io::Error::other(format!("chart `{label}`: {error}")))?;
    }
    // Drops the opening tag with its fixed width: the page decides the width, the view box keeps the proportions.
    let mut body = svg.split_once('>').map_or("", |(_, body)| body).replace("font-family=\"sans-serif\" ", "");
    for ink in INKS.iter().filter(|ink| ink.is_mark) {
        for attribute in ["fill", "stroke"] {
            let plain = format!("{attribute}=\"{}\"", ink.hex());
            body = body.replace(&plain, &format!("class=\"mark\" {plain}"));
        }
    }
    Ok(html! { (PreEscaped(open(size, label))) (PreEscaped(body)) })
}

/// Joins hand-made parts into an SVG.
pub(crate) fn join(size: (u32, u32), label: &str, parts: &[Markup]) -> Markup {
    html! { (PreEscaped(open(size, label))) @for part in parts { (part) } (PreEscaped("</svg>")) }
}

/// Returns the opening tag of an SVG.
fn open((width, height): (u32, u32), label: &str) -> String {
    let label = html! { (label) }.into_string();
    format!("<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {width} {height}\">")
}

/// A rectangle that shows a measurement. `meaning` appears under the reader's pointer.
pub(crate) fn bar((x, y): (f64, f64), (width, height): (f64, f64), ink: Ink, meaning: &str) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(|number| format!("{number:.1}"));
    html! { rect.mark x=(x) y=(y) width=(width) height=(height) fill=(ink.hex()) { title { (meaning) } } }
}

/// A text vertically centred at `y`; `anchor` is `start`, `middle` or `end`.
pub(crate) fn text((x, y): (f64, f64), anchor: &str, size: u32, ink: Ink, text: &str) -> Markup {
    html! {
        text x=(format!("{x:.1}")) y=(format!("{y:.1}")) dy="0.35em" text-anchor=(anchor) font-size=(size) fill=(ink.hex()) {
            (text)
        }
    }
}

/// Shortens a name to `letters` letters.
pub(crate) fn short(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// The style of texts in a chart of `plotters`.
pub(crate) fn text_style(size: u32, ink: Ink) -> TextStyle<'static> {
    // plotters' SVG backend divides font sizes by 1.24.
    let font = ("sans-serif", f64::from(size) * 1.24).into_font();
    TextStyle { font, color: ink.colour().to_backend_color(), pos: Pos::default() }
}

/// The least distance of two ticks, as a share of their axis: a label of six letters fits.
const APART: f64 = 0.1;

/// Returns round numbers between two for a logarithmic axis: 1, 2, 5 of each decade, decades, every n-th decade or, in a
/// narrow range, even steps. Of these it takes the one with the most ticks whose labels do not touch.
pub(crate) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    // A file's numbers may be anything, and 0 and infinity have no decades.
    let (low, high) = (low.max(f64::MIN_POSITIVE), high.min(f64::MAX));
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let powers = |digits: &[f64], stride: usize| -> Vec<f64> {
        let powers = (first..=last).filter(|power| power.rem_euclid(stride as i32) == 0);
        powers.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power))).collect()
    };
    let even = |step: f64| -> Vec<f64> {
        ((low / step).floor() as u64..=(high / step).ceil() as u64).map(|number| number as f64 * step).collect()
    };
    let steps = (last - 3..=last).flat_map(|power| [1.0, 2.0, 2.5, 5.0].map(|digit| digit * 10f64.powi(power)));
    let strides = (1..=10).map(|stride| powers(&[1.0], stride));
    let candidates = std::iter::once(powers(&[1.0, 2.0, 5.0], 1)).chain(strides).chain(steps.map(even));
    let least = (high / low).powf(APART);
    candidates
        .map(|ticks| ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect::<Vec<f64>>())
        .filter(|ticks| ticks.windows(2).all(|two| two[1] >= two[0] * least))
        // The first candidate wins where two have equally many ticks; `max_by_key` would take the last.
        .reduce(|best, other| if other.len() > best.len() { other } else { best })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let near = |ticks: Vec<f64>, expected: &[f64]| {
            let same = ticks.iter().zip(expected).all(|(tick, expected)| (tick / expected - 1.0).abs() < 1e-9);
            assert!(same && ticks.len() == expected.len(), "{ticks:?}, expected {expected:?}");
        };
        near(log_ticks(0.003, 0.05), &[0.005, 0.01, 0.02, 0.05]);
        near(log_ticks(1.0, 20_000.0), &[1.0, 10.0, 100.0, 1e3, 1e4]);
        near(log_ticks(0.0205, 0.0612), &[0.03, 0.04, 0.05, 0.06]);
        near(log_ticks(0.95, 1.31), &[0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3]);
        near(log_ticks(1e-9, 1e9), &[1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e8]);
    }

    #[test]
    fn every_range_has_ticks_that_are_apart() {
        for low in (0..400).map(|step| 1e-6 * 10f64.powf(f64::from(step) / 50.0)) {
            for width in (0..200).map(|step| 1.35 * 10f64.powf(f64::from(step) / 25.0)) {
                let ticks = log_ticks(low, low * width);
                assert!((3..=11).contains(&ticks.len()), "{low} to {}: {ticks:?}", low * width);
                let apart = ticks.windows(2).map(|two| (two[1] / two[0]).ln() / width.ln());
                assert!(apart.fold(1.0, f64::min) > 0.0999, "{low} to {}: {ticks:?}", low * width);
            }
        }
    }

    #[test]
    fn names_are_shortened_by_letters() {
        assert_eq!([short("décode", 6), short("décoder", 6)], ["décode", "décod…"]);
    }
}
