//! Compares results with those of torchvision 0.29 for 872 lists of fixed operations (`tests/golden/`): the results of
//! every backend, and of the reference that the other tests trust.
//!
//! The tolerances are 1e-5 for ops that work pixel by pixel and 1e-4 where an interpolating resize or a hue takes part:
//! torch's own f32 results are up to 3.3e-5 from exact ones there (`f32_vs_f64` of each case). `Normalize` divides by
//! about 0.2 and so multiplies rounding errors by 5; the tolerances hold without an allowance for it.

use gpufeed::transforms::{Interpolation, Key, Op};
use gpufeed::{Output, Plan};
use gpufeed_testing::adapters::{Place, Prepared, places};
use gpufeed_testing::compare::{Tally, within, within_except};
use gpufeed_testing::images::Source;
use gpufeed_testing::{procedural, reference};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    input: Input,
    ops: Vec<Op>,
    output: Slice,
    tolerance: String,
}

#[derive(Deserialize)]
struct Slice {
    offset: usize,
    shape: [usize; 3],
}

#[derive(Clone, Deserialize, PartialEq)]
struct Input {
    width: u32,
    height: u32,
    channels: u32,
    #[serde(flatten)]
    kind: Kind,
}

#[derive(Clone, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Procedural { seed: u32 },
    Constant { value: Vec<u8> },
    Checkerboard { cell: u32, low: Vec<u8>, high: Vec<u8> },
    Ramp,
    Pixels { data: Vec<u8> },
}

impl Input {
    fn source(&self) -> Source {
        let (width, channels) = (self.width, self.channels);
        procedural::build((width, self.height, channels), |x, y, c| match &self.kind {
            Kind::Procedural { seed } => procedural::value(*seed, x, y, c),
            Kind::Constant { value } => value[c as usize],
            Kind::Checkerboard { cell, low, high } => {
                if (x / cell + y / cell).is_multiple_of(2) {
                    low[c as usize]
                } else {
                    high[c as usize]
                }
            }
            Kind::Ramp => {
                let value = (x * 255).checked_div(width - 1).unwrap_or(0) as u8;
                if c == 1 { 255 - value } else { value }
            }
            Kind::Pixels { data } => data[((y * width + x) * channels + c) as usize],
        })
    }
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let cases: Cases = serde_json::from_str(include_str!("../golden/cases.json")).expect("cases.json is valid");
    cases.cases
});

static VECTORS: &[u8] = include_bytes!("../golden/vectors.bin");

impl Case {
    /// Returns the part of the name before the first slash.
    fn group(&self) -> &str {
        self.name.split('/').next().expect("split gives at least one part")
    }

    fn expected(&self) -> Vec<f64> {
        let bytes = &VECTORS[self.output.offset..][..4 * self.output.shape.iter().product::<usize>()];
        bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
    }

    fn bar(&self) -> f64 {
        let hue = self.ops.iter().any(|op| matches!(op, Op::Hue { .. }));
        if hue || self.tolerance == "resize" { 1e-4 } else { 1e-5 }
    }

    /// Returns a key that cases share if they can share a plan: it names their kinds of ops, with the numbers that
    /// shape the shaders.
    fn plan_key(&self, ops: &[Op]) -> String {
        let kinds = ops.iter().map(|op| match op {
            Op::Pad { mode, fill, .. } => format!("Pad {mode:?} {fill:?}"),
            Op::Resize { interpolation, antialias, .. } => format!("Resize {interpolation:?} {antialias}"),
            Op::Grayscale { channels } => format!("Grayscale {channels}"),
            other => kind(other),
        });
        format!("{}: {}", self.input.channels, kinds.collect::<Vec<_>>().join(", "))
    }
}

fn kind(op: &Op) -> String {
    let text = format!("{op:?}");
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Runs cases on a backend. Cases with the same kinds of ops share a processor; each case's parameters come from a plan
/// of its own.
struct Runner<'a> {
    place: &'a Place,
    prepared: HashMap<String, Prepared>,
}

impl<'a> Runner<'a> {
    fn new(place: &'a Place) -> Self {
        Runner { place, prepared: HashMap::new() }
    }

