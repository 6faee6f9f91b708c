//! The parameters that the built-in recipes draw, for images of three sizes.

use crate::{operators, policies};
use gpufeed::transforms::{Key, Transform};
use gpufeed::{Output, Plan, Semantics};
use gpufeed_testing::bits::named_lists;
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::operators::UINT8_ALONE;
use gpufeed_testing::{bits, frozen};

/// Sizes of the images in pixels; none has a side below 224, which `augment-only` needs.
const SIZES: [(u32, u32); 3] = [(500, 375), (256, 640), (224, 225)];
const KEYS: u64 = 100;

/// Returns key `number`; over all keys every part varies, and some seeds and samples are large.
fn key(number: u64) -> Key {
    Key {
        seed: number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        epoch: number / 7,
        sample: (number * number) << (number % 40),
        occurrence: (number % 3) as u32,
        view: (number % 2) as u32,
    }
}

fn params(semantics: Semantics, transforms: &[Transform], (width, height): (u32, u32)) -> String {
    let plan = Plan::compile_as(semantics, 3, transforms, &Output::default()).unwrap();
    let draws = (0..KEYS).map(|number| plan.make_params(width, height, &key(number)).unwrap());
    bits::hash(serde_json::to_string(&draws.collect::<Vec<_>>()).unwrap())
}

#[test]
fn parameters_are_drawn_as_they_were() {
    let mut lists: Vec<_> =
        named_lists().map(|(name, list)| (name, list.semantics.unwrap_or_default(), list.transforms)).collect();
    // Its images have one channel where its `Normalize` has three different numbers, which a plan refuses.
    lists.push(("every operator".to_owned(), Semantics::Float, for_channels(3, operators::recipe().transforms)));
    let semantics = |list: &[Transform]| {
        let is_uint8 = list.iter().any(|transform| UINT8_ALONE.contains(&transform.name()));
        if is_uint8 { Semantics::Uint8 } else { Semantics::Float }
    };
    let added = operators::added().into_iter().chain(policies::added()).chain(operators::later());
    lists.extend(added.map(|(name, list)| (name, semantics(&list), list)));
    let mut lines = Vec::new();
    for (name, semantics, transforms) in &lists {
        for (width, height) in SIZES {
            lines.push((format!("{name}, {width}x{height}"), params(*semantics, transforms, (width, height))));
        }
    }
    frozen::check_lines("hashes/parameters.txt", &lines, "what draws otherwise, and a line in CHANGELOG.md");
}
