//! The cases of a second set of golden vectors (its folder is in the environment variable `GPUFEED_SHARED`) that belong
//! to this crate's operators: 125 in floats, and 108 in bytes for exact operators, which must be equal to the bit.
//! Without the variable there is nothing to compare, and the tests print that, or fail in CI.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use crate::numpy::{self, Array};
use gpufeed::transforms::{Interpolation, Key, Op, PaddingMode, Params};
use gpufeed::{Backend, DType, Layout, Output, Plan};
use gpufeed_testing::adapters::{Place, Prepared, places};
use gpufeed_testing::compare::{Tally, within, within_except};
use gpufeed_testing::golden;
use gpufeed_testing::images::Source;
use gpufeed_testing::reference;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Manifest {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: u32,
    op: String,
    backend: String,
    params: Value,
    input: String,
    output: String,
    shape: [usize; 3],
}

/// Returns the folder and its cases; `None` without the variable.
fn manifest() -> Option<(PathBuf, Vec<Case>)> {
    let folder = golden::folder("GPUFEED_SHARED")?;
    let path = folder.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let manifest: Manifest = serde_json::from_str(&text).expect("the manifest is as this test expects it");
    Some((folder, manifest.cases))
}

fn number(params: &Value, name: &str) -> i64 {
    params[name].as_i64().unwrap_or_else(|| panic!("{name} in {params}"))
}

fn float(params: &Value, name: &str) -> f32 {
    params[name].as_f64().unwrap_or_else(|| panic!("{name} in {params}")) as f32
}

fn three(params: &Value, name: &str) -> [f32; 3] {
    serde_json::from_value(params[name].clone()).unwrap_or_else(|error| panic!("{name} in {params}: {error}"))
}

fn resize(params: &Value) -> Op {
    let [height, width]: [u32; 2] = serde_json::from_value(params["size"].clone()).expect("height and width");
    let interpolation = match params["interpolation"].as_str() {
        Some("nearest") => Interpolation::Nearest,
        Some("nearest_exact") => Interpolation::NearestExact,
        Some("bilinear") => Interpolation::Bilinear,
        Some("bicubic") => Interpolation::Bicubic,
        other => panic!("{other:?}"),
    };
    Op::Resize { height, width, interpolation, antialias: params["antialias"].as_bool().expect("a switch") }
}

/// Appends the ops of torchvision's crop of an image of `width` × `height` pixels. A crop may reach outside the image,
/// so it is a black border, then a crop.
fn crop(params: &Value, (width, height): (u32, u32), ops: &mut Vec<Op>) {
    let [top, left, rows, columns] = ["top", "left", "height", "width"].map(|name| number(params, name));
    let before = |offset: i64| (-offset).max(0) as u32;
    let after = |offset: i64, len: i64, side: u32| (offset + len - i64::from(side)).max(0) as u32;
    let (right, bottom) = (after(left, columns, width), after(top, rows, height));
    let (left_border, top_border) = (before(left), before(top));
    if left_border + top_border + right + bottom > 0 {
        let (left, top) = (left_border, top_border);
        ops.push(Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: [0.0; 3] });
    }
    let (top, left) = (top.max(0) as u32, left.max(0) as u32);
    ops.push(Op::Crop { top, left, height: rows as u32, width: columns as u32 });
}

fn pad(params: &Value) -> Op {
    let [left, top, right, bottom] = match &params["padding"] {
        Value::Number(all) => [all.as_u64().expect("pixels") as u32; 4],
        sides => serde_json::from_value(sides.clone()).expect("left, top, right, bottom"),
    };
    let mode = match params["mode"].as_str() {
        Some("constant") => PaddingMode::Constant,
        Some("edge") => PaddingMode::Edge,
        Some("reflect") => PaddingMode::Reflect,
        Some("symmetric") => PaddingMode::Symmetric,
        other => panic!("{other:?}"),
    };
    // The fill is a level of a byte, from 0 to 255.
    let fill = params["fill"].as_f64().expect("one number") as f32 / 255.0;
    Op::Pad { left, top, right, bottom, mode, fill: [fill; 3] }
}

/// Returns the threshold. A whole number is a level of a byte, and becomes half a level less, so that no rounding of a
/// byte decides.
fn threshold(params: &Value) -> f32 {
    match &params["threshold"] {
        Value::Number(bytes) if bytes.is_u64() => (bytes.as_f64().expect("a number") as f32 - 0.5) / 255.0,
        threshold => threshold.as_f64().unwrap_or_else(|| panic!("threshold in {params}")) as f32,
    }
}

