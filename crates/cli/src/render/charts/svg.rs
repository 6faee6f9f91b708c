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

/// Returns round numbers between two for a logarithmic axis: 1, 2, 5 of each decade, or only the decades if there are
/// more than three.
pub(crate) fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    all.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(decades(0.003, 0.05), [0.005, 0.01, 0.02, 0.05]);
        assert_eq!(decades(1.0, 20_000.0), [1.0, 10.0, 100.0, 1e3, 1e4]);
    }

    #[test]
    fn names_are_shortened_by_letters() {
        assert_eq!([short("décode", 6), short("décoder", 6)], ["décode", "décod…"]);
    }
}
