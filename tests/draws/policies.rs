//! The operations that policies draw, with their magnitudes, signs, bins and probabilities, are torchvision's
//! (`tests/golden/draw_quantiles.json`, `transforms_tables.json`); so are the draws of RandomChoice and RandomOrder.

use crate::quantiles::{Case, DRAWS, Drawn, SIGNIFICANCE, case_with, least, ops, params};
use crate::statistics::{same_distribution, uniform};
use gpufeed::transforms::{
    AutoAugment, AutoAugmentPolicy, Key, Op, RandAugment, RandomChoice, RandomHorizontalFlip, RandomInvert,
    RandomOrder, RandomPosterize, RandomVerticalFlip, Transform, TrivialAugmentWide,
};
use gpufeed::{Output, Plan};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Returns the least p-value of the comparison with torchvision's operations and magnitudes. A policy that applies
/// `count` operations to every image emits none for `Identity`.
fn probability(transform: Transform, case: &Case, count: usize) -> (f64, String) {
    let (mut applied, mut magnitudes) = (BTreeMap::<String, u64>::new(), Drawn::new());
    for params in params(transform, case) {
        let mut names = vec!["Identity".to_owned(); count];
        for params in &params.ops {
            let Op::Policy { id, magnitude, .. } = params.op else { panic!("{params:?}") };
            let name = format!("{id:?}");
            magnitudes.entry(name.clone()).or_default().push(magnitude.into());
            match names.get_mut(usize::from(params.slot)) {
                Some(identity) => *identity = name,
                None => names.push(name),
            }
        }
        let identities = names.iter().filter(|name| *name == "Identity").count();
        if identities > 0 {
            magnitudes.entry("Identity".to_owned()).or_default().extend(vec![0.0; identities]);
        }
        *applied.entry(names.join("+")).or_default() += 1;
    }
    let mut histograms = (Vec::new(), Vec::new());
    for (names, theirs) in &case.ops {
        histograms.0.push(applied.remove(names).unwrap_or(0));
        histograms.1.push(*theirs);
    }
    // What torchvision never applied.
    histograms.0.push(applied.values().sum());
    histograms.1.push(0);
    let of_ops = (same_distribution(&histograms.0, &histograms.1), "operations".to_owned());
    let of_magnitudes = least(&case.magnitudes, magnitudes);
    if of_ops.0 < of_magnitudes.0 { of_ops } else { of_magnitudes }
}

fn compare(right: impl Into<Transform>, wrong: Vec<Transform>, case: &Case, count: usize) {
    let (found, name) = probability(right.into(), case, count);
    assert!(found > SIGNIFICANCE, "{found:.1e} ({name})");
    for wrong in wrong {
        let (found, _) = probability(wrong.clone(), case, count);
        assert!(found < SIGNIFICANCE, "{wrong:?} passes with {found:.1e}");
    }
}

#[test]
fn rand_augment_draws_as_torchvision() {
    let case = case_with("RandAugment", &json!({"num_ops": 2, "magnitude": 9}));
    let wrong =
        vec![RandAugment::new(2, 10).into(), RandAugment { num_magnitude_bins: 32, ..RandAugment::new(2, 9) }.into()];
    compare(RandAugment::new(2, 9), wrong, case, 2);
}

#[test]
fn trivial_augment_wide_draws_as_torchvision() {
    let case = case_with("TrivialAugmentWide", &json!({}));
    let wrong = vec![TrivialAugmentWide::new().num_magnitude_bins(30).into(), RandAugment::new(1, 9).into()];
    compare(TrivialAugmentWide::new(), wrong, case, 1);
}

#[test]
fn auto_augment_draws_as_torchvision() {
    use AutoAugmentPolicy::{Cifar10, ImageNet, Svhn};
    let policies = [(ImageNet, "imagenet"), (Cifar10, "cifar10"), (Svhn, "svhn")];
    for (policy, name) in policies {
        let case = case_with("AutoAugment", &json!({"policy": name}));
        let wrong = policies.iter().filter(|(other, _)| *other != policy);
        compare(AutoAugment::new(policy), wrong.map(|(other, _)| AutoAugment::new(*other).into()).collect(), case, 0);
    }
}

