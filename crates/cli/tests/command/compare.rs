//! Tests of `gpufeed compare` and `gpufeed report` as programs: output, exit codes, files that cannot be read.

use crate::words::Run as _;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn gpufeed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpufeed")).args(arguments).run()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the sample report of the unit tests.
fn sample() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns runs as `bench` writes them: with the median, the least and the greatest.
fn spread(runs: &[f64]) -> Value {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    json!({"median": sorted[sorted.len() / 2], "min": sorted[0], "max": sorted[sorted.len() - 1], "runs": runs})
}

/// Returns the sample report with these rates of the whole pipeline, and without a sweep.
fn with_runs(runs: &[f64]) -> Value {
    let mut report = sample();
    report["images_per_second"] = spread(runs);
    report["sweep"] = json!([]);
    report
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).display().to_string()
    }

    /// Runs `gpufeed compare` on two reports.
    fn compare(&self, a: &Value, b: &Value, more: &[&str]) -> Output {
        let (a, b) = (self.write("a.json", &a.to_string()), self.write("b.json", &b.to_string()));
        gpufeed(&[&["compare", &a, &b], more].concat())
    }

    fn compared(&self, a: &Value, b: &Value) -> (Option<i32>, Value) {
        let output = self.compare(a, b, &["--json"]);
        (
            output.status.code(),
            serde_json::from_str(&out(&output)).unwrap_or_else(|error| panic!("{error}: {}", err(&output))),
        )
    }
}

fn row<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    comparison["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn a_report_equals_itself() {
    let files = Files::new();
    let (code, comparison) = files.compared(&sample(), &sample());
    assert_eq!(code, Some(0));
    assert_eq!((&comparison["differs"], &comparison["unlike"]), (&json!(false), &json!([])));
    assert_eq!(row(&comparison, "images/s")["ratio"], 1.0);
    assert_eq!(row(&comparison, "stage decode")["verdict"]["is"], "once");
}

#[test]
fn ranges_apart_are_a_difference() {
    let files = Files::new();
    let (slow, fast) = (with_runs(&[1000.0, 1010.0, 1020.0]), with_runs(&[1100.0, 1120.0, 1150.0]));
    let (code, comparison) = files.compared(&slow, &fast);
    assert_eq!(code, Some(3));
    let rate = row(&comparison, "images/s");
    assert_eq!(rate["verdict"]["is"], "larger");
    assert!((rate["verdict"]["chance"].as_f64().unwrap() - 0.1).abs() < 1e-9);
    assert!((rate["ratio"].as_f64().unwrap() - 1120.0 / 1010.0).abs() < 1e-9);
    assert!((rate["range"][0].as_f64().unwrap() - 1100.0 / 1020.0).abs() < 1e-9);
    assert!((rate["range"][1].as_f64().unwrap() - 1150.0 / 1000.0).abs() < 1e-9);

    let text = out(&files.compare(&slow, &fast, &[]));
    assert!(text.contains("B is better by more than the noise in: images/s."), "{text}");
    let back = files.compare(&fast, &slow, &[]);
    assert_eq!(back.status.code(), Some(3));
    assert!(out(&back).contains("B is worse by more than the noise in: images/s."), "{}", out(&back));
}

#[test]
fn overlapping_ranges_are_noise() {
    let files = Files::new();
    let (code, comparison) =
        files.compared(&with_runs(&[1000.0, 1010.0, 1100.0]), &with_runs(&[1090.0, 1120.0, 1150.0]));
    assert_eq!((code, &row(&comparison, "images/s")["verdict"]["is"]), (Some(0), &json!("noise")));
    // The runs do not overlap, but the medians differ by less than 2 %.
    let (code, comparison) =
        files.compared(&with_runs(&[1000.0, 1001.0, 1002.0]), &with_runs(&[1010.0, 1011.0, 1012.0]));
    assert_eq!((code, &row(&comparison, "images/s")["verdict"]["is"]), (Some(0), &json!("noise")));
}

#[test]
fn one_run_tells_nothing() {
    let files = Files::new();
    let (a, b) = (with_runs(&[1000.0]), with_runs(&[2000.0]));
    let (code, comparison) = files.compared(&a, &b);
    assert_eq!((code, &row(&comparison, "images/s")["verdict"]["is"]), (Some(0), &json!("once")));
    assert!(out(&files.compare(&a, &b, &[])).contains("Nothing can be told"));
    let (code, comparison) = files.compared(&with_runs(&[1000.0, 1001.0]), &with_runs(&[2000.0, 2001.0]));
    assert_eq!((code, &row(&comparison, "images/s")["verdict"]["needed"]), (Some(0), &json!(3)));
}

#[test]
fn a_kernel_counts_with_five_runs() {
    let files = Files::new();
    let kernel = |runs: &[f64]| {
        let mut report = with_runs(&[1000.0, 1010.0, 1020.0]);
        report["kernels"]["rows"][1]["gb_per_second"] = runs[0].into();
        report["kernels"]["rows"][1]["runs"] = json!(runs);
        report
    };
    let (code, comparison) = files.compared(&kernel(&[1.0; 4]), &kernel(&[2.0; 4]));
    assert_eq!((code, &row(&comparison, "kernel strip, f32")["verdict"]["needed"]), (Some(0), &json!(5)));
    let (code, comparison) = files.compared(&kernel(&[1.0; 5]), &kernel(&[2.0; 5]));
    assert_eq!((code, &row(&comparison, "kernel strip, f32")["verdict"]["is"]), (Some(3), &json!("larger")));
}

