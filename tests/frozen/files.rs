//! Files that users keep: recipes, states of runs and parameters, as they are written today. Later versions may write
//! others, but must read these with the same meaning.

use crate::{operators, policies};
use gpufeed::decode::Scale;
use gpufeed::recipe::ViewGroup;
use gpufeed::transforms::{Key, Params};
use gpufeed::{Order, Output, Plan, Recipe, Sampler, State, recipe};
use gpufeed_testing::bits;
use gpufeed_testing::frozen::{check_read, files, path};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

#[test]
fn recipes_are_read_as_they_were() {
    let mut recipes: Vec<(String, Recipe)> =
        recipe::NAMES.iter().map(|name| (format!("files/recipes/{name}.toml"), recipe::named(name).unwrap())).collect();
    recipes.push(("files/recipes/every-operator.toml".to_owned(), operators::recipe()));
    let added = operators::added().into_iter().chain(policies::added()).chain(operators::later());
    recipes.extend(added.map(|(name, list)| (format!("files/recipes/{name}.toml"), Recipe::from(list))));
    recipes.push(("files/recipes/mixing.toml".to_owned(), operators::mixing()));
    recipes.push(("files/recipes/timm-mixup.toml".to_owned(), operators::timm_mixup()));
    recipes.push(("files/recipes/uint8.toml".to_owned(), policies::uint8()));
    let written: Vec<String> = recipes.iter().map(|(_, recipe)| recipe.to_toml().unwrap()).collect();
    let names: Vec<_> = recipes.iter().zip(&written).map(|((name, _), text)| (name.as_str(), text.as_str())).collect();
    for ((name, expected), text) in recipes.iter().zip(files(&names)) {
        check_read(name, recipe::from_toml(&text), expected);
    }
}

/// Checks that the list in the file `name`, with one element per line, is read as `expected`.
fn reads<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, expected: &Vec<T>) {
    let lines: Vec<_> = expected.iter().map(|element| serde_json::to_string(element).unwrap()).collect();
    let written = format!("[\n{}\n]\n", lines.join(",\n"));
    let text = files(&[(name, &written)]).remove(0);
    check_read(name, serde_json::from_str(&text), expected);
}

#[test]
fn states_are_read_as_they_were() {
    let mut states = vec![State::default(), State::at(42, 3, 17), State::at(u64::MAX, 1 << 53, 1)];
    let sampler = Sampler::new(1001, 32).unwrap().seed(42).shard(1, 2).unwrap();
    let blocks = sampler.clone().order(Order::Blocks { samples: 16, window: 4 }).unwrap().lanes(8).unwrap();
    states.push(sampler.state(3, 5));
    states.push(sampler.clone().shuffle(true).state(3, 5));
    states.push(blocks.state(3, 5));
    states.push(blocks.shuffle(true).state(3, 5));
    states.push(sampler.weights(&[1.0; 1001]).unwrap().state(3, 5));
    reads("files/states.json", &states);
}

/// They are not written any more.
#[test]
fn states_of_version_1_are_read_as_they_were() {
    let sampler = Sampler::new(1001, 32).unwrap().seed(42).shard(1, 2).unwrap();
    let expected = vec![
        sampler.state(3, 5),
        sampler.clone().shuffle(true).state(3, 5),
        sampler.weights(&[1.0; 1001]).unwrap().state(3, 5),
    ];
    let name = "files/states-1.json";
    let text = std::fs::read_to_string(path(name)).unwrap();
    check_read(name, serde_json::from_str(&text), &expected);
}

#[test]
fn parameters_are_read_as_they_were() {
    let draw = |group: ViewGroup| {
        let semantics = group.semantics.unwrap_or_default();
        let plan = Plan::compile_as(semantics, 3, &group.transforms, &Output::default()).unwrap();
        plan.make_params(500, 375, &Key { seed: 1, epoch: 2, sample: 3, ..Key::default() }).unwrap()
    };
    let mut params: Vec<Params> = vec![operators::params(), scaled(), operators::added_params()];
    params.extend(bits::plain_recipes().flat_map(|name| recipe::named(name).unwrap().lists()).map(draw));
    params.push(operators::later_params());
    params.extend(operators::mixed_params());
    params.push(policies::added_params());
    params.push(operators::object_params());
    params.push(operators::later_object_params());
    reads("files/drawn.json", &params);
}

/// Returns parameters with the scale at which a JPEG was decoded; files leave out a scale of 1.
fn scaled() -> Params {
    Params { scale: Scale::Quarter, ..operators::params() }
}
