//! Boxes and keypoints beside torchvision's: the rows of `tests/golden/targets.json`, and those beside the folder that
//! `GPUFEED_SHARED` names. Whole numbers are compared where the f32 before the cut is further than `BAR` from one.

use super::box_format::{BoxFormat, convert_boxes};
use super::clamp::{Clamping, clamp_boxes, clamp_keypoints};
use super::moves::Moves;
use super::sanitize::{SanitizeBoxes, keypoints_inside};
use super::step::{Forward, Step};
use crate::error::ErrorKind;
use crate::transforms::{Interpolation, Op, PaddingMode};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Pixels by which an f32 may be off.
const BAR: f64 = 1e-3;

#[derive(Deserialize)]
struct Rows {
    boxes: Vec<Row>,
    keypoints: Vec<Row>,
    sanitize: Vec<Row>,
    #[serde(default)]
    field: Vec<f32>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    op: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    format: Option<String>,
    dtype: String,
    #[serde(default)]
    clamping_mode: Option<String>,
    /// Height and width.
    canvas_size: [u32; 2],
    #[serde(default)]
    boxes: Vec<[f64; 4]>,
    #[serde(default)]
    points: Vec<[f64; 2]>,
    #[serde(default)]
    out: Vec<Vec<f64>>,
    #[serde(default)]
    out_canvas_size: [u32; 2],
    #[serde(default)]
    valid: Vec<bool>,
    #[serde(default)]
    min_size: f32,
    #[serde(default)]
    min_area: f32,
}

impl Row {
    fn size(&self) -> (u32, u32) {
        (self.canvas_size[1], self.canvas_size[0])
    }

    fn format(&self) -> BoxFormat {
        format_of(self.format.as_deref().unwrap())
    }

    fn number(&self, name: &str) -> f64 {
        self.args[name].as_f64().unwrap()
    }

    fn numbers<const N: usize>(&self, name: &str) -> [f64; N] {
        let numbers: Vec<f64> = serde_json::from_value(self.args[name].clone()).unwrap();
        numbers.try_into().unwrap()
    }

    fn center(&self) -> Option<[f64; 2]> {
        serde_json::from_value(self.args["center"].clone()).unwrap()
    }

    /// The steps of the row on its image, with the image's size after each.
    fn steps(&self, field: &dyn Fn(&Row) -> Rc<Vec<f32>>) -> Vec<(Step, (u32, u32))> {
        let (interpolation, antialias, fill) = (Interpolation::Nearest, false, None);
        let mut size = self.size();
        let mut steps = Vec::new();
        let mut push = |op: Op| {
            let step = Step::of(&op, size).unwrap();
            size = op.size_after(size);
            steps.extend(step.map(|step| (step, size)));
        };
        match self.op.as_str() {
            "horizontal_flip" => push(Op::HorizontalFlip),
            "vertical_flip" => push(Op::VerticalFlip),
            "resize" => {
                let [height, width] = self.out_canvas_size;
                push(Op::Resize { height, width, interpolation, antialias });
            }
            "pad" => {
                let [left, top, right, bottom] = self.numbers::<4>("padding").map(|side| side as u32);
                push(Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: [0.0; 3] });
            }
            "affine" => push(Op::Affine {
                angle: self.number("angle"),
                translate: self.numbers("translate"),
                scale: self.number("scale"),
                shear: self.numbers("shear"),
                center: self.center(),
                interpolation,
                fill,
            }),
            "rotate" => {
                let expand = self.args["expand"].as_bool().unwrap();
                let (angle, center) = (self.number("angle"), self.center());
                push(Op::Rotate { angle, expand, center, interpolation, fill });
            }
            "perspective" => push(Op::Perspective {
                startpoints: serde_json::from_value(self.args["startpoints"].clone()).unwrap(),
                endpoints: serde_json::from_value(self.args["endpoints"].clone()).unwrap(),
                interpolation,
                fill,
            }),
            // torchvision's function `crop` pads where it leaves the image, and clamps once, after both.
            "crop" => {
                let by = [-self.number("left"), -self.number("top")];
                steps.push((Step::Shift(by), (self.number("width") as u32, self.number("height") as u32)));
            }
            "resized_crop" => {
                let [height, width] = self.numbers::<2>("size").map(|side| side as u32);
                let [top, left, rows, columns] =
                    ["top", "left", "height", "width"].map(|name| self.number(name) as u32);
                push(Op::Crop { top, left, height: rows, width: columns });
                push(Op::Resize { height, width, interpolation, antialias });
            }
            // torchvision's own places: where the image is smaller, its pixels move by half of the difference rounded down, and its
            // boxes by the half that is rounded to even.
            "center_crop" => {
                let [height, width] = self.numbers::<2>("output_size");
                let by = |side: u32, wanted: f64| -((f64::from(side) - wanted) / 2.0).round_ties_even();
                let step = Step::Shift([by(size.0, width), by(size.1, height)]);
                steps.push((step, (width as u32, height as u32)));
            }
            "elastic" => steps.push((Step::Warp(Forward::Field(field(self), size)), size)),
            "clamp" => {}
            other => panic!("no such row: {other}"),
        }
        steps
    }
}

