//! AugMix draws as torchvision does: its operations, their number, magnitudes and signs, and the weights.
//!
//! torchvision's own 4,000 draws are in the shared `draws.json`; the distributions that they have are known, so these
//! tests need no file.

use crate::statistics::{SIGNIFICANCE, chi2_probability, of_distance, uniform};
use gpufeed::transforms::{AugMix, Key, Op, PolicyOp};
use gpufeed::{Output, Plan};
use std::collections::BTreeMap;

const DRAWS: u64 = 20_000;

/// An operation with its magnitude.
type Operation = (PolicyOp, f32);

struct Mixture {
    m: [f32; 2],
    weights: Vec<f32>,
    chains: Vec<Vec<Operation>>,
}

fn draws(mix: AugMix) -> Vec<Mixture> {
    let plan = Plan::compile(&[mix.into()], &Output::default()).unwrap();
    let draw = |sample| {
        let params = plan.make_params(48, 96, &Key { seed: 17, sample, ..Key::default() }).unwrap();
        let [op] = &params.ops[..] else { panic!("{params:?}") };
        let Op::Mixture { m, weights, chains } = &op.op else { panic!("{op:?}") };
        let operation = |op: &Op| match *op {
            Op::Policy { id, magnitude, .. } => (id, magnitude),
            ref other => panic!("{other:?}"),
        };
        let chains = chains.iter().map(|chain| chain.iter().map(operation).collect()).collect();
        Mixture { m: *m, weights: weights.clone(), chains }
    };
    (0..DRAWS).map(draw).collect()
}

/// The p-value of the Kolmogorov-Smirnov test that numbers have this cumulative distribution.
fn distributed(mut numbers: Vec<f64>, cumulative: impl Fn(f64) -> f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len() as f64;
    let distance = numbers.iter().enumerate().map(|(i, x)| {
        let expected = cumulative(*x);
        (expected - i as f64 / count).abs().max((expected - (i + 1) as f64 / count).abs())
    });
    // Against a sample of infinite size.
    of_distance(distance.fold(0.0, f64::max), count, 1e18)
}

#[test]
fn weights_are_of_dirichlet_distributions() {
    let drawn = draws(AugMix::new());
    let of = |number: &dyn Fn(&Mixture) -> f32| drawn.iter().map(|mix| f64::from(number(mix))).collect::<Vec<_>>();
    // Of two: uniform. Each of three: of Beta(1, 2).
    let own = of(&|mix| mix.m[0]);
    assert!(distributed(own.clone(), |x| x) > SIGNIFICANCE);
    assert!(distributed(own, |x| x.powf(1.05)) < SIGNIFICANCE, "the test tells them apart");
    for i in 0..3 {
        assert!(distributed(of(&|mix| mix.weights[i]), |x| 1.0 - (1.0 - x).powi(2)) > SIGNIFICANCE, "weight {i}");
    }
    for mix in &drawn {
        assert!((mix.m[0] + mix.m[1] - 1.0).abs() < 1e-6 && (mix.weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
    // A large parameter brings all weights near to each other.
    let even = draws(AugMix::new().alpha(1e5).mixture_width(4));
    assert!(even.iter().all(|mix| mix.weights.iter().all(|weight| (weight - 0.25).abs() < 0.02)));
}

#[test]
fn operations_and_depths_are_uniform() {
    for (all_ops, kinds) in [(true, 13), (false, 9)] {
        let drawn = draws(AugMix::new().all_ops(all_ops));
        let mut ids: BTreeMap<String, u64> = BTreeMap::new();
        let mut depths = [0; 3];
        for chain in drawn.iter().flat_map(|mix| &mix.chains) {
            depths[chain.len() - 1] += 1;
            chain.iter().for_each(|(id, _)| *ids.entry(format!("{id:?}")).or_default() += 1);
        }
        let counts: Vec<u64> = ids.values().copied().collect();
        assert_eq!(counts.len(), kinds, "{ids:?}");
        assert!(uniform(&counts) > SIGNIFICANCE, "{ids:?}");
        assert!(uniform(&depths) > SIGNIFICANCE, "{depths:?}");
        assert!(!ids.contains_key("Identity") && !ids.contains_key("Invert"));
    }
    let deep = draws(AugMix::new().chain_depth(5).mixture_width(2));
    assert!(deep.iter().all(|mix| mix.chains.len() == 2 && mix.chains.iter().all(|chain| chain.len() == 5)));
}

/// The magnitudes of severity 3 are the first three of ten; those with a sign are negative in one of two draws.
#[test]
fn magnitudes_are_the_least_of_ten() {
    let drawn = draws(AugMix::new());
    let mut counts: BTreeMap<(String, i64), u64> = BTreeMap::new();
    for (id, magnitude) in drawn.iter().flat_map(|mix| &mix.chains).flatten() {
        *counts.entry((format!("{id:?}"), (f64::from(*magnitude) * 1e5).round() as i64)).or_default() += 1;
    }
    let of = |id: &str| -> (Vec<f64>, Vec<u64>) {
        let found = counts.iter().filter(|((name, _), _)| name == id);
        found.map(|((_, magnitude), count)| (*magnitude as f64 / 1e5, *count)).unzip()
    };
    // A height of 96 and a width of 48: a ninth of a third, and two.
    for (id, step) in [
        ("ShearX", 0.3 / 9.0),
        ("Rotate", 30.0 / 9.0),
        ("TranslateY", 32.0 / 9.0),
        ("TranslateX", 16.0 / 9.0),
        ("Color", 0.1),
    ] {
        let (magnitudes, counts) = of(id);
        let expected = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|steps| steps * step);
        assert_eq!(magnitudes.len(), 5, "{id}: {magnitudes:?}");
        assert!(magnitudes.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{id}: {magnitudes:?}");
        let sixth = counts.iter().sum::<u64>() as f64 / 6.0;
        let shares = [1.0, 1.0, 2.0, 1.0, 1.0];
        let chi2 =
            counts.iter().zip(shares).map(|(count, share)| (*count as f64 - share * sixth).powi(2) / (share * sixth));
        assert!(chi2_probability(chi2.sum(), 4) > SIGNIFICANCE, "{id}: {counts:?}");
    }
    assert_eq!(of("Solarize").0.len(), 3);
    // rne(4 - k / 2.25) is 4, 4, 3.
    assert_eq!(of("Posterize").0, [3.0, 4.0]);
    let [three, four] = <[u64; 2]>::try_from(of("Posterize").1).unwrap();
    assert!((three as f64 / (three + four) as f64 - 1.0 / 3.0).abs() < 0.03, "{three} {four}");
    assert_eq!(of("Equalize").0, [0.0]);
}
