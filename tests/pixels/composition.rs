//! Random lists of transforms on random images: plans, compiled and run on every backend, are compared with the
//! reference, which applies their ops one by one.
//!
//! A software adapter runs every fifteenth list, or with GPUFEED_FULL=1 every fifth.
//!
//! The tolerance is 1e-4, times the factor by which the `Normalize`s in the list multiply: a rounding error before a
//! division by 0.224 is 4.5 times as large after it. Images in which a pixel was on a jump of the hue are counted and
//! left out, because rounding decides there (torchvision does not clamp the largest channel, so an overshoot of a cubic
//! filter jumps with it). Single values are left out where they depend on a pixel at a step of `Solarize` or
//! `Posterize`, or near 0 in `AdjustGamma`.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use gpufeed::transforms::{AdjustGamma, Erased, FiveCrop, Key, Op, PaddingMode, Params, TenCrop, Transform};
use gpufeed::{Backend, DType, ErrorKind, Layout, Output, Plan};
use gpufeed_testing::adapters::{Place, Prepared, places};
use gpufeed_testing::compare::{Tally, within, within_except};
use gpufeed_testing::images::Source;
use gpufeed_testing::lists::{Dice, list};
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::{procedural, reference};
use half::{bf16, f16};

const LISTS: u64 = 300;
/// Number of images on which each list is tried.
const IMAGES: u64 = 3;

/// Returns n where `place` runs every n-th list: a software adapter takes a second to compile the shaders of one.
fn stride(place: &Place) -> u64 {
    match &place.backend {
        Backend::Gpu(gpu) if gpu.is_software() && is_full() => 5,
        Backend::Gpu(gpu) if gpu.is_software() => 15,
        _ => 1,
    }
}

/// A list of transforms, and the parameters that it drew for some images.
struct Composition {
    channels: u32,
    transforms: Vec<Transform>,
    images: Vec<(Source, Params)>,
    /// Number of images that a transform refused.
    refused: usize,
}

impl Composition {
    /// Makes list `number`, for images of 1×1 to 90×90 pixels; it has `Normalize`s only if `normalize` is true.
    fn new(number: u64, normalize: bool) -> Self {
        let mut dice = Dice(number);
        let mut transforms = list(&mut dice, normalize);
        match number % 16 {
            3 => transforms.push(FiveCrop::new(3).into()),
            11 => transforms.extend([TenCrop::new((2, 4)).vertical_flip(true).into(), AdjustGamma::new(0.8).into()]),
            _ => {}
        }
        let channels = if dice.chance(15) { 1 } else { 3 };
        let transforms = for_channels(channels, transforms);
        let mut composition = Composition { channels, transforms, images: Vec::new(), refused: 0 };
        let plan = composition.plan(Layout::Nchw, DType::F32);
        for sample in 0..IMAGES {
            let mut side = || if dice.chance(15) { dice.between(1, 4) } else { dice.between(5, 90) };
            let (width, height) = (side(), side());
            match plan.make_params(
                width,
                height,
                &Key { seed: number, sample, view: sample as u32 + 4, ..Key::default() },
            ) {
                Ok(params) => {
                    let seed = (number * IMAGES + sample) as u32;
                    let source =
                        procedural::build((width, height, channels), |x, y, c| procedural::value(seed, x, y, c));
                    composition.images.push((source, params));
                }
                Err(error) => {
                    let ErrorKind::Transform { transform, .. } = error.kind() else { panic!("{error}") };
                    assert!(["RandomCrop", "FiveCrop", "TenCrop", "TrimBorder"].contains(transform), "{error}");
                    composition.refused += 1;
                }
            }
        }
        composition
    }

    fn plan(&self, layout: Layout, dtype: DType) -> Plan {
        let plan = Plan::compile_for(self.channels, &self.transforms, &Output { layout, dtype });
        plan.unwrap_or_else(|error| panic!("{error}: {:?}", self.transforms))
    }

    /// Returns a text with all that is needed to repeat an image by hand.
    fn describe(&self, params: &Params) -> String {
        let json = serde_json::to_string(&self.transforms).expect("transforms are data");
        let Params { width, height, ops, .. } = params;
        format!("{json} on {width}x{height}x{}: {ops:?}", self.channels)
    }
}

