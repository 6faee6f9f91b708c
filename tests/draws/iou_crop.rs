//! RandomIoUCrop beside torchvision's (`tests/golden/iou_crop.py`): what it does to boxes, and histograms of its draws.

use crate::statistics::same_distribution;
use gpufeed::targets::{BoxFormat, Moves, ObjectOp, Objects, make_params};
use gpufeed::transforms::{Key, Op, RandomIoUCrop};
use gpufeed::{Output, Plan};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
struct Table {
    /// Height and width.
    canvas_size: [u32; 2],
    boxes: Vec<[f32; 4]>,
    draws: u64,
    rows: Vec<Row>,
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Row {
    format: BoxFormat,
    boxes: Vec<[f32; 4]>,
    left: u32,
    top: u32,
    width: u32,
    height: u32,
    out: Vec<[f32; 4]>,
}

#[derive(Deserialize)]
struct Case {
    arguments: RandomIoUCrop,
    cropped: u64,
    counts: BTreeMap<String, Vec<u64>>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/iou_crop.json")).expect("iou_crop.json is valid"));

#[test]
fn boxes_outside_the_crop_become_empty() {
    let [height, width] = TABLE.canvas_size;
    for Row { format, boxes, left, top, width: w, height: h, out } in &TABLE.rows {
        let (left, top, w, h) = (*left, *top, *w, *h);
        let empty = Op::Objects(ObjectOp::EmptyOutside { left, top, width: w, height: h });
        let ops = [empty, Op::Crop { top, left, height: h, width: w }];
        let mut objects = Objects::of_boxes(*format, boxes.clone());
        Moves::new(&ops, (width, height)).expect("inside").objects(&mut objects).expect("no deformation");
        for (found, expected) in objects.boxes().iter().zip(out) {
            let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(near, "{format:?} {left} {top} {w} {h}: {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn crops_are_drawn_as_torchvisions() {
    let [height, width] = TABLE.canvas_size;
    let objects = Objects::of_boxes(BoxFormat::Xyxy, TABLE.boxes.clone());
    for (name, Case { arguments, cropped, counts }) in &TABLE.cases {
        let plan = Plan::compile(&[arguments.clone().into()], &Output::default()).expect("the arguments are fine");
        let (mut ours, mut whole) = (BTreeMap::<&str, Vec<u64>>::new(), 0);
        for sample in 0..TABLE.draws {
            let key = Key { seed: 3, sample, ..Key::default() };
            let params = make_params(&plan, (width, height), &key, &objects).expect("it fits");
            let Some(Op::Crop { top, left, height: h, width: w }) = params.ops.last().map(|each| &each.op) else {
                whole += 1;
                continue;
            };
            let aspect = f64::from(*w) / f64::from(*h);
            assert!((arguments.min_aspect_ratio..=arguments.max_aspect_ratio).contains(&aspect), "{params:?}");
            for (quantity, value, side) in
                [("left", *left, width), ("top", *top, height), ("width", *w, width), ("height", *h, height)]
            {
                let counts = ours.entry(quantity).or_insert_with(|| vec![0; 8]);
                counts[((8 * value / side) as usize).min(7)] += 1;
            }
        }
        let p = same_distribution(&[TABLE.draws - whole, whole], &[*cropped, TABLE.draws - cropped]);
        assert!(p > 1e-4, "{name}: {} crops, torchvision's {cropped} (p = {p})", TABLE.draws - whole);
        for (quantity, expected) in counts {
            let p = same_distribution(&ours[quantity.as_str()], expected);
            assert!(
                p > 1e-4,
                "{name}, {quantity}: {:?}, torchvision's {expected:?} (p = {p})",
                ours[quantity.as_str()]
            );
        }
    }
}

#[test]
fn boxes_are_looked_at_where_the_list_has_led_them() {
    // The box is at the right edge of the mirrored image, and its middle in each crop.
    let list = [gpufeed::transforms::RandomHorizontalFlip::new(1.0).into(), RandomIoUCrop::new().into()];
    let plan = Plan::compile(&list, &Output::default()).expect("the list compiles");
    let objects = Objects::of_boxes(BoxFormat::Xywh, vec![[0.0, 20.0, 10.0, 10.0]]);
    let mut crops = 0;
    for sample in 0..500 {
        let params = make_params(&plan, (100, 60), &Key { sample, ..Key::default() }, &objects).expect("it fits");
        let Some(Op::Crop { left, width, .. }) = params.ops.last().map(|each| &each.op) else { continue };
        assert!(*left < 95 && left + width > 95, "{params:?}");
        crops += 1;
    }
    assert!(crops > 150, "{crops}");
    // Without boxes the image stays as it is.
    let none = Objects::of_boxes(BoxFormat::Xyxy, Vec::new());
    assert_eq!(make_params(&plan, (100, 60), &Key::default(), &none).expect("it fits").ops.len(), 1);
}