/// Appends the ops of torchvision's function `name`; returns `None` if this crate has no such operator.
fn translate(name: &str, params: &Value, size: (u32, u32), ops: &mut Vec<Op>) -> Option<()> {
    match name {
        "resize" => ops.push(resize(params)),
        "resized_crop" => {
            crop(params, size, ops);
            ops.push(resize(params));
        }
        "crop" => crop(params, size, ops),
        "pad" => ops.push(pad(params)),
        "pad_crop" => {
            ops.push(pad(params));
            crop(params, sizes(size, ops), ops);
        }
        "hflip" => ops.push(Op::HorizontalFlip),
        "vflip" => ops.push(Op::VerticalFlip),
        "adjust_brightness" => ops.push(Op::Brightness { factor: float(params, "factor") }),
        "adjust_contrast" => ops.push(Op::Contrast { factor: float(params, "factor") }),
        "adjust_saturation" => ops.push(Op::Saturation { factor: float(params, "factor") }),
        "adjust_hue" => ops.push(Op::Hue { factor: float(params, "factor") }),
        "rgb_to_grayscale" => ops.push(Op::Grayscale { channels: number(params, "num_output_channels") as u32 }),
        "normalize" => ops.push(Op::Normalize { mean: three(params, "mean"), std: three(params, "std") }),
        "invert" => ops.push(Op::Invert),
        "adjust_gamma" => ops.push(Op::AdjustGamma { gamma: float(params, "gamma"), gain: float(params, "gain") }),
        "solarize" => ops.push(Op::Solarize { threshold: threshold(params) }),
        "to_float" => {}
        "chain" => {
            for step in params["steps"].as_array().expect("a list of steps") {
                let size = sizes(size, ops);
                translate(step[0].as_str().expect("a name"), &step[1], size, ops)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// Returns width and height after `ops`.
fn sizes(size: (u32, u32), ops: &[Op]) -> (u32, u32) {
    ops.iter().fold(size, |(w, h), op| match *op {
        Op::Crop { height, width, .. } | Op::Resize { height, width, .. } => (width, height),
        Op::Pad { left, top, right, bottom, .. } => (w + left + right, h + top + bottom),
        _ => (w, h),
    })
}

/// Ops without arithmetic, or with one subtraction, whose bytes must be equal. Posterize is not among them: torchvision
/// keeps the upper bits of bytes, but rounds floats to one of 2^bits levels, so the two differ.
const EXACT: [&str; 7] = ["crop", "hflip", "vflip", "pad", "pad_crop", "invert", "solarize"];

/// Returns the cases that can be compared, with their ops; prints how many others there are.
fn selected(cases: &[Case], folder: &std::path::Path, exact: bool) -> Vec<(usize, Source, Vec<Op>)> {
    let mut others: BTreeMap<&str, u32> = BTreeMap::new();
    let mut selected = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let wanted =
            if exact { case.backend == "tv_u8" && EXACT.contains(&case.op.as_str()) } else { case.backend == "tv_f32" };
        if !wanted {
            continue;
        }
        let image = image::open(folder.join(&case.input)).expect("a PNG").to_rgb8();
        let (width, height) = image.dimensions();
        let mut ops = Vec::new();
        match translate(&case.op, &case.params, (width, height), &mut ops) {
            Some(()) => selected.push((i, Source { width, height, channels: 3, bytes: image.into_raw() }, ops)),
            None => *others.entry(&case.op).or_default() += 1,
        }
    }
    println!("{} cases checked; no operator of this crate: {others:?}", selected.len());
    assert_eq!(selected.len(), if exact { 108 } else { 125 });
    selected
}

fn prepare(place: &Place, source: &Source, ops: &[Op], dtype: DType) -> (Prepared, Params) {
    let plan = Plan::fixed(3, ops, &Output { layout: Layout::Nchw, dtype }).expect("the ops compile");
    let params = plan.make_params(source.width, source.height, &Key::default()).expect("the ops fit the image");
    (place.prepare(&plan), params)
}

fn bytes(place: &Place, source: &Source, ops: &[Op]) -> Vec<u8> {
    let (prepared, params) = prepare(place, source, ops, DType::U8);
    prepared.bytes(source, &params)
}

fn floats(place: &Place, source: &Source, ops: &[Op]) -> Vec<f32> {
    let (prepared, params) = prepare(place, source, ops, DType::F32);
    prepared.floats(source, &params)
}

/// Returns the tolerance: 1e-5 for ops that work pixel by pixel, 1e-4 for resizes and hue, as in `golden.rs`.
fn bar(ops: &[Op]) -> f64 {
    if ops.iter().any(|op| matches!(op, Op::Hue { .. } | Op::Resize { .. })) { 1e-4 } else { 1e-5 }
}

#[test]
fn float_cases_match_torchvision() {
    let Some((folder, cases)) = manifest() else { return };
    let selected = selected(&cases, &folder, false);
    for place in places() {
        let mut tally = Tally::default();
        for (i, source, ops) in &selected {
            let case = &cases[*i];
            let Array::Floats(expected) = numpy::read(&folder.join(&case.output), case.shape) else {
                panic!("{}: bytes instead of floats", case.output);
            };
            let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
            let values = floats(place, source, ops);
            let name = format!("{} {} {}", case.id, case.op, case.params);
            let naive = reference::run(&source.floats(), ops);
            tally.add(&case.op, &name, within_except(&naive.doubtful, &expected, &values, bar(ops)));
            let mut wrong = values.clone();
            wrong[i % values.len()] += 2.0 * bar(ops) as f32;
            assert!(within(&expected, &wrong, bar(ops)).is_err(), "{name}: one wrong pixel passes");
            if matches!(place.backend, Backend::Cpu) {
                let values: Vec<f32> = naive.image.planes.iter().map(|&value| value as f32).collect();
                tally.add("(the reference)", &name, within_except(&naive.doubtful, &expected, &values, bar(ops)));
            }
        }
        tally.finish(&place.name);
    }
}

#[test]
fn exact_cases_match_torchvision_to_the_bit() {
    let Some((folder, cases)) = manifest() else { return };
    let selected = selected(&cases, &folder, true);
    for place in places() {
        for (i, source, ops) in &selected {
            let case = &cases[*i];
            let Array::Bytes(expected) = numpy::read(&folder.join(&case.output), case.shape) else {
                panic!("{}: floats instead of bytes", case.output);
            };
            let name = format!("{}: {} {} {}", place.name, case.id, case.op, case.params);
            assert_eq!(bytes(place, source, ops), expected, "{name}");
            let floats = floats(place, source, ops);
            let rounded: Vec<u8> = floats.iter().map(|value| (value * 255.0).round() as u8).collect();
            assert_eq!(rounded, expected, "{name}");
        }
    }
}

/// Returns true if the centre of new pixel `i` lies on the border between two of the `old` pixels.
fn on_a_border(i: usize, old: u32, new: u32) -> bool {
    ((2 * i as u64 + 1) * u64::from(old)).is_multiple_of(2 * u64::from(new))
}

/// As `Interpolation::NearestExact` documents, pixels are torch's, and are Pillow's except those whose centre lies on a
/// border.
#[test]
fn nearest_is_torchs_and_differs_from_pillows_at_borders_alone() {
    let Some((folder, cases)) = manifest() else { return };
    let nearest = |case: &&Case| {
        let filter = case.params["interpolation"].as_str();
        case.op == "resize" && matches!(filter, Some("nearest" | "nearest_exact"))
    };
    for place in places() {
        let (mut same, mut pillows) = (0, 0);
        for case in cases.iter().filter(nearest) {
            let image = image::open(folder.join(&case.input)).expect("a PNG").to_rgb8();
            let (width, height) = image.dimensions();
            let source = Source { width, height, channels: 3, bytes: image.into_raw() };
            let Array::Bytes(expected) = numpy::read(&folder.join(&case.output), case.shape) else {
                panic!("{}: floats instead of bytes", case.output);
            };
            let seen = bytes(place, &source, &[resize(&case.params)]);
            if case.backend != "pil" {
                assert_eq!(seen, expected, "{}: case {}", place.name, case.id);
                continue;
            }
            let [_, rows, columns] = case.shape;
            for (at, _) in expected.iter().zip(&seen).enumerate().filter(|(_, (pillow, ours))| pillow != ours) {
                let (x, y) = (at % columns, at / columns % rows);
                let border = on_a_border(x, width, columns as u32) || on_a_border(y, height, rows as u32);
                assert!(border, "{}: case {}, column {x}, row {y}", place.name, case.id);
            }
            same += u32::from(seen == expected);
            pillows += 1;
        }
        println!("{}: {same} of {pillows} images are Pillow's", place.name);
        assert!(pillows > 0 && same < pillows, "none differ: the documentation says that they may");
    }
}

#[test]
fn the_exact_comparison_rejects_other_ops() {
    let Some((folder, cases)) = manifest() else { return };
    for (i, source, mut ops) in selected(&cases, &folder, true) {
        ops.push(Op::HorizontalFlip);
        let Array::Bytes(expected) = numpy::read(&folder.join(&cases[i].output), cases[i].shape) else { continue };
        assert_ne!(bytes(&places()[0], &source, &ops), expected, "{}", cases[i].id);
    }
}
