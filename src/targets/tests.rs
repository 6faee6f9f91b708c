//! Moves of several ops, what they refuse, and numbers at the edges. `tests/torchvision.rs` has torchvision's rows.

mod torchvision;

use super::moves::Moves;
use crate::error::ErrorKind;
use crate::objects::{BoxFormat, Clamping, SanitizeBoxes, clamp_boxes, convert_boxes};
use crate::transforms::{Interpolation, Op, PaddingMode, Params};

#[test]
fn moves_are_those_of_one_op_after_the_other() {
    let ops = [
        Op::Pad { left: 3, top: 0, right: 2, bottom: 5, mode: PaddingMode::Constant, fill: [0.0; 3] },
        Op::Crop { top: 1, left: 2, height: 14, width: 12 },
        Op::Brightness { factor: 0.5 },
        Op::HorizontalFlip,
        Op::Resize { height: 28, width: 6, interpolation: Interpolation::Bilinear, antialias: true },
    ];
    let moves = Moves::new(&ops, (13, 11)).unwrap();
    assert_eq!(moves.size(), (6, 28));
    let mut boxes = [[1.0f32, 2.0, 20.0, 6.0]];
    moves.boxes(&mut boxes, BoxFormat::Xyxy, Clamping::None).unwrap();
    // Padded: 4 to 23; cropped: 2 to 21; mirrored in 12: -9 to 10; halved.
    assert_eq!(boxes, [[-4.5, 2.0, 5.0, 10.0]]);
    let mut clamped = [[1.0f32, 2.0, 20.0, 6.0]];
    moves.boxes(&mut clamped, BoxFormat::Xyxy, Clamping::Soft).unwrap();
    // Cut to the padded image's 18 columns, then to the crop's 12: 2 to 12; mirrored: 0 to 10; halved.
    assert_eq!(clamped, [[0.0, 2.0, 5.0, 10.0]]);
    let mut points = [[1i64, 2]];
    moves.keypoints(&mut points).unwrap();
    // 4, 2, then 9 of the columns 0 to 11, then 4.5, which is cut.
    assert_eq!(points, [[4, 2]]);
}

#[test]
fn an_elastic_deformation_moves_places_by_the_displacement_of_its_pixels() {
    let (alpha, sigma, key, size) = ([40.0, 60.0], [2.0, 1.5], [7, 9], (31, 23));
    let op = Op::Elastic { alpha, sigma, key, interpolation: Interpolation::Bilinear, fill: None };
    let elastic = crate::elastic::Elastic { alpha, sigma, key, nearest: false, fill: None };
    let [x, y] = crate::cpu::gather::elastic::whole_field(&elastic, size).unwrap();
    let moves = Moves::new([&op], size).unwrap();
    let mut points = [[4.75f32, 11.5], [30.0, 22.0], [99.0, -4.0]];
    moves.keypoints(&mut points).unwrap();
    for (point, (column, row)) in points.into_iter().zip([(4, 11), (30, 22), (30, 0)]) {
        let at = row * 31 + column;
        assert_eq!(point, [column as f32 - x[at], row as f32 - y[at]]);
    }
    assert!(x.iter().chain(&y).any(|by| by.abs() > 1.0), "a displacement that would be seen");
    let mut boxes = [[4.75f32, 11.5, 4.75, 11.5]];
    moves.boxes(&mut boxes, BoxFormat::Xyxy, Clamping::None).unwrap();
    let corner = [5.0 - x[12 * 31 + 5], 12.0 - y[12 * 31 + 5]];
    assert_eq!(boxes, [[corner[0], corner[1], corner[0], corner[1]]]);
}

