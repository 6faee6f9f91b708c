//! The report, and other loaders beside gpufeed, as tables in a part of a markdown file.

use super::peers::{PeerRow, Peers, Ratio};
use super::section::Section;
use super::{Report, facts, units};
use crate::output::Output;
use gpufeed::internals::Shown;
use std::fmt::Write;
use std::path::Path;

/// Rewrites what stands between `<!-- gpufeed bench: begin -->` and `<!-- gpufeed bench: end -->`.
pub(crate) fn update(report: &Report, output: &Output) -> Result<(), String> {
    Section("bench").update(output, &text(report))
}

/// Whether `update` would find its place in the file: to be asked before minutes are spent on measuring.
pub(crate) fn check(output: &Output) -> Result<(), String> {
    Section("bench").check(output)
}

/// Rewrites what stands between `<!-- gpufeed peers: begin -->` and `<!-- gpufeed peers: end -->` with the rows of a
/// JSON file of `benches/peers/run.py`.
pub(crate) fn update_peers(peers: &Path, output: &Output) -> Result<(), String> {
    let peers = Peers::read(peers)?;
    Section("peers").update(output, &peers_text(&peers))
}

// Writing to a string cannot fail: what `write!` returns is dropped below.

fn text(report: &Report) -> String {
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
    for part in facts::all(report) {
        let _ = write!(out, "\n**{}**\n\n", part.title);
        let numbers: Vec<usize> = (1..part.head.len()).filter(|column| !part.text.contains(column)).collect();
        let head: Vec<&str> = if part.head.is_empty() { vec!["", ""] } else { part.head.clone() };
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

fn peers_text(peers: &Peers) -> String {
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
        facts.push(format!("{}: {}", data.name, data.said()));
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
        let rows: Vec<Vec<String>> = peers.of(recipe).into_iter().map(|row| peer(row, peers.ratio(row))).collect();
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

fn peer(row: &PeerRow, ratio: Option<Ratio>) -> Vec<String> {
    let dash = || "–".to_owned();
    vec![
        format!("{} {}", row.name, row.version).trim_end().to_owned(),
        row.images_per_s.as_ref().map_or("did not run".to_owned(), facts::spread),
        row.cpu_ms_per_image.map_or_else(dash, units::number),
        row.peak_rss_mb.map_or_else(dash, |megabytes| units::bytes(megabytes * 1e6)),
        ratio.map_or_else(dash, compared),
        row.note.clone(),
    ]
}

/// Where gpufeed loses the row says so.
fn compared(ratio: Ratio) -> String {
    let range = format!("({} to {})", units::ratio(ratio.min), units::ratio(ratio.max));
    let verdict = match (ratio.undecided(), ratio.loses()) {
        (true, true) => ", slower in most rounds",
        (true, false) => ", not in every round",
        (false, true) => ", **slower**",
        (false, false) => "",
    };
    format!("{} {range}{verdict}", units::ratio(ratio.median))
}

/// A table; the columns of numbers are right-aligned.
fn table(out: &mut String, head: &[&str], numbers: &[usize], rows: &[Vec<String>]) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let lines = (0..head.len()).map(|column| if numbers.contains(&column) { "---:" } else { "---" });
    let _ = writeln!(out, "|{}|", lines.collect::<Vec<_>>().join("|"));
    for row in rows {
        // A row of fewer cells is filled up.
        let cells = (0..head.len()).map(|column| row.get(column).map(|text| cell(text)).unwrap_or_default());
        let cells: Vec<String> =
            cells.map(|text| if text == facts::MISS { format!("**{text}**") } else { text }).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Text that stays in its cell, and that is no HTML: a name from outside must not end the section.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Shown(line).to_string().replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use std::fs;

    fn output(path: &Path) -> Output {
        let [output] = crate::output::open([("--markdown", Some(path))]).unwrap();
        output.unwrap()
    }

    #[test]
    fn every_table_of_the_report_is_there() {
        let text = text(&sample());
        for part in [
            "**1,164 images/s. Limited by decode CPU.**",
            "| processor | AMD EPYC",
            "| decode | 1.31 ms | 1.29 ms | 110 kB |",
            "| strip, f32 | 16 | 18.5 MB | 17.2 ms | 1.08 GB/s | 15 % |",
            "| ring and copy |",
            "| 2 | 1,164 (1,105 to 1,177, 5 runs) | 1.66 ms |",
            "| workers 1 → 2 | 97 % | +94 % | +89 % | met |",
            "| host cache | – | +12 % | +4 % | **missed** |",
            "1 of 2 missed",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }

    #[test]
    fn every_row_has_as_many_cells_as_its_head() {
        let text = text(&sample()) + &peers_text(&peers());
        let mut cells = None;
        let mut rows = 0;
        for line in text.lines() {
            if !line.starts_with('|') {
                cells = None;
                continue;
            }
            let here = line.replace("\\|", "").matches('|').count();
            assert_eq!(*cells.get_or_insert(here), here, "{line}");
            rows += 1;
        }
        assert!(rows > 60, "{rows} rows");
    }

    #[test]
    fn a_report_without_measurements_is_text_all_the_same() {
        let text = text(&Report { version: "0.1.0".into(), ..Report::default() });
        assert!(text.contains("Unexplained") && text.contains("| adapter | none |"), "{text}");
    }

    #[test]
    fn names_cannot_break_out() {
        let mut report = sample();
        report.recipe = "a|b\n<!-- gpufeed bench: end -->\u{1b}[2J".into();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        for _ in 0..2 {
            update(&report, &output(&path)).unwrap();
        }
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("| recipe | a\\|b &lt;!-- gpufeed bench: end -->\\u{1b}[2J |"), "{page}");
    }

    fn peers() -> Peers {
        serde_json::from_str(
            r#"{"machine": {"cpu": "EPYC", "cores": 2, "other_cores_busy": 0.02}, "workers": 2,
                "recipes": [{"name": "augment-only", "what": "E: 64 resident images"}],
                "rows": [
                {"recipe": "decode-only", "name": "gpufeed", "version": "0.1.0", "cpu_ms_per_image": 1.06, "peak_rss_mb": 99,
                 "images_per_s": {"median": 1800, "min": 1700, "max": 1900, "runs": [1700, 1800, 1900]}},
                {"recipe": "decode-only", "name": "simplejpeg", "version": "1.8",
                 "images_per_s": {"median": 2000, "min": 2000, "max": 2000, "runs": [2000, 2000, 2000]}},
                {"recipe": "decode-only", "name": "even", "note": "its | is a pipe",
                 "images_per_s": {"median": 1750, "min": 1600, "max": 1950, "runs": [1600, 1750, 1950]}},
                {"recipe": "decode-only", "name": "DALI", "images_per_s": null, "note": "no wheel"},
                {"recipe": "augment-only", "name": "gpufeed",
                 "images_per_s": {"median": 12000, "min": 12000, "max": 12000, "runs": [12000]}},
                {"recipe": "augment-only", "name": "DALI",
                 "images_per_s": {"median": 4000, "min": 3000, "max": 6000, "runs": [3000, 4000, 6000]}}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn losses_are_listed_and_marked() {
        let text = peers_text(&peers());
        for part in [
            "| simplejpeg 1.8 | 2,000 (2,000 to 2,000, 3 runs) | – | – | 0.900 (0.850 to 0.950), **slower** |  |",
            "| gpufeed 0.1.0 | 1,800 (1,700 to 1,900, 3 runs) | 1.06 | 99 MB | – |  |",
            "| even | 1,750 (1,600 to 1,950, 3 runs) | – | – | 1.029 (0.974 to 1.062), not in every round | its \\| is a pipe |",
            "| DALI | did not run | – | – | – | no wheel |",
            "| DALI | 4,000 (3,000 to 6,000, 3 runs) | – | – | 3.00 (2.00 to 4.00) |  |",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        let order = [
            "**augment-only**: E: 64 resident images",
            "**decode-only**",
            "simplejpeg",
            "| gpufeed 0.1.0",
            "did not run",
        ];
        let places: Vec<usize> = order.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn peers_that_cannot_be_compared_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let (json, page) = (folder.path().join("peers.json"), folder.path().join("page.md"));
        let refused = |text: &str| {
            fs::write(&json, text).unwrap();
            let reason = update_peers(&json, &output(&page)).unwrap_err();
            assert!(reason.contains("peers.json") && !page.exists(), "{reason}");
            reason
        };
        assert!(refused("{").contains("run.py"));
        assert!(refused(r#"{"rows": []}"#).contains("`rows` is empty"));
        let rate = r#"{"median": 1, "min": 1, "max": 1, "runs": [1]}"#;
        let alone = format!(r#"{{"rows": [{{"recipe": "a", "name": "DALI", "images_per_s": {rate}}}]}}"#);
        assert!(refused(&alone).contains("no row named `gpufeed`"));
        let zero = alone.replace("DALI", "gpufeed").replace("[1]", "[0]");
        assert!(refused(&zero).contains("above 0"));
        fs::write(&json, alone.replace("DALI", "gpufeed")).unwrap();
        update_peers(&json, &output(&page)).unwrap();
        assert!(fs::read_to_string(&page).unwrap().contains("| gpufeed | 1.00 (one run) |"));
        assert!(Peers::read(&folder.path().join("none.json")).unwrap_err().contains("none.json cannot be read"));
    }
}
