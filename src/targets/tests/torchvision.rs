//! Boxes and keypoints beside torchvision's: the rows of `tests/golden/targets.json`, and those beside the folder that
//! `GPUFEED_SHARED` names. Whole numbers are equal, but in warps: there the last bit of an f32 may decide one.

use crate::objects::{
    BoxFormat, Coordinate, SanitizeBoxes, clamp_boxes, clamp_keypoints, convert_boxes, keypoints_inside,
};
use crate::targets::step::{Forward, Step};
use crate::transforms::{Interpolation, Op, PaddingMode};
use serde::Deserialize;
use serde_json::Value;
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
        let size = self.size();
        match self.op.as_str() {
            "elastic" => return vec![(Step::Warp(Forward::Field(field(self), size)), size)],
            // No op: torchvision's function pads where it leaves the image, and clamps once, after both.
            "crop" if !self.crops_inside() => {
                let [left, top, width, height] = ["left", "top", "width", "height"].map(|name| self.number(name));
                return vec![(Step::Shift([-left, -top]), (width as u32, height as u32))];
            }
            // torchvision pads as `CenterCrop` does, half of what is missing rounded down on the left and the top, and moves boxes
            // by the half that is rounded to even: one more here.
            "center_crop" if self.missing().iter().any(|missing| missing % 4 == 3) => {
                let [height, width] = self.numbers::<2>("output_size");
                let by = |side: u32, wanted: f64| -((f64::from(side) - wanted) / 2.0).round_ties_even();
                return vec![(Step::Shift([by(size.0, width), by(size.1, height)]), (width as u32, height as u32))];
            }
            _ => {}
        }
        let (mut size, mut steps) = (size, Vec::new());
        for op in self.ops() {
            let step = Step::of(&op, size).unwrap();
            size = op.size_after(size);
            steps.extend(step.map(|step| (step, size)));
        }
        steps
    }

    fn crops_inside(&self) -> bool {
        let [left, top, width, height] = ["left", "top", "width", "height"].map(|name| self.number(name));
        let (columns, rows) = self.size();
        left >= 0.0 && top >= 0.0 && left + width <= columns.into() && top + height <= rows.into()
    }

    /// Columns and rows that the image lacks for the row's centre crop.
    fn missing(&self) -> [u32; 2] {
        let [height, width] = self.numbers::<2>("output_size").map(|side| side as u32);
        [width.saturating_sub(self.size().0), height.saturating_sub(self.size().1)]
    }

    /// The ops that gpufeed's transforms emit for the row's function.
    fn ops(&self) -> Vec<Op> {
        let (interpolation, antialias, fill) = (Interpolation::Nearest, false, None);
        let pad = |[left, top, right, bottom]: [u32; 4]| Op::Pad {
            left,
            top,
            right,
            bottom,
            mode: PaddingMode::Constant,
            fill: [0.0; 3],
        };
        let crop = || {
            let [top, left, height, width] = ["top", "left", "height", "width"].map(|name| self.number(name) as u32);
            Op::Crop { top, left, height, width }
        };
        match self.op.as_str() {
            "horizontal_flip" => vec![Op::HorizontalFlip],
            "vertical_flip" => vec![Op::VerticalFlip],
            "resize" => {
                let [height, width] = self.out_canvas_size;
                vec![Op::Resize { height, width, interpolation, antialias }]
            }
            "pad" => vec![pad(self.numbers("padding").map(|side| side as u32))],
            "affine" => vec![Op::Affine {
                angle: self.number("angle"),
                translate: self.numbers("translate"),
                scale: self.number("scale"),
                shear: self.numbers("shear"),
                center: self.center(),
                interpolation,
                fill,
            }],
            "rotate" => {
                let expand = self.args["expand"].as_bool().unwrap();
                vec![Op::Rotate { angle: self.number("angle"), expand, center: self.center(), interpolation, fill }]
            }
            "perspective" => vec![Op::Perspective {
                startpoints: serde_json::from_value(self.args["startpoints"].clone()).unwrap(),
                endpoints: serde_json::from_value(self.args["endpoints"].clone()).unwrap(),
                interpolation,
                fill,
            }],
            "crop" => vec![crop()],
            "resized_crop" => {
                let [height, width] = self.numbers::<2>("size").map(|side| side as u32);
                vec![crop(), Op::Resize { height, width, interpolation, antialias }]
            }
            "center_crop" => {
                let [height, width] = self.numbers::<2>("output_size").map(|side| side as u32);
                let [columns, rows] = self.missing();
                let half = |side: u32, wanted: u32| (f64::from(side - wanted) / 2.0).round_ties_even() as u32;
                let (padded_width, padded_height) = (self.size().0 + columns, self.size().1 + rows);
                let (left, top) = (half(padded_width, width), half(padded_height, height));
                let padding = pad([columns / 2, rows / 2, columns - columns / 2, rows - rows / 2]);
                let crop = Op::Crop { top, left, height, width };
                if [columns, rows] == [0; 2] { vec![crop] } else { vec![padding, crop] }
            }
            other => panic!("no such row: {other}"),
        }
    }
}

