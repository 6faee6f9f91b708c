//! Other loaders and gpufeed as markdown: a table for each recipe.

use super::{cell, table};
use crate::render::tables;
use crate::results::{PeerRow, Peers, Ratio};
use crate::units;
use std::fmt::Write;

pub(super) fn text(peers: &Peers) -> String {
    let when = if peers.unix_time == 0 { String::new() } else { format!(" of {}", units::date(peers.unix_time)) };
    let mut out = format!("\nWritten by gpufeed from the rows of `benches/peers/run.py`{when}, not by hand.");
    let (machine, data) = (&peers.machine, &peers.data);
    let mut facts = Vec::new();
    if !machine.cpu.is_empty() {
        facts.push(format!("{}, {} cores", machine.cpu, machine.cores));
        facts.push(format!("{} cores busy with other work", units::number(machine.other_cores_busy)));
    }
    facts.extend(Some(machine.os.clone()).filter(|os| !os.is_empty()));
    if data.samples > 0 {
        facts.push(format!("{}: {}", data.name, data.describe()));
    }
    if peers.workers > 0 {
        facts.push(format!("{} workers", peers.workers));
    }
    if peers.batch_size > 0 {
        facts.push(format!("batches of {}", peers.batch_size));
    }
    if !facts.is_empty() {
        let _ = write!(out, " {}.", cell(&facts.join("; ")));
    }
    out.push_str(
        "\n\nThe loaders took turns. The last number is gpufeed's rate divided by the row's, the median of the rounds and their range: above 1 \
         gpufeed is faster.\n",
    );
    for recipe in peers.recipes() {
        let _ = write!(out, "\n**{}**", cell(recipe));
        match peers.recipes.iter().find(|known| known.name == recipe).map(|known| cell(&known.what)) {
            Some(what) if !what.is_empty() => drop(write!(out, ": {what}\n\n")),
            _ => out.push_str("\n\n"),
        }
        let head = ["loader", "images/s", "CPU ms an image", "peak memory", "gpufeed is × as fast", "note"];
        let rows: Vec<Vec<String>> =
            peers.rows_of(recipe).into_iter().map(|row| cells(row, peers.ratio(row))).collect();
        table(&mut out, &head, &[1, 2, 3, 4], &rows);
    }
    if !peers.notes.is_empty() {
        out.push('\n');
        for note in &peers.notes {
            let _ = writeln!(out, "- {}", cell(note));
        }
    }
    out.push('\n');
    out
}

fn cells(row: &PeerRow, ratio: Option<Ratio>) -> Vec<String> {
    let dash = || "–".to_owned();
    vec![
        format!("{} {}", row.name, row.version).trim_end().to_owned(),
        row.images_per_s.as_ref().map_or("did not run".to_owned(), tables::spread),
        row.cpu_ms_per_image.map_or_else(dash, units::number),
        row.peak_rss_mb.map_or_else(dash, |megabytes| units::bytes(megabytes * 1e6)),
        ratio.map_or_else(dash, comparison),
        row.note.clone(),
    ]
}

/// Formats gpufeed's lead over a loader. A row where gpufeed loses is marked.
fn comparison(ratio: Ratio) -> String {
    let range = format!("({} to {})", units::ratio(ratio.min), units::ratio(ratio.max));
    let verdict = match (ratio.undecided(), ratio.loses()) {
        (true, true) => ", slower in most rounds",
        (true, false) => ", not in every round",
        (false, true) => ", **slower**",
        (false, false) => "",
    };
    format!("{} {range}{verdict}", units::ratio(ratio.median))
}