/// Returns the factor by which the `Normalize`s among `ops` enlarge a difference.
fn gain(ops: &[Op]) -> f64 {
    let gains = ops.iter().filter_map(|op| match op {
        Op::Normalize { std, .. } => std.iter().map(|s| f64::from(s.abs()).recip()).reduce(f64::max),
        _ => None,
    });
    gains.map(|gain| gain.max(1.0)).product()
}

fn ops(params: &Params) -> Vec<Op> {
    params.ops.iter().map(|params| params.op.clone()).collect()
}

#[test]
fn any_list_equals_its_ops_one_by_one() {
    let mut tallies: Vec<Tally> = places().iter().map(|_| Tally::default()).collect();
    let (mut images, mut refused, mut on_a_jump, mut passes) = (0, 0, 0, [0; 8]);
    let (mut values_seen, mut values_doubtful) = (0, 0);
    for number in 0..LISTS {
        let composition = Composition::new(number, true);
        let plan = composition.plan(Layout::Nchw, DType::F32);
        let asked = places().iter().map(|place| number.is_multiple_of(stride(place)));
        let prepared: Vec<Option<Prepared>> =
            places().iter().zip(asked).map(|(place, asked)| asked.then(|| place.prepare(&plan))).collect();
        passes[plan.passes().min(7)] += 1;
        images += composition.images.len();
        refused += composition.refused;
        for (source, params) in &composition.images {
            let ops = ops(params);
            let expected = reference::run(&source.floats(), &ops);
            if expected.on_a_jump {
                on_a_jump += 1;
                continue;
            }
            values_seen += expected.doubtful.len();
            values_doubtful += expected.doubtful.iter().filter(|doubtful| **doubtful).count();
            let (gain, name) = (gain(&ops), composition.describe(params));
            let group = if gain > 1.0 { "with Normalize" } else { "without Normalize" };
            for (prepared, tally) in prepared.iter().zip(&mut tallies) {
                let Some(prepared) = prepared else { continue };
                let values = prepared.floats(source, params);
                let result = within_except(&expected.doubtful, &expected.image.planes, &values, 1e-4 * gain);
                tally.add(group, &name, result);
            }
        }
    }
    println!("{LISTS} lists, {images} images; {refused} refused by RandomCrop; {on_a_jump} on a jump of the hue");
    println!("lists by their passes, 0 to 7 or more: {passes:?}");
    println!("{values_doubtful} of {values_seen} values at a step of solarize or posterize, or near 0 in a gamma");
    assert!(refused * 5 < images && on_a_jump * 10 < images && values_doubtful * 100 < values_seen);
    places().iter().zip(tallies).for_each(|(place, tally)| tally.finish(&place.name));
}

/// On an image of one channel, ops use the first of their three numbers; all three channels that `Grayscale` makes then
/// hold these values.
#[test]
fn one_channel_takes_the_first_of_three_numbers() {
    let pad = Op::Pad { left: 1, top: 2, right: 3, bottom: 0, mode: PaddingMode::Constant, fill: [0.25, 0.5, 1.0] };
    let normalize = Op::Normalize { mean: [0.5, 0.4, 0.1], std: [0.5, 0.25, 2.0] };
    let source = procedural::build((9, 7, 1), |x, y, c| procedural::value(5, x, y, c));
    let erase = |value| Op::Erase { top: 1, left: 2, height: 4, width: 5, value };
    let erases = [erase(Erased::Color([0.25, 0.5, 1.0])), erase(Erased::Noise { key: [1, 2] })];
    for op in [pad, normalize].into_iter().chain(erases) {
        let ops = [op, Op::Grayscale { channels: 3 }];
        let plan = Plan::fixed(1, &ops, &Output::default()).expect("the ops compile");
        let params = plan.make_params(9, 7, &Key::default()).expect("the ops fit the image");
        let expected = reference::run(&source.floats(), &ops).image.planes;
        for place in places() {
            let values = place.prepare(&plan).floats(&source, &params);
            within(&expected, &values, 1e-5).unwrap_or_else(|reason| panic!("{}: {ops:?}: {reason}", place.name));
        }
    }
}

