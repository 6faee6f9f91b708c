//! Operators against torchvision's functions: whole numbers exactly, floats within the bars of each group.
//!
//! Every backend runs the committed cases. A software adapter runs the shared ones with GPUFEED_FULL=1.

use super::transforms::{COMMITTED, SHARED};
use gpufeed::internals::given;
use gpufeed::transforms::{Erased, Interpolation, Op, PaddingMode, PolicyOp};
use gpufeed::{Backend, DType, Layout, Output, Plan, Semantics};
use gpufeed_testing::adapters::{Place, places};
use gpufeed_testing::named;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::reference;
use gpufeed_testing::vectors::{self, Case, Values};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

fn f32_of(arguments: &Value, key: &str) -> f32 {
    arguments[key].as_f64().unwrap_or_else(|| panic!("{key} in {arguments}")) as f32
}

fn u32_of(arguments: &Value, key: &str) -> u32 {
    arguments[key].as_u64().unwrap_or_else(|| panic!("{key} in {arguments}")) as u32
}

fn interpolation(arguments: &Value) -> Interpolation {
    match arguments["interpolation"].as_str() {
        Some("nearest") => Interpolation::Nearest,
        Some("nearest-exact") => Interpolation::NearestExact,
        Some("bicubic") => Interpolation::Bicubic,
        _ => Interpolation::Bilinear,
    }
}

fn pair(value: &Value) -> Option<[f64; 2]> {
    Some([value[0].as_f64()?, value[1].as_f64()?])
}

fn fill(arguments: &Value) -> Option<[f32; 3]> {
    match &arguments["fill"] {
        Value::Array(numbers) => {
            Some(std::array::from_fn(|c| numbers[c.min(numbers.len() - 1)].as_f64().unwrap() as f32))
        }
        number => number.as_f64().map(|number| [number as f32; 3]),
    }
}

fn points(value: &Value) -> Option<[[i32; 2]; 4]> {
    value.as_array()?;
    Some(std::array::from_fn(|i| std::array::from_fn(|j| value[i][j].as_f64().unwrap() as i32)))
}

fn padding_mode(arguments: &Value) -> PaddingMode {
    match arguments["padding_mode"].as_str() {
        Some("edge") => PaddingMode::Edge,
        Some("reflect") => PaddingMode::Reflect,
        Some("symmetric") => PaddingMode::Symmetric,
        _ => PaddingMode::Constant,
    }
}

fn crop(arguments: &Value) -> Op {
    let [top, left, height, width] = ["top", "left", "height", "width"].map(|key| u32_of(arguments, key));
    Op::Crop { top, left, height, width }
}

fn resize(arguments: &Value) -> Op {
    let [height, width] = [0, 1].map(|i| arguments["size"][i].as_u64().unwrap() as u32);
    let antialias = arguments["antialias"].as_bool().unwrap_or(true);
    Op::Resize { height, width, interpolation: interpolation(arguments), antialias }
}

/// An operation of a policy.
fn policy(a: &Value) -> Op {
    let id = serde_json::from_value::<PolicyOp>(a["id"].clone()).unwrap();
    let magnitude = a["magnitude"].as_f64().unwrap_or(0.0) as f32;
    Op::Policy { id, magnitude, interpolation: interpolation(a), fill: fill(a) }
}

/// The ops of a geometric function; `None` for other functions, and for arguments that gpufeed does not take.
fn geometry(name: &str, a: &Value) -> Option<Vec<Op>> {
    let (interpolation, fill) = (interpolation(a), fill(a));
    let op = match name {
        "crop" => crop(a),
        "pad" => {
            let [left, top, right, bottom] = std::array::from_fn(|i| a["padding"][i].as_u64().unwrap() as u32);
            Op::Pad { left, top, right, bottom, mode: padding_mode(a), fill: fill.unwrap_or_default() }
        }
        "resize" => resize(a),
        "resized_crop" => return Some(vec![crop(a), resize(a)]),
        "affine" => Op::Affine {
            angle: a["angle"].as_f64()?,
            translate: pair(&a["translate"])?,
            scale: a["scale"].as_f64()?,
            shear: pair(&a["shear"])?,
            center: pair(&a["center"]),
            interpolation,
            fill,
        },
        "rotate" => Op::Rotate {
            angle: a["angle"].as_f64()?,
            expand: a["expand"].as_bool()?,
            center: pair(&a["center"]),
            interpolation,
            fill,
        },
        // Cases with coefficients in place of points are left out.
        "perspective" => Op::Perspective {
            startpoints: points(&a["startpoints"])?,
            endpoints: points(&a["endpoints"])?,
            interpolation,
            fill,
        },
        "gaussian_blur" => {
            let kernel_size = [0, 1].map(|i| a["kernel_size"][i].as_u64().unwrap() as u32);
            let default = kernel_size.map(|size| f64::from(size) * 0.15 + 0.35);
            Op::GaussianBlur { kernel_size, sigma: pair(&a["sigma"]).unwrap_or(default) }
        }
        "policy" => policy(a),
        "mix" => {
            let numbers = |key: &str| a[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32);
            let (m, weights) = (numbers("m").collect::<Vec<_>>(), numbers("weights").collect());
            let chain = |chain: &Value| chain.as_array().unwrap().iter().map(policy).collect();
            let chains = a["chains"].as_array().unwrap().iter().map(chain).collect();
            Op::Mixture { m: [m[0], m[1]], weights, chains }
        }
        _ => return None,
    };
    Some(vec![op])
}

