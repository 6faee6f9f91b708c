//! The parameters that transforms draw have torchvision's distributions: 400,000 draws of each transform are compared
//! with the histograms of a million draws that torchvision made (`tests/golden/draws.json`).
//!
//! Each quantity is compared by a Kolmogorov-Smirnov test and a chi² test, pairs of quantities by chi². The
//! Kolmogorov-Smirnov test rejects cumulative shares that differ by 0.0047 or more, so a distribution that is off by
//! 0.01 does not pass; the tests named `rejects_…` show it, and more.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use crate::statistics::{self, SIGNIFICANCE, bin, kolmogorov_smirnov, same_distribution};
use gpufeed::transforms::{
    ColorJitter, Key, Op, Params, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Transform,
};
use gpufeed::{Output, Plan};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DRAWS: u64 = 400_000;

#[derive(Deserialize)]
struct Table {
    draws: u64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    transform: Transform,
    width: u32,
    height: u32,
    single: BTreeMap<String, Histogram>,
    double: Vec<Joint>,
}

/// A histogram: the count of values up to each edge, and of those beyond the last.
#[derive(Deserialize)]
struct Histogram {
    edges: Vec<f64>,
    counts: Vec<u64>,
}

/// Counts of pairs of bins of two quantities, row by row.
#[derive(Deserialize)]
struct Joint {
    of: [String; 2],
    edges: [Vec<f64>; 2],
    counts: Vec<u64>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/draws.json")).expect("draws.json is valid"));

fn case(name: &str) -> &'static Case {
    TABLE.cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

/// A row of quantities for each draw.
type Rows = Vec<[f64; 8]>;

const CROP: [&str; 8] = ["area", "ratio", "height", "width", "top", "left", "vertical", "horizontal"];
const JITTER: [&str; 5] = ["brightness", "contrast", "saturation", "hue", "order"];

/// Returns the column that a quantity has in a row.
fn column(name: &str) -> usize {
    let columns: &[&str] = if JITTER.contains(&name) { &JITTER } else { &CROP };
    if name == "applied" { 0 } else { columns.iter().position(|column| *column == name).expect("a quantity") }
}

/// Returns the quantities named in `CROP` for a rectangle in an image of `width` × `height` pixels.
fn crop([top, left, h, w]: [u32; 4], width: u32, height: u32) -> [f64; 8] {
    // Where only one position is possible, it counts as the middle.
    let share = |at: u32, places: u32| if places == 0 { 0.5 } else { f64::from(at) / f64::from(places) };
    let (vertical, horizontal) = (share(top, height - h), share(left, width - w));
    let [top, left, h, w] = [top, left, h, w].map(f64::from);
    [h * w, w / h, h, w, top, left, vertical, horizontal]
}

/// Returns the quantities of one draw's ops, as `generate_draws.py` computes them for torchvision.
fn row(params: &Params) -> [f64; 8] {
    let (mut row, mut size) = ([0.0; 8], (params.width, params.height));
    let (mut order, mut mirrored, mut upside_down, mut gray) = (0, false, false, false);
    for params in &params.ops {
        let mut factor = |which: usize, factor: f32| {
            row[which] = f64::from(factor);
            order = 4 * order + which;
        };
        match params.op {
            Op::Brightness { factor: value } => factor(0, value),
            Op::Contrast { factor: value } => factor(1, value),
            Op::Saturation { factor: value } => factor(2, value),
            Op::Hue { factor: value } => factor(3, value),
            Op::Pad { left, top, right, bottom, .. } => size = (size.0 + left + right, size.1 + top + bottom),
            Op::Crop { top, left, height, width } | Op::Erase { top, left, height, width, .. } => {
                row = crop([top, left, height, width], size.0, size.1);
            }
            Op::HorizontalFlip => mirrored = !mirrored,
            Op::VerticalFlip => upside_down = !upside_down,
            Op::Grayscale { .. } => gray = true,
            Op::Resize { .. } => {}
            ref other => panic!("{other:?} is not expected"),
        }
    }
    let applied = if gray { 4 } else { u32::from(mirrored) + 2 * u32::from(upside_down) };
    if order > 0 {
        row[4] = order as f64;
    } else if applied > 0 {
        row[0] = applied.into();
    }
    row
}

/// Returns the quantities of the samples `0..DRAWS`, drawn for an image of this size.
fn draw(transform: &Transform, width: u32, height: u32) -> Rows {
    let plan = Plan::compile(std::slice::from_ref(transform), &Output::default()).expect("the arguments are fine");
    let draw = |sample| plan.make_params(width, height, &Key { seed: 20, sample, ..Key::default() }).expect("it fits");
    (0..DRAWS).map(|sample| row(&draw(sample))).collect()
}

/// Returns the p-value of each statistical test, by quantity: the probability of a difference at least this large if
/// both samples came from one distribution.
fn compare(case: &Case, rows: &Rows) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for (name, Histogram { edges, counts }) in &case.single {
        let mut ours = vec![0; counts.len()];
        rows.iter().for_each(|row| ours[bin(edges, row[column(name)])] += 1);
        found.push((format!("{name}, Kolmogorov-Smirnov"), kolmogorov_smirnov(&ours, counts)));
        found.push((format!("{name}, chi²"), same_distribution(&ours, counts)));
    }
    for Joint { of: [a, b], edges, counts } in &case.double {
        let mut ours = vec![0; counts.len()];
        for row in rows {
            let (a, b) = (bin(&edges[0], row[column(a)]), bin(&edges[1], row[column(b)]));
            ours[a * (edges[1].len() + 1) + b] += 1;
        }
        found.push((format!("{a} and {b}, chi²"), same_distribution(&ours, counts)));
    }
    found
}

