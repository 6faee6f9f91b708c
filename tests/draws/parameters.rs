//! Parameters are equal for equal keys and have torchvision's distributions. Transforms survive being written as JSON
//! or TOML and read again.
//!
//! Thresholds of chi² are those of p = 0.001; keys are fixed, so a test either always passes or never.

use gpufeed::transforms::{
    ColorJitter, Erased, ErasingValue, JPEG, Key, Op, Params, RandomApply, RandomChannelPermutation, RandomCrop,
    RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomInvert, RandomPosterize, RandomResizedCrop,
    RandomSolarize, RandomVerticalFlip, RandomZoomOut, Transform,
};
use gpufeed::{Output, Plan, Semantics};
use gpufeed_testing::bits::named_lists;
use gpufeed_testing::operators::{OPERATORS, UINT8_ALONE};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn plan(transforms: &[Transform]) -> Plan {
    Plan::compile(transforms, &Output::default()).expect("the transforms compile")
}

/// Returns the ops of samples `0..count` of a 640×480 image.
fn draws(transforms: &[Transform], count: u64) -> Vec<Vec<Op>> {
    let plan = plan(transforms);
    let draw = |sample| plan.make_params(640, 480, &Key { seed: 3, sample, ..Key::default() }).expect("it fits");
    (0..count).map(|sample| draw(sample).ops.into_iter().map(|params| params.op).collect()).collect()
}

fn chi2(counts: &[u32], expected: f64) -> f64 {
    counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
}

/// Returns the plan of a transform alone, in the first numbers in which it works.
fn plan_alone(transform: &Transform) -> Plan {
    let semantics = if UINT8_ALONE.contains(&transform.name()) { Semantics::Uint8 } else { Semantics::Float };
    Plan::compile_as(semantics, 3, std::slice::from_ref(transform), &Output::default()).expect("the transform compiles")
}

fn every_transform() -> impl Iterator<Item = Transform> {
    OPERATORS.iter().flat_map(|operator| operator.transforms())
}

/// A TOML file has fields at its top level, so the list of transforms is one.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct File {
    transforms: Vec<Transform>,
}

#[test]
fn json_and_toml_hold_every_transform() {
    let file = File { transforms: every_transform().collect() };
    let json = serde_json::to_string(&file).expect("transforms are data");
    assert_eq!(serde_json::from_str::<File>(&json).expect("its own JSON"), file, "{json}");
    let toml = toml::to_string(&file).expect("transforms are data");
    assert_eq!(toml::from_str::<File>(&toml).expect("its own TOML"), file, "{toml}");
}

#[test]
fn drawn_parameters_survive_json() {
    let recipes = named_lists().map(|(name, list)| {
        let semantics = list.semantics.unwrap_or_default();
        (Plan::compile_as(semantics, 3, &list.transforms, &Output::default()).expect(&name), (640, 480))
    });
    let alone = every_transform().map(|transform| (plan_alone(&transform), (123, 91)));
    for (plan, (width, height)) in alone.chain(recipes) {
        for sample in 0..50 {
            let params = plan.make_params(width, height, &Key { sample, ..Key::default() }).expect("it fits");
            let json = serde_json::to_string(&params).expect("parameters are data");
            assert_eq!(serde_json::from_str::<Params>(&json).expect("its own JSON"), params);
        }
    }
}

