//! Tests of `gpufeed bench` as a program: its JSON, its exit codes, and the arguments that it refuses.

#![allow(clippy::print_stdout)]

use crate::words::Run as _;
use image::RgbImage;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn gpufeed(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.arg("bench").args(arguments).env("NODEVICE_SELECT", "1").run()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `gpufeed bench --json -` and returns the report from its standard output.
fn report(arguments: &[&str]) -> Value {
    let output = gpufeed(&[arguments, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // Warnings about the files that are not images are allowed on standard error.
    let warned = |line: &str| line.starts_with("warning: sample failed");
    assert!(said(&output).lines().all(warned), "progress is for terminals: {}", said(&output));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON document")
}

/// Makes a folder of two classes of small photographs. The last file of the second class is not an image.
fn folder() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for number in 0..24u32 {
        let class = root.path().join(if number < 12 { "cats" } else { "dogs" });
        std::fs::create_dir_all(&class).expect("a class folder");
        let path = class.join(format!("{number}.jpg"));
        let value = |x: u32, y: u32| [(x * 2 + number * 5) as u8, (y * 2) as u8, (x * y / 64) as u8];
        let picture = RgbImage::from_fn(120 + number, 90, |x, y| image::Rgb(value(x, y)));
        picture.save(&path).expect("a file");
        if number == 23 {
            std::fs::write(&path, b"no image").expect("a file");
        }
    }
    root
}

fn number(report: &Value, pointer: &str) -> f64 {
    let value = report.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {report:#}"));
    value.as_f64().unwrap_or_else(|| panic!("{pointer} is {value}, no number"))
}

fn rows<'a>(report: &'a Value, pointer: &str) -> &'a [Value] {
    let rows = report.pointer(pointer).and_then(Value::as_array);
    rows.unwrap_or_else(|| panic!("{pointer} is no list in {report:#}"))
}

fn text<'a>(report: &'a Value, pointer: &str) -> &'a str {
    report.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} is no text in {report:#}"))
}

/// Checks the parts that every report has, even if measurements were left out.
fn check(report: &Value) {
    for pointer in
        ["/version", "/cache", "/machine/os", "/machine/cpu", "/backend", "/executor", "/recipe", "/recipe_toml"]
    {
        assert!(!text(report, pointer).is_empty(), "{pointer} is empty");
    }
    for pointer in ["/adapter", "/driver", "/adapter_pci", "/adapter_uuid", "/chosen"] {
        let value = report.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing"));
        assert!(value.is_null() || value.is_string(), "{pointer}: {value}");
    }
    let positive =
        ["/workers", "/batch_size", "/cpu_seconds_per_image", "/time_to_first_batch", "/data/samples", "/unix_time"];
    for pointer in positive.into_iter().chain(["/machine/cores", "/machine/memory_bytes", "/data/bytes"]) {
        assert!(number(report, pointer) > 0.0, "{pointer}: {}", number(report, pointer));
    }
    let stall = number(report, "/data_stall");
    assert!((0.0..=1.0).contains(&stall), "{stall}");
    number(report, "/files_skipped");
    number(report, "/machine/other_cores_busy");
    let [low, middle, high] =
        ["min", "median", "max"].map(|name| number(report, &format!("/images_per_second/{name}")));
    assert!(0.0 < low && low <= middle && middle <= high, "{low} {middle} {high}");
    assert!(rows(report, "/images_per_second/runs").len() >= 3);
    let stages: Vec<&str> = rows(report, "/stages").iter().map(|stage| text(stage, "/name")).collect();
    for stage in ["read", "params", "decode"] {
        assert!(stages.contains(&stage), "{stages:?}");
    }
    for stage in rows(report, "/stages") {
        assert!(number(stage, "/seconds_per_image") > 0.0, "{stage}");
    }
    let workers =
        rows(report, "/pools").iter().find(|pool| text(pool, "/name") == "workers").expect("a pool of workers");
    let whole: f64 = ["busy", "starved", "blocked"].iter().map(|share| number(workers, &format!("/{share}"))).sum();
    assert!((0.8..1.2).contains(&whole), "a worker is busy, starved or blocked: {workers}");
    assert!(!text(report, "/bottleneck/verdict").is_empty());
    assert!(rows(report, "/perturbations").len() >= 3, "{:#}", report["perturbations"]);
    for slowed in rows(report, "/perturbations") {
        assert!(number(slowed, "/delay") > 0.0 && number(slowed, "/elasticity").is_finite(), "{slowed}");
    }
    for pointer in ["/upload", "/kernels/rows", "/notes"] {
        rows(report, pointer);
    }
    assert!(report["memory"].is_object() && !text(report, "/kernels/clock").is_empty());
}

