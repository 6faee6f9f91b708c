//! Tests of `gpufeed doctor` without a data set: the adapters of this machine, and the one that is taken.

#![allow(clippy::print_stdout)] // a skipped test says so

use std::process::Command;

use crate::doctoring::{doctor, text};
use crate::words::Run as _;
use serde_json::Value;

#[test]
fn without_a_folder_the_adapters_and_the_way_are_printed() {
    let shown = text(&doctor(&[]));
    for part in ["Adapters, best first", "The way that gpufeed takes", "backend auto takes ", "Augmentation: "] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let output = doctor(&["--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = value["problems"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(if problems.is_empty() { 0 } else { 3 }), "{problems:?}");
    assert!(value["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(value["machine"]["memory_bytes"].as_u64().unwrap() > 1 << 20);
    // The adapters are those of the library, in the same order. Exactly one of them is taken unless the CPU is.
    let names = gpufeed::Gpu::adapters();
    let usable: Vec<_> = value["adapters"].as_array().unwrap().iter().filter(|a| !a["number"].is_null()).collect();
    assert_eq!(usable.len(), names.len());
    for (adapter, name) in usable.iter().zip(&names) {
        assert!(name.starts_with(adapter["name"].as_str().unwrap()));
        assert_eq!(adapter["limits"].as_array().unwrap().len(), 6);
        assert_eq!(adapter["features"].as_array().unwrap().len(), 5);
        assert!(!adapter["why"].as_str().unwrap().is_empty());
        let uuid = adapter.get("uuid").expect("each adapter says whether it has a UUID");
        assert!(uuid.is_string() || adapter["backend"] != "vulkan", "{adapter}");
    }
    let taken = usable.iter().filter(|adapter| adapter["taken"] == true).count();
    assert_eq!(taken, usize::from(value["path"]["backend"] != "cpu"));
}

#[test]
fn the_environment_decides_the_way_and_is_shown() {
    let with = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        command.args(["doctor", "--json"]).env("NODEVICE_SELECT", "1").env("GPUFEED_ADAPTER", name);
        let output = command.run();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), output.status.code())
    };
    let (value, _) = with("cpu");
    assert_eq!((&value["path"]["backend"], &value["path"]["executor"]), (&"cpu".into(), &"CPU executor".into()));
    assert!(value["path"]["why"].as_str().unwrap().contains("GPUFEED_ADAPTER=cpu asks for the CPU"));
    assert_eq!(value["path"]["rule"], "cpu_named");
    assert!(value["environment"].as_array().unwrap().iter().any(|variable| variable["name"] == "GPUFEED_ADAPTER"));
    let (value, code) = with("no such adapter");
    assert_eq!((code, &value["path"]["backend"]), (Some(3), &Value::Null));
    let problem = value["problems"][0].as_str().unwrap();
    let fails =
        "backend auto fails: no GPU adapter: GPUFEED_ADAPTER: none matches \"no such adapter\"; the machine has ";
    let advice = "; unset it for the best GPU, or set it to cpu";
    assert!(problem.starts_with(fails) && problem.ends_with(advice), "{problem}");
    // `auto` would fail alike: the error names the variable, and not `auto`.
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.args(["bench", "--quick"]).env("NODEVICE_SELECT", "1").env("GPUFEED_ADAPTER", "no such adapter");
    let said = String::from_utf8(command.run().stderr).unwrap();
    assert!(said.contains("GPUFEED_ADAPTER: none matches \"no such adapter\"; the machine has "), "{said}");
    assert!(said.contains("unset it for the best GPU, or set it to cpu") && !said.contains("auto"), "{said}");
    let adapters = gpufeed::Gpu::adapters();
    gpufeed_testing::device::require(adapters.clone());
    if adapters.is_empty() {
        return;
    }
    let (value, _) = with("0");
    assert_eq!(value["adapters"][0]["taken"], true);
    assert_ne!(value["path"]["backend"], "cpu");
    assert_eq!(value["path"]["rule"], "named");
    let Some(uuid) = value["adapters"][0]["uuid"].as_str().map(str::to_owned) else { return };
    for name in [format!("GPU-{uuid}"), uuid] {
        let (value, _) = with(&name);
        assert_eq!(value["adapters"][0]["taken"], true, "{name}");
        let why = value["adapters"][0]["why"].as_str().unwrap();
        assert_eq!(why, format!("GPUFEED_ADAPTER={name} names it"));
    }
}

#[test]
fn a_rank_that_is_no_number_fails_by_its_name() {
    let run = |backend: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
        let command =
            command.args(["explain", "--recipe", "mnist-train", "--backend", backend]).env("NODEVICE_SELECT", "1");
        command.env("LOCAL_RANK", "two").env_remove("GPUFEED_ADAPTER").run()
    };
    // The CPU asks no launcher.
    assert!(run("cpu").status.success());
    let adapters = gpufeed::Gpu::adapters();
    gpufeed_testing::device::require(adapters.clone());
    if adapters.is_empty() {
        return;
    }
    let said = String::from_utf8(run("gpu").stderr).unwrap();
    let expected = "LOCAL_RANK=two is no whole number, so no card is this rank's; GPUFEED_ADAPTER names one";
    assert!(said.contains(expected), "{said}");
}
