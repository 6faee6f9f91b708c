//! Letterbox beside Ultralytics' formula (`tests/golden/letterbox.py`): sizes, borders, and boxes at the corners. It draws nothing.

use gpufeed::targets::{BoxFormat, Moves, Objects};
use gpufeed::transforms::{Key, Letterbox, Op, PaddingMode, Params, ToDtype, Transform};
use gpufeed::{Output, Plan, Semantics};
use serde::Deserialize;
use std::sync::LazyLock;

/// (height, width) of the image and of the result, `scaleup`, `center`, the resized (width, height), the borders.
type Layout = ((u32, u32), (u32, u32), bool, bool, (u32, u32), [u32; 4]);

/// (height, width) of the image and of the result, and where Ultralytics leads a box in each corner.
type Corners = ((u32, u32), (u32, u32), Vec<[f32; 4]>);

#[derive(Deserialize)]
struct Table {
    layouts: Vec<Layout>,
    boxes: Vec<Corners>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/letterbox.json")).expect("letterbox.json is valid"));

fn params(semantics: Semantics, list: &[Transform], (height, width): (u32, u32), sample: u64) -> Params {
    let plan = Plan::compile_as(semantics, 3, list, &Output::default()).expect("the list compiles");
    plan.make_params(width, height, &Key { sample, ..Key::default() }).expect("it fits")
}

#[test]
fn images_are_put_where_ultralytics_puts_them() {
    assert!(TABLE.layouts.len() > 1000);
    for &(shape, target, scaleup, center, resized, border) in &TABLE.layouts {
        let letterbox = Letterbox::new(target).scaleup(scaleup).center(center);
        assert_eq!(letterbox.layout(shape.1, shape.0), (resized, border), "{shape:?} {letterbox:?}");
        let made = params(Semantics::Float, &[letterbox.clone().into()], shape, 1);
        let moves = Moves::of(&made).expect("a resize and a border");
        assert_eq!(moves.size(), (target.1, target.0), "{shape:?} {letterbox:?}");
        // An image of the right size is not resized, and one that fills the result has no border.
        let expected = usize::from(resized != (shape.1, shape.0)) + usize::from(border != [0; 4]);
        assert_eq!(made.ops.len(), expected, "{made:?}");
        assert_eq!(made, params(Semantics::Float, &[letterbox.into()], shape, 2), "it draws nothing");
    }
}

#[test]
fn boxes_at_the_corners_follow() {
    for (shape, target, expected) in &TABLE.boxes {
        let letterbox = Letterbox::new(*target);
        let ((width, height), [left, top, ..]) = letterbox.layout(shape.1, shape.0);
        let [w, h] = [shape.1, shape.0].map(|side| side as f32);
        let corners = [0.0, 1.0].into_iter().flat_map(|x| [0.0, 1.0].map(|y| [x, y, x + 1.0, y + 1.0]));
        let given = corners.map(|[x0, y0, x1, y1]| [x0 * w / 2.0, y0 * h / 2.0, x1 * w / 2.0, y1 * h / 2.0]).collect();
        let mut objects = Objects::of_boxes(BoxFormat::Xyxy, given);
        let made = params(Semantics::Float, &[letterbox.into()], *shape, 0);
        Moves::of(&made).expect("a resize and a border").objects(&mut objects).expect("no deformation");
        // Ultralytics multiplies by the ratio, before a side is rounded or made 1.
        let ratio = (target.0 as f32 / h).min(target.1 as f32 / w);
        let off = [w, h].map(|side| ((side * ratio).round_ties_even().max(1.0) - side * ratio).abs() + 1e-3);
        for (found, expected) in objects.boxes().iter().zip(expected) {
            let near = (0..4).all(|axis| (found[axis] - expected[axis]).abs() <= off[axis % 2]);
            assert!(near, "{shape:?} {target:?}: {found:?}, Ultralytics' {expected:?}");
        }
        // The outer edges are those of the resized image.
        let [first, .., last] = objects.boxes() else { panic!("four boxes") };
        let outer = [first[0], first[1], last[2], last[3]];
        let edges = [left, top, left + width, top + height].map(|edge| edge as f32);
        assert!(outer.iter().zip(edges).all(|(a, b)| (a - b).abs() <= 1e-3), "{outer:?}, not {edges:?}");
    }
}

#[test]
fn the_rest_is_gray_in_both_numbers() {
    let fill =
        |semantics, list: &[Transform]| match params(semantics, list, (20, 40), 0).ops.last().map(|each| &each.op) {
            Some(Op::Pad { mode: PaddingMode::Constant, fill, .. }) => *fill,
            other => panic!("{other:?}"),
        };
    let letterbox = || Transform::from(Letterbox::new(64));
    assert_eq!(fill(Semantics::Uint8, &[letterbox()]), [114.0; 3]);
    assert_eq!(fill(Semantics::Float, &[letterbox()]), [114.0 / 255.0; 3]);
    assert_eq!(fill(Semantics::Uint8, &[ToDtype::new().into(), letterbox()]), [114.0 / 255.0; 3]);
    let red = Letterbox::new(64).fill([1.0, 0.0, 0.0]);
    assert_eq!(fill(Semantics::Float, &[red.into()]), [1.0, 0.0, 0.0]);
}
