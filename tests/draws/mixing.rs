//! λ and the rectangles of `MixUp` and `CutMix` have torchvision's distributions: 100,000 draws of each are compared with
//! quantiles of 20,000 that torchvision made (`tests/golden/batches.json`), by Kolmogorov-Smirnov tests.

#![expect(clippy::print_stdout, reason = "tests print what they measured")]

use crate::statistics::{of_distance, uniform};
use gpufeed::transforms::{BatchTransform, CutMix, Identity, Key, Mix, MixUp};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DRAWS: u64 = 100_000;
/// The significance level of the twelve comparisons. Keys are fixed, so the test passes always or never.
const SIGNIFICANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Table {
    /// The shares at which the cases have their quantiles.
    quantiles: Vec<f64>,
    draws: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    cls: String,
    args: Arguments,
    width: u32,
    height: u32,
    values: BTreeMap<String, Quantiles>,
}

#[derive(Deserialize)]
struct Arguments {
    alpha: f64,
}

#[derive(Deserialize)]
struct Quantiles {
    n: u64,
    quantiles: Vec<f64>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/batches.json")).expect("batches.json is valid"));

fn transform(cls: &str, alpha: f64) -> BatchTransform {
    if cls == "MixUp" { MixUp::new(alpha).into() } else { CutMix::new(alpha).into() }
}

fn key(sample: u64) -> Key {
    Key { seed: 20, sample, ..Key::default() }
}

/// Returns the mixes of the batches whose first samples are `0..DRAWS`.
fn draw(case: &Case, alpha: f64) -> Vec<Mix> {
    let transform = transform(&case.cls, alpha);
    let mixes = (0..DRAWS).map(|sample| transform.make_params(case.width, case.height, 1, &key(sample)));
    mixes.map(|params| params.expect("it always mixes").mix(0)).collect()
}

/// Returns the value that torchvision's parameters have under `name`.
fn value(mix: &Mix, name: &str) -> f64 {
    match (*mix, name) {
        (_, "lam" | "lam_adjusted") => mix.lambda(),
        (Mix::CutMix { left, .. }, "x1") => left.into(),
        (Mix::CutMix { top, .. }, "y1") => top.into(),
        (Mix::CutMix { left, width, .. }, "x2") => (left + width).into(),
        (Mix::CutMix { top, height, .. }, "y2") => (top + height).into(),
        _ => panic!("{name} of {mix:?}"),
    }
}

/// Returns the probability that chance makes the largest distance of the cumulative shares at the quantiles. At a value
/// that comes often, a cumulative share makes a step: only what leaves the step counts.
fn probability(mut values: Vec<f64>, theirs: &Quantiles) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let inner = TABLE.quantiles.iter().zip(&theirs.quantiles).filter(|(share, _)| (0.0..1.0).contains(*share));
    let distances = inner.filter(|(share, _)| **share > 0.0).map(|(share, quantile)| {
        // Interpolated quantiles have a last digit of their own.
        let margin = 1e-9 * quantile;
        let below = values.partition_point(|value| *value < quantile - margin) as f64 / n;
        let up_to = values.partition_point(|value| *value <= quantile + margin) as f64 / n;
        (below - share).max(share - up_to).max(0.0)
    });
    of_distance(distances.fold(0.0, f64::max), n, theirs.n as f64)
}

/// Returns the probability for each value of a case.
fn compare<'a>(case: &'a Case, mixes: &[Mix]) -> Vec<(&'a str, f64)> {
    let of = |(name, theirs): (&'a String, &Quantiles)| {
        (&name[..], probability(mixes.iter().map(|mix| value(mix, name)).collect(), theirs))
    };
    case.values.iter().map(of).collect()
}

#[test]
fn lambda_and_rectangles_have_torchvisions_distributions() {
    let mut compared = 0;
    for case in &TABLE.draws {
        for (name, probability) in compare(case, &draw(case, case.args.alpha)) {
            println!("{}({}), {name}: {probability:.1e}", case.cls, case.args.alpha);
            assert!(probability > SIGNIFICANCE, "{}({}), {name}: {probability:e}", case.cls, case.args.alpha);
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}

#[test]
fn rejects_other_mixes_than_torchvisions() {
    let rejects = |case: &Case, mixes: &[Mix]| compare(case, mixes).iter().any(|(_, found)| *found < SIGNIFICANCE);
    for case in &TABLE.draws {
        // Other parameters of the distribution.
        for factor in [0.8, 1.25] {
            assert!(
                rejects(case, &draw(case, factor * case.args.alpha)),
                "{}({}) times {factor}",
                case.cls,
                case.args.alpha
            );
        }
        let changed = |change: fn(Mix) -> Mix| draw(case, case.args.alpha).into_iter().map(change).collect::<Vec<_>>();
        if case.cls == "MixUp" {
            // The image always has the larger share.
            let larger = |mix: Mix| Mix::MixUp { lambda: mix.lambda().max(1.0 - mix.lambda()) };
            assert!(rejects(case, &changed(larger)), "larger share");
            continue;
        }
        let narrower = |mix: Mix| match mix {
            Mix::CutMix { top, left, height, width, lambda } => {
                Mix::CutMix { top, left, height, width: width - width / 20, lambda }
            }
            other => other,
        };
        assert!(rejects(case, &changed(narrower)), "narrower");
        let upright = |mix: Mix| match mix {
            Mix::CutMix { top, left, height, width, lambda } => {
                Mix::CutMix { top: left, left: top, height: width, width: height, lambda }
            }
            other => other,
        };
        assert!(rejects(case, &changed(upright)), "rows for columns");
    }
}

#[test]
fn choices_come_as_often_as_their_weights_say() {
    let three = || [MixUp::new(1.0).into(), CutMix::new(1.0).into(), Identity {}.into()];
    let count = |choice: &BatchTransform| {
        let mut counts = [0; 3];
        for sample in 0..20_000 {
            let made = choice.make_params(32, 32, 1, &key(sample));
            counts[made.map_or(2, |params| usize::from(matches!(params.mix(0), Mix::CutMix { .. })))] += 1;
        }
        counts
    };
    assert!(uniform(&count(&BatchTransform::choice(three()).into())) > SIGNIFICANCE);
    let [mix_up, cut_mix, neither] = count(&BatchTransform::choice(three()).p([6.0, 0.0, 2.0]).into());
    assert_eq!(cut_mix, 0);
    // Three times as many, within five standard deviations.
    assert!((mix_up as f64 - 15_000.0).abs() < 5.0 * 61.3, "{mix_up} and {neither}");
}
