//! Rewrites a marked section of a markdown file: `report.rs` writes the tables of a report, `peers.rs` those of other
//! loaders, `marked_section.rs` finds the markers and replaces the text between them. The content of a report's tables
//! is worded in `../tables.rs`.

mod marked_section;
mod peers;
mod report;
#[cfg(test)]
mod tests;

use super::tables;
use crate::output::Output;
use crate::results::{Peers, Report};
use gpufeed::internals::Shown;
use marked_section::Section;
use std::fmt::Write;
use std::path::Path;

/// Rewrites the text between `<!-- gpufeed bench: begin -->` and `<!-- gpufeed bench: end -->`.
pub(crate) fn update(report: &Report, output: &Output) -> Result<(), String> {
    Section("bench").update(output, &report::text(report))
}

/// Checks that `update` would find its markers. `bench` asks before it spends minutes on measuring.
pub(crate) fn check(output: &Output) -> Result<(), String> {
    Section("bench").check(output)
}

/// Rewrites the text between `<!-- gpufeed peers: begin -->` and `<!-- gpufeed peers: end -->` with the rows of a JSON
/// file of `benches/peers/run.py`.
pub(crate) fn update_peers(peers: &Path, output: &Output) -> Result<(), String> {
    let peers = Peers::read(peers)?;
    Section("peers").update(output, &peers::text(&peers))
}

// Writing to a string cannot fail, so `write!` results are dropped in this folder.

/// Writes a table. The columns `numbers` are right-aligned.
fn table(out: &mut String, head: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let lines = (0..head.len()).map(|column| if numbers.contains(&column) { "---:" } else { "---" });
    let _ = writeln!(out, "|{}|", lines.collect::<Vec<_>>().join("|"));
    for row in rows {
        // Short rows are filled up with empty cells.
        let cells = (0..head.len()).map(|column| row.get(column).map(|text| cell(text)).unwrap_or_default());
        let cells: Vec<String> =
            cells.map(|text| if text == tables::MISS { format!("**{text}**") } else { text }).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Escapes a text so that it stays in its cell and is not HTML: a name from outside must not end the section.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Shown(line).to_string().replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|")
}