/// The ops of a function that changes colours, or whose op has its name and arguments; `None` for other functions.
fn color(name: &str, a: &Value) -> Option<Vec<Op>> {
    Some(vec![match name {
        "adjust_brightness" => Op::Brightness { factor: f32_of(a, "brightness_factor") },
        "adjust_contrast" => Op::Contrast { factor: f32_of(a, "contrast_factor") },
        "adjust_saturation" => Op::Saturation { factor: f32_of(a, "saturation_factor") },
        "adjust_hue" => Op::Hue { factor: f32_of(a, "hue_factor") },
        "adjust_sharpness" => Op::Sharpness { factor: a["sharpness_factor"].as_f64()? },
        "rgb_to_grayscale" => Op::Grayscale { channels: u32_of(a, "num_output_channels") },
        "erase" => {
            let value = |c: usize| a["v"].get(c).or(a["v"].get(0)).unwrap_or(&a["v"]).as_f64().unwrap() as f32;
            let [top, left, height, width] = ["i", "j", "h", "w"].map(|key| u32_of(a, key));
            Op::Erase { top, left, height, width, value: Erased::Color([value(0), value(1), value(2)]) }
        }
        // By default eight-bit numbers end before the first Normalize, or else at the output.
        "to_float" => return Some(Vec::new()),
        _ => named::op(name, a)?,
    }])
}

/// The arithmetic of an operator with the random numbers of a case, which no seed gives; `None` for other cases.
fn run_given(case: &Case) -> Option<Values> {
    let [(name, a)] = &case.ops[..] else { return None };
    let planes = &case.input.planes;
    let floats = |numbers: Vec<f64>| numbers.into_iter().map(|number| number as f32).collect::<Vec<f32>>();
    match (&name[..], case.semantics) {
        ("gaussian_noise", reference::Semantics::Float) => {
            let mut values: Vec<f32> = planes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
            let (mean, sigma, clip) = (a["mean"].as_f64()?, a["sigma"].as_f64()?, a["clip"].as_bool()?);
            given::gaussian_noise(&mut values, &floats(case.array(&a["noise"])), mean, sigma, clip);
            Some(Values::Floats(values))
        }
        ("gaussian_noise", reference::Semantics::Uint8) => {
            let mut bytes = planes.clone();
            let (mean, sigma) = (a["mean"].as_f64()?, a["sigma"].as_f64()?);
            given::gaussian_noise_u8(&mut bytes, &floats(case.array(&a["noise"])), mean, sigma);
            Some(Values::Bytes(bytes))
        }
        ("elastic", semantics) => Some(elastic(case, a, semantics)),
        _ => None,
    }
}

/// Moves the pixels of a case by its displacements, which are in halves of the image's sides.
fn elastic(case: &Case, a: &Value, semantics: reference::Semantics) -> Values {
    let (channels, height, width) = case.input.shape;
    let halves = [width, height].map(|side| side as f64 / 2.0);
    let field = case.array(&a["displacement"]);
    let along =
        |axis: usize| field.iter().skip(axis).step_by(2).map(|&d| (d * halves[axis]) as f32).collect::<Vec<_>>();
    let (dx, dy, nearest) = (along(0), along(1), interpolation(a) == Interpolation::Nearest);
    let (size, plane) = ((width as u32, height as u32), height * width);
    let byte = |c: usize, i: usize| case.input.planes[c.min(channels - 1) * plane + i];
    if semantics == reference::Semantics::Uint8 {
        let pixels: Vec<_> = (0..plane).map(|i| [byte(0, i), byte(1, i), byte(2, i), 255]).collect();
        let fill = fill(a).map(|fill| fill.map(|number| number * (1.0 / 255.0)));
        let moved = given::elastic_bytes(&pixels, size, [&dx, &dy], nearest, fill);
        return Values::Bytes((0..channels * plane).map(|i| moved[i % plane][i / plane]).collect());
    }
    let float = |c: usize, i: usize| f32::from(byte(c, i)) / 255.0;
    let pixels: Vec<_> = (0..plane).map(|i| [float(0, i), float(1, i), float(2, i), 1.0]).collect();
    let moved = given::elastic_floats(&pixels, size, [&dx, &dy], nearest, fill(a));
    Values::Floats((0..channels * plane).map(|i| moved[i % plane][i / plane]).collect())
}

