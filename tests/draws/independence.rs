//! The parameters of one sample, epoch, view, occurrence, seed or operator tell nothing about those of another: no two
//! random streams are equal, no two numbers are correlated, and flips for neighbouring keys come in every combination
//! equally often.
//!
//! Each check has a counterpart in which streams are used twice, which the check must notice.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use crate::statistics::{self, SIGNIFICANCE, correlation, uniform};
use gpufeed::transforms::{
    ColorJitter, CustomColor, Erased, ErasingValue, Key, Numbers, Op, RandomApply, RandomChannelPermutation,
    RandomCrop, RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomInvert, RandomPosterize, RandomResizedCrop,
    RandomSolarize, RandomVerticalFlip, Transform,
};
use gpufeed::{Output, Plan};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::HashSet;

/// Number of keys in a comparison.
const KEYS: u64 = 20_000;
/// The largest accepted correlation, in standard deviations, of which one is 1 / √KEYS, since correlations are normal.
/// 6.4 of them are exceeded once in 6.4 · 10^9, so once in 270,000 by one of the 23,925 correlations here. The limit is
/// 0.045.
const MOST: f64 = 6.4;

fn most() -> f64 {
    MOST / (KEYS as f64).sqrt()
}

fn plan(transforms: &[Transform]) -> Plan {
    Plan::compile(transforms, &Output::default()).expect("the arguments are fine")
}

fn jitter() -> Transform {
    ColorJitter::new(0.4, 0.4, 0.4, 0.1).into()
}

/// Returns an erasing whose first try always fits, so that the rectangle's numbers do not depend on each other.
fn erasing(p: f64) -> RandomErasing {
    RandomErasing::new(p).scale(0.1, 0.4).ratio(0.75, 1.5)
}

/// Returns an erasing with noise, which is always applied.
fn noise() -> Transform {
    erasing(1.0).value(ErasingValue::Random).into()
}

fn custom(draw: impl Fn(&mut Numbers) -> Option<[f32; 4]> + Send + Sync + 'static) -> Transform {
    let wgsl = "fn fade(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> { return color * parameters.x; }";
    CustomColor::new("fade", wgsl, |color, parameters| color.map(|value| value * parameters[0])).draw(draw).into()
}

/// Returns a custom colour function whose closure draws a number of each kind.
fn four() -> Transform {
    custom(|numbers| {
        let (unit, uniform) = (numbers.unit() as f32, numbers.uniform(-2.0, 3.0) as f32);
        Some([unit, uniform, numbers.below(5) as f32, if numbers.chance(0.5) { 1.0 } else { 0.0 }])
    })
}

/// Returns a custom colour function that is applied half the time. The parameter 0 stands for its absence, so one
/// number tells whether it is applied and its parameter.
fn one() -> Transform {
    custom(|numbers| numbers.chance(0.5).then(|| [numbers.uniform(0.0, 2.0) as f32, 0.0, 0.0, 0.0]))
}

/// Returns operators of every kind, most of them next to one of their own kind; some are inside a `RandomApply`, some
/// one level deeper.
fn operators() -> Vec<Transform> {
    let permutation = || Transform::from(RandomChannelPermutation::new());
    let deeper: [Transform; 4] = [RandomVerticalFlip::new(0.5).into(), jitter(), four(), RandomInvert::new(0.5).into()];
    let inside = [RandomHorizontalFlip::new(0.5).into(), RandomHorizontalFlip::new(0.5).into(), jitter()];
    let inside = inside.into_iter().chain([permutation(), permutation(), RandomApply::new(1.0, deeper).into()]);
    vec![
        // Erasing comes first, while the image is large: a rectangle of few pixels would tell little about its random
        // numbers.
        noise(),
        noise(),
        erasing(0.5).into(),
        // Every try fits, so the crop's numbers do not depend on each other.
        RandomResizedCrop::new(8).scale(0.1, 0.5).ratio(0.75, 1.5).into(),
        RandomHorizontalFlip::new(0.5).into(),
        RandomHorizontalFlip::new(0.5).into(),
        jitter(),
        jitter(),
        RandomApply::new(1.0, inside).into(),
        RandomGrayscale::new(0.5).into(),
        RandomInvert::new(0.5).into(),
        RandomSolarize::new(0.5).into(),
        RandomPosterize::new(4).into(),
        permutation(),
        four(),
        one(),
        RandomCrop::new(4).into(),
        RandomCrop::new(1).into(),
    ]
}

