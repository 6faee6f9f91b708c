//! A report as markdown: the verdict, the tables, the notes.

use super::{cell, table};
use crate::render::tables;
use crate::results::Report;
use crate::units;
use std::fmt::Write;

pub(super) fn text(report: &Report) -> String {
    let mut out = format!(
        "\nWritten by `gpufeed bench` {} on {}, not by hand.\n\n",
        cell(&report.version),
        units::date(report.unix_time)
    );
    let bottleneck = &report.bottleneck;
    let resource =
        bottleneck.resource.as_deref().map_or("Unexplained".to_owned(), |name| format!("Limited by {}", cell(name)));
    let _ = write!(
        out,
        "**{} images/s. {resource}.** {}",
        units::number(report.images_per_second.median),
        cell(&bottleneck.verdict)
    );
    if let Some(change) = &bottleneck.change {
        let gain =
            bottleneck.predicted_gain.map(|gain| format!(", predicted {}", units::gain(gain))).unwrap_or_default();
        let refuted =
            bottleneck.refuted.as_ref().map(|reason| format!(" (refuted: {})", cell(reason))).unwrap_or_default();
        let _ = write!(out, " Next: {}{gain}{refuted}.", cell(change.trim_end_matches('.')));
    }
    if let Some(unstable) = &report.unstable {
        let _ = write!(out, " Unstable: {}.", cell(unstable));
    }
    out.push('\n');
    for part in tables::all(report) {
        let _ = write!(out, "\n**{}**\n\n", part.title);
        let numbers: Vec<usize> = (1..part.head.len()).filter(|column| !part.text.contains(column)).collect();
        let head: Vec<&str> = if part.head.is_empty() { vec!["what", "value"] } else { part.head.clone() };
        table(&mut out, &head, &numbers, &part.rows);
        if let Some(note) = &part.note {
            let _ = write!(out, "\n{}\n", cell(note));
        }
    }
    if !report.notes.is_empty() {
        out.push_str("\n**Notes**\n\n");
        for note in &report.notes {
            let _ = writeln!(out, "- {}", cell(note));
        }
    }
    out.push('\n');
    out
}
