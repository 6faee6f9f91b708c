//! Every adapter gives the CPU's bytes in `Semantics::Uint8`, and its floats up to their last bits: of random lists, of
//! torchvision's vectors, of the built-in recipes, and of numbers at the ends of what operators take.
//! `scripts/test-drivers.sh` runs this on drivers that compute as real ones may.
//!
//! 120 lists and 6 draws of each sample run in CI on software adapters, 1,000 and 36 with GPUFEED_FULL=1.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use super::functional::run;
use super::transforms::COMMITTED;
use gpufeed::transforms::{Interpolation, Key, Op};
use gpufeed::{
    Backend, DType, DataLoader, ErrorKind, Execute, Layout, OnError, Output, Plan, Result, Semantics, recipe,
};
use gpufeed_testing::adapters::{Place, places};
use gpufeed_testing::bits::{plain_recipes, samples_for};
use gpufeed_testing::lists::Dice;
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::procedural;
use gpufeed_testing::sequences::sequence;
use gpufeed_testing::vectors::Values;
use std::collections::BTreeMap;

fn adapters() -> &'static [Place] {
    &places()[1..]
}

/// What two backends made of the same images.
#[derive(Debug, Default)]
struct Compared {
    values: usize,
    differing: usize,
    worst: f32,
    /// The first difference of each case that has any.
    shown: Vec<String>,
}

impl Compared {
    fn add(&mut self, expected: &[f32], actual: &[f32], bar: f32, name: impl Fn() -> String) {
        assert_eq!(expected.len(), actual.len(), "{}", name());
        let differing: Vec<usize> = (0..expected.len()).filter(|&i| (expected[i] - actual[i]).abs() > bar).collect();
        for i in 0..expected.len() {
            self.worst = self.worst.max((expected[i] - actual[i]).abs());
        }
        self.values += expected.len();
        self.differing += differing.len();
        if let Some(&first) = differing.first() {
            let (count, expected, actual) = (differing.len(), expected[first], actual[first]);
            self.shown.push(format!("{count} values, value {first} is {actual}, not {expected}: {}", name()));
        }
    }

    fn finish(self, title: &str) {
        let Compared { values, differing, worst, shown } = self;
        println!("{title}: of {values} values {differing} differ, by {worst:.1e} at most");
        assert!(values > 0, "{title}: nothing was compared");
        let shown_first = shown.iter().take(12).map(String::as_str).collect::<Vec<_>>().join("\n  ");
        assert!(shown.is_empty(), "{title}: {} cases differ:\n  {shown_first}", shown.len());
    }
}

fn bytes(values: &[u8]) -> Vec<f32> {
    values.iter().copied().map(f32::from).collect()
}

fn floats(values: &[u8]) -> Vec<f32> {
    values.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}

#[test]
fn random_lists_have_the_same_bytes() {
    let count = if is_full() { 1000 } else { 120 };
    let mut found: Vec<Compared> = adapters().iter().map(|_| Compared::default()).collect();
    for number in 0..count {
        let mut dice = Dice(700_000 + number);
        let sequence = sequence(&mut dice, Semantics::Uint8);
        let channels = if dice.chance(20) { 1 } else { 3 };
        let list = for_channels(channels, sequence.transforms[..sequence.in_bytes].to_vec());
        let output = Output { layout: Layout::Nchw, dtype: DType::U8 };
        let plan = Plan::compile_as(Semantics::Uint8, channels, &list, &output).expect("the list compiles");
        let (width, height) = (dice.between(5, 150), dice.between(5, 150));
        let source = procedural::build((width, height, channels), |x, y, c| procedural::value(number as u32, x, y, c));
        let key = Key { seed: number, ..Key::default() };
        // Some transforms refuse small images.
        let Ok(params) = plan.make_params(width, height, &key) else { continue };
        let expected = bytes(&places()[0].prepare(&plan).bytes(&source, &params));
        for (place, found) in adapters().iter().zip(&mut found) {
            let actual = bytes(&place.prepare(&plan).bytes(&source, &params));
            found.add(&expected, &actual, 0.0, || format!("{list:?} on {width}x{height}x{channels}: {:?}", params.ops));
        }
    }
    for (place, found) in adapters().iter().zip(found) {
        found.finish(&format!("random lists, {}", place.name));
    }
}