#[test]
fn wrong_text_is_rejected() {
    for text in [r#"{"type":"Blur"}"#, r#"{"type":"Resize","size":9,"interpolaton":"Bicubic"}"#] {
        assert!(serde_json::from_str::<Transform>(text).is_err(), "{text}");
    }
    for operator in OPERATORS {
        let list: toml::Table = toml::from_str(&operator.recipe(operator.examples[0])).expect(operator.name);
        let first = list["transform"][0].as_table().expect(operator.name);
        // The first example has the arguments that are needed; two have more in it.
        let arguments: BTreeSet<&str> = match operator.name {
            "RandomCrop" | "Resize" => BTreeSet::from(["size"]),
            _ => first.keys().map(String::as_str).filter(|key| *key != "type").collect(),
        };
        let alone = json!({ "type": operator.name });
        let needs_none = serde_json::from_value::<Transform>(alone).is_ok();
        assert_eq!(needs_none, operator.examples.contains(&""), "{}: whether it needs arguments", operator.name);
        for transform in operator.transforms() {
            let right = serde_json::to_value(&transform).expect("transforms are data");
            let table = right.as_object().expect("a table");
            let keys = table.keys().map(String::as_str).filter(|key| *key != "type");
            let with = |key: &str, value| Value::from_iter(table.clone().into_iter().chain([(key.to_owned(), value)]));
            for wrong in keys.clone().chain(["colour"]).map(|key| with(key, json!({ "of": [] }))) {
                assert!(serde_json::from_value::<Transform>(wrong.clone()).is_err(), "{wrong}");
            }
            let without = |key: &str| Value::from_iter(table.clone().into_iter().filter(|(other, _)| other != key));
            let is_needed = |key| serde_json::from_value::<Transform>(without(key)).is_err();
            let needed: BTreeSet<&str> = keys.filter(|key| is_needed(key)).collect();
            assert_eq!(needed, arguments, "{right}");
            if right["p"].is_number() {
                let transform = serde_json::from_value::<Transform>(with("p", json!(1.5))).expect("a number");
                assert!(Plan::compile(&[transform], &Output::default()).is_err(), "{right} with p = 1.5");
            }
        }
        for (arguments, ..) in operator.refused {
            let text = operator.recipe(arguments).replacen("transform", "transforms", 1);
            let Ok(File { transforms }) = toml::from_str(&text) else { continue };
            assert!(Plan::compile(&transforms, &Output::default()).is_err(), "{text}");
        }
    }
}

#[test]
fn the_same_key_draws_the_same() {
    let [plans, again] = [0; 2].map(|_| every_transform().map(|transform| plan_alone(&transform)).collect::<Vec<_>>());
    let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
    let draw = |plans: &[Plan], key| -> Vec<Params> {
        plans.iter().map(|plan| plan.make_params(321, 210, &key).expect("it fits")).collect()
    };
    assert_eq!(draw(&plans, key), draw(&again, key));
    for other in [
        Key { seed: 9, ..key },
        Key { epoch: 9, ..key },
        Key { sample: 9, ..key },
        Key { occurrence: 9, ..key },
        Key { view: 9, ..key },
    ] {
        assert_ne!(draw(&plans, key), draw(&plans, other), "{other:?}");
    }
}

#[test]
fn qualities_are_those_of_the_range_alike() {
    let plan = Plan::compile_as(Semantics::Uint8, 3, &[JPEG::new((20, 30)).into()], &Output::default()).unwrap();
    let mut counts = [0u32; 11];
    for sample in 0..11_000 {
        let params = plan.make_params(64, 48, &Key { seed: 5, sample, ..Key::default() }).unwrap();
        let Op::Jpeg { quality } = params.ops[0].op else { panic!("{params:?}") };
        counts[quality as usize - 20] += 1;
    }
    // 10 degrees of freedom.
    assert!(chi2(&counts, 1000.0) < 29.6, "{counts:?}");
}

#[test]
fn crops_have_the_areas_and_ratios_asked_for() {
    let crop = RandomResizedCrop::new(224).scale(0.1, 0.5).ratio(0.75, 1.5);
    let (mut areas, mut ratios) = ([0u32; 8], [0u32; 8]);
    for ops in draws(&[crop.into()], 8000) {
        let Op::Crop { top, left, height, width } = ops[0] else { panic!("{ops:?}") };
        assert!(left + width <= 640 && top + height <= 480);
        let (width, height) = (f64::from(width), f64::from(height));
        // Sides are rounded to pixels, by up to 0.4 % of the shortest side, which is 124 pixels long.
        let area = (width * height / (640.0 * 480.0) - 0.1) / 0.4;
        let ratio = (width / height / 0.75).ln() / 2f64.ln();
        assert!((-0.01..1.02).contains(&area) && (-0.02..1.02).contains(&ratio), "{area} {ratio}");
        areas[(area * 8.0).clamp(0.0, 7.0) as usize] += 1;
        ratios[(ratio * 8.0).clamp(0.0, 7.0) as usize] += 1;
    }
    // Every try fits (0.5 of the area at ratio 1.5 is 480 × 320 pixels), so areas and ratios are uniform; 8 bins give
    // chi² 7 degrees of freedom.
    let both = [chi2(&areas, 1000.0), chi2(&ratios, 1000.0)];
    assert!(both.iter().all(|&chi2| chi2 < 24.3), "{areas:?} {ratios:?}: {both:?}");
}