fn least(found: &[(String, f64)]) -> &(String, f64) {
    found.iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("something was compared")
}

#[test]
fn draws_have_torchvisions_distributions() {
    statistics::check();
    let mut all = Vec::new();
    for case in &TABLE.cases {
        assert!(case.single.values().all(|histogram| histogram.counts.iter().sum::<u64>() == TABLE.draws));
        let found = compare(case, &draw(&case.transform, case.width, case.height));
        let (quantity, probability) = least(&found);
        println!("{}, {}: {probability:.1e} at the least ({quantity})", case.transform.name(), case.name);
        assert!(*probability > SIGNIFICANCE, "{}, {}: {found:#?}", case.transform.name(), case.name);
        all.extend(found.into_iter().map(|found| found.1));
    }
    println!("{} comparisons", all.len());
    assert!(all.len() > 250);
    // Some p-values are as small as chance makes them; if none were, the draws would be equal by construction.
    assert!(all.iter().filter(|probability| **probability < 0.1).count() > 5);
}

/// Whether the comparison rejects these draws: whether its least p-value is below the significance level.
fn rejects(case: &Case, rows: &Rows) -> bool {
    let found = compare(case, rows);
    let (quantity, probability) = least(&found);
    println!("{}: {probability:.1e} at the least ({quantity})", case.name);
    *probability < SIGNIFICANCE
}

#[test]
fn rejects_arguments_that_are_a_little_off() {
    let crop = RandomResizedCrop::new(8);
    let jitter = |brightness: f64, hue: f64| ColorJitter::new(brightness, 0.8, 0.8, hue).into();
    for (name, other) in [
        ("small areas, wide ratios", Transform::from(crop.clone().scale(0.01, 0.3465).ratio(0.5, 3.0))),
        ("small areas, wide ratios", crop.clone().scale(0.0134, 0.35).ratio(0.5, 3.0).into()),
        ("landscape", crop.clone().ratio(0.75, 1.01 * 4.0 / 3.0).into()),
        ("portrait", crop.clone().ratio(0.74, 4.0 / 3.0).into()),
        ("SimCLR's", jitter(0.808, 0.2)),
        ("SimCLR's", jitter(0.8, 0.198)),
        ("half are mirrored", RandomHorizontalFlip::new(0.51).into()),
        ("nine of ten are mirrored", RandomHorizontalFlip::new(0.91).into()),
    ] {
        let case = case(name);
        assert!(rejects(case, &draw(&other, case.width, case.height)), "{name}: {other:?}");
    }
    // In an image one pixel narrower or wider, the crop has one position too few or too many.
    let crop: Transform = RandomCrop::new(224).into();
    assert_eq!(crop, case("256 to 224").transform);
    for width in [255, 257] {
        assert!(rejects(case("256 to 224"), &draw(&crop, width, 256)), "{width}");
    }
}

/// torchvision's crop in plain code, and variants of it with one mistake each.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crops {
    Torchvisions,
    /// The ratio itself is uniform, not its logarithm.
    UniformRatio,
    /// The square root of the area is uniform, not the area.
    UniformSide,
    /// The last position is never drawn.
    OnePlaceTooFew,
    /// A rectangle that does not fit is cut to size, not drawn again.
    NoSecondTry,
    /// Sides are truncated, not rounded.
    Truncated,
    /// The position reuses the random number of the area.
    PlaceOfArea,
}

