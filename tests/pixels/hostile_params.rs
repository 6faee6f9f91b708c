//! Parameters of unknown origin: with numbers that are none, too large or negative, in the slots of other ops and in
//! any order. A processor runs them or gives an error, and never panics. 4,000 in CI on the CPU and some hundred on
//! each adapter; with GPUFEED_FULL=1 100,000 on the CPU and 24,000 on the first adapter, 12 ms each on a software one.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use gpufeed::transforms::{Erased, Interpolation, Key, Op, PaddingMode, Params, ParamsOp, PolicyOp};
use gpufeed::{Backend, ErrorKind, Output, PixelFormat, Pixels, Plan, Processor, Semantics};
use gpufeed_testing::adapters::places;
use gpufeed_testing::lists::Dice;
use gpufeed_testing::named;
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::operators::{OPERATORS, UINT8_ALONE};
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::reference::{self, Picture, pointwise};
use gpufeed_testing::sequences::sequence;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

fn pick<T: Copy>(dice: &mut Dice, of: &[T]) -> T {
    of[dice.below(of.len())]
}

fn float(dice: &mut Dice) -> f64 {
    let specials =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e13, -1e13, 3e38, 1e-40, -0.0, 0.0, 1e6, -400.0];
    if dice.chance(30) { pick(dice, &specials) } else { f64::from(dice.between(0, 4000)) / 1000.0 - 1.0 }
}

fn single(dice: &mut Dice) -> f32 {
    float(dice) as f32
}

fn side(dice: &mut Dice) -> u32 {
    let specials = [0, u32::MAX, 1 << 31, (1 << 22) + 1, u32::MAX - 3, 1 << 22];
    if dice.chance(20) { pick(dice, &specials) } else { dice.between(0, 30) }
}

fn point(dice: &mut Dice) -> [i32; 2] {
    let specials = [0, -1, i32::MIN, i32::MAX, 1 << 20, 5];
    [0, 1].map(|_| if dice.chance(20) { pick(dice, &specials) } else { dice.between(0, 40) as i32 - 10 })
}

fn color(dice: &mut Dice) -> [f32; 3] {
    [0; 3].map(|_| single(dice))
}

fn op(dice: &mut Dice) -> Op {
    use Interpolation::{Bicubic, Bilinear, Nearest, NearestExact};
    use PolicyOp::{
        AutoContrast, Brightness, Color, Contrast, Equalize, Identity, Invert, Posterize, Rotate, Sharpness, ShearX,
        ShearY, Solarize, TranslateX, TranslateY,
    };
    let interpolation = pick(dice, &[Nearest, Bilinear, Nearest, Bilinear, NearestExact, Bicubic]);
    let fill = dice.chance(50).then(|| color(dice));
    let center = dice.chance(50).then(|| [float(dice), float(dice)]);
    let value = if dice.chance(50) { Erased::Color(color(dice)) } else { Erased::Noise { key: [1, u32::MAX] } };
    match dice.between(0, 25) {
        0 => Op::Crop { top: side(dice), left: side(dice), height: side(dice), width: side(dice) },
        1 => {
            let modes = [PaddingMode::Constant, PaddingMode::Edge, PaddingMode::Reflect, PaddingMode::Symmetric];
            let (mode, fill) = (pick(dice, &modes), color(dice));
            Op::Pad { left: side(dice), top: side(dice), right: side(dice), bottom: side(dice), mode, fill }
        }
        2 => Op::Resize { height: side(dice), width: side(dice), interpolation, antialias: dice.chance(50) },
        3 => Op::HorizontalFlip,
        4 => Op::VerticalFlip,
        5..=8 | 10..=12 => color_op(dice),
        9 => Op::Grayscale { channels: pick(dice, &[1, 3, 3, 3]) },
        13 => Op::Posterize { bits: side(dice) },
        14 => Op::PermuteChannels { permutation: [0; 3].map(|_| dice.between(0, 3)) },
        15 => Op::Erase { top: side(dice), left: side(dice), height: side(dice), width: side(dice), value },
        16 | 17 => Op::Affine {
            angle: float(dice),
            translate: [float(dice), float(dice)],
            scale: float(dice),
            shear: [float(dice), float(dice)],
            center,
            interpolation,
            fill,
        },
        18 | 19 => Op::Rotate { angle: float(dice), expand: dice.chance(50), center, interpolation, fill },
        20 => {
            let mut points = || [0; 4].map(|_| point(dice));
            Op::Perspective { startpoints: points(), endpoints: points(), interpolation, fill }
        }
        21 => {
            let kernel_size =
                [0; 2].map(|_| if dice.chance(80) { 2 * dice.between(0, 20) + 1 } else { dice.between(0, 9) });
            Op::GaussianBlur { kernel_size, sigma: [float(dice), float(dice)] }
        }
        22 => Op::Sharpness { factor: float(dice) },
        23 if dice.chance(50) => Op::Autocontrast,
        23 => Op::Equalize,
        24 => Op::Policy {
            id: pick(
                dice,
                &[
                    Identity,
                    ShearX,
                    ShearY,
                    TranslateX,
                    TranslateY,
                    Rotate,
                    Brightness,
                    Color,
                    Contrast,
                    Sharpness,
                    Posterize,
                    Solarize,
                    AutoContrast,
                    Equalize,
                    Invert,
                ],
            ),
            magnitude: single(dice),
            interpolation,
            fill,
        },
        _ => Op::Normalize { mean: color(dice), std: color(dice) },
    }
}

