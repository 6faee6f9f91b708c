//! SanitizeVisibility beside Albumentations' `min_visibility` (`tests/golden/visibility.py`), and what its share is.

use gpufeed::targets::{BoxFormat, Clamping, Moves, ObjectOp, Objects, convert_boxes, make_params};
use gpufeed::transforms::{
    BBoxSafeRandomCrop, CenterCrop, ClampBoundingBoxes, Key, Op, PaddingMode, RandomIoUCrop, SanitizeVisibility,
    SetClampingMode, Transform,
};
use gpufeed::{Output, Plan};
use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    /// Height and width.
    canvas_size: [u32; 2],
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    ops: Vec<Listed>,
    boxes: Vec<[f32; 4]>,
    min_visibility: f32,
    kept: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Listed {
    Crop { top: u32, left: u32, height: u32, width: u32 },
    Flip,
    Resize { height: u32, width: u32 },
    Pad { left: u32, top: u32, right: u32, bottom: u32 },
}

impl Listed {
    fn op(&self) -> Op {
        match *self {
            Listed::Crop { top, left, height, width } => Op::Crop { top, left, height, width },
            Listed::Flip => Op::HorizontalFlip,
            Listed::Resize { height, width } => {
                Op::Resize { height, width, interpolation: Default::default(), antialias: true }
            }
            Listed::Pad { left, top, right, bottom } => {
                Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: [0.0; 3] }
            }
        }
    }
}

#[test]
fn objects_are_removed_as_albumentations_removes_them() {
    let table: Table = serde_json::from_str(include_str!("../golden/visibility.json")).expect("it is valid");
    let [height, width] = table.canvas_size;
    let mut removed = 0;
    for Row { ops, boxes, min_visibility, kept } in &table.rows {
        let mut ops: Vec<Op> = ops.iter().map(Listed::op).collect();
        ops.push(Op::Objects(ObjectOp::SanitizeVisibility { min_visibility: *min_visibility }));
        let moves = Moves::new(&ops, (width, height)).expect("they move boxes");
        for format in [BoxFormat::Xyxy, BoxFormat::Xywh, BoxFormat::Cxcywh] {
            let mut given = boxes.clone();
            convert_boxes(&mut given, BoxFormat::Xyxy, format);
            let labels = (0..boxes.len() as i64).collect();
            let mut objects = Objects::of_boxes(format, given).with_labels(labels).expect("as many");
            moves.objects(&mut objects).expect("no deformation");
            assert_eq!(objects.labels(), Some(&kept[..]), "{format:?} {ops:?} of {boxes:?}");
        }
        removed += boxes.len() - kept.len();
    }
    assert!(removed > 50 && table.rows.len() == 60, "{removed}");
}

/// The labels that a list leaves of boxes in an image of 20 × 20 pixels.
fn left(list: Vec<Transform>, boxes: Vec<[f32; 4]>) -> Vec<i64> {
    let plan = Plan::compile(&list, &Output::default()).expect("the list compiles");
    let labels = (0..boxes.len() as i64).collect();
    let mut objects = Objects::of_boxes(BoxFormat::Xyxy, boxes).with_labels(labels).expect("as many");
    let params = make_params(&plan, (20, 20), &Key::default(), &objects).expect("it fits");
    Moves::of(&params).expect("they move boxes").objects(&mut objects).expect("no deformation");
    objects.labels().map(<[i64]>::to_vec).unwrap_or_default()
}

#[test]
fn shares_are_those_of_all_cuts_before() {
    // The crops' columns are 4 to 16, then 6 to 14: 8 of 12, then 6 of 8 columns of the first box; all of the second.
    let list = |least: f32| -> Vec<Transform> {
        vec![
            CenterCrop::new((20, 12)).into(),
            CenterCrop::new((20, 8)).into(),
            SanitizeVisibility::new(least).into(),
            CenterCrop::new((20, 2)).into(),
        ]
    };
    let boxes = || vec![[0.0, 0.0, 12.0, 9.0], [7.0, 0.0, 13.0, 9.0], [0.0, 0.0, 4.0, 9.0]];
    assert_eq!(left(list(0.0), boxes()), [0, 1, 2]);
    assert_eq!(left(list(0.49), boxes()), [0, 1]);
    assert_eq!(left(list(0.51), boxes()), [1]);
    assert_eq!(left(list(1.0), boxes()), [1]);
    // Nothing is cut without clamping, and a clamp is a cut.
    let mut none = list(1.0);
    none.insert(0, SetClampingMode::new(Clamping::None).into());
    assert_eq!(left(none, boxes()), [0, 1, 2]);
    let clamped = vec![ClampBoundingBoxes::new().into(), SanitizeVisibility::new(0.6).into()];
    assert_eq!(left(clamped, vec![[-5.0, 0.0, 5.0, 9.0], [-5.0, 0.0, 10.0, 9.0]]), [1]);
}

#[test]
fn a_box_that_a_crop_makes_empty_has_no_share() {
    let ops = [
        Op::Objects(ObjectOp::EmptyOutside { left: 0, top: 0, width: 8, height: 8 }),
        Op::Crop { top: 0, left: 0, height: 8, width: 8 },
        Op::Objects(ObjectOp::SanitizeVisibility { min_visibility: 0.01 }),
    ];
    let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[2.0, 2.0, 20.0, 5.0], [2.0, 2.0, 9.0, 5.0]]);
    Moves::new(&ops, (20, 20)).expect("they move boxes").objects(&mut objects).expect("no deformation");
    assert_eq!(objects.boxes(), [[2.0, 2.0, 8.0, 5.0]]);
    let list = [RandomIoUCrop::new().into(), SanitizeVisibility::new(0.01).into()];
    assert!(Plan::compile(&list, &Output::default()).is_ok());
}

#[test]
fn later_crops_look_at_the_objects_that_are_left() {
    // The second box, of which the first crop shows a fifth, would hold the second crop's right edge.
    let list =
        vec![CenterCrop::new((20, 12)).into(), SanitizeVisibility::new(0.5).into(), BBoxSafeRandomCrop::new().into()];
    let plan = Plan::compile(&list, &Output::default()).expect("the list compiles");
    let objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[5.0, 5.0, 8.0, 8.0], [14.0, 5.0, 24.0, 8.0]]);
    let right = |sample| {
        let params = make_params(&plan, (20, 20), &Key { sample, ..Key::default() }, &objects).expect("it fits");
        match params.ops.last().map(|each| &each.op) {
            Some(Op::Crop { left, width, .. }) => left + width,
            other => panic!("{other:?}"),
        }
    };
    let ends: std::collections::BTreeSet<u32> = (0..200).map(right).collect();
    assert!(ends.len() > 5 && ends.first() == Some(&4), "{ends:?}");
}
