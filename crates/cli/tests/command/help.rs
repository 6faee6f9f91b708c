//! The guide's chapter on the command has the options that `--help` prints, and the command's own files work.

use crate::words::Run as _;
use std::process::{Command, Output};

/// The subcommands in the order of the chapter.
const COMMANDS: [&str; 10] =
    ["bench", "compare", "doctor", "explain", "index", "pack", "preview", "report", "completions", "man"];

fn gpufeed(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.env("NODEVICE_SELECT", "1").env_remove("COLUMNS").args(arguments).run()
}

fn printed(arguments: &[&str]) -> String {
    let output = gpufeed(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// With GPUFEED_RENEW=1 the chapter gets today's options.
#[test]
fn the_chapter_has_every_option() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/command.md");
    let chapter = std::fs::read_to_string(path).unwrap();
    let (text, options) = chapter.split_once("<!-- options: begin -->\n").expect("the mark of the options");
    let expected: String = COMMANDS
        .iter()
        .map(|command| {
            let help = printed(&[command, "-h"]);
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            format!("\n### gpufeed {command}\n\n```text\n{}\n```\n", lines.join("\n").trim_end())
        })
        .collect();
    if std::env::var_os("GPUFEED_RENEW").is_some() {
        std::fs::write(path, format!("{text}<!-- options: begin -->\n{expected}")).unwrap();
    } else if cfg!(feature = "lmdb") {
        // `pack` has an option more with this feature.
        assert!(options == expected, "GPUFEED_RENEW=1 cargo test -p gpufeed-cli the_chapter_has_every_option");
    }
}

#[test]
fn the_first_screen_names_every_subcommand_and_shows_examples() {
    let help = printed(&["--help"]);
    assert!(COMMANDS.iter().all(|command| help.lines().any(|line| line.trim_start().starts_with(command))), "{help}");
    assert!(help.lines().count() <= 45 && help.lines().all(|line| line.len() <= 100), "{help}");
    for example in help.lines().filter_map(|line| line.trim_start().strip_prefix("gpufeed ")) {
        let command = example.split(' ').next().unwrap();
        assert!(COMMANDS.contains(&command), "{example}");
    }
}

#[test]
fn shells_and_man_know_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    assert!(printed(&["man"]).contains(".SH SUBCOMMANDS"));
    let folder = tempfile::tempdir().unwrap();
    printed(&["man", "--out", folder.path().to_str().unwrap()]);
    for command in COMMANDS {
        assert!(folder.path().join(format!("gpufeed-{command}.1")).exists(), "{command}");
    }
    let missing = folder.path().join("missing");
    assert_eq!(gpufeed(&["man", "--out", missing.to_str().unwrap()]).status.code(), Some(1));
}

#[test]
fn colours_are_for_who_asks() {
    let colored = |arguments: &[&str]| gpufeed(arguments).stderr.contains(&0x1b);
    assert!(!colored(&["explain", "--recipe", "no-such-recipe"]));
    assert!(colored(&["explain", "--recipe", "no-such-recipe", "--color", "always"]));
    assert!(colored(&["--color=always", "explain", "--nonsense"]));
    assert!(!colored(&["--color=always", "--color=never", "explain", "--nonsense"]));
    assert_eq!(gpufeed(&["--color=sometimes", "doctor"]).status.code(), Some(2));
}

#[test]
fn a_recipe_is_explained() {
    let text = printed(&["explain", "--recipe", "simclr", "--backend", "cpu", "--workers", "3"]);
    for part in ["GaussianBlur", "2 views each", "3 workers", "output buffers"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = printed(&["explain", "--recipe", "mnist-train", "--backend", "cpu", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["output"]["channels"], 1);
    assert_eq!(value["output"]["size"], serde_json::json!([28, 28]));
    assert_eq!(value["dispatches"], value["passes"].as_array().unwrap().len());
    let wgsl = printed(&["explain", "--recipe", "simclr", "--backend", "cpu", "--wgsl"]);
    assert!(wgsl.matches("@compute").count() >= 2, "{wgsl}");
    assert_eq!(value["shaders"], serde_json::Value::Null);
    let refused = gpufeed(&["explain", "--backend", "cpu", "--shaders"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--adapter"));
}

#[test]
fn the_settings_in_force_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.toml");
    let file = |text: &str| {
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let recipe = ["explain", "--recipe", "mnist-train", "--backend", "cpu"];
    let with =
        |text: &str, more: &[&str]| gpufeed(&[&recipe[..], &["--json", "--settings", &file(text)], more].concat());
    let settings = |text: &str| {
        let output = with(text, &[]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["settings"].take()
    };
    let given = settings("batch_size = 1\nworkers = 3\ncache = \"host:64M\"\ndtype = \"float16\"\n");
    let shown = ["batch_size", "workers", "cache", "dtype", "queue_depth"].map(|name| given[name].clone());
    assert_eq!(serde_json::json!(shown), serde_json::json!([1, 3, "host:64M", "float16", 2]));
    // The settings that are shown can be read again; those that are null are not set.
    let mut set = given.clone();
    set.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let again = folder.path().join("again.json");
    std::fs::write(&again, set.to_string()).unwrap();
    let again = printed(&[&recipe[..], &["--json", "--settings", again.to_str().unwrap()]].concat());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&again).unwrap()["settings"], given);

    let refused = with("batch_size = 1\nworker = 3\n", &[]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("run.toml: line 2: worker: no such setting; did you mean \"workers\"?"), "{said}");
    assert_eq!(with("batch_size = 1\n", &["--workers", "2"]).status.code(), Some(2));
}

/// `web/` runs the shaders by these numbers.
#[test]
fn json_with_wgsl_has_what_runs_the_shaders() {
    let recipe = ["explain", "--recipe", "imagenet-train-jitter", "--backend", "cpu"];
    let value: serde_json::Value =
        serde_json::from_str(&printed(&[&recipe[..], &["--json", "--wgsl"]].concat())).unwrap();
    let wgsl = printed(&[&recipe[..], &["--wgsl"]].concat());
    let shaders = &value["shaders"];
    let passes = shaders["passes"].as_array().unwrap();
    assert_eq!(passes.len(), 2);
    for (pass, name) in passes.iter().zip(value["passes"].as_array().unwrap()) {
        assert_eq!(pass["name"], *name);
        assert!(wgsl.contains(pass["wgsl"].as_str().unwrap()), "{name}");
        assert_eq!(pass["workgroup_size"], serde_json::json!([32, 8, 1]));
        let fields = pass["structs"]["Image"]["fields"].as_array().unwrap();
        let steps = fields.iter().find(|field| field["name"] == "steps").unwrap();
        let expected = serde_json::json!({"name": "steps", "offset": 208, "type": "Step", "count": 7, "stride": 32});
        assert_eq!(*steps, expected);
    }
    assert_eq!(passes[0]["writes_statistics"], true);
    assert_eq!(passes[1]["dispatch"], serde_json::json!({"outputs": [32, 128]}));
    let effects: Vec<&str> =
        shaders["slots"].as_array().unwrap().iter().filter_map(|slot| slot["effect"].as_str()).collect();
    assert_eq!(effects, ["Crop", "Flip", "Normalize"]);
    assert_eq!(shaders["transforms"][0]["scale"], serde_json::json!([0.08, 1.0]));
}