/// Every kind of op that changes colours and has no whole numbers.
static COLOR_OPS: LazyLock<BTreeMap<String, toml::Value>> = LazyLock::new(|| {
    let in_floats = OPERATORS.iter().filter(|operator| !UINT8_ALONE.contains(&operator.name));
    let lists = in_floats.flat_map(|operator| operator.transforms());
    let drawn = lists.flat_map(|transform| {
        let plan = Plan::compile(&[transform], &Output::default()).unwrap();
        (0..20).filter_map(move |sample| plan.make_params(300, 200, &Key { sample, ..Key::default() }).ok())
    });
    let pixel = Picture::from_planes((3, 1, 1), &[1, 2, 3], reference::Semantics::Float);
    let has_whole_numbers =
        |op: &Op| matches!(op, Op::Grayscale { .. } | Op::Posterize { .. } | Op::PermuteChannels { .. });
    let ops = drawn.flat_map(|params| params.ops).map(|params| params.op);
    let ops = ops.filter(|op| !has_whole_numbers(op) && pointwise::apply(&pixel, op).is_some());
    let ops: BTreeMap<_, _> = ops.map(|op| (named::function(&op), toml::Value::try_from(op).unwrap())).collect();
    for name in ["brightness", "contrast", "saturation", "hue", "gamma"].map(|name| format!("adjust_{name}")) {
        assert!(ops.contains_key(&name), "{name}: {ops:?}");
    }
    assert!(ops.contains_key("invert") && ops.contains_key("solarize"), "{ops:?}");
    ops
});

/// One of them with other numbers.
fn color_op(dice: &mut Dice) -> Op {
    let mut op = COLOR_OPS.values().nth(dice.below(COLOR_OPS.len())).unwrap().clone();
    let numbers = op.as_table_mut().into_iter().flatten().filter_map(|(_, numbers)| numbers.as_table_mut()).flatten();
    numbers.for_each(|(_, number)| *number = float(dice).into());
    op.try_into().unwrap()
}

/// A plan of hostile ops, or one of a list whose parameters are changed.
fn case(dice: &mut Dice, channels: u32) -> Option<(Plan, Params)> {
    let semantics = if dice.chance(50) { Semantics::Uint8 } else { Semantics::Float };
    let (width, height) = (dice.between(1, 12), dice.between(1, 12));
    if dice.chance(50) {
        let ops: Vec<Op> = (0..dice.between(1, 4)).map(|_| op(dice)).collect();
        let plan = Plan::fixed_as(semantics, channels, &ops, &Output::default()).ok()?;
        let params = plan.make_params(width, height, &Key::default()).ok()?;
        return Some((plan, params));
    }
    let plan = random_plan(dice, semantics, channels);
    let changes = dice.between(1, 3);
    let params = changed(dice, &plan, (width, height), changes)?;
    Some((plan, params))
}

fn random_plan(dice: &mut Dice, semantics: Semantics, channels: u32) -> Plan {
    let list = for_channels(channels, sequence(dice, semantics).transforms);
    Plan::compile_as(semantics, channels, &list, &Output::default()).unwrap()
}

/// Parameters of the plan, with this many changes.
fn changed(dice: &mut Dice, plan: &Plan, (width, height): (u32, u32), changes: u32) -> Option<Params> {
    let key = Key { sample: dice.bits(), ..Key::default() };
    let mut params = plan.make_params(width, height, &key).ok()?;
    for _ in 0..changes {
        let count = params.ops.len().max(1);
        let at = dice.below(count);
        match (dice.between(0, 4), params.ops.get_mut(at)) {
            (0, Some(changed)) => changed.op = op(dice),
            (1, Some(changed)) => changed.slot = if dice.chance(20) { u16::MAX } else { dice.between(0, 30) as u16 },
            (2, Some(_)) => {
                let other = dice.below(count);
                params.ops.swap(at, other);
            }
            (3, _) => {
                params.ops.insert(at.min(params.ops.len()), ParamsOp { slot: dice.between(0, 9) as u16, op: op(dice) })
            }
            _ => (params.width, params.height) = (side(dice), side(dice)),
        }
    }
    Some(params)
}

