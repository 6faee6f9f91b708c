//! Tests, key by key, that later versions can read today's report, `tests/frozen/files/report.json`, because `compare`
//! and `report` accept older files. If a key goes away, a test here fails: then `SCHEMA` has to go up. It also has to
//! go up if a key changes its meaning, which no test notices.

use super::{GpuTime, Group, Report, Slots, sample};
use gpufeed_testing::frozen;
use serde_json::{Value, to_value};
use std::collections::BTreeSet;
use std::path::Path;

const FILE: &str = "files/report.json";

/// Returns the sample report with its empty fields filled.
fn filled() -> Report {
    let mut report = sample();
    report.data.drawn = true;
    report.unstable = Some("runs of 40 and of 90 images a second".to_owned());
    report.switches = vec!["slots=2".to_owned()];
    report.groups = vec![Group { name: "local".to_owned(), images_per_sample: 8, height: 96, width: 64 }];
    report.samples_per_second = Some(60.5);
    report.cpu_seconds_per_image_runs = vec![0.0016, 0.0017];
    report.stages[0].runs = vec![2.3e-5, 2.4e-5];
    report.gpu = GpuTime {
        clock: "timestamps".to_owned(),
        busy: 0.25,
        waited: 0.125,
        passes: vec![("stage 0".to_owned(), 0.0025)],
    };
    report.slots = Some(Slots {
        slots: 12,
        bytes_per_slot: 33_554_432.0,
        write_seconds: Some(0.0078125),
        write_gb_per_second: Some(4.25),
        copy_seconds: Some(0.00390625),
        copy_gb_per_second: Some(8.5),
    });
    report.bottleneck.refuted = Some("two workers were no faster".to_owned());
    report.kernels.rows[0].runs = vec![7.25, 7.5];
    report.upload[0].runs = vec![12.5, 12.75];
    report.upload[0].predicted_seconds = Some(0.0005);
    report.upload[0].predicted_limit = Some("bus".to_owned());
    report.notes = vec!["no GPU".to_owned()];
    report
}

/// Collects the paths of all keys, and of the keys that have a value somewhere.
fn keys(value: &Value, path: &str, all: &mut BTreeSet<String>, with_value: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            let path = format!("{path}.{key}");
            keys(value, &path, all, with_value);
            all.insert(path);
        }),
        Value::Array(elements) => elements.iter().for_each(|element| keys(element, path, all, with_value)),
        _ => {}
    }
    if !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)) {
        with_value.insert(path.to_owned());
    }
}

#[test]
fn reports_are_read_as_they_were() {
    let written = serde_json::to_string_pretty(&filled()).unwrap() + "\n";
    let text = frozen::files(&[(FILE, &written)]).remove(0);
    let report = serde_json::from_str(&text);
    let expected: Value = serde_json::from_str(&text).unwrap();
    // A renamed key would be ignored when it is read, and written under its new name.
    frozen::check_read(FILE, report.map(|report: Report| to_value(&report).unwrap()), &expected);
}

/// Reports of schema 1 have fields that no longer exist, and older names of stages.
#[test]
fn committed_reports_of_schema_1_are_read() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/results");
    for name in ["epyc-2-cores-bench-cpu.json", "epyc-2-cores-bench-llvmpipe.json", "xeon-2-cores-bench.json"] {
        let report = Report::read(&results.join(name)).unwrap();
        let stages: Vec<&str> = report.stages.iter().map(|stage| &*stage.name).collect();
        assert_eq!((report.schema, &stages[..3]), (1, &["read", "params", "decode"][..]), "{name}");
        assert!(report.images_per_second.median > 0.0, "{name}");
        assert!(!report.kernels.rows.is_empty() && !report.sweep.is_empty() && !report.pools.is_empty(), "{name}");
    }
}

#[test]
fn stages_of_older_reports_have_the_names_of_today() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut older = filled();
    older.stages[0].name = "draw".to_owned();
    std::fs::write(file.path(), serde_json::to_string(&older).unwrap()).unwrap();
    let report = Report::read(file.path()).unwrap();
    let names: Vec<&str> = report.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(names, ["params", "decode", "augment", "copy", "submit"]);
}

#[test]
fn every_key_has_a_value_in_the_frozen_report() {
    let (mut all, mut with_value) = Default::default();
    keys(&to_value(filled()).unwrap(), "", &mut all, &mut with_value);
    let empty: Vec<_> = all.difference(&with_value).collect();
    assert!(empty.is_empty() && all.len() > 80, "fill in {empty:?} in `filled`; {} keys", all.len());
}
