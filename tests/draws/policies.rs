//! The operations that policies draw, with their magnitudes, signs, bins and probabilities, are torchvision's
//! (`tests/golden/draw_quantiles.json`, `magnitudes.txt`); so are the draws of RandomChoice and RandomOrder.

use crate::quantiles::{Case, DRAWS, Drawn, SIGNIFICANCE, case_with, least, ops, params};
use crate::statistics::{same_distribution, uniform};
use gpufeed::transforms::{
    AugMix, AutoAugment, AutoAugmentPolicy, Key, Op, RandAugment, RandomChoice, RandomHorizontalFlip, RandomInvert,
    RandomOrder, RandomPosterize, RandomVerticalFlip, Transform, TrivialAugmentWide,
};
use gpufeed::{Output, Plan};
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

/// A line of `tests/golden/magnitudes.txt`: the magnitudes of operations at each bin.
struct Row {
    policy: &'static str,
    bins: u32,
    size: (u32, u32),
    ids: Vec<&'static str>,
    signed: bool,
    /// From bin 0 on; empty for operations without a magnitude, whose ops have 0.
    values: Vec<f32>,
}

fn row(line: &'static str) -> Row {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("a line has six words and numbers");
    let (policy, [bins, width, height]) =
        (next(), [next(), next(), next()].map(|word| word.parse().expect("a number")));
    let (ids, signed) = (next().split(',').collect(), next() == "+-");
    let values: Vec<f32> = words.map(|word| word.parse().expect("a magnitude")).collect();
    assert!(values.is_empty() || values.len() == bins as usize, "{line}");
    Row { policy, bins, size: (width, height), ids, signed, values }
}

/// Policy, bins and size.
type Table = (&'static str, u32, (u32, u32));

/// The tables of all policies, and in them the rows by operation.
fn magnitude_tables() -> BTreeMap<Table, BTreeMap<&'static str, Row>> {
    let mut tables = BTreeMap::<_, BTreeMap<_, _>>::new();
    for line in include_str!("../golden/magnitudes.txt").lines().filter(|line| !line.starts_with('#')) {
        for (number, id) in row(line).ids.into_iter().enumerate() {
            let row = row(line);
            assert_eq!(row.ids[number], id);
            tables.entry((row.policy, row.bins, row.size)).or_default().insert(id, row);
        }
    }
    tables
}

/// The magnitudes that many images of a size draw, by operation.
fn drawn(transform: Transform, (width, height): (u32, u32), images: u64) -> BTreeMap<String, Vec<f32>> {
    let plan = Plan::compile(&[transform], &Output::default()).unwrap();
    let mut drawn = BTreeMap::<String, Vec<f32>>::new();
    let mut add = |op: &Op| {
        let Op::Policy { id, magnitude, .. } = *op else { panic!("{op:?}") };
        drawn.entry(format!("{id:?}")).or_default().push(magnitude);
    };
    for sample in 0..images {
        let params = plan.make_params(width, height, &Key { sample, ..Key::default() }).unwrap();
        for op in ops(&params) {
            match op {
                Op::Mixture { chains, .. } => chains.iter().flatten().for_each(&mut add),
                op => add(&op),
            }
        }
    }
    drawn
}

/// Checks that all magnitudes of an operation are `expected` to the bit, that it has all of them if `all`, and its signs.
fn check(id: &str, row: &Row, expected: &[f32], drawn: &[f32], all: bool) {
    let title = format!("{} {} of {:?}, {id}", row.policy, row.bins, row.size);
    for magnitude in drawn {
        let known = expected.iter().any(|expected| expected.to_bits() == magnitude.abs().to_bits());
        assert!(known, "{title}: {magnitude:?} is none of {expected:?}");
    }
    for expected in expected.iter().filter(|_| all) {
        for sign in if row.signed { vec![1.0, -1.0] } else { vec![1.0] } {
            assert!(drawn.contains(&(sign * expected)), "{title}: never {sign} {expected}");
        }
    }
    assert!(row.signed || drawn.iter().all(|magnitude| *magnitude >= 0.0), "{title} has a sign");
}

/// Every bin of every operation of every policy, at six sizes and for other numbers of bins, to the bit.
#[test]
fn magnitudes_are_torchvisions() {
    let mut compared = BTreeMap::new();
    for ((policy, bins, size), rows) in magnitude_tables() {
        let with_effect: Vec<&str> = rows.keys().copied().filter(|id| *id != "Identity").collect();
        let mut compare = |drawn: BTreeMap<String, Vec<f32>>, bin: Option<u32>, all: bool| {
            assert!(!all || drawn.keys().eq(&with_effect), "{policy} {bins} {size:?}: {:?}", drawn.keys());
            for (id, drawn) in &drawn {
                let row = &rows[id.as_str()];
                let values = match bin {
                    _ if row.values.is_empty() => &[0.0],
                    Some(bin) => &row.values[bin as usize..][..1],
                    None => &row.values[..],
                };
                check(id, row, values, drawn, all);
                *compared.entry(policy).or_insert(0) += values.len();
            }
        };
        match policy {
            "RandAugment" => {
                for bin in 0..bins {
                    let augment = RandAugment { num_magnitude_bins: bins, ..RandAugment::new(16, bin) };
                    compare(drawn(augment.into(), size, 25), Some(bin), true);
                }
            }
            "TrivialAugmentWide" => {
                let trivial = TrivialAugmentWide::new().num_magnitude_bins(bins);
                compare(drawn(trivial.into(), size, 500 * u64::from(bins)), None, true);
            }
            "AutoAugment" => {
                use AutoAugmentPolicy::{Cifar10, ImageNet, Svhn};
                // A policy has some bins of some operations alone.
                for policy in [ImageNet, Cifar10, Svhn] {
                    compare(drawn(AutoAugment::new(policy).into(), size, 2000), None, false);
                }
            }
            "AugMix" => {
                let mix = AugMix::new().severity(bins).mixture_width(8).chain_depth(16);
                compare(drawn(mix.into(), size, 60), None, true);
            }
            other => panic!("no policy {other}"),
        }
    }
    let expected = [("AugMix", 6 * 112), ("AutoAugment", 1494), ("RandAugment", 7150), ("TrivialAugmentWide", 6088)];
    assert_eq!(compared, BTreeMap::from(expected));
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
