//! Compares the reference's operators, in floats and in bytes, with torchvision 0.29: with the cases of
//! `tests/golden/transforms.json` and `operators.json`, and with 1,320 cases and the tables beside the folder `GPUFEED_SHARED`.
//!
//! Measured on the larger set, outside what its `unsure` marks: bytes are equal; floats differ by at most 1.0e-5 in
//! warps, 7.2e-6 in recipes with a Normalize, 8.9e-7 elsewhere.

#![expect(clippy::print_stdout, reason = "tests print what they measured")]

use gpufeed_testing::compare::Tally;
use gpufeed_testing::named;
use gpufeed_testing::operators::OPERATIONS;
use gpufeed_testing::reference::affine::Rotation;
use gpufeed_testing::reference::magnitudes::Policy;
use gpufeed_testing::reference::neighborhood::blur_kernel;
use gpufeed_testing::reference::perspective::coefficients;
use gpufeed_testing::vectors::{self, Case, Values};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) static COMMITTED: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let parse = |manifest: &[u8], vectors: &[u8]| vectors::parse(manifest, vectors, vectors.to_vec());
    let selected = parse(include_bytes!("../golden/transforms.json"), include_bytes!("../golden/transforms.bin"));
    let others = parse(include_bytes!("../golden/operators.json"), include_bytes!("../golden/operators.bin"));
    selected.into_iter().chain(others).collect()
});

pub(crate) static SHARED: LazyLock<Vec<Case>> =
    LazyLock::new(|| vectors::shared().map(|folder| vectors::open(&folder)).unwrap_or_default());

const BAR: f64 = 1e-4;

/// Torch's coordinates in f32 move what a warp reads by up to 1e-5 pixels; the rest is as exact as f32 is.
fn bar(case: &Case) -> f64 {
    let warps = |id: &str| id.starts_with("Shear") || id.starts_with("Translate") || id == "Rotate";
    let warp = |(name, arguments): &(String, Value)| {
        ["affine", "rotate", "perspective", "elastic"].contains(&name.as_str())
            || arguments["id"].as_str().is_some_and(warps)
    };
    if case.ops.iter().any(warp) { BAR } else { 1e-5 }
}

fn matches_torchvision(cases: &[Case], title: &str) {
    let (tally, left_out) = vectors::compare(cases, bar, false, |case| Some(named::run(case)));
    assert_eq!(left_out, 0);
    tally.finish(title);
}

#[test]
fn the_reference_matches_the_committed_transforms() {
    matches_torchvision(&COMMITTED, "torchvision's committed cases against the reference");
}

#[test]
fn the_reference_matches_the_shared_transforms() {
    if !SHARED.is_empty() {
        assert_eq!(SHARED.len(), 1320);
        matches_torchvision(&SHARED, "torchvision's shared cases against the reference");
    }
}

#[test]
fn one_wrong_value_is_not_torchvisions() {
    for (i, case) in COMMITTED.iter().enumerate() {
        let mut actual = named::run(case);
        let sure: Vec<usize> = (0..case.unsure.len()).filter(|&at| !case.unsure[at]).collect();
        let at = full_index(case, sure[i * 7919 % sure.len()]);
        match &mut actual {
            Values::Bytes(bytes) => bytes[at] ^= 1,
            Values::Floats(floats) => floats[at] += 3.0 * BAR as f32,
        }
        assert!(case.compare(&actual, BAR, false).is_err(), "{}", case.name);
        let one_less = match actual {
            Values::Bytes(bytes) => Values::Bytes(bytes[1..].to_vec()),
            Values::Floats(floats) => Values::Floats(floats[1..].to_vec()),
        };
        assert!(case.compare(&one_less, BAR, false).is_err(), "{}", case.name);
    }
}

