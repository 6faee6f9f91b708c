//! Colour operations of policies on 8-bit numbers, with the magnitudes that policies have: every level and pairs of
//! operations, to the bit of torchvision's (`tests/golden/policy_levels.txt`).

use gpufeed::transforms::{Interpolation, Op, PolicyOp};
use gpufeed::{Backend, DType, Layout, Output, Plan, Semantics};
use gpufeed_testing::adapters::places;
use gpufeed_testing::images::Source;
use gpufeed_testing::pipeline::is_full;
use serde_json::Value;
use sha2::{Digest, Sha256};

struct Case {
    line: &'static str,
    channels: u32,
    ops: Vec<Op>,
    hash: &'static str,
}

fn policy(id: PolicyOp, magnitude: f32) -> Op {
    Op::Policy { id, magnitude, interpolation: Interpolation::Nearest, fill: None }
}

fn cases() -> Vec<Case> {
    let lines = include_str!("../golden/policy_levels.txt").lines().filter(|line| !line.starts_with('#'));
    let case = |line: &'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (channels, hash) = (words[0].parse().expect("1 or 3"), words[words.len() - 1]);
        let op = |word: &&str| {
            let (name, magnitude) = word.split_once(':').expect("a name and a magnitude");
            let id = serde_json::from_value(Value::String(name.to_owned())).expect("an operation");
            policy(id, magnitude.parse().expect("a number"))
        };
        Case { line, channels, ops: words[1..words.len() - 1].iter().map(op).collect(), hash }
    };
    lines.map(case).collect()
}

/// All levels, as `policy_levels.py` has them.
fn source(channels: u32) -> Source {
    let level = |i: u32, c: u32| ((i * (89 + 12 * c) + 7 * c) % 256) as u8;
    let bytes = (0..256).flat_map(|i| (0..channels).map(move |c| level(i, c))).collect();
    Source { width: 16, height: 16, channels, bytes }
}

#[test]
fn every_level_of_policies_colours_is_torchvisions() {
    let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
    let cases = cases();
    assert!(cases.len() > 1000, "{}", cases.len());
    for place in places() {
        // A software adapter runs a part.
        let stride = if matches!(&place.backend, Backend::Gpu(gpu) if gpu.is_software()) && !is_full() { 9 } else { 1 };
        let mut wrong = Vec::new();
        for case in cases.iter().step_by(stride) {
            let source = source(case.channels);
            let plan = Plan::fixed_as(Semantics::Uint8, case.channels, &case.ops, &output).unwrap();
            let params = plan.make_params(16, 16, &Default::default()).unwrap();
            let bytes = place.prepare(&plan).bytes(&source, &params);
            let hash: String = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            if hash != case.hash {
                wrong.push(case.line);
            }
        }
        assert!(
            wrong.is_empty(),
            "{}: {} of {}: {:?}",
            place.name,
            wrong.len(),
            cases.len(),
            &wrong[..wrong.len().min(20)]
        );
    }
}

/// The magnitude is an f32, as torch.linspace makes it. The number that its text is gives another factor, and levels 100
/// and 200 another result.
#[test]
fn a_magnitude_is_its_f32_and_not_its_text() {
    let factor = |magnitude: f64| (1.0 + magnitude) as f32;
    let (number, text) = (factor(f64::from(-0.99_f32)), factor(-0.99));
    let changed: Vec<u32> = (0..256).filter(|&k| (k as f32 * number) as u32 != (k as f32 * text) as u32).collect();
    assert_eq!(changed, [100, 200]);
    let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
    let op = policy(PolicyOp::Brightness, -0.99);
    let plan = Plan::fixed_as(Semantics::Uint8, 1, &[op], &output).unwrap();
    let params = plan.make_params(16, 16, &Default::default()).unwrap();
    let source = source(1);
    let bytes = places()[0].prepare(&plan).bytes(&source, &params);
    for (level, byte) in source.bytes.iter().zip(bytes) {
        assert_eq!(byte, (f32::from(*level) * number) as u8, "{level}");
    }
}