    fn run(&mut self, case: &Case, ops: &[Op], source: &Source) -> Vec<f32> {
        let plan = Plan::fixed(case.input.channels, ops, &Output::default()).expect("the ops compile");
        let params =
            plan.make_params(case.input.width, case.input.height, &Key::default()).expect("the ops fit the image");
        let prepared = self.prepared.entry(case.plan_key(ops)).or_insert_with(|| self.place.prepare(&plan));
        prepared.floats(source, &params)
    }
}

/// Calls `each` with every case and its image; the large images are made once.
fn with_sources(mut each: impl FnMut(&Case, &Source)) {
    let mut large: Vec<(Input, Arc<Source>)> = Vec::new();
    for case in CASES.iter() {
        let known = large.iter().find(|(input, _)| *input == case.input).map(|(_, source)| Arc::clone(source));
        let source = known.unwrap_or_else(|| Arc::new(case.input.source()));
        if case.input.width * case.input.height > 1_000_000 {
            large.push((case.input.clone(), Arc::clone(&source)));
        }
        each(case, &source);
    }
}

/// Returns which values rounding decides: only some after a resize or arithmetic, and fewer than 1 %.
fn doubtful(case: &Case, source: &Source) -> Vec<bool> {
    if !case.ops.iter().any(|op| matches!(op, Op::Solarize { .. } | Op::Posterize { .. })) {
        return vec![false; case.output.shape.iter().product()];
    }
    let doubtful = reference::run(&source.floats(), &case.ops).doubtful;
    let share = doubtful.iter().filter(|doubtful| **doubtful).count() as f64 / doubtful.len() as f64;
    assert!(share < 0.01, "{}: {share}", case.name);
    assert!(share == 0.0 || case.name.starts_with("point/"), "{}: {share} of exact bytes", case.name);
    doubtful
}

fn matches_torchvision(place: &Place) {
    let (mut tally, mut runner) = (Tally::default(), Runner::new(place));
    with_sources(|case, source| {
        let doubtful = doubtful(case, source);
        let values = runner.run(case, &case.ops, source);
        tally.add(case.group(), &case.name, within_except(&doubtful, &case.expected(), &values, case.bar()));
    });
    tally.finish(&format!("torchvision against {}", place.name));
}

#[test]
fn the_procedural_image_is_the_one_of_the_readme() {
    use gpufeed_testing::procedural::value;
    let seen = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (3999, 2999, 2), (1234, 567, 1)].map(|(x, y, c)| value(24, x, y, c));
    assert_eq!(seen, [78, 58, 24, 255, 16]);
    assert_eq!([value(60, 63, 47, 2), value(60, 10, 20, 1)], [19, 249]);
}

#[test]
fn the_reference_matches_torchvision() {
    let mut tally = Tally::default();
    with_sources(|case, source| {
        let reference::Outcome { image, doubtful, .. } = reference::run(&source.floats(), &case.ops);
        assert_eq!(image.shape(), case.output.shape.into(), "{}", case.name);
        let values: Vec<f32> = image.planes.iter().map(|&value| value as f32).collect();
        tally.add(case.group(), &case.name, within_except(&doubtful, &case.expected(), &values, case.bar()));
    });
    tally.finish("torchvision against the reference");
}

#[test]
fn the_cpu_matches_torchvision() {
    matches_torchvision(&places()[0]);
}

#[test]
fn every_gpu_matches_torchvision() {
    places()[1..].iter().for_each(matches_torchvision);
}

#[test]
fn the_comparison_rejects_one_wrong_pixel() {
    for (i, case) in CASES.iter().enumerate() {
        let expected = case.expected();
        let mut values: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
        assert!(within(&expected, &values, case.bar()).is_ok(), "{}", case.name);
        let wrong = i * 7919 % values.len();
        values[wrong] += 2.0 * case.bar() as f32;
        assert!(within(&expected, &values, case.bar()).is_err(), "{}", case.name);
        values[wrong] = f32::NAN;
        assert!(within(&expected, &values, case.bar()).is_err(), "{}", case.name);
    }
}