/// Runs a case; `None` if one of its functions has no op.
pub(super) fn run(case: &Case, place: &Place) -> Option<Values> {
    if let Some(values) = run_given(case) {
        return Some(values);
    }
    let ops = case.ops.iter().map(|(name, a)| geometry(name, a).or_else(|| color(name, a)));
    let ops: Vec<Op> = ops.collect::<Option<Vec<_>>>()?.concat();
    let bytes = matches!(case.output, Values::Bytes(_));
    let output = Output { layout: Layout::Nchw, dtype: if bytes { DType::U8 } else { DType::F32 } };
    let semantics = match case.semantics {
        reference::Semantics::Uint8 => Semantics::Uint8,
        reference::Semantics::Float => Semantics::Float,
    };
    let source = case.source();
    let plan = Plan::fixed_as(semantics, source.channels, &ops, &output).unwrap();
    let params = plan.make_params(source.width, source.height, &Default::default()).unwrap();
    let batch = place.prepare(&plan).bytes(&source, &params);
    if bytes {
        return Some(Values::Bytes(batch));
    }
    Some(Values::Floats(batch.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
}

/// The greatest difference of floats: bilinear warps and what follows them by 1e-4, all else by 1e-5.
fn bar(case: &Case) -> f64 {
    let warps = ["affine", "elastic", "rotate", "perspective", "policy", "mix", "resized_crop", "resize"];
    if case.ops.iter().any(|(name, _)| warps.contains(&&name[..])) { 1e-4 } else { 1e-5 }
}

/// Compiling hundreds of shaders keeps an OpenGL context for so long that wgpu calls it a deadlock in another thread.
static ALONE: Mutex<()> = Mutex::new(());

fn is_software(place: &Place) -> bool {
    matches!(&place.backend, Backend::Gpu(gpu) if gpu.is_software())
}

/// Compares the cases that have ops, of which there are at least `least`; on software adapters, too, if `all`.
fn check(cases: &[Case], least: usize, all: bool, title: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for place in places().iter().filter(|place| all || !is_software(place)) {
        let (tally, left_out) = vectors::compare(cases, bar, false, |case| run(case, place));
        let compared = cases.len() - left_out;
        assert!(compared >= least, "{compared} of {} cases", cases.len());
        tally.finish(&format!("{title}, {}", place.name));
    }
}

#[test]
fn operators_are_torchvisions_on_the_committed_cases() {
    check(&COMMITTED, 440, true, "torchvision's committed cases");
}

#[test]
fn operators_are_torchvisions_on_the_shared_cases() {
    if !SHARED.is_empty() {
        check(&SHARED, 1291, is_full(), "torchvision's shared cases");
    }
}

/// The twin: each comparison notices another number.
#[test]
fn a_changed_argument_is_noticed() {
    let mut groups = std::collections::BTreeMap::new();
    for case in COMMITTED.iter() {
        let Some(actual) = run(case, &places()[0]) else { continue };
        let changed = match actual {
            Values::Bytes(bytes) => Values::Bytes(bytes.iter().map(|byte| byte ^ 2).collect()),
            Values::Floats(floats) => Values::Floats(floats.iter().map(|value| value + 3e-4).collect()),
        };
        assert!(case.compare(&changed, bar(case), false).is_err(), "{}", case.name);
        let Some((name, mut arguments)) = case.ops.first().cloned() else { continue };
        for key in ["angle", "sharpness_factor", "brightness_factor", "contrast_factor", "saturation_factor", "sigma"] {
            if let Some(number) = arguments.get(key).and_then(Value::as_f64) {
                arguments[key] = (number + 0.37).into();
                let mut other = case.clone();
                other.ops = vec![(name.clone(), arguments.clone())];
                let noticed =
                    run(&other, &places()[0]).is_some_and(|values| case.compare(&values, bar(case), false).is_err());
                let counts: &mut (u32, u32) = groups.entry(key).or_default();
                *counts = (counts.0 + u32::from(noticed), counts.1 + 1);
            }
        }
    }
    for (key, (noticed, all)) in groups {
        assert!(noticed > 0 && 2 * noticed >= all, "{key}: {noticed} of {all}");
    }
}
