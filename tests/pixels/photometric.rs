//! What `RandomPhotometricDistort` computes is what torchvision computes: the cases in `tests/golden/photometric`, or
//! those of the folder in the environment variable `GPUFEED_TRANSFORMS`, which has files of the same form. Each runs
//! through the transform's own slots, of which two are the contrast's.

use gpufeed::transforms::{Op, Params, ParamsOp, RandomPhotometricDistort};
use gpufeed::{Output, Plan};
use gpufeed_testing::adapters::places;
use gpufeed_testing::compare::{Tally, within};
use gpufeed_testing::golden;
use gpufeed_testing::images::Source;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Manifest {
    inputs: Vec<Array>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Array {
    #[serde(default)]
    name: String,
    offset: usize,
    shape: Vec<usize>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    group: String,
    dtype: String,
    input: String,
    /// Functions of torchvision with their arguments.
    ops: Vec<(String, Value)>,
    output: Array,
}

/// Returns the op of torchvision's function in its slot; `colored` tells whether saturation or hue came before.
fn op((name, arguments): &(String, Value), colored: bool) -> ParamsOp {
    let factor = |key: &str| arguments[key].as_f64().expect("a number") as f32;
    let (slot, op) = match name.as_str() {
        "adjust_brightness" => (0, Op::Brightness { factor: factor("brightness_factor") }),
        "adjust_contrast" => (if colored { 4 } else { 1 }, Op::Contrast { factor: factor("contrast_factor") }),
        "adjust_saturation" => (2, Op::Saturation { factor: factor("saturation_factor") }),
        "adjust_hue" => (3, Op::Hue { factor: factor("hue_factor") }),
        "permute_channels" => {
            let permutation = serde_json::from_value(arguments["permutation"].clone()).expect("three channels");
            (5, Op::PermuteChannels { permutation })
        }
        other => panic!("{other}"),
    };
    ParamsOp { slot, op }
}

/// The image of a case, and the parameters of its ops.
fn read(case: &Case, manifest: &Manifest, inputs: &[u8]) -> (Source, Params) {
    let input = manifest.inputs.iter().find(|input| input.name == case.input).expect("an input");
    let [3, height, width] = input.shape[..] else { panic!("{:?}", input.shape) };
    let plane = height * width;
    // The file has one plane after the other, and a source pixel after pixel.
    let bytes = (0..3 * plane).map(|i| inputs[input.offset + i % 3 * plane + i / 3]).collect();
    let (width, height) = (width as u32, height as u32);
    let mut ops: Vec<ParamsOp> = Vec::new();
    for step in &case.ops {
        let colored = ops.iter().any(|op| [2, 3].contains(&op.slot));
        ops.push(op(step, colored));
    }
    (Source { width, height, channels: 3, bytes }, Params { width, height, ops, ..Params::default() })
}

#[test]
fn distorted_colors_are_torchvisions() {
    let committed = golden::committed("tests/golden/photometric");
    let folder = std::env::var_os("GPUFEED_TRANSFORMS").map_or(committed, Into::into);
    let file = |name| std::fs::read(folder.join(name)).unwrap();
    let (inputs, vectors) = (file("inputs.bin"), file("vectors.bin"));
    let mut manifest: Manifest = serde_json::from_slice(&file("manifest.json")).unwrap();
    manifest.cases.retain(|case| case.group == "photometric" && case.dtype == "f32");
    assert!(manifest.cases.len() >= 8);
    let plan = Plan::compile(&[RandomPhotometricDistort::default().into()], &Output::default()).unwrap();
    for place in places() {
        let prepared = place.prepare(&plan);
        let mut tally = Tally::default();
        for case in &manifest.cases {
            let (source, mut params) = read(case, &manifest, &inputs);
            let values = &vectors[case.output.offset..][..4 * case.output.shape.iter().product::<usize>()];
            let expected: Vec<f64> =
                values.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value).into()).collect();
            let has_hue = params.ops.iter().any(|op| op.slot == 3);
            let bar = if has_hue { 1e-4 } else { 1e-5 };
            let found = prepared.floats(&source, &params);
            tally.add(if has_hue { "with hue" } else { "without hue" }, &case.name, within(&expected, &found, bar));
            // The comparison can fail: a contrast that is a hundredth off does not pass.
            for params in &mut params.ops {
                if let Op::Contrast { factor } = &mut params.op {
                    *factor += 0.01;
                }
            }
            assert!(within(&expected, &prepared.floats(&source, &params), bar).is_err(), "{}", case.name);
        }
        tally.finish(&place.name);
    }
}
