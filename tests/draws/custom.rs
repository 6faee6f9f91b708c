//! Tests that the parameters of custom colour steps depend on the key alone, and that a batch's parameters replay its
//! images.

use gpufeed::transforms::{CustomColor, Key, Normalize, Op, Params, RandomResizedCrop, Transform};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, Output, Plan};
use gpufeed_testing::pipeline::{Seen, assert_same, places, seen, small_files, within};
use std::collections::BTreeSet;

const FADE: &str = "
fn fade(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> {
    return mix(color, vec3(parameters.y), parameters.x);
}
";

fn fading() -> CustomColor {
    CustomColor::new("fade", FADE, |color, [x, y, ..]| color.map(|value| value * (1.0 - x) + y * x))
}

fn plain() -> DataLoaderBuilder {
    let builder = DataLoader::builder(small_files(24)).transform(RandomResizedCrop::new(12));
    builder.batch_size(5).shuffle(true).seed(11)
}

#[test]
fn draws_depend_on_the_key_alone_and_replay() {
    within(120, "draws", || {
        let step = fading().draw(|numbers| {
            let strength = [0.25, 0.5, 1.0][numbers.below(3) as usize];
            numbers.chance(0.7).then(|| [strength, numbers.uniform(0.5, 1.0) as f32, 0.0, 0.0])
        });
        let parameters =
            |batches: &[Seen]| -> Vec<Params> { batches.iter().flat_map(|batch| batch.params.clone()).collect() };
        let mut drawn_elsewhere = None;
        for place in places() {
            let loader = place.build(plain().transform(step.clone()).workers(1));
            let batches = seen(loader.epochs(0..2).unwrap());
            let other = place.build(plain().transform(step.clone()).workers(8).queue_depth(5));
            assert_same(&batches, &seen(other.epochs(0..2).unwrap()), &place.name);
            // An image is replayed from parameters that were written as JSON and read again.
            for at in 0..2 {
                let (id, params) = (batches[1].ids[at], &batches[1].params[at]);
                let json = serde_json::to_string(params).unwrap();
                let again = loader.replay(id as usize, &serde_json::from_str(&json).unwrap()).unwrap();
                assert!(again == batches[1].image(at), "{}: {params:?}", place.name);
            }
            let params = parameters(&batches);
            let same = drawn_elsewhere.get_or_insert_with(|| params.clone());
            assert!(*same == params, "{}: other parameters than on the CPU", place.name);
        }
        let params = drawn_elsewhere.unwrap();
        let custom = |params: &Params| {
            params.ops.iter().find_map(|params| match params.op {
                Op::Custom { parameters: [strength, scale, ..] } => Some((strength.to_bits(), scale.to_bits())),
                _ => None,
            })
        };
        let found: Vec<_> = params.iter().filter_map(custom).collect();
        assert!((20..44).contains(&found.len()), "{} of 48 drawn with chance 0.7", found.len());
        assert_eq!(found.iter().map(|(strength, _)| strength).collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(found.iter().map(|(_, scale)| scale).collect::<BTreeSet<_>>().len(), found.len());
    });
}

/// Without a closure the parameters are zeros. A clone of a step equals it; a step made anew from the same text does
/// not.
#[test]
fn defaults_and_identity() {
    let plan = Plan::compile(&[fading().into()], &Output::default()).unwrap();
    let zeros = plan.make_params(4, 4, &Key::default()).unwrap();
    assert_eq!(zeros.ops[0].op, Op::Custom { parameters: [0.0; 4] });
    let step = fading();
    assert_eq!(step, step.clone());
    assert_ne!(step, fading());
    assert_ne!(step, step.clone().draw(|_| None));
    assert_eq!(format!("{step:?}"), r#"CustomColor("fade")"#);
    assert_eq!(Transform::from(step).name(), "CustomColor");
    let loader =
        plain().transform(fading().draw(|_| None)).transform(Normalize::IMAGENET).build(&Backend::Cpu).unwrap();
    let batches = seen(loader.epoch(0).unwrap());
    let without = plain().transform(Normalize::IMAGENET).build(&Backend::Cpu).unwrap();
    let without = seen(without.epoch(0).unwrap());
    assert!(batches.iter().zip(&without).all(|(with, without)| with.bytes == without.bytes));
    assert!(loader.explain().contains("fade"), "{}", loader.explain());
}
