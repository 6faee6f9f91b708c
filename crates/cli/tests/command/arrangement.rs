//! Tests of recipes whose images have sizes of their own, which `bench`, `preview` and `explain` run like any other.

use crate::doctoring::tree;
use crate::words::Run as _;
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A list, and two groups with an arrangement each.
fn recipes() -> Vec<String> {
    let resize = |list: &str| format!("[[{list}]]\ntype = \"Resize\"\nsize = 40\nmax_size = 80\n");
    let output = "[output]\nlayout = \"Nhwc\"\ndtype = \"U8\"\n";
    let group = |name: &str, arrangement: &str| {
        format!("[[group]]\nname = \"{name}\"\narrangement = {arrangement}\n{}", resize("group.transform"))
    };
    let mut recipes: Vec<String> = ["\"padded\"", "[\"padded\", 32]", "\"listed\""]
        .iter()
        .map(|arrangement| format!("arrangement = {arrangement}\n{output}{}", resize("transform")))
        .collect();
    recipes.push(format!("{output}{}{}", group("one", "\"listed\""), group("two", "[\"padded\", 16]")));
    recipes
}

fn report(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    let output = command.current_dir(folder).env("NODEVICE_SELECT", "1").args(arguments).run();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn images_of_different_sizes_are_measured_and_shown() {
    let sizes = [(90, 60), (60, 90), (100, 50), (70, 70)];
    let files = sizes.map(|(width, height)| encode(picture(width, height), ImageFormat::Jpeg));
    let names = ["a/1.jpg", "a/2.jpg", "b/3.jpg", "b/4.jpg"];
    let root = tree(&names.iter().zip(&files).map(|(name, file)| (*name, &file[..])).collect::<Vec<_>>());
    for recipe in recipes() {
        std::fs::write(root.path().join("own.toml"), &recipe).unwrap();
        let arguments = ["--backend", "cpu", "--workers", "1", "--batch-size", "3", "--recipe", "own.toml"];
        let bench = [&["bench", "--data", ".", "--quick", "--seconds", "0.2", "--json", "-"], &arguments[..]].concat();
        let measured = report(root.path(), &bench);
        assert!(measured["images_per_second"]["median"].as_f64().unwrap() > 0.0, "{recipe}");

        let preview = ["preview", ".", "--recipe", "own.toml", "--draws", "1", "--json", "--out", "s.png"];
        let shown = report(root.path(), &preview);
        assert_eq!(shown["samples"].as_array().unwrap().len(), 4, "{recipe}");
        for (sample, (width, height)) in shown["samples"].as_array().unwrap().iter().zip(sizes) {
            // The shorter side has 40 pixels.
            let scaled = |side: u32| side * 40 / width.min(height);
            for draw in sample["draws"].as_array().unwrap() {
                assert_eq!(draw["size"], json!([scaled(width), scaled(height)]), "{recipe}: {sample:#}");
            }
        }
    }
}