/// The test takes 200,000 draws, because the first 10,000 alone have chi² = 33.0 in the rows (p = 0.0001), by chance:
/// it was the worst of 400 seeds, whose 4,000,000 draws together had a chi² of 4.8 (rows), 7.1 (columns) and 93 (pairs,
/// with 99 degrees of freedom).
#[test]
fn crops_lie_everywhere() {
    let (mut tops, mut lefts) = ([0u32; 10], [0u32; 10]);
    for ops in draws(&[RandomCrop::new((471, 631)).into()], 200_000) {
        let Op::Crop { top, left, .. } = ops[0] else { panic!("{ops:?}") };
        tops[top as usize] += 1;
        lefts[left as usize] += 1;
    }
    let both = [chi2(&tops, 20_000.0), chi2(&lefts, 20_000.0)];
    assert!(both.iter().all(|&chi2| chi2 < 27.9), "{tops:?} {lefts:?}: {both:?}");
}

#[test]
fn chances_are_the_ones_asked_for() {
    for p in [0.0, 0.1, 0.5, 0.9, 1.0] {
        let each: [Transform; 9] = [
            RandomHorizontalFlip::new(p).into(),
            RandomVerticalFlip::new(p).into(),
            RandomGrayscale::new(p).into(),
            RandomErasing::new(p).into(),
            RandomInvert::new(p).into(),
            RandomSolarize::new(0.5).p(p).into(),
            RandomPosterize::new(4).p(p).into(),
            RandomZoomOut::new(p).side_range(1.5, 2.0).into(),
            RandomApply::new(p, [RandomHorizontalFlip::new(1.0)]).into(),
        ];
        for transform in each {
            let applied = draws(std::slice::from_ref(&transform), 4000).iter().filter(|ops| !ops.is_empty()).count();
            // The tolerance is four standard deviations.
            let slack = 4.0 * (4000.0 * p * (1.0 - p)).sqrt();
            assert!((applied as f64 - 4000.0 * p).abs() <= slack, "{transform:?}: {applied} of 4000");
        }
    }
}

#[test]
fn neighbours_draw_independently() {
    let flips = [RandomHorizontalFlip::new(0.5).into(), RandomVerticalFlip::new(0.5).into()];
    let mut counts = [0u32; 4];
    for ops in draws(&flips, 4000) {
        let index = usize::from(ops.contains(&Op::HorizontalFlip)) + 2 * usize::from(ops.contains(&Op::VerticalFlip));
        counts[index] += 1;
    }
    assert!(chi2(&counts, 1000.0) < 16.3, "{counts:?}");
}

#[test]
fn jitter_comes_in_any_order() {
    let mut orders: BTreeMap<String, u32> = BTreeMap::new();
    for ops in draws(&[ColorJitter::new(0.4, 0.4, 0.4, 0.1).into()], 24_000) {
        let letter = |op: &Op| format!("{op:?}").chars().next().expect("ops have names");
        *orders.entry(ops.iter().map(letter).collect()).or_default() += 1;
    }
    let counts: Vec<u32> = orders.values().copied().collect();
    assert_eq!(counts.len(), 24, "{orders:?}");
    // 24 orders give chi² 23 degrees of freedom.
    assert!(chi2(&counts, 1000.0) < 49.7, "{orders:?}");
}

#[test]
fn channels_come_in_any_order() {
    let mut orders: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    for ops in draws(&[RandomChannelPermutation::new().into()], 6000) {
        let [Op::PermuteChannels { permutation }] = ops[..] else { panic!("{ops:?}") };
        *orders.entry(permutation).or_default() += 1;
    }
    let counts: Vec<u32> = orders.values().copied().collect();
    assert_eq!(counts.len(), 6, "{orders:?}");
    // 6 orders give chi² 5 degrees of freedom.
    assert!(chi2(&counts, 1000.0) < 20.5, "{orders:?}");
    // One channel has only one order, so no op is emitted.
    let plan =
        Plan::compile_for(1, &[RandomChannelPermutation::new().into()], &Output::default()).expect("it compiles");
    assert_eq!(plan.make_params(9, 9, &Key::default()).expect("it fits").ops, []);
}

