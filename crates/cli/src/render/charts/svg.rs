//! Building blocks of the charts' SVGs: bars and texts.

use super::ink::Ink;
use maud::{Markup, html};

/// Joins parts into an SVG. The page decides its width, and the view box keeps its proportions.
pub(crate) fn join((width, height): (u32, u32), label: &str, parts: &[Markup]) -> Markup {
    html! {
        svg role="img" aria-label=(label) viewBox=(format!("0 0 {width} {height}")) { @for part in parts { (part) } }
    }
}

/// Draws a rectangle that shows a measurement. `meaning` appears under the reader's pointer.
pub(crate) fn bar((x, y): (f64, f64), (width, height): (f64, f64), ink: Ink, meaning: &str) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(|number| format!("{number:.1}"));
    html! { rect.mark x=(x) y=(y) width=(width) height=(height) fill=(ink.hex()) { title { (meaning) } } }
}

/// Draws a text that is vertically centred at `y`; `anchor` is `start`, `middle` or `end`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_by_letters() {
        assert_eq!([short("décode", 6), short("décoder", 6)], ["décode", "décod…"]);
    }
}