fn format_of(name: &str) -> BoxFormat {
    serde_json::from_value(name.to_lowercase().into()).unwrap()
}

fn committed() -> Rows {
    serde_json::from_slice(include_bytes!("../../tests/golden/targets.json")).unwrap()
}

/// The folder of the larger set; `None` where there is none, as in a user's clone.
fn shared() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("GPUFEED_SHARED")?).join("../transforms"))
}

/// Calls a check with each set of rows, and with what finds a row's displacements, in pixels of (x, y).
fn each_set(check: impl Fn(&Rows, &dyn Fn(&Row) -> Rc<Vec<f32>>)) {
    let in_pixels = |shares: &[f32], (width, height): (u32, u32)| {
        let of = |at: usize| if at.is_multiple_of(2) { width as f32 } else { height as f32 };
        Rc::new(shares.iter().enumerate().map(|(at, share)| share * of(at) / 2.0).collect())
    };
    let rows = committed();
    check(&rows, &|row| in_pixels(&rows.field, row.size()));
    if let Some(folder) = shared() {
        let rows: Rows = serde_json::from_slice(&std::fs::read(folder.join("targets.json")).unwrap()).unwrap();
        assert_eq!((rows.boxes.len(), rows.keypoints.len(), rows.sanitize.len()), (344, 92, 36));
        let vectors = std::fs::read(folder.join("vectors.bin")).unwrap();
        check(&rows, &|row| {
            let begin = row.args["displacement"]["offset"].as_u64().unwrap() as usize;
            let (width, height) = row.size();
            let bytes = &vectors[begin..][..8 * (width * height) as usize];
            in_pixels(
                &bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect::<Vec<_>>(),
                row.size(),
            )
        });
    }
}

/// What the comparisons saw, by the row's function.
#[derive(Default)]
struct Tally {
    worst: BTreeMap<String, f64>,
    compared: usize,
    unsure: usize,
}

impl Tally {
    /// Compares a place. `floats` are the numbers before whole ones are cut.
    fn compare(&mut self, row: &Row, floats: &[f64], ours: &[f64], theirs: &[f64]) {
        for ((&float, &our), &their) in floats.iter().zip(ours).zip(theirs) {
            self.compared += 1;
            if row.dtype == "int64" && (float - float.round()).abs() < BAR {
                self.unsure += 1;
                assert!((our - their).abs() <= 1.0, "{} {:?}: {our} is not {their}", row.op, row.args);
                continue;
            }
            let bar = if row.dtype == "int64" { 0.0 } else { BAR };
            let distance = (our - their).abs();
            let worst = self.worst.entry(row.op.clone()).or_default();
            *worst = worst.max(distance);
            assert!(distance <= bar, "{} {:?} {:?} {}: {our} is not {their}", row.op, row.args, row.format, row.dtype);
        }
    }
}

/// Moves a place of whole numbers by steps. Returns the numbers of the last step before they are cut, and those after.
fn moved_whole<const N: usize>(
    place: [i64; N],
    steps: &[(Step, (u32, u32))],
    whole: impl Fn(&Step, [i64; N], (u32, u32)) -> [i64; N],
    float: impl Fn(&Step, [f32; N], (u32, u32)) -> [f32; N],
) -> ([f64; N], [f64; N]) {
    let ((last, size), before) = steps.split_last().unwrap();
    let place = before.iter().fold(place, |place, (step, size)| whole(step, place, *size));
    let floats = float(last, place.map(|value| value as f32), *size);
    (floats.map(f64::from), whole(last, place, *size).map(|value| value as f64))
}

#[test]
fn boxes_go_where_torchvisions_go() {
    each_set(|rows, field| {
        let mut tally = Tally::default();
        for row in &rows.boxes {
            let format = row.format();
            if row.op == "convert" {
                let to = format_of(row.args["new_format"].as_str().unwrap());
                for (given, theirs) in row.boxes.iter().zip(&row.out) {
                    let ours = if row.dtype == "int64" {
                        let mut whole = [given.map(|value| value as i64)];
                        convert_boxes(&mut whole, format, to);
                        whole[0].map(|value| value as f64)
                    } else {
                        let mut floats = [given.map(|value| value as f32)];
                        convert_boxes(&mut floats, format, to);
                        floats[0].map(f64::from)
                    };
                    assert!(
                        ours.iter().zip(theirs).all(|(our, their)| (our - their).abs() <= 1e-5),
                        "{given:?} {format:?} {to:?}"
                    );
                }
                continue;
            }
            if row.op == "clamp" {
                for (given, theirs) in row.boxes.iter().zip(&row.out) {
                    let mut floats = [given.map(|value| value as f32)];
                    clamp_boxes(&mut floats, format, row.size());
                    let mut whole = [given.map(|value| value as i64)];
                    clamp_boxes(&mut whole, format, row.size());
                    let floats = floats[0].map(f64::from);
                    let ours = if row.dtype == "int64" { whole[0].map(|value| value as f64) } else { floats };
                    tally.compare(row, &floats, &ours, theirs);
                }
                continue;
            }
            let mut steps = row.steps(field);
            // torchvision's image may be a pixel larger or smaller after a rotation with `expand`; there the image's size counts.
            let ((width, height), theirs) = (steps.last().unwrap().1, row.out_canvas_size);
            let off = [width.abs_diff(theirs[1]), height.abs_diff(theirs[0])];
            assert!(
                off == [0; 2] || row.op == "rotate" && off.iter().all(|&off| off <= 1),
                "{} {:?}",
                row.op,
                row.args
            );
            steps.last_mut().unwrap().1 = (theirs[1], theirs[0]);
            let soft = row.clamping_mode.is_some();
            let apply = |step: &Step, each, size| step.bounding_box(each, format, soft.then_some(size)).unwrap();
            for (given, theirs) in row.boxes.iter().zip(&row.out) {
                let (floats, ours) = if row.dtype == "int64" {
                    moved_whole(given.map(|value| value as i64), &steps, apply, |step, each, size| {
                        step.bounding_box(each, format, soft.then_some(size)).unwrap()
                    })
                } else {
                    let ours = steps.iter().fold(given.map(|value| value as f32), |each, (step, size)| {
                        step.bounding_box(each, format, soft.then_some(*size)).unwrap()
                    });
                    (ours.map(f64::from), ours.map(f64::from))
                };
                tally.compare(row, &floats, &ours, theirs);
            }
        }
        assert!(tally.unsure * 3 < tally.compared, "{} of {}", tally.unsure, tally.compared);
    });
}