/// Signs and probabilities that differ a little are noticed.
#[test]
fn rejects_other_signs_and_probabilities() {
    let case = case_with("AutoAugment", &json!({"policy": "svhn"}));
    let mut magnitudes = Drawn::new();
    let drawn = params(AutoAugment::new(AutoAugmentPolicy::Svhn).into(), case);
    for (sample, op) in drawn.iter().enumerate().flat_map(|(i, params)| ops(params).into_iter().map(move |op| (i, op)))
    {
        let Op::Policy { id, magnitude, .. } = op else { panic!("{op:?}") };
        // Four negative signs of ten in place of five.
        let magnitude = if sample % 5 == 0 { magnitude.abs() } else { magnitude };
        magnitudes.entry(format!("{id:?}")).or_default().push(magnitude.into());
    }
    assert!(least(&case.magnitudes, magnitudes).0 < SIGNIFICANCE);
    // A rotation follows half as many contrasts.
    let mut counts = case.ops.clone();
    let moved = counts["Contrast+Rotate"] / 2;
    *counts.get_mut("Contrast+Rotate").unwrap() -= moved;
    *counts.get_mut("Contrast").unwrap() += moved;
    let (ours, theirs): (Vec<u64>, Vec<u64>) = (counts.into_values().collect(), case.ops.values().copied().collect());
    assert!(same_distribution(&ours, &theirs) < SIGNIFICANCE);
}

#[derive(Deserialize)]
struct Tables {
    magnitudes: Vec<MagnitudeTable>,
}

#[derive(Deserialize)]
struct MagnitudeTable {
    cls: String,
    bins: u32,
    height: u32,
    width: u32,
    ops: BTreeMap<String, Range>,
}

#[derive(Deserialize)]
struct Range {
    signed: bool,
    values: Option<Vec<f64>>,
}