fn format_of(name: &str) -> BoxFormat {
    serde_json::from_value(name.to_lowercase().into()).unwrap()
}

fn committed() -> Rows {
    serde_json::from_slice(include_bytes!("../../../tests/golden/targets.json")).unwrap()
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

/// Counts of numbers that were compared.
#[derive(Default)]
struct Tally {
    compared: usize,
    /// Whole numbers after warps that are the next one.
    next: usize,
}

impl Tally {
    /// Compares a place with torchvision's.
    fn compare(&mut self, row: &Row, ours: &[f64], theirs: &[f64]) {
        let is_warp = ["affine", "rotate", "perspective", "elastic"].contains(&row.op.as_str());
        for (our, their) in ours.iter().zip(theirs) {
            self.compared += 1;
            let distance = (our - their).abs();
            let bar = if row.dtype == "float32" { BAR } else { 0.0 };
            if distance > bar && row.dtype == "int64" && is_warp && distance == 1.0 {
                self.next += 1;
                continue;
            }
            assert!(distance <= bar, "{} {:?} {:?} {}: {our} is not {their}", row.op, row.args, row.format, row.dtype);
        }
    }

    fn finish(self) {
        assert!(self.next * 200 <= self.compared, "{} of {} whole numbers are the next one", self.next, self.compared);
    }
}

/// Moves a place by steps.
fn moved<C: Coordinate, const N: usize>(
    place: [f64; N],
    steps: &[(Step, (u32, u32))],
    apply: impl Fn(&Step, [C; N], (u32, u32)) -> [C; N],
) -> [f64; N] {
    steps.iter().fold(place.map(C::of), |place, (step, size)| apply(step, place, *size)).map(C::get)
}

#[test]
fn boxes_go_where_torchvisions_go() {
    each_set(|rows, field| {
        let mut tally = Tally::default();
        for row in &rows.boxes {
            let format = row.format();
            let soft = row.clamping_mode.is_some();
            let mut steps = if ["clamp", "convert"].contains(&row.op.as_str()) { Vec::new() } else { row.steps(field) };
            if let Some((_, size)) = steps.last_mut() {
                // torchvision's image may be a pixel larger or smaller after a rotation with `expand`; there the image's counts.
                let theirs = (row.out_canvas_size[1], row.out_canvas_size[0]);
                let off = [size.0.abs_diff(theirs.0), size.1.abs_diff(theirs.1)];
                let expands = row.op == "rotate" && off.iter().all(|&off| off <= 1);
                assert!(off == [0; 2] || expands, "{} {:?}", row.op, row.args);
                *size = theirs;
            }
            for (given, theirs) in row.boxes.iter().zip(&row.out) {
                let ours = if row.dtype == "int64" {
                    box_by::<i64>(row, *given, format, &steps, soft)
                } else {
                    box_by::<f32>(row, *given, format, &steps, soft)
                };
                tally.compare(row, &ours, theirs);
            }
        }
        tally.finish();
    });
}

/// Moves a box as a row says.
fn box_by<C: Coordinate>(
    row: &Row,
    given: [f64; 4],
    format: BoxFormat,
    steps: &[(Step, (u32, u32))],
    soft: bool,
) -> [f64; 4] {
    let mut boxes = [given.map(C::of)];
    match row.op.as_str() {
        "clamp" => clamp_boxes(&mut boxes, format, row.size()),
        "convert" => convert_boxes(&mut boxes, format, format_of(row.args["new_format"].as_str().unwrap())),
        _ => {
            return moved::<C, 4>(given, steps, |step, each, size| {
                step.bounding_box(each, format, soft.then_some(size)).unwrap()
            });
        }
    }
    boxes[0].map(C::get)
}

#[test]
fn keypoints_go_where_torchvisions_go() {
    each_set(|rows, field| {
        let mut tally = Tally::default();
        for row in &rows.keypoints {
            if row.op == "sanitize" {
                let floats: Vec<[f32; 2]> = row.points.iter().map(|point| point.map(|value| value as f32)).collect();
                assert_eq!(keypoints_inside(&floats, row.size()), row.valid);
                if row.dtype == "int64" {
                    let whole: Vec<[i64; 2]> = row.points.iter().map(|point| point.map(|value| value as i64)).collect();
                    assert_eq!(keypoints_inside(&whole, row.size()), row.valid);
                }
                continue;
            }
            let steps = if row.op == "clamp" { Vec::new() } else { row.steps(field) };
            for (given, theirs) in row.points.iter().zip(&row.out) {
                let ours = if row.dtype == "int64" {
                    point_by::<i64>(row, *given, &steps)
                } else {
                    point_by::<f32>(row, *given, &steps)
                };
                tally.compare(row, &ours, theirs);
            }
        }
        tally.finish();
    });
}

/// Moves a keypoint as a row says.
fn point_by<C: Coordinate>(row: &Row, given: [f64; 2], steps: &[(Step, (u32, u32))]) -> [f64; 2] {
    if row.op == "clamp" {
        let mut points = [given.map(C::of)];
        clamp_keypoints(&mut points, row.size());
        return points[0].map(C::get);
    }
    moved::<C, 2>(given, steps, |step, each, _| step.keypoint(each).unwrap())
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