#[test]
fn the_comparison_rejects_lists_with_an_op_left_out() {
    let (mut rejected, mut hidden) = (0, 0);
    for number in 0..LISTS {
        let composition = Composition::new(number, true);
        let prepared = places()[0].prepare(&composition.plan(Layout::Nchw, DType::F32));
        for (source, params) in &composition.images {
            let (ops, values) = (ops(params), prepared.floats(source, params));
            for (left_out, op) in ops.iter().enumerate() {
                // Only ops that leave the size are omitted; a later grayscale or clamp may hide some, and small images
                // are symmetric.
                let leaves_the_size = matches!(
                    op,
                    Op::Brightness { .. }
                        | Op::HorizontalFlip
                        | Op::VerticalFlip
                        | Op::Normalize { .. }
                        | Op::Invert
                        | Op::Erase { .. }
                );
                if !leaves_the_size || values.len() < 300 {
                    continue;
                }
                let without = ops.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, op)| op);
                let wrong = reference::run(&source.floats(), without).image;
                match within(&wrong.planes, &values, 1e-4 * gain(&ops)) {
                    Ok(_) => hidden += 1,
                    Err(_) => rejected += 1,
                }
            }
        }
    }
    println!("{rejected} rejected, {hidden} hidden by what follows");
    assert!(rejected > 300 && hidden * 10 < rejected, "{rejected} rejected, {hidden} hidden");
}

/// Converts values from NCHW to NHWC.
fn interleaved(values: &[f32], channels: usize) -> Vec<f32> {
    let plane = values.len() / channels;
    (0..plane).flat_map(|i| (0..channels).map(move |c| values[c * plane + i])).collect()
}

/// Returns an integer for an f16 number, so that neighbouring numbers have neighbouring integers.
fn ordinal(value: f16) -> i32 {
    let bits = i32::from(value.to_bits() & 0x7fff);
    if value.is_sign_negative() { -bits } else { bits }
}

/// Returns the largest difference between the f16 numbers in `bytes` and `values`, in units in the last place.
fn half_units(values: &[f32], bytes: &[u8]) -> i32 {
    let halves = bytes.as_chunks::<2>().0.iter().map(|&bytes| f16::from_ne_bytes(bytes));
    assert_eq!(values.len(), halves.len());
    values
        .iter()
        .zip(halves)
        .map(|(&value, half)| (ordinal(f16::from_f32(value)) - ordinal(half)).abs())
        .max()
        .unwrap_or(0)
}

/// As [`half_units`], of bf16.
fn bfloat_units(values: &[f32], bytes: &[u8]) -> i32 {
    let seen = bytes.as_chunks::<2>().0.iter().map(|&bytes| i32::from(u16::from_ne_bytes(bytes)));
    assert_eq!(values.len(), seen.len());
    let signed = |bits: i32| if bits & 0x8000 == 0 { bits } else { -(bits & 0x7fff) };
    let expected = values.iter().map(|&value| i32::from(bf16::from_f32(value).to_bits()));
    expected.zip(seen).map(|(expected, seen)| (signed(expected) - signed(seen)).abs()).max().unwrap_or(0)
}

/// Tells whether `byte` is what torchvision makes of `value`; where a rounding step lies closer than 1e-4, the
/// neighbouring byte counts, too.
fn is_byte(value: f32, byte: u8) -> bool {
    let exact = f64::from(value.clamp(0.0, 1.0)) * (256.0 - 1e-3);
    let near = [exact - 1e-4 * 256.0, exact, exact + 1e-4 * 256.0];
    near.iter().any(|near| near.clamp(0.0, 255.9) as u8 == byte)
}

