//! The colours of charts and page.
//!
//! An SVG names the light colour in its attributes, so that it is readable by itself. The page's style sheet replaces
//! each colour by the light or dark one of the reader's scheme.

use std::fmt::Write;

/// A colour of the light and of the dark scheme.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    pub(crate) name: &'static str,
    light: u32,
    dark: u32,
}

const fn ink(name: &'static str, light: u32, dark: u32) -> Ink {
    Ink { name, light, dark }
}

pub(crate) const TEXT: Ink = ink("text", 0x1C2430, 0xE6EAF0);
pub(crate) const MUTED: Ink = ink("muted", 0x5B6675, 0x9BA7B6);
const GRID: Ink = ink("grid", 0xE1E5EA, 0x333C48);
/// The main quantity: time on a core, busy threads, measured rates.
pub(crate) const MAIN: Ink = ink("main", 0x1F6FB5, 0x58A6E8);
/// The rest of a quantity whose main part has the colour `MAIN`, such as time that is not spent on a core.
pub(crate) const PALE: Ink = ink("pale", 0xA9CCE9, 0x2C567C);
/// Threads without input.
pub(crate) const IDLE: Ink = ink("idle", 0xC9CFD6, 0x4A5563);
/// Limits: threads that wait for room, the ideal line.
pub(crate) const WARM: Ink = ink("warm", 0xD9660B, 0xF59A4A);
/// The page's background.
pub(crate) const PAPER: Ink = ink("paper", 0xFFFFFF, 0x171C23);

pub(crate) const INKS: [Ink; 8] = [TEXT, MUTED, GRID, MAIN, PALE, IDLE, WARM, PAPER];

impl Ink {
    pub(crate) fn hex(self) -> String {
        format!("#{:06X}", self.light)
    }
}

/// Returns style rules: the inks as variables, and the replacement of the SVGs' colours by these variables.
pub(crate) fn css() -> String {
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
