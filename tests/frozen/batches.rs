//! The batches of every built-in recipe on the CPU backend do not change. They are the same on every processor,
//! whatever the width of its vectors.

use gpufeed::transforms::Transform;
use gpufeed::{Backend, Execute, Semantics, recipe};
use gpufeed_testing::bits::{Kept, cases};
use gpufeed_testing::frozen;

#[test]
fn batches_have_the_bits_that_they_had() {
    let mut lines = Vec::new();
    let mut streamed = Vec::new();
    for case in cases(&[Kept::Nothing, Kept::Host, Kept::HostBytes]) {
        let bits = case.bits(&Backend::Cpu, Execute::Auto, 2).unwrap_or_else(|error| panic!("{case}: {error}"));
        match case.kept {
            Kept::Nothing => {
                assert_eq!(bits.hits, 0, "{case}");
                streamed.push((case.recipe, case.views, bits.epochs));
            }
            kept => {
                assert!(bits.hits > 0, "{case}: nothing came from the cache");
                let same = streamed.contains(&(case.recipe, case.views, bits.epochs));
                // With `cache_in_bytes`, the result of a resize is rounded, so its batches differ.
                let rounded = kept == Kept::HostBytes && begins_with_a_resize(case.recipe);
                assert!(same != rounded, "{case}: the same batches as without a cache: {same}, expected: {}", !rounded);
            }
        }
        lines.push((case.to_string(), bits.to_string()));
    }
    frozen::check_lines("hashes/batches.txt", &lines, "what changes pixels, and a line in CHANGELOG.md");
}

/// In `Semantics::Uint8` the result of a resize is in bytes already.
fn begins_with_a_resize(name: &str) -> bool {
    let recipe = recipe::named(name).unwrap();
    let floats = recipe.semantics.unwrap_or_default() == Semantics::Float;
    floats && matches!(recipe.transforms.first(), Some(Transform::Resize(_)))
}