/// Returns where a value of a case's `output` is in the whole output.
fn full_index(case: &Case, at: usize) -> usize {
    let [.., height, width] = case.shape[..] else { panic!("{}: no height and width", case.name) };
    let rows = height.div_ceil(case.rows);
    let (plane, row) = (at / width / rows, at / width % rows);
    (plane * height + row * case.rows) * width + at % width
}

#[test]
fn two_roundings_are_allowed_only_where_they_are_counted() {
    let of_one_op = |case: &&Case| case.fused > 0 && case.unsure.len() > case.fused;
    let case = COMMITTED.iter().find(of_one_op).expect("a case that counts them");
    let wrong = |count: usize| {
        let Values::Bytes(mut bytes) = named::run(case) else { panic!("{}: floats", case.name) };
        (0..count).for_each(|at| bytes[full_index(case, at)] ^= 1);
        Values::Bytes(bytes)
    };
    assert!(case.compare(&wrong(case.fused), BAR, true).is_ok());
    assert!(case.compare(&wrong(case.fused), BAR, false).is_err());
    assert!(case.compare(&wrong(case.fused + 1), BAR, true).is_err());
}

/// Returns the number `name` of some arguments.
fn number(arguments: &Value, name: &str) -> f64 {
    arguments[name].as_f64().unwrap_or_else(|| panic!("{name} in {arguments}"))
}

/// Returns the arguments of `name` with one number changed; for an operator without a number another operator.
fn changed(name: &str, arguments: &Value) -> (String, Value) {
    let mut new = arguments.clone();
    let mut set = |argument: &str, value: Value| new[argument] = value;
    match name {
        "affine" | "rotate" => set("angle", json!(number(arguments, "angle") + 3.0)),
        "perspective" if arguments["coefficients"].is_array() => {
            set("coefficients", json!([1.0, 0.0, 3.0, 0.0, 1.0, 2.0, 0.0, 0.0]));
        }
        "perspective" => set("endpoints", arguments["startpoints"].clone()),
        "elastic" | "resize" | "resized_crop" => {
            let other = match arguments["interpolation"].as_str() {
                Some("nearest") if name == "elastic" => "bilinear",
                Some("nearest") => "nearest-exact",
                Some("bilinear") if name != "elastic" => "bicubic",
                Some("bicubic") => "bilinear",
                _ => "nearest",
            };
            set("interpolation", json!(other));
        }
        "adjust_gamma" => set("gamma", json!(number(arguments, "gamma") * 1.2 + 0.1)),
        "adjust_hue" => set("hue_factor", json!(0.3 - 0.5 * number(arguments, "hue_factor").abs())),
        _ if name.starts_with("adjust_") => {
            let factor = format!("{}_factor", &name["adjust_".len()..]);
            set(&factor, json!(number(arguments, &factor) + 0.3));
        }
        "posterize" => set("bits", json!((arguments["bits"].as_u64().expect("bits") + 3) % 8)),
        "solarize" => set("threshold", json!(number(arguments, "threshold") * 0.5 + 0.3)),
        "jpeg" => set("quality", json!((arguments["quality"].as_u64().expect("quality") + 30) % 100 + 1)),
        "gaussian_blur" => set("sigma", json!([0.2, 3.0])),
        "pillow_affine" => {
            let mut matrix: Vec<f64> = serde_json::from_value(arguments["matrix"].clone()).expect("a matrix");
            (matrix[2], matrix[5]) = (matrix[2] + 2.0, matrix[5] + 1.0);
            set("matrix", json!(matrix));
        }
        "pillow_blur" => set("radius", json!([0.9, 3.0])),
        "gaussian_noise" => set("sigma", json!(number(arguments, "sigma") * 1.2 + 0.01)),
        "permute_channels" => set("permutation", json!([1, 1, 0])),
        "mix" => set("m", json!([0.31, 0.69])),
        "ten_crop" => set("vertical_flip", json!(arguments["vertical_flip"] == false)),
        "five_crop" => return ("ten_crop".to_owned(), json!({ "size": arguments["size"], "vertical_flip": true })),
        "policy" => changed_policy(arguments, &mut set),
        "rgb_to_grayscale" => {
            set("num_output_channels", json!(4 - arguments["num_output_channels"].as_u64().expect("1 or 3")))
        }
        "invert" | "horizontal_flip" | "equalize" | "crop" => return ("vertical_flip".to_owned(), json!({})),
        "vertical_flip" => return ("horizontal_flip".to_owned(), json!({})),
        "pad" if arguments["padding_mode"] == "symmetric" => set("padding_mode", json!("reflect")),
        "pad" => set("padding_mode", json!("symmetric")),
        "erase" => set(
            "v",
            json!(arguments["v"].as_array().map(|v| v.iter().map(|v| 255.0 - v.as_f64().unwrap()).collect::<Vec<_>>())),
        ),
        "autocontrast" => return ("equalize".to_owned(), json!({})),
        "to_float" => return ("invert".to_owned(), json!({})),
        other => {
            let numbers = arguments.as_object().into_iter().flatten();
            let first = numbers.map(|(key, _)| key).find(|key| arguments[*key].is_number());
            let key = first.unwrap_or_else(|| panic!("{other} has no change"));
            set(key, json!(number(arguments, key) + 0.3));
        }
    }
    (name.to_owned(), new)
}

