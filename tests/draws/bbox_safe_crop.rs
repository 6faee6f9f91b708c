//! BBoxSafeRandomCrop beside Albumentations' (`tests/golden/bbox_safe_crop.py`): histograms of its draws, and what it promises.

use crate::statistics::same_distribution;
use gpufeed::targets::{BoxFormat, Objects, make_params};
use gpufeed::transforms::{BBoxSafeRandomCrop, Key, Op, Params, RandomHorizontalFlip};
use gpufeed::{Output, Plan};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Table {
    /// Height and width.
    canvas_size: [u32; 2],
    draws: u64,
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    erosion_rate: f64,
    boxes: Vec<[f32; 4]>,
    counts: BTreeMap<String, Vec<u64>>,
}

/// The crop's left, top, right and bottom edge, of the first op.
fn edges(params: &Params) -> [u32; 4] {
    let Op::Crop { top, left, height, width } = params.ops[0].op else { panic!("{params:?}") };
    [left, top, left + width, top + height]
}

fn plan(crop: BBoxSafeRandomCrop) -> Plan {
    Plan::compile(&[crop.into()], &Output::default()).expect("the arguments are fine")
}

#[test]
fn crops_are_drawn_as_albumentations() {
    let table: Table = serde_json::from_str(include_str!("../golden/bbox_safe_crop.json")).expect("it is valid");
    let [height, width] = table.canvas_size;
    assert_eq!(table.cases.len(), 7);
    for (name, Case { erosion_rate, boxes, counts }) in table.cases {
        let plan = plan(BBoxSafeRandomCrop::new().erosion_rate(erosion_rate));
        let objects = Objects::of_boxes(BoxFormat::Xyxy, boxes);
        let mut ours = BTreeMap::<&str, Vec<u64>>::new();
        for sample in 0..table.draws {
            let key = Key { seed: 3, sample, ..Key::default() };
            let [left, top, right, bottom] =
                edges(&make_params(&plan, (width, height), &key, &objects).expect("it fits"));
            for (quantity, value, side) in [
                ("left", left, width),
                ("top", top, height),
                ("right", right, width),
                ("bottom", bottom, height),
                ("width", right - left, width),
                ("height", bottom - top, height),
            ] {
                let counts = ours.entry(quantity).or_insert_with(|| vec![0; 10]);
                counts[(10 * value / (side + 1)).min(9) as usize] += 1;
            }
        }
        for (quantity, expected) in counts {
            let found = &ours[quantity.as_str()];
            let p = same_distribution(found, &expected);
            assert!(p > 1e-4, "{name}, {quantity}: {found:?}, Albumentations' {expected:?} (p = {p})");
        }
    }
}

#[test]
fn no_box_is_cut() {
    let size = (90, 70);
    for crop in [BBoxSafeRandomCrop::new(), BBoxSafeRandomCrop::new().size((24, 32))] {
        let plan = plan(crop);
        for number in 0..2000u64 {
            // Boxes with fractions, at the edges, without an area, and beyond the image.
            let at = |bits: u64, most: f32| ((number * 2_654_435_761) >> bits) as u8 as f32 / 255.0 * most;
            let (left, top) = (at(3, 100.0) - 5.0, at(11, 80.0) - 5.0);
            let (right, bottom) = (left + at(19, 90.0), top + at(26, 70.0));
            let objects =
                Objects::of_boxes(BoxFormat::Xyxy, vec![[left, top, right, bottom], [40.0, 30.5, 40.0, 30.5]]);
            let params =
                make_params(&plan, size, &Key { sample: number, ..Key::default() }, &objects).expect("it fits");
            let [x0, y0, x1, y1] = edges(&params).map(|edge| edge as f32);
            let cut = |edge: f32, side: u32| edge.clamp(0.0, side as f32);
            let holds = x0 <= cut(left, size.0)
                && cut(right, size.0) <= x1
                && y0 <= cut(top, size.1)
                && cut(bottom, size.1) <= y1;
            assert!(holds, "{params:?} of {objects:?}");
        }
    }
}

#[test]
fn boxes_are_looked_at_where_the_list_has_led_them() {
    // The box is at the right edge of the mirrored image.
    let list = [RandomHorizontalFlip::new(1.0).into(), BBoxSafeRandomCrop::new().into()];
    let plan = Plan::compile(&list, &Output::default()).expect("the list compiles");
    let objects = Objects::of_boxes(BoxFormat::Xywh, vec![[0.0, 20.0, 10.0, 10.0]]);
    for sample in 0..200 {
        let params = make_params(&plan, (100, 60), &Key { sample, ..Key::default() }, &objects).expect("it fits");
        let Some(Op::Crop { left, width, .. }) = params.ops.last().map(|each| &each.op) else { panic!("{params:?}") };
        assert!(*left <= 90 && left + width == 100, "{params:?}");
    }
}

#[test]
fn numbers_that_are_none_and_images_of_a_pixel_work() {
    let plan = plan(BBoxSafeRandomCrop::new().erosion_rate(0.9));
    for (size, boxes) in [
        ((1, 1), vec![[0.0, 0.0, 1.0, 1.0], [0.2, 0.2, 0.3, 0.3]]),
        ((1, 50), vec![]),
        ((50, 1), vec![]),
        ((30, 20), vec![[f32::NAN; 4]]),
        ((30, 20), vec![[f32::INFINITY, 0.0, 3.0, 3.0], [9.0, 9.0, 2.0, 2.0]]),
    ] {
        let objects = Objects::of_boxes(BoxFormat::Xyxy, boxes);
        for sample in 0..200 {
            let params = make_params(&plan, size, &Key { sample, ..Key::default() }, &objects).expect("it fits");
            let [left, top, right, bottom] = edges(&params);
            assert!(left < right && right <= size.0 && top < bottom && bottom <= size.1, "{params:?}");
        }
    }
}