/// Checks that the rate of each kernel or upload path is its bytes divided by its seconds, and its share is relative to
/// the first row.
fn check_rates(rates: &[Value]) {
    assert!(!rates.is_empty());
    for rate in rates {
        let [bytes, seconds, rated] = ["/bytes", "/seconds", "/gb_per_second"].map(|name| number(rate, name));
        assert!(seconds > 0.0 && (bytes / seconds / 1e9 / rated - 1.0).abs() < 1e-6, "{rate}");
        assert!((number(rate, "/of_copy") * number(&rates[0], "/gb_per_second") / rated - 1.0).abs() < 1e-6, "{rate}");
    }
}

#[test]
fn a_quick_run_on_pictures_drawn_in_memory() {
    let report = report(&["--quick", "--backend", "cpu", "--seconds", "0.5", "--batch-size", "16", "--workers", "2"]);
    check(&report);
    assert_eq!((text(&report, "/backend"), text(&report, "/data/name")), ("cpu", "procedural"));
    assert!(report["adapter"].is_null());
    assert_eq!(report["data"]["drawn"], true);
    assert_eq!((number(&report, "/batch_size"), number(&report, "/workers")), (16.0, 2.0));
    let a_file = number(&report, "/data/bytes") / number(&report, "/data/samples");
    assert!((40e3..110e3).contains(&a_file), "files of {a_file} bytes");
    // The notes name every measurement that was left out.
    let notes = rows(&report, "/notes").iter().map(|note| note.as_str().expect("notes are texts"));
    let notes: String = notes.collect::<Vec<_>>().join("\n");
    for part in ["--quick", "kernels", "upload", "memory"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(text(&report, "/kernels/clock").contains("--quick"));
}

#[test]
fn a_full_run_on_a_folder() {
    let (data, out) = (folder(), tempfile::tempdir().expect("a folder"));
    let [json, trace] = ["report.json", "trace.json"].map(|name| out.path().join(name));
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (folder, json_path, trace_path) = (path(data.path()), path(&json), path(&trace));
    let output = gpufeed(&[
        "--data",
        &folder,
        "--backend",
        "cpu",
        "--seconds",
        "0.8",
        "--batch-size",
        "4",
        "--workers",
        "1,2",
        "--json",
        &json_path,
        "--trace",
        &trace_path,
        "--recipe",
        "imagenet-eval",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let summary = String::from_utf8(output.stdout).expect("UTF-8");
    for part in ["images/s", "Stages", "Threads", "Workers", "Memory", "files skipped"] {
        assert!(summary.contains(part), "{part} is missing in:\n{summary}");
    }
    assert!(!summary.contains('\u{1b}'), "colours are for terminals");

    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("written")).expect("JSON");
    check(&report);
    assert_eq!(number(&report, "/data/samples"), 24.0);
    assert!(number(&report, "/files_skipped") > 0.0, "one file is no image");
    assert!(rows(&report, "/kernels/rows").is_empty() && rows(&report, "/upload").is_empty(), "there is no GPU");
    assert!(text(&report, "/kernels/clock").contains("no GPU"));
    let workers: Vec<f64> = rows(&report, "/sweep").iter().map(|step| number(step, "/workers")).collect();
    assert_eq!(workers, [1.0, 2.0]);
    let [steady, peak, declared] =
        ["steady", "peak", "declared"].map(|name| number(&report, &format!("/memory/{name}_bytes")));
    assert!(0.0 < steady && steady <= peak && declared > 0.0, "{:#}", report["memory"]);

    let events: Value = serde_json::from_slice(&std::fs::read(&trace).expect("written")).expect("the trace is JSON");
    let names: Vec<&str> =
        events.as_array().expect("a list").iter().filter_map(|event| event["name"].as_str()).collect();
    for stage in ["read", "decode", "augment"] {
        assert!(names.contains(&stage), "no {stage} among {} events", names.len());
    }
}

#[test]
fn the_shaders_on_an_adapter() {
    let adapters = gpufeed::Gpu::adapters();
    gpufeed_testing::device::require(adapters.clone());
    if adapters.is_empty() {
        return;
    }
    let data = folder();
    let folder = data.path().to_str().expect("UTF-8");
    let report = report(&[
        "--data",
        folder,
        "--adapter",
        "0",
        "--shaders",
        "--seconds",
        "0.5",
        "--batch-size",
        "4",
        "--workers",
        "2",
        "--recipe",
        "resize-jitter-gray",
        "--switch",
        "slots=2",
        "--switch",
        "rows=4",
    ]);
    check(&report);
    assert_eq!(text(&report, "/executor"), "shaders");
    assert_eq!(rows(&report, "/switches"), ["slots=2", "rows=4"]);
    assert!(number(&report, "/slots/slots") > 0.0 && number(&report, "/slots/bytes_per_slot") > 0.0);
    assert!(["vulkan", "metal", "dx12", "gl"].contains(&text(&report, "/backend")));
    assert!(!text(&report, "/adapter").is_empty() && !text(&report, "/driver").is_empty());
    assert!(["timestamps", "wall"].contains(&text(&report, "/kernels/clock")));
    check_rates(rows(&report, "/kernels/rows"));
    check_rates(rows(&report, "/upload"));
    let names =
        |pointer: &str| rows(&report, pointer).iter().map(|row| text(row, "/name").to_owned()).collect::<Vec<_>>();
    for row in ["copy kernel", "strip, f32", "the recipe: 1, stage", "the recipe: 0, statistic"] {
        assert!(names("/kernels/rows").contains(&row.to_owned()), "{row} is missing in {:?}", names("/kernels/rows"));
    }
    for way in ["memcpy", "ring and copy", "write_buffer"] {
        assert!(names("/upload").contains(&way.to_owned()), "{way} is missing in {:?}", names("/upload"));
    }
    assert!(names("/stages").iter().any(|stage| stage == "submit"));
}

#[test]
fn wrong_arguments_end_with_2() {
    let wrong: [&[&str]; 13] = [
        &["--backend", "tpu"],
        &["--cache", "disk"],
        &["--workers", "0"],
        &["--workers", "1,many"],
        &["--batch-size", "0"],
        &["--seconds", "0"],
        &["--seconds", "soon"],
        &["--emulate-step=-1"],
        &["--backend", "cpu", "--adapter", "0"],
        &["--backend", "cpu", "--shaders"],
        &["--switch", "rows=3"],
        &["--switch", "row=4"],
        &["--switch", "rows=4", "--backend", "cpu"],
    ];
    for arguments in wrong {
        let output = gpufeed(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        let setting = arguments[0].split('=').next().expect("a word");
        assert!(said(&output).contains(setting), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn what_cannot_be_done_ends_with_1_and_names_the_setting() {
    let out = tempfile::tempdir().expect("a folder");
    let recipe = out.path().join("recipe.toml");
    std::fs::write(&recipe, "[[transform]]\ntype = \"Resize\"\nsize = 8\nsharp = true\n").expect("a file");
    let recipe = recipe.to_str().expect("UTF-8");
    let wrong: [(&[&str], &str); 5] = [
        (&["--data", "/no/such/folder"], "/no/such/folder"),
        (&["--recipe", "/no/such/recipe.toml"], "recipe: /no/such/recipe.toml"),
        (&["--recipe", recipe], "sharp"),
        (&["--adapter", "no such adapter"], "no such adapter"),
        (&["--json", "/no/such/folder/report.json"], "json: /no/such/folder/report.json"),
    ];
    for (arguments, part) in wrong {
        let output = gpufeed(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_names_every_argument() {
    let output = gpufeed(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let names = "data recipe adapter backend shaders cache settings workers batch-size seconds json html trace emulate-step quick";
    for name in names.split(' ') {
        assert!(help.contains(&format!("--{name}")), "{name} is missing in:\n{help}");
    }
    assert!(!help.contains("first-batch"));
}

#[test]
fn caches_and_other_formats_of_data() {
    let folder = folder();
    // The list names only cats, because the last of the dogs is not an image.
    let lines: String = (0..12).map(|number| format!("cats/{number}.jpg,{}\n", number % 3)).collect();
    let list = folder.path().join("list.csv");
    std::fs::write(&list, format!("path,label\n{lines}")).expect("a file");
    let list = list.to_str().expect("a path");
    let quick = ["--quick", "--seconds", "0.2", "--workers", "1", "--batch-size", "4", "--backend", "cpu"];
    let run = |more: &[&str]| report(&[&["--data", list, "--recipe", "imagenet-eval"], &quick[..], more].concat());
    let read = |report: &Value| {
        let stage = rows(report, "/stages").iter().find(|stage| text(stage, "/name") == "read");
        stage.map_or(0.0, |stage| number(stage, "/bytes_per_image"))
    };
    let (plain, cached) = (run(&[]), run(&["--cache", "host", "--cache-mib", "64"]));
    assert_eq!((text(&plain, "/cache"), text(&cached, "/cache")), ("none", "host"));
    assert_eq!(number(&cached, "/data/samples"), 12.0);
    assert!(read(&plain) > 0.0);
    assert!(read(&cached) < 0.1 * read(&plain), "nothing is read again: {} of {}", read(&cached), read(&plain));
    let refused = gpufeed(&["--cache", "host", "--scaled-decode"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("--scaled-decode"), "{}", said(&refused));
}

#[test]
fn a_file_has_the_settings_of_the_loaders() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    let content = "batch_size = 8\nworkers = 1\ncache = \"host:64M\"\ndtype = \"float16\"\nviews = 2\n";
    std::fs::write(&file, content).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let run = ["--quick", "--backend", "cpu", "--seconds", "0.2", "--settings", file];
    let report = report(&run);
    assert_eq!((number(&report, "/batch_size"), number(&report, "/workers")), (8.0, 1.0));
    assert_eq!(text(&report, "/cache"), "host");
    let recipe = text(&report, "/recipe_toml");
    assert!(recipe.contains("views = 2") && recipe.contains("dtype = \"F16\""), "{recipe}");
    let notes = rows(&report, "/notes").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
    assert!(notes.contains("settings are those of") && notes.contains("run.toml"), "{notes}");
    for more in [["--batch-size", "4"], ["--cache", "host"], ["--workers", "2"]] {
        let refused = gpufeed(&[&run[..], &more].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("--settings"), "{}", said(&refused));
    }
}

/// Runs a short measurement with the given data and recipe.
fn small(data: &Path, recipe: &str) -> Value {
    let data = data.to_str().expect("UTF-8");
    let quick = ["--quick", "--seconds", "0.2", "--workers", "1", "--batch-size", "4", "--backend", "cpu"];
    report(&[&["--data", data, "--recipe", recipe], &quick[..]].concat())
}

#[test]
fn a_data_set_is_used_as_it_is_whatever_the_recipe() {
    let root = tempfile::tempdir().expect("a folder");
    let write = |name: &str, parts: &[&[u8]]| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, parts.concat()).expect("a file");
    };
    let be = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    write("MNIST/raw/train-images-idx3-ubyte", &[&[0, 0, 8, 3], &be(&[9, 28, 28]), &[7; 9 * 784]]);
    write("MNIST/raw/train-labels-idx1-ubyte", &[&[0, 0, 8, 1], &be(&[9]), &[3; 9]]);
    for batch in 1..6 {
        write(&format!("cifar-10-batches-bin/data_batch_{batch}.bin"), &[&[1], &[9; 3072], &[2], &[8; 3072]]);
    }
    let photographs = folder();
    for (data, recipe, samples, bytes) in [
        (root.path().join("MNIST"), "mnist-train", 9.0, 9.0 * 784.0),
        (root.path().join("cifar-10-batches-bin"), "cifar-train", 10.0, 10.0 * 3072.0),
    ] {
        let report = small(&data, recipe);
        assert_eq!((number(&report, "/data/samples"), number(&report, "/data/bytes")), (samples, bytes), "{recipe}");
        assert_eq!(report["data"]["drawn"], false, "{recipe}");
        assert!(number(&report, "/images_per_second/median") > 0.0);
    }
    // Measures tar shards that `gpufeed pack` makes of the photographs.
    let shards = root.path().join("shards");
    let paths = [photographs.path(), &shards].map(|path| path.to_str().expect("UTF-8"));
    let mut pack = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    assert_eq!(pack.arg("pack").args(paths).run().status.code(), Some(3), "one is none");
    for data in [photographs.path(), &shards] {
        let report = small(data, "cifar-train");
        assert_eq!((number(&report, "/data/samples"), &report["data"]["drawn"]), (24.0, &Value::Bool(false)));
        assert!(number(&report, "/data/bytes") < 1e6, "the files, and not 50,000 pictures");
        let stages: Vec<&str> = rows(&report, "/stages").iter().map(|stage| text(stage, "/name")).collect();
        assert!(stages.contains(&"decode"), "{stages:?}");
    }
}

#[test]
fn reports_and_cards_begin_with_their_schema() {
    let (data, out) = (folder(), tempfile::tempdir().expect("a folder"));
    let data = data.path().to_str().expect("UTF-8");
    let [json, card] = ["report.json", "card.json"].map(|name| out.path().join(name));
    let [to_json, to_card] = [&json, &card].map(|path| path.to_str().expect("UTF-8"));
    let quick = ["--quick", "--seconds", "0.2", "--workers", "1", "--batch-size", "4", "--backend", "cpu"];
    let output = gpufeed(&[&["--data", data, "--json", to_json, "--report-card", to_card], &quick[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for path in [&json, &card] {
        let text = std::fs::read_to_string(path).expect("written");
        assert!(text.starts_with("{\n  \"schema\": 2,\n  \"version\": "), "{text}");
    }
}

#[test]
fn the_headline_says_what_is_drawn() {
    let said = |data: &str| {
        let output = gpufeed(&["--data", data, "--quick", "--seconds", "0.2", "--workers", "1", "--backend", "cpu"]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let params = said("procedural");
    assert!(params.contains("procedural: 1,024 samples drawn in memory, no data set, "), "{params}");
    let photographs = folder();
    let there = said(photographs.path().to_str().expect("UTF-8"));
    assert!(there.contains(": 24 samples, ") && !there.contains("drawn in memory"), "{there}");
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_passed_over_and_counted() {
    let photographs = folder();
    std::os::unix::fs::symlink("nowhere", photographs.path().join("cats/gone.jpg")).expect("a link");
    let report = small(photographs.path(), "imagenet-train");
    assert_eq!(number(&report, "/data/samples"), 25.0);
    assert!(number(&report, "/files_skipped") > 0.0);
}

#[test]
fn a_data_set_without_samples_says_so() {
    let root = tempfile::tempdir().expect("a folder");
    let empty = [&[0u8, 0, 8, 3][..], &[0; 4], &28u32.to_be_bytes(), &28u32.to_be_bytes()].concat();
    std::fs::write(root.path().join("train-images-idx3-ubyte"), empty).expect("a file");
    std::fs::write(root.path().join("train-labels-idx1-ubyte"), [0, 0, 8, 1, 0, 0, 0, 0]).expect("a file");
    let data = root.path().to_str().expect("UTF-8");
    for command in [&["bench", "--data", data][..], &["preview", data], &["doctor", data], &["pack", data, "/no/such"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_gpufeed")).args(command).run();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}", said(&output));
        assert!(said(&output).contains("no samples"), "{command:?}: {}", said(&output));
    }
}

/// A limit on the address space simulates a machine with less memory.
#[cfg(target_os = "linux")]
#[test]
fn what_does_not_fit_into_memory_is_refused_with_the_number() {
    let limited = |arguments: &[&str]| {
        let mut sh = Command::new("sh");
        sh.args(["-c", "ulimit -v 3000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gpufeed")]).args(arguments);
        let output = sh.env("NODEVICE_SELECT", "1").run();
        (output.status.code(), said(&output))
    };
    let data = folder();
    let data = data.path().to_str().expect("UTF-8");
    let bench = ["bench", "--data", data, "--backend", "cpu", "--seconds", "0.2", "--quick", "--json", "-"];
    let (code, error) = limited(&[&bench[..], &["--workers", "4000"]].concat());
    assert!(code == Some(1) && error.contains("--workers 4000, at ") && error.contains(" GB, but "), "{error}");
    assert!(error.contains("lower --workers"), "{error}");
    let (code, error) = limited(&[&bench[..], &["--workers", "2", "--batch-size", "8"]].concat());
    assert_eq!(code, Some(0), "{error}");

    let out = tempfile::tempdir().expect("a folder");
    let recipe = |size: u32| {
        let path = out.path().join(format!("{size}.toml"));
        std::fs::write(&path, format!("[[transform]]\ntype = \"Resize\"\nsize = [{size}, {size}]\n")).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let sheet = out.path().join("sheet.png");
    let sheet = sheet.to_str().expect("UTF-8");
    let preview = |size: u32| limited(&["preview", data, "--out", sheet, "--recipe", &recipe(size)]);
    let (code, error) = preview(8000);
    assert!(
        code == Some(1) && error.contains("pictures of 8000x8000 take about ") && error.contains("size"),
        "{error}"
    );
    let (code, error) = preview(200);
    assert_eq!(code, Some(0), "{error}");
}