fn crops(kind: Crops, case: &Case) -> Rows {
    let Transform::RandomResizedCrop(RandomResizedCrop { scale, ratio, .. }) = case.transform else {
        panic!("no crop")
    };
    let mut generator = ChaCha8Rng::seed_from_u64(5);
    let mut unit = move || (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let (w, h) = (f64::from(case.width), f64::from(case.height));
    let mut one = || {
        for attempt in 0..10 {
            let u = unit();
            let area = match kind {
                Crops::UniformSide => (scale.0.sqrt() + (scale.1.sqrt() - scale.0.sqrt()) * u).powi(2),
                _ => scale.0 + (scale.1 - scale.0) * u,
            };
            let r = match kind {
                Crops::UniformRatio => ratio.0 + (ratio.1 - ratio.0) * unit(),
                _ => (ratio.0.ln() + (ratio.1.ln() - ratio.0.ln()) * unit()).exp(),
            };
            let sides = [(area * w * h / r).sqrt(), (area * w * h * r).sqrt()];
            let [crop_h, crop_w] =
                sides.map(|v| if kind == Crops::Truncated { v.floor() } else { v.round_ties_even() });
            let (crop_h, crop_w) = if kind == Crops::NoSecondTry {
                (crop_h.clamp(1.0, h), crop_w.clamp(1.0, w))
            } else {
                (crop_h, crop_w)
            };
            if (1.0..=h).contains(&crop_h) && (1.0..=w).contains(&crop_w) {
                let more = if kind == Crops::OnePlaceTooFew { 0.0 } else { 1.0 };
                let mut place = |free: f64| {
                    let at = if kind == Crops::PlaceOfArea { u } else { unit() };
                    (at * (free + more).max(1.0)).floor() as u32
                };
                return crop(
                    [place(h - crop_h), place(w - crop_w), crop_h as u32, crop_w as u32],
                    case.width,
                    case.height,
                );
            }
            assert!(attempt < 9, "choose a case without fallbacks");
        }
        unreachable!("it has returned or panicked")
    };
    (0..DRAWS).map(|_| one()).collect()
}

#[test]
fn rejects_other_crops_than_torchvisions() {
    for name in ["square", "landscape", "small areas, wide ratios"] {
        assert!(!rejects(case(name), &crops(Crops::Torchvisions, case(name))), "{name}: the control must pass");
    }
    for (name, kind) in [
        ("square", Crops::UniformRatio),
        ("landscape", Crops::UniformSide),
        ("landscape", Crops::OnePlaceTooFew),
        ("landscape", Crops::NoSecondTry),
        ("landscape", Crops::PlaceOfArea),
        ("small areas, wide ratios", Crops::Truncated),
    ] {
        assert!(rejects(case(name), &crops(kind, case(name))), "{name}: {kind:?}");
    }
}

#[test]
fn rejects_other_orders_than_torchvisions() {
    let case = case("SimCLR's");
    // The factors are gpufeed's; the orders are made here.
    let rows = draw(&case.transform, case.width, case.height);
    let rejected = |mut order: Box<dyn FnMut() -> [usize; 4]>| {
        let mut rows = rows.clone();
        rows.iter_mut().for_each(|row| row[4] = order().iter().fold(0, |code, which| 4 * code + which) as f64);
        rejects(case, &rows)
    };
    let shuffle = |swaps_with_any: bool| {
        let mut generator = ChaCha8Rng::seed_from_u64(6);
        move || {
            let mut order = [0, 1, 2, 3];
            for i in (1..4).rev() {
                let places = if swaps_with_any { 4 } else { i as u64 + 1 };
                order.swap(i, (generator.next_u64() % places) as usize);
            }
            order
        }
    };
    assert!(!rejected(Box::new(shuffle(false))), "the control must pass");
    assert!(rejected(Box::new(shuffle(true))), "a biased shuffle");
    assert!(rejected(Box::new(|| [0, 1, 2, 3])), "one order");
    let mut count = 0;
    let rotation = move || {
        count += 1;
        [0, 1, 2, 3].map(|i| (i + count) % 4)
    };
    assert!(rejected(Box::new(rotation)), "rotations alone");
}