#[test]
fn keypoints_go_where_torchvisions_go() {
    each_set(|rows, field| {
        let mut tally = Tally::default();
        for row in &rows.keypoints {
            if row.op == "sanitize" {
                let points: Vec<[f32; 2]> = row.points.iter().map(|point| point.map(|value| value as f32)).collect();
                assert_eq!(keypoints_inside(&points, row.size()), row.valid);
                continue;
            }
            if row.op == "clamp" {
                for (given, theirs) in row.points.iter().zip(&row.out) {
                    let mut floats = [given.map(|value| value as f32)];
                    clamp_keypoints(&mut floats, row.size());
                    tally.compare(row, &[0.5; 2], &floats[0].map(f64::from), theirs);
                }
                continue;
            }
            let steps = row.steps(field);
            for (given, theirs) in row.points.iter().zip(&row.out) {
                let (floats, ours) = if row.dtype == "int64" {
                    moved_whole(
                        given.map(|value| value as i64),
                        &steps,
                        |step, each, _| step.keypoint(each).unwrap(),
                        |step, each, _| step.keypoint(each).unwrap(),
                    )
                } else {
                    let place = given.map(|value| value as f32);
                    let ours = steps.iter().fold(place, |each, (step, _)| step.keypoint(each).unwrap());
                    (ours.map(f64::from), ours.map(f64::from))
                };
                tally.compare(row, &floats, &ours, theirs);
            }
        }
        assert!(tally.unsure * 3 < tally.compared, "{} of {}", tally.unsure, tally.compared);
    });
}

#[test]
fn boxes_that_torchvision_keeps_are_kept() {
    each_set(|rows, _| {
        for row in &rows.sanitize {
            let sanitize = SanitizeBoxes { min_size: row.min_size, min_area: row.min_area };
            let kept = if row.dtype == "int64" {
                let boxes: Vec<[i64; 4]> = row.boxes.iter().map(|each| each.map(|value| value as i64)).collect();
                sanitize.keeps(&boxes, row.format(), row.size())
            } else {
                let boxes: Vec<[f32; 4]> = row.boxes.iter().map(|each| each.map(|value| value as f32)).collect();
                sanitize.keeps(&boxes, row.format(), row.size())
            };
            assert_eq!(kept, row.valid, "{:?} {} {}", row.format, row.min_size, row.min_area);
        }
    });
}

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
        (pad, "padding by Reflect repeats what targets name; a constant works"),
        (serde_json::from_str(policy).unwrap(), "operations of a policy move pixels and no targets"),
        (line, "its points lie on a line"),
        (outside, "reaches outside an image of 8x8"),
        (Op::HostCode { key: Default::default() }, "nobody knows whether your code moves pixels"),
    ] {
        let error = Moves::new([&op], (8, 8)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Transform { .. }) && error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn numbers_that_are_none_stay_in_their_box() {
    let mut boxes = [[f32::NAN, 1.0, f32::INFINITY, 3.0], [1.0, 1.0, 3.0, 3.0]];
    Moves::new([&Op::HorizontalFlip], (8, 8)).unwrap().boxes(&mut boxes, BoxFormat::Xyxy, Clamping::Soft).unwrap();
    assert!(boxes[0][2].is_nan() && boxes[1] == [5.0, 1.0, 7.0, 3.0]);
    assert_eq!(SanitizeBoxes::default().keeps(&boxes, BoxFormat::Xyxy, (8, 8)), [false, true]);
    clamp_boxes(&mut boxes, BoxFormat::Xyxy, (4, 4));
    assert_eq!(boxes[1], [4.0, 1.0, 4.0, 3.0]);
}