fn changed_policy(arguments: &Value, set: &mut impl FnMut(&str, Value)) {
    let magnitude = number(arguments, "magnitude");
    match arguments["id"].as_str().expect("an id") {
        "Identity" | "AutoContrast" => set("id", json!("Invert")),
        "Equalize" | "Invert" => set("id", json!("Identity")),
        "TranslateX" | "TranslateY" | "Rotate" => set("magnitude", json!(magnitude + 4.0)),
        "Posterize" => set("magnitude", json!((magnitude + 3.0) % 8.0)),
        "Solarize" => set("magnitude", json!(magnitude * 0.5 + 0.2)),
        _ => set("magnitude", json!(magnitude * 0.7 + 0.2)),
    }
}

/// Small or plain images may look the same after a changed operator; of the others nearly all differ.
#[test]
fn changed_arguments_are_not_torchvisions() {
    let mut caught: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let wavy = |case: &&Case| case.input.shape.0 == 3 && case.shape.iter().product::<usize>() > 100;
    for case in COMMITTED.iter().filter(wavy) {
        let mut case = case.clone();
        let (name, arguments) = &case.ops[0];
        let key = arguments["id"].as_str().unwrap_or(name).to_owned();
        case.ops[0] = changed(name, arguments);
        let (rejected, all) = caught.entry(key).or_default();
        *rejected += usize::from(case.compare(&named::run(&case), BAR, true).is_err());
        *all += 1;
    }
    println!("{caught:?}");
    for (name, (rejected, all)) in caught {
        assert!(10 * rejected >= 7 * all, "{name}: {rejected} of {all}");
    }
}

#[derive(Deserialize)]
struct Tables {
    magnitudes: Vec<MagnitudeTable>,
    expand: Vec<Expanded>,
    perspective: Vec<Coefficients>,
    blur_kernel: Vec<Kernel>,
}

#[derive(Deserialize)]
struct MagnitudeTable {
    cls: String,
    bins: usize,
    height: usize,
    width: usize,
    ops: BTreeMap<String, Range>,
}