/// Returns `op` with one number or its kind changed, or `None` for ops without numbers.
fn perturbed(op: &Op) -> Option<Op> {
    Some(match op.clone() {
        Op::Crop { top, left, height, width } if left > 0 => Op::Crop { top, left: left - 1, height, width },
        Op::Pad { left, top, right, bottom, mode, fill } if right > 0 => {
            Op::Pad { left: left + 1, top, right: right - 1, bottom, mode, fill }
        }
        Op::Resize { height, width, interpolation, antialias } => {
            let interpolation = match interpolation {
                Interpolation::Nearest => Interpolation::NearestExact,
                Interpolation::NearestExact => Interpolation::Nearest,
                Interpolation::Bilinear => Interpolation::Bicubic,
                Interpolation::Bicubic => Interpolation::Bilinear,
            };
            Op::Resize { height, width, interpolation, antialias }
        }
        Op::HorizontalFlip => Op::VerticalFlip,
        Op::VerticalFlip => Op::HorizontalFlip,
        Op::Hue { factor } => Op::Hue { factor: if factor > 0.0 { factor - 1e-3 } else { factor + 1e-3 } },
        Op::Grayscale { channels } => Op::Grayscale { channels: 4 - channels },
        Op::Invert => Op::Solarize { threshold: 0.3 },
        Op::Solarize { threshold } => {
            Op::Solarize { threshold: if threshold < 0.5 { threshold + 0.02 } else { threshold - 0.02 } }
        }
        Op::Posterize { bits } => Op::Posterize { bits: if bits == 0 { 1 } else { bits - 1 } },
        Op::AdjustGamma { gamma, gain } => Op::AdjustGamma { gamma: gamma * 1.01 + 1e-3, gain },
        Op::Erase { top, left, height, width, value } if width > 1 => {
            Op::Erase { top, left, height, width: width - 1, value }
        }
        Op::PermuteChannels { permutation: [a, b, c] } => Op::PermuteChannels { permutation: [b, a, c] },
        Op::Normalize { mean, std } => Op::Normalize { mean: [mean[0] + 1e-4, mean[1], mean[2]], std },
        Op::Crop { .. } | Op::Pad { .. } | Op::Erase { .. } => return None,
        other => {
            let mut op = serde_json::to_value(other).expect("ops are data");
            let numbers = op.as_object_mut()?.values_mut().find_map(Value::as_object_mut)?;
            let number = numbers.values_mut().find(|value| value.is_f64())?;
            *number = json!(number.as_f64()? * 1.01 + 1e-3);
            serde_json::from_value(op).expect("the same op")
        }
    })
}

/// The cases are colour images with waves, on which every number has an effect; elsewhere, an op that ignored a number
/// could pass unnoticed.
#[test]
fn the_comparison_rejects_perturbed_ops() {
    let sensitive = |case: &&Case| {
        let area = case.input.width * case.input.height;
        let several = case.output.shape.iter().product::<usize>() > 3;
        let wavy = matches!(case.input.kind, Kind::Procedural { .. }) && case.input.channels == 3;
        wavy && several
            && (30..100_000).contains(&area)
            && case.ops.len() == 1
            && !case.name.starts_with("resize/identity")
    };
    for place in places() {
        let mut runner = Runner::new(place);
        let mut kinds = BTreeSet::new();
        for case in CASES.iter().filter(sensitive) {
            // Brightness 20 makes the whole image white, and so does 20.2, so such a case is skipped.
            let expected = case.expected();
            if expected.iter().all(|value| *value == expected[0]) {
                continue;
            }
            let Some(op) = perturbed(&case.ops[0]) else { continue };
            kinds.insert(kind(&case.ops[0]));
            let values = runner.run(case, std::slice::from_ref(&op), &case.input.source());
            let result = within(&expected, &values, case.bar());
            assert!(result.is_err(), "{}: {} passes with {op:?}", place.name, case.name);
        }
        let all: BTreeSet<String> = CASES.iter().flat_map(|case| &case.ops).map(kind).collect();
        assert!(kinds == all && all.len() >= 17, "every kind of op: {kinds:?}, {all:?}");
    }
}
