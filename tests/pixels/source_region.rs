//! `Plan::source_region`: no pixel outside the region changes the result of the reference, which knows no regions.

use gpufeed::decode::Rect;
use gpufeed::transforms::{CenterCrop, Key, Op, RandomCrop};
use gpufeed::{ErrorKind, Output, Plan};
use gpufeed_testing::compare::within;
use gpufeed_testing::images::Source;
use gpufeed_testing::lists::{Dice, list};
use gpufeed_testing::{procedural, reference};

/// Returns the image with those pixels changed for which `changes(column, row)` is true.
fn changed(source: &Source, changes: impl Fn(u32, u32) -> bool) -> Source {
    let mut source = source.clone();
    let (width, channels) = (source.width as usize, source.channels as usize);
    for (place, byte) in source.bytes.iter_mut().enumerate() {
        let pixel = place / channels;
        if changes((pixel % width) as u32, (pixel / width) as u32) {
            *byte = byte.wrapping_add(97);
        }
    }
    source
}

fn is_in(region: Rect, x: u32, y: u32) -> bool {
    (region.left..region.left + region.width).contains(&x) && (region.top..region.top + region.height).contains(&y)
}

#[test]
fn nothing_outside_it_has_a_part_in_the_result() {
    let (mut smaller, mut images, mut seen_inside) = (0, 0, 0);
    for number in 0..300 {
        let transforms = list(&mut Dice(number), false);
        let plan = Plan::compile(&transforms, &Output::default()).unwrap();
        let source = procedural::build((90, 70, 3), |x, y, c| procedural::value(number as u32, x, y, c));
        let Ok(params) = plan.make_params(90, 70, &Key { seed: number, ..Key::default() }) else { continue };
        let region = plan.source_region(&params).unwrap();
        assert!(region.left + region.width <= 90 && region.top + region.height <= 70, "{region:?}: {transforms:?}");
        let ops: Vec<Op> = params.ops.iter().map(|params| params.op.clone()).collect();
        let result = reference::run(&source.floats(), &ops);
        if result.on_a_jump {
            continue;
        }
        images += 1;
        let values = |source: &Source| -> Vec<f32> {
            reference::run(&source.floats(), &ops).image.planes.iter().map(|value| *value as f32).collect()
        };
        let outside = values(&changed(&source, |x, y| !is_in(region, x, y)));
        within(&result.image.planes, &outside, 1e-6).unwrap_or_else(|reason| panic!("{reason}: {region:?}: {ops:?}"));
        smaller += usize::from((region.width, region.height) != (90, 70));
        let inside = values(&changed(&source, |x, y| is_in(region, x, y)));
        seen_inside += usize::from(within(&result.image.planes, &inside, 1e-6).is_err());
    }
    assert!(images > 200 && smaller * 5 > images, "{smaller} of {images} regions are smaller than the image");
    // Some lists leave nothing of the picture, for example by posterizing it to one level.
    assert!(seen_inside * 10 > images * 9, "a change inside shows in {seen_inside} of {images}");
}

#[test]
fn parameters_of_another_plan_are_refused() {
    let [plan, other] = [CenterCrop::new(32).into(), RandomCrop::new(16).into()]
        .map(|transform| Plan::compile(&[transform], &Output::default()).unwrap());
    let mut params = plan.make_params(64, 48, &Key::default()).unwrap();
    assert_eq!(plan.source_region(&params).unwrap(), Rect { left: 16, top: 8, width: 32, height: 32 });
    params.ops.extend(other.make_params(64, 48, &Key::default()).unwrap().ops);
    params.ops[1].slot = 7;
    let error = plan.source_region(&params).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Argument { .. }), "{error}");
}