#[test]
fn torchvisions_cases_have_the_same_bytes() {
    for place in adapters() {
        let mut found = Compared::default();
        for case in COMMITTED.iter() {
            if let (Some(Values::Bytes(expected)), Some(Values::Bytes(actual))) =
                (run(case, &places()[0]), run(case, place))
            {
                found.add(&bytes(&expected), &bytes(&actual), 0.0, || format!("{} {:?}", case.name, case.ops));
            }
        }
        found.finish(&format!("torchvision's cases, {}", place.name));
    }
}

/// Warps with numbers at the ends of what they take.
fn extreme_warps() -> Vec<Op> {
    let mut dice = Dice(45);
    let mut points = |most: u32| [0; 4].map(|_| [0; 2].map(|_| dice.between(0, 2 * most) as i32 - most as i32));
    let perspectives: Vec<_> = (0..24).map(|i| (points(1 << (6 + i / 2)), points(100))).collect();
    // Positions of the nearest pixels are moved by 1/32768: with these translations they lie halfway between two pixels.
    let half = 0.5 - 1.0 / 32768.0;
    let mut ops = Vec::new();
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear] {
        for fill in [None, Some([12.6, 255.0, 0.0]), Some([1e30, -3.0, 255.7])] {
            let affine = |angle, translate, scale, shear| {
                let center = None;
                Op::Affine { angle, translate, scale, shear, center, interpolation, fill }
            };
            ops.extend([
                affine(0.0, [half, 0.0], 1.0, [0.0; 2]),
                affine(0.0, [half, half], 1.0, [0.0; 2]),
                affine(0.0, [half, 0.0], 1.0, [0.0, 45.0]),
                affine(0.0, [1e8, -1e8], 1.0, [0.0; 2]),
                affine(1e9, [0.0; 2], 1e-4, [0.0; 2]),
                affine(-400.5, [0.5, -0.5], 1e6, [0.0; 2]),
                affine(0.0, [0.0; 2], 1.0, [89.99, 0.0]),
                affine(0.0, [3.0, -7.0], 1.0, [0.0, -89.99]),
            ]);
            let perspective =
                |&(startpoints, endpoints): &_| Op::Perspective { startpoints, endpoints, interpolation, fill };
            ops.extend(perspectives.iter().map(perspective));
        }
    }
    ops
}

/// Other ops with such numbers.
fn extreme_ops() -> Vec<Op> {
    let mut ops = extreme_warps();
    for sigma in [1e-300, 1e-3, 1e300] {
        ops.extend([[3, 1], [101, 5]].map(|kernel_size| Op::GaussianBlur { kernel_size, sigma: [sigma; 2] }));
    }
    for (mean, sigma) in [(1e6, 1e6), (-1e6, 0.0), (0.0, 1e-30), (-1.0, 1.0)] {
        ops.push(Op::GaussianNoise { mean, sigma, clip: true, key: [45, u32::MAX] });
    }
    for (gamma, gain) in [(0.0, 1.0), (1e-30, 1.0), (1e30, 1.0), (1.0, 1e30), (0.7, -1.0), (2.2, 1e-30)] {
        ops.push(Op::AdjustGamma { gamma, gain });
    }
    for factor in [-1e9, -0.5, -1e-9, 0.0, 1e-9, 0.499_999_97, 123.456_78] {
        ops.push(Op::Hue { factor });
    }
    for factor in [0.0, 1e-30, 1e6, 1e7, 1e30] {
        ops.extend([Op::Brightness { factor }, Op::Contrast { factor }, Op::Saturation { factor }]);
        ops.push(Op::Sharpness { factor: factor.into() });
    }
    ops.extend([-1.0, 0.0, 255.0, 1e30].map(|threshold| Op::Solarize { threshold }));
    ops
}

