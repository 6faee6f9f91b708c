//! The committed cases of torchvision suffice by themselves: every transform has six of each function that it calls, in
//! each semantics.

#![expect(clippy::print_stdout, reason = "tests print what they measured")]

use super::transforms::COMMITTED;
use gpufeed::transforms::{Op, Transform};
use gpufeed_testing::named;
use gpufeed_testing::operators::OPERATORS;
use gpufeed_testing::reference::Semantics::{self, Float, Uint8};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SIX: usize = 6;

const BATCH_TRANSFORMS: [&str; 2] = ["mixup", "cutmix"];

/// Functions with one semantics: JPEG and Pillow's functions work on bytes, `ToDtype` ends them, and MixUp refuses them.
const ALONE: [(&str, Semantics); 5] =
    [("jpeg", Uint8), ("pillow_affine", Uint8), ("pillow_blur", Uint8), ("to_float", Uint8), ("mixup", Float)];

/// Groups whose cases are whole transforms, or functions that are not ops.
const GROUPS: [&str; 3] = ["photometric", "center_crop", "resized_crop"];

type Counts = BTreeMap<(String, Semantics), usize>;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("the file is JSON")
}

fn list<'a>(table: &'a Value, key: &str) -> &'a [Value] {
    table[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

/// Returns how many of the committed cases call each function; a case counts once.
fn counts() -> Counts {
    let mut counts = Counts::new();
    let mut add = |names: BTreeSet<String>, semantics| {
        names.into_iter().for_each(|name| *counts.entry((name, semantics)).or_default() += 1);
    };
    let semantics = |case: &Value| if case["dtype"] == "u8" { Uint8 } else { Float };
    let group = |name: &str, of: &str| (name == of).then(|| name.to_owned());
    for case in COMMITTED.iter() {
        let functions = case.ops.iter().map(|(name, arguments)| arguments["id"].as_str().unwrap_or(name).to_owned());
        let groups = GROUPS.into_iter().filter_map(|name| group(name, &case.group));
        add(functions.chain(groups).collect(), case.semantics);
    }
    for case in list(&parse(include_str!("../golden/cases.json")), "cases") {
        let of = case["name"].as_str().and_then(|name| name.split('/').next()).expect("a group");
        let groups = GROUPS.into_iter().filter_map(|name| group(name, of));
        let op = |op: &Value| named::function(&serde_json::from_value::<Op>(op.clone()).expect("an op"));
        add(list(case, "ops").iter().map(op).chain(groups).collect(), Float);
    }
    for case in list(&parse(include_str!("../golden/photometric/manifest.json")), "cases") {
        add(BTreeSet::from(["photometric".to_owned()]), semantics(case));
    }
    let others = parse(include_str!("../golden/operators.json"));
    for table in [&parse(include_str!("../golden/batches.json")), &others["batches"]] {
        for case in list(table, "cases") {
            add(BTreeSet::from([case["kind"].as_str().expect("a kind").to_owned()]), semantics(case));
        }
    }
    counts
}

/// Returns the functions that must have cases.
fn needed() -> BTreeSet<(String, Semantics)> {
    let functions = OPERATORS.iter().flat_map(|operator| operator.functions).chain(&BATCH_TRANSFORMS);
    let both = functions.flat_map(|name| [Float, Uint8].map(|semantics| (*name, semantics)));
    let alone = |name: &str| ALONE.iter().find(|(other, _)| *other == name).map(|(_, semantics)| *semantics);
    both.filter(|(name, semantics)| alone(name).is_none_or(|only| only == *semantics))
        .map(|(name, semantics)| (name.to_owned(), semantics))
        .collect()
}

/// Returns the functions that have fewer than six cases.
fn lacking(counts: &Counts) -> Vec<(String, Semantics)> {
    needed().into_iter().filter(|key| counts.get(key).is_none_or(|count| *count < SIX)).collect()
}

#[test]
fn every_function_has_six_committed_cases_in_each_semantics() {
    let counts = counts();
    println!("{counts:?}");
    let lacking = lacking(&counts);
    assert!(lacking.is_empty(), "fewer than {SIX} cases: {lacking:?}");
}

#[test]
fn a_function_with_five_cases_is_noticed() {
    let counts = counts();
    for key in needed() {
        let mut fewer = counts.clone();
        fewer.insert(key.clone(), SIX - 1);
        assert_eq!(lacking(&fewer), std::slice::from_ref(&key));
        fewer.remove(&key);
        assert_eq!(lacking(&fewer), [key]);
    }
}

/// serde names all transforms where it knows none.
#[test]
fn the_functions_of_every_transform_are_listed() {
    let error = serde_json::from_str::<Transform>(r#"{"type":"?"}"#).expect_err("no transform is called ?").to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    // What a `CustomColor` and `HostCode` do is the user's.
    let listed: BTreeSet<&str> =
        OPERATORS.iter().map(|operator| operator.name).chain(["CustomColor", "HostCode"]).collect();
    assert_eq!(known, listed, "{error}");
}