/// Number of op slots of `operators`: a RandomResizedCrop has 2, a jitter 4, a RandomCrop 3 (two of them pads), all
/// others 1.
const SLOTS: usize = 3 + 2 + 2 + 8 + (2 + 4 + 2 + (1 + 4 + 1 + 1)) + 4 + 1 + 2 + 6;
/// Number of random numbers in the op slots that vary: six per erasing with noise, four per RandomResizedCrop, four and
/// an order per jitter, two per permutation, four or one per custom function, two per RandomCrop, one per other
/// operator.
const NUMBERS: usize = 13 + 4 + 2 + 10 + (2 + 5 + 4 + (1 + 5 + 4 + 1)) + 4 + 2 + 5 + 4;
/// Number of entries that a row has for each op slot.
const PLACES: usize = 6;

/// Returns the random numbers that the ops show, `PLACES` for each op slot; those of an op that is not applied are 0.
fn numbers(plan: &Plan, key: &Key) -> Vec<f64> {
    let params = plan.make_params(640, 480, key).expect("it fits");
    let mut row = vec![0.0; PLACES * SLOTS];
    let (mut size, mut colours) = ((640, 480), 0);
    let share = |at: u32, places: u32| f64::from(at) / f64::from(places);
    for params in params.ops {
        let places = &mut row[PLACES * usize::from(params.slot)..][..PLACES];
        match params.op {
            Op::Crop { top, left, height, width } => {
                (places[0], places[1]) = (share(top, size.1 - height), share(left, size.0 - width));
                if size == (640, 480) {
                    (places[2], places[3]) = (share(height * width, 1), share(width, height).ln());
                }
                size = (width, height);
            }
            Op::Erase { top, left, height, width, value: Erased::Noise { key } } => {
                (places[0], places[1]) = (share(top, size.1 - height), share(left, size.0 - width));
                (places[2], places[3]) = (share(height * width, 1), share(width, height).ln());
                (places[4], places[5]) = (key[0].into(), key[1].into());
            }
            // This erasing is applied half the time, so one of its numbers stands for all: it also tells whether the op
            // is applied.
            Op::Erase { top, height, value: Erased::Color(_), .. } => places[0] = share(top, size.1 - height),
            Op::Resize { height, width, .. } => size = (width, height),
            Op::Brightness { factor } | Op::Contrast { factor } | Op::Saturation { factor } | Op::Hue { factor } => {
                places[0] = factor.into();
                // The position of brightness in the jitter's order of four ops, which the jitter's first random numbers
                // decide.
                places[1] = if matches!(params.op, Op::Brightness { .. }) { f64::from(colours % 4) } else { 0.0 };
                colours += 1;
            }
            // The index among the six permutations in two independent parts: the last channel, and the order of the
            // other two.
            Op::PermuteChannels { permutation: [first, second, last] } => {
                (places[0], places[1]) = (last.into(), f64::from(u8::from(first < second)));
            }
            Op::Custom { parameters } => places[..4].copy_from_slice(&parameters.map(f64::from)),
            Op::HorizontalFlip
            | Op::VerticalFlip
            | Op::Grayscale { .. }
            | Op::Invert
            | Op::Solarize { .. }
            | Op::Posterize { .. } => places[0] = 1.0,
            ref other => panic!("{other:?} is not expected"),
        }
    }
    row
}

type Columns = Vec<Vec<f64>>;

/// Returns a column for each number that varies; each column has a row per key.
fn columns(transforms: &[Transform], key: impl Fn(u64) -> Key) -> Columns {
    let plan = plan(transforms);
    let rows: Vec<_> = (0..KEYS).map(|i| numbers(&plan, &key(i))).collect();
    let column = |which: usize| rows.iter().map(|row| row[which]).collect::<Vec<_>>();
    (0..PLACES * SLOTS).map(column).filter(|column| column.iter().any(|v| *v != column[0])).collect()
}

/// Returns the largest absolute correlation of a number of `a` with one of `b`.
fn largest(a: &Columns, b: &Columns) -> f64 {
    let of = |a: &Vec<f64>| b.iter().map(|b| correlation(a, b).abs()).fold(0.0, f64::max);
    a.iter().map(of).fold(0.0, f64::max)
}

/// Returns key `i` of the comparison.
fn key(i: u64) -> Key {
    Key { seed: 9, epoch: 5, sample: i, occurrence: 0, view: 0 }
}