#[test]
fn rectangles_have_the_areas_and_ratios_asked_for() {
    let erasing = RandomErasing::new(1.0).scale(0.1, 0.3).ratio(0.75, 1.5).value(ErasingValue::Random);
    let (mut areas, mut ratios, mut keys) = ([0u32; 8], [0u32; 8], std::collections::BTreeSet::new());
    for ops in draws(&[erasing.into()], 8000) {
        let Op::Erase { top, left, height, width, value: Erased::Noise { key } } = ops[0] else { panic!("{ops:?}") };
        assert!(left + width <= 640 && top + height <= 480 && width < 640 && height < 480);
        keys.insert(key);
        let (width, height) = (f64::from(width), f64::from(height));
        // Sides are rounded to pixels, by up to 0.4 % of the shortest side, which is 143 pixels long. The ratio is
        // height / width.
        let area = (width * height / (640.0 * 480.0) - 0.1) / 0.2;
        let ratio = (height / width / 0.75).ln() / 2f64.ln();
        assert!((-0.01..1.02).contains(&area) && (-0.02..1.02).contains(&ratio), "{area} {ratio}");
        areas[(area * 8.0).clamp(0.0, 7.0) as usize] += 1;
        ratios[(ratio * 8.0).clamp(0.0, 7.0) as usize] += 1;
    }
    assert_eq!(keys.len(), 8000, "each image has noise of its own");
    // Every try fits (0.3 of the area at ratio 1.5 is 248 × 372 pixels), so areas and ratios are uniform; 8 bins give
    // chi² 7 degrees of freedom.
    let both = [chi2(&areas, 1000.0), chi2(&ratios, 1000.0)];
    assert!(both.iter().all(|&chi2| chi2 < 24.3), "{areas:?} {ratios:?}: {both:?}");
}

#[test]
fn rectangles_lie_everywhere_and_are_smaller_than_the_image() {
    // A square of 1/4 of the area of a 640×480 image has 277×277 pixels, and can lie at 204 rows and 364 columns.
    let (mut tops, mut lefts) = ([0u32; 12], [0u32; 13]);
    for ops in draws(&[RandomErasing::new(1.0).scale(0.25, 0.25).ratio(1.0, 1.0).value([0.1, 0.2, 0.3]).into()], 12_000)
    {
        let [Op::Erase { top, left, height: 277, width: 277, value: Erased::Color(color) }] = ops[..] else {
            panic!("{ops:?}")
        };
        assert_eq!(color, [0.1, 0.2, 0.3]);
        tops[top as usize / 17] += 1;
        lefts[left as usize / 28] += 1;
    }
    // 12 and 13 bins give chi² 11 and 12 degrees of freedom.
    assert!(chi2(&tops, 1000.0) < 31.3 && chi2(&lefts, 12_000.0 / 13.0) < 32.9, "{tops:?} {lefts:?}");

    let params = |width, height, erasing: RandomErasing| {
        let plan = plan(&[erasing.into()]);
        let draw =
            |sample| plan.make_params(width, height, &Key { sample, ..Key::default() }).expect("any size works").ops;
        (0..500).flat_map(draw).map(|params| params.op).collect::<Vec<_>>()
    };
    // Each side of a rectangle is shorter than the image's, so none fits a single row or column, or has all of the
    // area.
    assert_eq!(params(1, 1, RandomErasing::new(1.0)), []);
    assert_eq!(params(40, 1, RandomErasing::new(1.0).scale(0.5, 1.0)), []);
    assert_eq!(params(50, 50, RandomErasing::new(1.0).scale(1.0, 1.0).ratio(1.0, 1.0)), []);
    // The largest side in an image of 50 pixels is 49; sides that round to 0 erase nothing.
    let large = params(50, 50, RandomErasing::new(1.0).scale(0.93, 0.97).ratio(1.0, 1.0));
    assert!(large.len() == 500 && large.iter().any(|op| matches!(op, Op::Erase { height: 49, width: 49, .. })));
    assert_eq!(params(9, 9, RandomErasing::new(1.0).scale(0.0, 0.002)), []);
}

#[test]
fn chi2_rejects_what_is_not_uniform() {
    assert!(chi2(&[1000; 24], 1000.0) < 1e-9);
    let mut skewed = [1000; 24];
    (skewed[0], skewed[1]) = (1200, 800);
    assert!(chi2(&skewed, 1000.0) > 49.7);
}