/// The magnitudes that many images of the table's size draw, by operation.
fn drawn(transform: Transform, table: &MagnitudeTable, images: u64) -> BTreeMap<String, Vec<f64>> {
    let plan = Plan::compile(&[transform], &Output::default()).unwrap();
    let mut drawn = BTreeMap::<String, Vec<f64>>::new();
    for sample in 0..images {
        let params = plan.make_params(table.width, table.height, &Key { sample, ..Key::default() }).unwrap();
        for op in ops(&params) {
            let Op::Policy { id, magnitude, .. } = op else { panic!("{op:?}") };
            drawn.entry(format!("{id:?}")).or_default().push(magnitude.into());
        }
    }
    drawn
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

/// Checks that all magnitudes of an operation are `expected`, that it has all of them if `all`, and its signs.
fn check(id: &str, range: &Range, expected: &[f64], drawn: &[f64], all: bool) {
    let known = |magnitude: &f64| expected.iter().any(|expected| close(magnitude.abs(), *expected));
    assert!(drawn.iter().all(known), "{id}: {drawn:?} for {expected:?}");
    for expected in expected.iter().filter(|_| all) {
        for sign in if range.signed { vec![1.0, -1.0] } else { vec![1.0] } {
            assert!(drawn.iter().any(|magnitude| close(*magnitude, sign * expected)), "{id}: never {sign} {expected}");
        }
    }
    assert!(range.signed || drawn.iter().all(|magnitude| *magnitude >= 0.0), "{id} has a sign");
}

/// Every bin of every operation at every size of the table, to 1e-6.
#[test]
fn magnitudes_are_torchvisions() {
    let text = include_str!("../golden/transforms_tables.json");
    let tables: Tables = serde_json::from_str(text).expect("transforms_tables.json is valid");
    let mut compared = 0;
    for table in &tables.magnitudes {
        let names = |drawn: &BTreeMap<String, Vec<f64>>| drawn.keys().cloned().collect::<Vec<_>>();
        let with_effect = table.ops.keys().filter(|id| *id != "Identity").cloned().collect::<Vec<_>>();
        let none = [0.0];
        let values = |range: &Range| range.values.clone().unwrap_or(none.to_vec());
        match table.cls.as_str() {
            "RandAugment" => {
                for bin in 0..table.bins {
                    let augment = RandAugment { num_magnitude_bins: table.bins, ..RandAugment::new(16, bin) };
                    let drawn = drawn(augment.into(), table, 20);
                    assert_eq!(names(&drawn), with_effect, "bin {bin}");
                    for (id, drawn) in &drawn {
                        let values = values(&table.ops[id]);
                        let expected = values.get(bin as usize).unwrap_or(&values[0]);
                        check(id, &table.ops[id], &[*expected], drawn, true);
                        compared += 1;
                    }
                }
            }
            "TrivialAugmentWide" => {
                let trivial = TrivialAugmentWide::new().num_magnitude_bins(table.bins);
                let drawn = drawn(trivial.into(), table, 12_000);
                assert_eq!(names(&drawn), with_effect);
                for (id, drawn) in &drawn {
                    check(id, &table.ops[id], &values(&table.ops[id]), drawn, true);
                    compared += 1;
                }
            }
            "AutoAugment" => {
                use AutoAugmentPolicy::{Cifar10, ImageNet, Svhn};
                for policy in [ImageNet, Cifar10, Svhn] {
                    for (id, drawn) in &drawn(AutoAugment::new(policy).into(), table, 2000) {
                        check(id, &table.ops[id], &values(&table.ops[id]), drawn, false);
                        compared += 1;
                    }
                }
            }
            _ => {}
        }
    }
    // 31 bins of 13 operations, 13 operations, and those of three policies, at each of three sizes.
    assert_eq!(compared, 3 * (31 * 13 + 13 + 33));
}

/// Counts what `which` says of 20,000 images.
fn count<const N: usize>(transform: impl Into<Transform>, which: impl Fn(&[Op]) -> usize) -> [u64; N] {
    let plan = Plan::compile(&[transform.into()], &Output::default()).unwrap();
    let mut counts = [0; N];
    for sample in 0..DRAWS {
        let params = plan.make_params(9, 8, &Key { seed: 5, sample, ..Key::default() }).unwrap();
        counts[which(&ops(&params))] += 1;
    }
    counts
}

fn three() -> [Transform; 3] {
    [RandomHorizontalFlip::new(1.0).into(), RandomVerticalFlip::new(1.0).into(), RandomInvert::new(1.0).into()]
}

fn number(op: &Op) -> usize {
    match op {
        Op::HorizontalFlip => 0,
        Op::VerticalFlip => 1,
        Op::Invert => 2,
        other => panic!("{other:?}"),
    }
}

#[test]
fn random_choice_follows_its_weights() {
    let chosen = |ops: &[Op]| if let [op] = ops { number(op) } else { panic!("{ops:?}") };
    assert!(uniform(&count::<3>(RandomChoice::new(three()), chosen)) > SIGNIFICANCE);
    // A large sample of exactly these shares.
    let expected = [5_000_000, 2_000_000, 3_000_000];
    let weighted = |p: [f64; 3]| same_distribution(&count::<3>(RandomChoice::new(three()).p(p), chosen), &expected);
    // torchvision normalises the weights as well.
    for p in [[0.5, 0.2, 0.3], [10.0, 4.0, 6.0]] {
        assert!(weighted(p) > SIGNIFICANCE, "{p:?}");
    }
    for p in [[0.52, 0.19, 0.29], [0.5, 0.3, 0.2], [1.0, 1.0, 1.0]] {
        assert!(weighted(p) < SIGNIFICANCE, "{p:?} passes");
    }
}

#[test]
fn random_order_draws_each_order_alike() {
    let order = |ops: &[Op]| {
        let [first, second, third] = [&ops[0], &ops[1], &ops[2]].map(number);
        assert_eq!(first + second + third, 3, "each once");
        2 * first + usize::from(second > third)
    };
    assert!(uniform(&count::<6>(RandomOrder::new(three()), order)) > SIGNIFICANCE);
    // One transform that is left out now and then leaves the order of the others alone.
    let posterize: Transform = RandomPosterize::new(3).p(0.5).into();
    let four = RandomOrder::new(three().into_iter().chain([posterize]));
    let of_three = |ops: &[Op]| {
        let without: Vec<Op> = ops.iter().filter(|op| !matches!(op, Op::Posterize { .. })).cloned().collect();
        order(&without)
    };
    assert!(uniform(&count::<6>(four, of_three)) > SIGNIFICANCE);
    // The twin: two orders counted as one.
    assert!(uniform(&count::<5>(RandomOrder::new(three()), |ops| order(ops).min(4))) < SIGNIFICANCE);
}