#[test]
fn ops_that_move_no_targets_are_refused() {
    let pad = Op::Pad { left: 1, top: 1, right: 1, bottom: 1, mode: PaddingMode::Reflect, fill: [0.0; 3] };
    let policy = r#"{"Policy":{"id":"Rotate","magnitude":3.0,"interpolation":"Nearest","fill":null}}"#;
    let line = Op::Perspective {
        startpoints: [[0, 0], [4, 0], [8, 0], [2, 0]],
        endpoints: [[0, 0], [4, 0], [8, 0], [2, 0]],
        interpolation: Interpolation::Bilinear,
        fill: None,
    };
    let outside = Op::Crop { top: 0, left: 5, height: 4, width: 4 };
    for (op, reason) in [
        (pad, "padding by Reflect shows parts of the image again, which no box follows; PaddingMode::Constant works"),
        (serde_json::from_str(policy).unwrap(), "operations of a policy move pixels and no targets"),
        (line, "its points lie on a line"),
        (outside, "reaches outside an image of 8x8"),
        (
            Op::Rotate {
                angle: 5.0,
                expand: true,
                center: Some([1.0, 2.0]),
                interpolation: Interpolation::Nearest,
                fill: None,
            },
            "with `expand` and a center, torchvision leads boxes elsewhere than pixels; leave the center out",
        ),
        (Op::HostCode { key: Default::default() }, "nobody knows whether your code moves pixels"),
    ] {
        let error = Moves::new([&op], (8, 8)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Transform { .. }) && error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_box_that_was_cut_to_its_image_stays_in_it() {
    for width in [10u32, 224, 500, 640] {
        for tenths in 0..10 * width {
            let left = tenths as f32 / 10.0;
            for format in [BoxFormat::Xyxy, BoxFormat::Xywh, BoxFormat::Cxcywh] {
                let mut boxes = [[left, 1.0, width as f32 + 7.3, 9.0]];
                convert_boxes(&mut boxes, BoxFormat::Xyxy, format);
                clamp_boxes(&mut boxes, format, (width, 10));
                // Below a pixel a box is too small, and a middle of an f32 may lie beyond the edge by its last bit, as in torch.
                if format != BoxFormat::Cxcywh && left + 1.01 < width as f32 {
                    let keeps =
                        |boxes: &[[f32; 4]]| SanitizeBoxes::default().keeps(boxes, format, (width, 10)) == [true];
                    assert!(keeps(&boxes), "{format:?} {boxes:?}");
                    let moves = Moves::new([&Op::HorizontalFlip], (width, 10)).unwrap();
                    moves.boxes(&mut boxes, format, Clamping::None).unwrap();
                    assert!(keeps(&boxes), "mirrored, {format:?} {boxes:?}");
                }
            }
        }
    }
}

#[test]
fn pillows_matrix_leads_back() {
    // Pixel (x, y) of the result shows ((x + 1/2) / 2 + 3, 2 (y + 1/2) - 1).
    let matrix = [0.5, 0.0, 3.0, 0.0, 2.0, -1.0];
    let op = Op::PillowAffine { matrix, interpolation: Interpolation::Nearest, fill: [0.0; 3] };
    let mut boxes = [[4.0f32, 1.0, 6.0, 5.0]];
    Moves::new([&op], (20, 20)).unwrap().boxes(&mut boxes, BoxFormat::Xyxy, Clamping::Soft).unwrap();
    assert_eq!(boxes, [[2.0, 1.0, 6.0, 3.0]]);
}

#[test]
fn an_image_without_a_size_and_a_mixed_one_have_no_moves() {
    let refused = |params: &Params| Moves::of(params).unwrap_err().to_string();
    assert!(refused(&Params::default()).contains("no image has this size; sides of 1 to 4194304 work"));
    let json = r#"{"width":2,"height":1,"ops":[],"mixed":{"mix":{"MixUp":{"lambda":0.25}},"index":7,"id":7,
        "params":{"width":3,"height":4,"ops":[]}}}"#;
    assert!(refused(&serde_json::from_str(json).unwrap()).contains("MixUp and CutMix show a second image"));
}

#[test]
fn numbers_that_are_none_stay_in_their_box() {
    let mut boxes = [[f32::NAN, 1.0, f32::INFINITY, 3.0], [1.0, 1.0, 3.0, 3.0]];
    Moves::new([&Op::HorizontalFlip], (8, 8)).unwrap().boxes(&mut boxes, BoxFormat::Xyxy, Clamping::Soft).unwrap();
    assert!(boxes[0][2].is_nan() && boxes[1] == [5.0, 1.0, 7.0, 3.0]);
    let turn =
        Op::Rotate { angle: 30.0, expand: false, center: None, interpolation: Interpolation::Nearest, fill: None };
    let mut turned = [[f64::NAN, 1.0, 5.0, 3.0]];
    Moves::new([&turn], (8, 8)).unwrap().boxes(&mut turned, BoxFormat::Xyxy, Clamping::Soft).unwrap();
    assert!(turned[0].iter().all(|edge| edge.is_nan()), "{turned:?}");
    assert_eq!(SanitizeBoxes::default().keeps(&boxes, BoxFormat::Xyxy, (8, 8)), [false, true]);
    clamp_boxes(&mut boxes, BoxFormat::Xyxy, (4, 4));
    assert_eq!(boxes[1], [4.0, 1.0, 4.0, 3.0]);
}