#[test]
fn hostile_parameters_are_errors_or_run() {
    let count = if is_full() { 100_000 } else { 4_000 };
    let (mut ran, mut refused) = (0, 0);
    for number in 0..count {
        let mut dice = Dice(number);
        let channels = pick(&mut dice, &[1, 3]);
        let Some((plan, params)) = case(&mut dice, channels) else { continue };
        let (width, height) = claimed_size(&params);
        let bytes = pixels_of(width, height, channels);
        let format = if channels == 1 { PixelFormat::R8 } else { PixelFormat::Rgb8 };
        let pixels = Pixels::new(width, height, format, &bytes).unwrap();
        let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
        // Of sizes whose result would need gigabytes, the region alone is asked.
        let result = match catch_unwind(AssertUnwindSafe(|| plan.source_region(&params).map(|_| ()))) {
            Ok(Ok(())) if largest(&params) < 1 << 20 => {
                catch_unwind(AssertUnwindSafe(|| processor.run(&[(pixels, &params)]).map(|_| ())))
            }
            result => result,
        };
        match result {
            Ok(Ok(())) => ran += 1,
            Ok(Err(error)) => {
                assert!(matches!(error.kind(), ErrorKind::Argument { .. }), "{error}");
                refused += 1;
            }
            Err(_) => panic!("case {number} panicked: {params:?}"),
        }
    }
    println!("{ran} ran, {refused} were refused");
    assert!(8 * ran > count && 4 * refused > count, "{ran} ran, {refused} were refused");
}

/// The shaders get such parameters, too: each plan's are compiled once, and run many.
#[test]
fn hostile_parameters_are_errors_or_run_in_shaders() {
    for (number, place) in places().iter().filter(|place| matches!(place.backend, Backend::Gpu(_))).enumerate() {
        let (plans, each) = if is_full() && number == 0 { (60, 400) } else { (8, 60) };
        let (mut ran, mut refused) = (0, 0);
        for number in 0..plans {
            let mut dice = Dice(7_000 + number);
            let (channels, semantics) =
                (pick(&mut dice, &[1, 3]), pick(&mut dice, &[Semantics::Float, Semantics::Uint8]));
            let plan = random_plan(&mut dice, semantics, channels);
            let processor = Processor::new(&plan, &place.backend).unwrap();
            for _ in 0..each {
                let size = (dice.between(1, 12), dice.between(1, 12));
                let Some(params) = changed(&mut dice, &plan, size, 1) else { continue };
                if largest(&params) >= 1 << 16 {
                    continue;
                }
                let (width, height) = claimed_size(&params);
                let bytes = pixels_of(width, height, channels);
                let format = if channels == 1 { PixelFormat::R8 } else { PixelFormat::Rgb8 };
                let pixels = Pixels::new(width, height, format, &bytes).unwrap();
                match processor.run(&[(pixels, &params)]) {
                    Ok(_) => ran += 1,
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::Argument { .. }), "{}: {error}", place.name);
                        refused += 1;
                    }
                }
            }
        }
        println!("{}: {ran} ran, {refused} were refused", place.name);
        assert!(8 * ran > plans * each && 8 * refused > plans * each, "{ran} ran, {refused} were refused");
    }
}

/// The size that the parameters claim, where memory has that many pixels.
fn claimed_size(params: &Params) -> (u32, u32) {
    let claimed = u64::from(params.width) * u64::from(params.height);
    if (1..1000).contains(&claimed) { (params.width, params.height) } else { (9, 8) }
}

fn pixels_of(width: u32, height: u32, channels: u32) -> Vec<u8> {
    (0..width * height * channels).map(|i| (i * 37 % 256) as u8).collect()
}

/// The most pixels of an image on the way.
fn largest(params: &Params) -> u64 {
    let mut size = (u64::from(params.width), u64::from(params.height));
    let mut most = size.0 * size.1;
    for params in &params.ops {
        size = match params.op {
            Op::Resize { height, width, .. } => (width.into(), height.into()),
            Op::Pad { left, top, right, bottom, .. } => {
                (size.0 + u64::from(left) + u64::from(right), size.1 + u64::from(top) + u64::from(bottom))
            }
            Op::Crop { height, width, .. } => (width.into(), height.into()),
            // At most the diagonal, but for a far centre.
            Op::Rotate { expand: true, center: Some(center), .. } if center.iter().any(|at| at.abs() > 1e4) => {
                return u64::MAX;
            }
            Op::Rotate { expand: true, .. } => (size.0 + size.1 + 2, size.0 + size.1 + 2),
            _ => size,
        };
        most = most.max(size.0.saturating_mul(size.1));
    }
    most
}

/// Nested random orders have more slots than memory: an error before any is made.
#[test]
fn orders_of_orders_are_refused() {
    use gpufeed::transforms::{RandomInvert, RandomOrder, Transform};
    let mut nested: Transform = RandomInvert::new(0.5).into();
    for _ in 0..6 {
        let list: Vec<Transform> = (0..15).map(|_| RandomInvert::new(0.5).into()).chain([nested]).collect();
        nested = RandomOrder::new(list).into();
    }
    let error = Plan::compile(&[nested], &Output::default()).unwrap_err().to_string();
    assert!(error.starts_with("transforms: the list may emit") && error.contains("up to 65535 work"), "{error}");
}