#[test]
fn unlike_things_are_told() {
    let files = Files::new();
    let mut other = sample();
    other["workers"] = 8.into();
    other["machine"]["cpu"] = "another processor".into();
    let (code, comparison) = files.compared(&sample(), &other);
    assert_eq!(code, Some(0));
    let what: Vec<&str> =
        comparison["unlike"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["processor", "workers"]);
    let text = out(&files.compare(&sample(), &other, &[]));
    assert!(text.contains("unlike things") && text.contains("workers: 2 | 8"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file");
}

#[test]
fn older_files_with_fewer_fields_are_read() {
    let files = Files::new();
    let old = json!({"version": "0.1.0", "images_per_second": spread(&[1000.0, 1010.0, 1020.0]), "stages": [{"name": "decode", "seconds_per_image": 1e-3}]});
    let (code, comparison) = files.compared(&old, &sample());
    assert_eq!(code, Some(3));
    assert!(row(&comparison, "stage decode")["ratio"].as_f64().unwrap() > 1.0);
    assert!(comparison["only_in_b"].as_array().unwrap().contains(&json!("stage read")));
    assert_eq!(comparison["only_in_a"], json!([]));
}

#[test]
fn a_report_without_a_schema_is_read() {
    let files = Files::new();
    let mut old = sample();
    assert_eq!(old.as_object_mut().unwrap().remove("schema"), Some(json!(2)));
    let (code, comparison) = files.compared(&old, &sample());
    assert_eq!((code, &comparison["only_in_b"], &comparison["unlike"]), (Some(0), &json!([]), &json!([])));
    let output = gpufeed(&["report", &files.path("a.json").display().to_string(), "--html", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("<td class=\"\">decode</td><td class=\"n\">1.31 ms</td>"), "{}", out(&output));
}

#[test]
fn a_report_of_a_newer_schema_is_refused_with_what_to_do() {
    let files = Files::new();
    let good = files.write("good.json", &sample().to_string());
    let mut newer = sample();
    newer["schema"] = 3.into();
    newer["version"] = "9.8.0".into();
    // A field of another type is what a newer schema may have.
    newer["stages"] = json!({"decode": 1});
    let newer = files.write("newer.json", &newer.to_string());
    let page = files.path("page.html");
    let html = page.to_str().unwrap();
    for arguments in
        [&["compare", &good, &newer][..], &["compare", &newer, &good, "--json"], &["report", &newer, "--html", html]]
    {
        let output = gpufeed(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        for part in [&newer, "schema 3", "up to schema 2", "update gpufeed to 9.8.0"] {
            assert!(err(&output).contains(part), "`{part}` is not in: {}", err(&output));
        }
        assert!(output.stdout.is_empty() && !page.exists(), "{arguments:?}");
    }
}

#[test]
fn files_that_cannot_be_compared_name_the_reason() {
    let files = Files::new();
    let good = files.write("good.json", &sample().to_string());
    let refused = |name: &str, reason: &str| {
        for arguments in [["compare", &good, name], ["compare", name, &good]] {
            let output = gpufeed(&arguments);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            assert!(err(&output).contains(name) && err(&output).contains(reason), "{}", err(&output));
            assert!(output.stdout.is_empty());
        }
    };
    refused(&files.path("none.json").display().to_string(), "cannot be read");
    refused(&files.write("half.json", "{\"version\": \"0.1"), "is not a report");
    refused(&files.write("list.json", "[]"), "no `version`");
    refused(&files.write("other.json", "{\"name\": \"something else\"}"), "no `version`");
    refused(&files.write("type.json", "{\"version\": \"1\", \"workers\": \"two\"}"), "line 1 column");
    refused(&files.write("bare.json", "{\"version\": \"1\"}"), "no measurement in common");
    assert_eq!(gpufeed(&["compare", &good]).status.code(), Some(2));
}

#[test]
fn help_tells_the_rule_and_the_exit_codes() {
    // Lines are broken at the terminal's width.
    let help = out(&gpufeed(&["compare", "--help"])).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["do not overlap", "2 %", "Exit codes: 0", "3 there is one", "--json"] {
        assert!(help.contains(part), "`{part}` is not in:\n{help}");
    }
}

#[test]
fn a_report_is_rendered_again() {
    let files = Files::new();
    let json = files.write("report.json", &sample().to_string());
    let html = files.path("report.html");
    let output = gpufeed(&["report", &json, "--html", html.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(fs::read_to_string(&html).unwrap().contains("<figure id=\"chart-stages\""));
}

#[test]
fn report_without_an_output_is_a_wrong_call() {
    let files = Files::new();
    let json = files.write("report.json", &sample().to_string());
    assert_eq!(gpufeed(&["report", &json]).status.code(), Some(2));
    assert_eq!(gpufeed(&["report", "--html", "x.html"]).status.code(), Some(2));
}
