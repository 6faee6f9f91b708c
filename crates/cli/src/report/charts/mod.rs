//! The report's charts, each a `<figure>` with an SVG in it. Bars are laid out here; axes are those of `plotters`.
//!
//! Colours: an SVG names the light one in its attributes, so that it also reads by itself, and the page's style sheet
//! replaces each by the reader's light or dark one.

pub(crate) mod latency;
pub(crate) mod pools;
pub(crate) mod roofline;
pub(crate) mod stages;
pub(crate) mod sweep;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::Pos;
use std::fmt::Write;
use std::io;

/// A colour by day and by night.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    name: &'static str,
    light: u32,
    dark: u32,
    /// Shows a measurement, not an axis.
    mark: bool,
}

const fn ink(name: &'static str, light: u32, dark: u32, mark: bool) -> Ink {
    Ink { name, light, dark, mark }
}

pub(crate) const TEXT: Ink = ink("text", 0x1C2430, 0xE6EAF0, false);
pub(crate) const MUTED: Ink = ink("muted", 0x5B6675, 0x9BA7B6, false);
pub(crate) const GRID: Ink = ink("grid", 0xE1E5EA, 0x333C48, false);
/// What counts: time on a core, busy threads, measured points.
pub(crate) const MAIN: Ink = ink("main", 0x1F6FB5, 0x58A6E8, true);
/// The rest of the same.
pub(crate) const PALE: Ink = ink("pale", 0xA9CCE9, 0x2C567C, true);
/// Threads without input.
pub(crate) const IDLE: Ink = ink("idle", 0xC9CFD6, 0x4A5563, true);
/// What holds others up: threads that wait for room, limits, percentiles.
pub(crate) const WARM: Ink = ink("warm", 0xD9660B, 0xF59A4A, true);

/// The page behind everything.
pub(crate) const PAPER: Ink = ink("paper", 0xFFFFFF, 0x171C23, false);

pub(crate) const INKS: [Ink; 8] = [TEXT, MUTED, GRID, MAIN, PALE, IDLE, WARM, PAPER];

impl Ink {
    pub(crate) fn hex(self) -> String {
        format!("#{:06X}", self.light)
    }

    fn colour(self) -> RGBColor {
        let [_, red, green, blue] = self.light.to_be_bytes();
        RGBColor(red, green, blue)
    }
}

/// The inks as variables, and the rules by which the SVGs take them.
pub(crate) fn inks_css() -> String {
    let (mut light, mut dark, mut rules) = (String::new(), String::new(), String::new());
    for ink in INKS {
        let Ink { name, light: day, dark: night, .. } = ink;
        let _ = write!(light, "--{name}:#{day:06X};");
        let _ = write!(dark, "--{name}:#{night:06X};");
        let hex = ink.hex();
        let _ =
            writeln!(rules, "svg [fill=\"{hex}\"]{{fill:var(--{name})}}svg [stroke=\"{hex}\"]{{stroke:var(--{name})}}");
    }
    format!(":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}")
}

/// One chart of the page.
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What is to be seen, in a sentence or two.
    pub(crate) caption: Markup,
    /// What the colours mean.
    pub(crate) legend: &'static [(Ink, &'static str)],
    /// The SVG, or why there is none.
    pub(crate) chart: Result<Markup, &'static str>,
}

impl Figure {
    pub(crate) fn markup(&self) -> Markup {
        html! {
            figure id=(self.id) {
                h2 { (self.title) }
                @match &self.chart {
                    Ok(chart) => {
                        @if !self.legend.is_empty() {
                            p.legend {
                                @for (ink, meaning) in self.legend {
                                    span { i style=(format!("background:var(--{})", ink.name)) {} (meaning) }
                                }
                            }
                        }
                        (chart)
                    }
                    Err(reason) => p.nothing { (reason) }
                }
                figcaption { (self.caption) }
            }
        }
    }
}

/// Where a chart of `plotters` is drawn.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// An SVG by `plotters`. Its marks (what has an ink that shows a measurement) get the class `mark`.
fn plotted(size: (u32, u32), label: &str, draw: impl FnOnce(&Area) -> Drawn) -> io::Result<Markup> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).map_err(|error| io::Error::other(format!("chart `{label}`: {error}")))?;
        area.present().map_err(|error| io::Error::other(format!("chart `{label}`: {error}")))?;
    }
    // The page decides the width; the view box keeps the proportions.
    let body = svg.split_once('>').map_or("", |(_, body)| body).replace("font-family=\"sans-serif\" ", "");
    let mut body = body;
    for ink in INKS.iter().filter(|ink| ink.mark) {
        for attribute in ["fill", "stroke"] {
            let plain = format!("{attribute}=\"{}\"", ink.hex());
            body = body.replace(&plain, &format!("class=\"mark\" {plain}"));
        }
    }
    Ok(html! { (PreEscaped(open(size, label))) (PreEscaped(body)) })
}

/// The opening tag of an SVG.
fn open((width, height): (u32, u32), label: &str) -> String {
    let label = html! { (label) }.into_string();
    format!("<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {width} {height}\">")
}

/// An SVG from parts.
fn laid_out(size: (u32, u32), label: &str, parts: &[Markup]) -> Markup {
    html! { (PreEscaped(open(size, label))) @for part in parts { (part) } (PreEscaped("</svg>")) }
}

/// A rectangle that shows a measurement, with what it means for whoever points at it.
fn bar((x, y): (f64, f64), (width, height): (f64, f64), ink: Ink, meaning: &str) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(|number| format!("{number:.1}"));
    html! { rect.mark x=(x) y=(y) width=(width) height=(height) fill=(ink.hex()) { title { (meaning) } } }
}

/// Text whose middle is at a height; `anchor` is `start`, `middle` or `end`.
fn text((x, y): (f64, f64), anchor: &str, size: u32, ink: Ink, text: &str) -> Markup {
    html! {
        text x=(format!("{x:.1}")) y=(format!("{y:.1}")) dy="0.35em" text-anchor=(anchor) font-size=(size) fill=(ink.hex()) {
            (text)
        }
    }
}

/// A name with at most `letters` letters.
fn short(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// Text of a `plotters` chart.
fn words(size: u32, ink: Ink) -> TextStyle<'static> {
    // Its SVG backend divides by 1.24.
    let font = ("sans-serif", f64::from(size) * 1.24).into_font();
    TextStyle { font, color: ink.colour().to_backend_color(), pos: Pos::default() }
}

/// Round numbers between two, for a logarithmic axis: 1, 2, 5 of each decade, or the decades alone where those are many.
fn decades(low: f64, high: f64) -> Vec<f64> {
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