#[test]
fn extreme_numbers_have_the_same_bytes() {
    let (width, height) = (37, 29);
    let source = procedural::build((width, height, 3), |x, y, c| procedural::value(45, x, y, c));
    let output = Output { layout: Layout::Nchw, dtype: DType::U8 };
    let mut found: Vec<Compared> = adapters().iter().map(|_| Compared::default()).collect();
    let (ops, mut refused) = (extreme_ops(), 0);
    for op in &ops {
        let plan = Plan::fixed_as(Semantics::Uint8, 3, std::slice::from_ref(op), &output).expect("an op is a plan");
        let params = plan.make_params(width, height, &Key::default());
        // Four points may have no perspective.
        let Ok(params) = params.and_then(|params| plan.source_region(&params).map(|_| params)) else {
            assert!(matches!(op, Op::Perspective { .. }), "{op:?}");
            refused += 1;
            continue;
        };
        let expected = bytes(&places()[0].prepare(&plan).bytes(&source, &params));
        for (place, found) in adapters().iter().zip(&mut found) {
            let actual = bytes(&place.prepare(&plan).bytes(&source, &params));
            found.add(&expected, &actual, 0.0, || format!("{op:?}"));
        }
    }
    assert!(8 * refused < ops.len(), "{refused} of {} ops are refused", ops.len());
    for (place, found) in adapters().iter().zip(found) {
        found.finish(&format!("extreme numbers, {}", place.name));
    }
}

fn loader(name: &str, backend: &Backend, execute: Execute) -> Result<DataLoader> {
    DataLoader::builder(samples_for(name)?)
        .recipe(recipe::named(name)?)
        .batch_size(3)
        .shuffle(true)
        .seed(45)
        .workers(2)
        .on_error(OnError::Fail)
        .execute(execute)
        .build(backend)
}

/// The values of all batches of `epochs` epochs; bytes as fractions of 255.
fn values(loader: &DataLoader, epochs: u64) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    for batch in loader.epochs(0..epochs)? {
        for group in batch?.groups() {
            let host = group.to_host()?;
            values.extend(match group.dtype() {
                DType::U8 => bytes(&host).into_iter().map(|level| level / 255.0).collect(),
                _ => floats(&host),
            });
        }
    }
    Ok(values)
}

/// The greatest difference of a recipe that normalises: a level of 8 bits is 0.017 and more.
const BAR: f32 = 2e-5;

#[test]
fn recipes_have_the_same_values() {
    let epochs = if is_full() { 6 } else { 1 };
    for place in adapters() {
        let mut left_out = Vec::new();
        let mut found: BTreeMap<&str, Compared> = BTreeMap::new();
        for name in plain_recipes() {
            let on_gpu = match loader(name, &place.backend, Execute::Gpu) {
                Ok(loader) => loader,
                Err(error) => {
                    match error.kind() {
                        ErrorKind::Argument { setting: "execute", .. } => left_out.push(name),
                        _ => panic!("{name}: {error}"),
                    }
                    continue;
                }
            };
            // Ten views need no more of a slot than one.
            let explained = on_gpu.explain();
            assert!(explained.contains("3 slots of 32 MiB"), "{name}, {}: {explained}", place.name);
            let expected = values(&loader(name, &Backend::Cpu, Execute::Auto).unwrap(), epochs).unwrap();
            let actual = values(&on_gpu, epochs).unwrap();
            found.entry(name).or_default().add(&expected, &actual, BAR, || name.to_owned());
        }
        assert_eq!(left_out, ["imagenet-augmix"], "the recipes without shaders");
        for (name, found) in found {
            found.finish(&format!("{name}, {}", place.name));
        }
    }
}

/// The comparison itself notices a number that is another one.
#[test]
fn another_level_is_noticed() {
    let expected = bytes(&[0, 128, 255]);
    let mut found = Compared::default();
    found.add(&expected, &expected, 0.0, String::new);
    assert!(found.shown.is_empty());
    found.add(&expected, &bytes(&[0, 127, 255]), 0.0, String::new);
    assert_eq!((found.differing, found.shown.len(), found.worst), (1, 1, 1.0));
}
