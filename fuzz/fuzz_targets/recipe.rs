//! Fuzzes recipes: the input is parsed as a recipe, compiled to a plan, and the plan draws parameters.

#![no_main]

use gpufeed::transforms::Key;
use gpufeed::{Plan, recipe};
use gpufeed_fuzz::readers::{bounded, refused};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: Counting<1> = Counting;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(input) else { return Corpus::Reject };
    let recipe = match bounded(8 * text.len(), || recipe::from_toml(text)) {
        Ok(recipe) => recipe,
        Err(error) => {
            refused(&error);
            return Corpus::Keep;
        }
    };
    recipe.validate().expect("what was read is valid");
    let again = recipe::to_toml(recipe.clone()).expect("what was read can be written");
    assert_eq!(recipe::from_toml(&again).expect("what was written"), recipe, "{again}");
    for channels in [1, 3] {
        let (semantics, output) = (recipe.semantics.unwrap_or_default(), recipe.output.unwrap_or_default());
        let plan = Plan::compile_as(semantics, channels, &recipe.transforms, &output);
        let Ok(plan) = plan else { continue };
        for (width, height) in [(1, 1), (64, 48)] {
            let _ = plan.make_params(width, height, &Key { sample: 7, ..Key::default() });
        }
    }
    Corpus::Keep
});