/// Returns the keys that differ from key `i` in one part, which is larger by one.
fn neighbours(i: u64) -> [(&'static str, Key); 5] {
    let key = key(i);
    [
        ("sample", Key { sample: key.sample + 1, ..key }),
        ("epoch", Key { epoch: key.epoch + 1, ..key }),
        ("view", Key { view: key.view + 1, ..key }),
        ("occurrence", Key { occurrence: key.occurrence + 1, ..key }),
        ("seed", Key { seed: key.seed + 1, ..key }),
    ]
}

#[test]
fn neighbours_are_not_correlated() {
    let here = columns(&operators(), key);
    assert_eq!(here.len(), NUMBERS);
    for which in 0..5 {
        let there = columns(&operators(), |i| neighbours(i)[which].1);
        assert_eq!(there.len(), NUMBERS);
        let (name, found) = (neighbours(0)[which].0, largest(&here, &there));
        println!("{name}: {found:.4} of {:.4}", most());
        assert!(found < most(), "the next {name}: {found}");
        // The counterpart: one key in ten reuses its neighbour's random numbers. Each number by itself shows that.
        let reused = columns(&operators(), |i| if i % 10 == 3 { key(i) } else { neighbours(i)[which].1 });
        let least = here.iter().zip(&reused).map(|(a, b)| correlation(a, b)).fold(1.0, f64::min);
        println!("{name}, one in ten reused: {least:.4} or more");
        assert!(least > most(), "a reused {name} would not be noticed: {least}");
    }
    // The number of correlations for which `MOST` is chosen: those with neighbours, and those of every two numbers of
    // one draw.
    assert_eq!(5 * NUMBERS * NUMBERS + NUMBERS * (NUMBERS - 1) / 2, 23_925);
}

#[test]
fn operators_are_not_correlated() {
    let all = columns(&operators(), key);
    let mut all_found = 0.0_f64;
    for (i, column) in all.iter().enumerate() {
        let found = largest(&vec![column.clone()], &all[i + 1..].to_vec());
        assert!(found < most(), "number {i}: {found}");
        all_found = all_found.max(found);
    }
    println!("operators: {all_found:.4} of {:.4}", most());
    // The counterparts: operators with equal paths, and so with one random stream, because each is the first of its
    // list.
    let operators = operators();
    // The operators inside a `RandomApply` have paths of their own.
    let sharing = operators.iter().filter(|transform| !matches!(transform, Transform::RandomApply(_)));
    let sharing: Vec<_> = sharing.map(|transform| (transform, columns(std::slice::from_ref(transform), key))).collect();
    // A stream's first number decides whether an operator is applied; noise always is, and the operators named here
    // draw no other number.
    let bits = ["RandomHorizontalFlip", "RandomGrayscale", "RandomInvert", "RandomSolarize", "RandomPosterize"];
    let (mut least, mut pairs) = (1.0_f64, 0);
    for (i, (a, numbers)) in sharing.iter().enumerate() {
        for (b, others) in &sharing[i + 1..] {
            if **a == noise() && bits.contains(&b.name()) {
                continue;
            }
            let found = largest(numbers, others);
            assert!(found > 4.0 * most(), "{} and {} with one stream: {found}", a.name(), b.name());
            (least, pairs) = (least.min(found), pairs + 1);
        }
    }
    println!("{pairs} pairs of operators with one stream: {least:.4} or more");
    assert_eq!(pairs, 17 * 16 / 2 - 2 * 6);
}

/// Returns the p-value of a test that the flips of eight neighbouring draws come in all 256 patterns equally often.
fn patterns(draw: impl Fn(u64, usize) -> bool) -> f64 {
    let mut counts = vec![0; 256];
    for i in 0..KEYS {
        counts[(0..8).fold(0, |pattern, bit| 2 * pattern + usize::from(draw(i, bit)))] += 1;
    }
    uniform(&counts)
}

#[test]
fn flips_of_neighbours_come_in_every_pattern() {
    statistics::check();
    let plan = plan(&[RandomHorizontalFlip::new(0.5).into(), RandomHorizontalFlip::new(0.5).into()]);
    let flips = |key: Key, slot: u16| {
        plan.make_params(8, 8, &key).expect("it fits").ops.iter().any(|params| params.slot == slot)
    };
    let next = |bit: usize, which: usize| (bit >> which & 1) as u32;
    let of_key = |i: u64, bit: usize| {
        let (sample, epoch) = (2 * i + u64::from(next(bit, 0)), 7 + u64::from(next(bit, 1)));
        flips(Key { sample, epoch, view: next(bit, 2), ..key(0) }, 0)
    };
    let of_operator = |i: u64, bit: usize| {
        let (seed, occurrence) = (u64::from(next(bit, 0)), next(bit, 1));
        flips(Key { seed, occurrence, sample: i, ..key(0) }, next(bit, 2) as u16)
    };
    let found = [patterns(of_key), patterns(of_operator)];
    assert!(found.iter().all(|&probability| probability > SIGNIFICANCE), "{found:?}");
    // The counterparts: one of eight flips equals another, or is the exclusive or of two, which no correlation of pairs
    // shows.
    assert!(patterns(|i, bit| of_key(i, bit.min(6))) < SIGNIFICANCE);
    assert!(patterns(|i, bit| if bit == 7 { of_key(i, 0) ^ of_key(i, 1) } else { of_key(i, bit) }) < SIGNIFICANCE);
}

/// Returns the bits of the factors of each jitter in a draw.
fn factors(plan: &Plan, key: &Key) -> Vec<Vec<u32>> {
    let mut jitters: Vec<Vec<(u16, u32)>> = Vec::new();
    for (i, params) in plan.make_params(8, 8, key).expect("it fits").ops.into_iter().enumerate() {
        let (Op::Brightness { factor } | Op::Saturation { factor } | Op::Hue { factor }) = params.op else {
            panic!("{params:?} is not expected")
        };
        if i % 3 == 0 {
            jitters.push(Vec::new());
        }
        jitters.last_mut().expect("there is one").push((params.slot, factor.to_bits()));
    }
    let sorted = |mut jitter: Vec<(u16, u32)>| {
        jitter.sort_unstable();
        jitter.into_iter().map(|(_, bits)| bits).collect()
    };
    jitters.into_iter().map(sorted).collect()
}

#[test]
fn no_two_streams_are_equal() {
    let jitter = || Transform::from(ColorJitter::new(0.4, 0.0, 0.4, 0.1));
    let short = plan(&[jitter(), RandomApply::new(1.0, [jitter(), jitter()]).into()]);
    let mut seen = HashSet::new();
    let mut streams = 0;
    let parts = [0, 1, 2, 256, 1 << 32, 1 << 63, u64::MAX];
    let small = [0, 1, 256, u32::MAX];
    for seed in parts {
        for epoch in parts {
            for sample in parts {
                for occurrence in small {
                    for view in small {
                        let params = factors(&short, &Key { seed, epoch, sample, occurrence, view });
                        streams += params.len();
                        seen.extend(params);
                    }
                }
            }
        }
    }
    assert_eq!((seen.len(), streams), (3 * 7 * 7 * 7 * 4 * 4, 3 * 7 * 7 * 7 * 4 * 4));
    // Now operators differ: as many as a list holds, and lists in lists.
    let full = |last: Transform| (0..254).map(|_| jitter()).chain([last]).collect::<Vec<_>>();
    let long = plan(&full(RandomApply::new(1.0, full(RandomApply::new(1.0, full(jitter())).into())).into()));
    let key = Key { seed: 3, ..Key::default() };
    let params = factors(&long, &key);
    assert_eq!(params.len(), 254 + 254 + 255);
    seen.extend(params.iter().cloned());
    assert_eq!(seen.len(), streams + 763);
    // The counterpart: a key that comes twice adds no new factors.
    seen.extend(factors(&long, &key));
    assert_eq!(seen.len(), streams + 763);
}

#[test]
fn places_are_unbiased_whatever_their_number() {
    let places = |rows: u32, columns: u32, seed: u64| {
        let plan = plan(&[RandomCrop::new(1).into()]);
        (0..2 * KEYS).map(move |sample| {
            let params = plan.make_params(columns, rows, &Key { seed, sample, ..Key::default() }).expect("it fits");
            let Op::Crop { top, left, .. } = params.ops[0].op else { panic!("{params:?}") };
            (top as usize, left as usize)
        })
    };
    for (seed, (rows, columns)) in
        (0..).zip([(3, 5), (6, 7), (11, 13), (31, 33), (127, 1), (1, 255), (257, 3), (7, 100), (1, 1000)])
    {
        // Row and column come from one random stream, one after the other, so every pair is equally likely.
        let mut counts = vec![0; (rows * columns) as usize];
        places(rows, columns, seed).for_each(|(top, left)| counts[top * columns as usize + left] += 1);
        let found = uniform(&counts);
        assert!(found > SIGNIFICANCE, "{rows} x {columns}: {found}");
    }
    // The counterparts: random numbers of 5 and 8 bits, scaled to the bound without rejecting any, are not uniform.
    let mut generator = ChaCha8Rng::seed_from_u64(1);
    for (bits, bound) in [(5, 13), (8, 100)] {
        let mut counts = vec![0; bound];
        (0..2 * KEYS).for_each(|_| counts[((generator.next_u64() >> (64 - bits)) as usize * bound) >> bits] += 1);
        assert!(uniform(&counts) < SIGNIFICANCE, "{bits} bits");
    }
}