#[derive(Deserialize)]
struct Range {
    signed: bool,
    values: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Expanded {
    height: usize,
    width: usize,
    angle: f64,
    size: (usize, usize),
}

#[derive(Deserialize)]
struct Coefficients {
    startpoints: [[f64; 2]; 4],
    endpoints: [[f64; 2]; 4],
    coefficients: [f64; 8],
}

#[derive(Deserialize)]
struct Kernel {
    kernel_size: usize,
    sigma: f64,
    weights: Vec<f64>,
}

/// Returns the committed tables, and the shared ones where they are.
fn tables() -> Vec<Tables> {
    let committed = include_bytes!("../golden/transforms_tables.json").to_vec();
    let shared = vectors::shared().map(|folder| std::fs::read(folder.join("tables.json")).expect("the tables"));
    let parse = |text: Vec<u8>| serde_json::from_slice(&text).expect("the tables are as this test expects them");
    [committed].into_iter().chain(shared).map(parse).collect()
}

/// Compares to 1e-6 of the larger number, and of 1.
fn close(expected: &[f64], actual: &[f64]) -> Result<f64, String> {
    if expected.len() != actual.len() {
        return Err(format!("{} numbers instead of {}", actual.len(), expected.len()));
    }
    let difference = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(1.0);
    let worst = expected.iter().zip(actual).map(difference).fold(0.0, f64::max);
    if worst <= 1e-6 { Ok(worst) } else { Err(format!("{expected:?}, not {actual:?}")) }
}

fn policy(name: &str) -> Policy {
    match name {
        "RandAugment" => Policy::RandAugment,
        "TrivialAugmentWide" => Policy::TrivialAugmentWide,
        "AutoAugment" => Policy::AutoAugment,
        "AugMix" => Policy::AugMix,
        other => panic!("no policy {other}"),
    }
}

#[test]
fn the_magnitudes_are_torchvisions() {
    let mut tally = Tally::default();
    for table in tables().iter().flat_map(|tables| &tables.magnitudes) {
        let own = |id: &str| policy(&table.cls).magnitudes(id, table.bins, (table.height, table.width));
        for (id, range) in &table.ops {
            let own = own(id).unwrap_or_else(|| panic!("{} has {id}", table.cls));
            assert_eq!((own.signed, own.values.is_some()), (range.signed, range.values.is_some()), "{id}");
            // Both are f32; JSON's numbers are read as f64 that may be a last bit off.
            let f32s =
                |values: Option<Vec<f64>>| values.unwrap_or_default().iter().map(|&v| v as f32).collect::<Vec<_>>();
            let (expected, own) = (f32s(range.values.clone()), f32s(own.values));
            let same = if expected == own { Ok(0.0) } else { Err(format!("{expected:?}, not {own:?}")) };
            tally.add(&table.cls, id, same);
        }
        let others = OPERATIONS.iter().filter(|id| !table.ops.contains_key(**id));
        others.for_each(|id| assert!(own(id).is_none(), "{} has no {id}", table.cls));
    }
    tally.finish("magnitudes");
}

#[test]
fn expanded_sizes_and_perspective_coefficients_are_torchvisions() {
    let mut tally = Tally::default();
    for tables in tables() {
        for Expanded { height, width, angle, size } in tables.expand {
            let rotation = Rotation { angle, expand: true, center: None };
            assert_eq!(rotation.size((height, width)), size, "{angle} of {width} x {height}");
        }
        for case in tables.perspective {
            let own = coefficients(case.startpoints, case.endpoints);
            tally.add("perspective", &format!("{:?}", case.endpoints), close(&case.coefficients, &own));
        }
        for Kernel { kernel_size, sigma, weights } in tables.blur_kernel {
            tally.add("blur", &format!("{kernel_size} {sigma}"), close(&weights, &blur_kernel(kernel_size, sigma)));
        }
    }
    tally.finish("tables");
}

#[test]
fn a_number_of_the_tables_that_is_wrong_is_rejected() {
    assert!(close(&[0.5, 1.0], &[0.5, 1.00001]).is_err());
    assert!(close(&[0.5], &[]).is_err());
    let other = Policy::TrivialAugmentWide.magnitudes("Rotate", 31, (1, 1)).expect("it rotates");
    let tables = tables();
    let rotate = tables[0].magnitudes[0].ops["Rotate"].values.clone().expect("magnitudes");
    assert!(close(&rotate, &other.values.expect("magnitudes")).is_err());
}
