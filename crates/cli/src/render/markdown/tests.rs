//! Tests of the text of both sections.

use super::peers::text as peers_text;
use super::report::text;
use super::{update, update_peers};
use crate::output::Output;
use crate::results::{Peers, Report, sample};
use std::fs;
use std::path::Path;

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
    let order =
        ["**augment-only**: E: 64 resident images", "**decode-only**", "simplejpeg", "| gpufeed 0.1.0", "did not run"];
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