#[test]
fn layouts_and_types_hold_the_same_values() {
    let mut worst_units = 0;
    for (place, number) in places()
        .iter()
        .flat_map(|place| (1000..1040).step_by(stride(place) as usize).map(move |number| (place, number)))
    {
        let composition = Composition::new(number, false);
        let prepare = |layout, dtype| place.prepare(&composition.plan(layout, dtype));
        let channels = composition.plan(Layout::Nchw, DType::F32).channels() as usize;
        let first = prepare(Layout::Nchw, DType::F32);
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let [single, half, byte] = [DType::F32, DType::F16, DType::U8].map(|dtype| prepare(layout, dtype));
            let bfloat = prepare(layout, DType::BF16);
            for (source, params) in &composition.images {
                let name = format!("{}: {layout:?}: {}", place.name, composition.describe(params));
                let planes = first.floats(source, params);
                let values = if layout == Layout::Nchw { planes } else { interleaved(&planes, channels) };
                assert_eq!(single.floats(source, params), values, "{name}");
                let units = half_units(&values, &half.bytes(source, params));
                assert!(units <= i32::from(!matches!(place.backend, Backend::Cpu)), "f16, {units} ulp: {name}");
                worst_units = worst_units.max(units);
                let units = bfloat_units(&values, &bfloat.bytes(source, params));
                assert!(units <= i32::from(!matches!(place.backend, Backend::Cpu)), "bf16, {units} ulp: {name}");
                let bytes = byte.bytes(source, params);
                assert_eq!(bytes.len(), values.len(), "{name}");
                let wrong = values.iter().zip(&bytes).position(|(&value, &byte)| !is_byte(value, byte));
                assert_eq!(wrong, None, "u8: {name}");
            }
        }
    }
    println!("f16: {worst_units} ulp at most from the rounded f32");
}

#[test]
fn only_what_is_doubtful_is_left_out() {
    let ops = [Op::Brightness { factor: 0.5 }, Op::Solarize { threshold: 0.25 }, Op::HorizontalFlip];
    // The level 128 times 0.5 is 64, which is 1e-3 from the threshold 0.25, and exactly on the threshold 64 / 255.
    let source = Source { width: 3, height: 1, channels: 1, bytes: vec![10, 128, 250] };
    assert_eq!(reference::run(&source.floats(), &ops).doubtful, [false; 3]);
    let step = Op::Solarize { threshold: 64.0 / 255.0 };
    let outcome = reference::run(&source.floats(), &[ops[0].clone(), step.clone(), Op::HorizontalFlip]);
    assert_eq!(outcome.doubtful, [false, true, false]);
    // Without `Brightness` the values are exact, and so is the decision at the step.
    assert_eq!(reference::run(&source.floats(), &[step, Op::HorizontalFlip]).doubtful, [false; 3]);
    let expected = outcome.image.planes;
    let wrong = |at: usize| -> Vec<f32> {
        expected.iter().enumerate().map(|(i, value)| *value as f32 + if i == at { 0.5 } else { 0.0 }).collect()
    };
    assert!(within_except(&outcome.doubtful, &expected, &wrong(1), 1e-5).is_ok());
    assert!(within_except(&outcome.doubtful, &expected, &wrong(0), 1e-5).is_err());
    assert!(within_except(&outcome.doubtful, &expected, &wrong(2), 1e-5).is_err());
}

#[test]
fn the_comparison_rejects_swapped_layouts_and_wrong_steps() {
    let planes: Vec<f32> = (0..12).map(|i| i as f32 / 16.0).collect();
    assert_ne!(interleaved(&planes, 3), planes);
    let halves: Vec<u8> = planes.iter().flat_map(|&value| f16::from_f32(value).to_ne_bytes()).collect();
    assert_eq!(half_units(&planes, &halves), 0);
    let mut wrong = halves.clone();
    wrong[6] ^= 2;
    assert_eq!(half_units(&planes, &wrong), 2);
    assert!(is_byte(0.5, 127) && is_byte(0.5, 128) && !is_byte(0.5, 126) && !is_byte(0.5, 129));
    assert!(is_byte(1.0, 255) && !is_byte(1.0, 254) && is_byte(0.0, 0) && !is_byte(0.0, 1));
    assert!(is_byte(0.502, 128) && !is_byte(0.502, 127) && !is_byte(0.502, 129));
}
