//! Boxes and keypoints beside the naive reference (`reference/targets.rs` of `crates/testing`): on random lists, and both on
//! torchvision's rows, `tests/golden/targets.json` and those beside the folder `GPUFEED_SHARED`.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use super::objects::{lists, transform};
use gpufeed::targets::{BoxFormat, Clamping, Moves, Objects, make_params};
use gpufeed::transforms::{Key, Op, Transform};
use gpufeed::{Output, Plan};
use gpufeed_testing::golden;
use gpufeed_testing::lists::Dice;
use gpufeed_testing::reference::affine::{Affine, Rotation};
use gpufeed_testing::reference::targets::{Move, cut, edges, in_format};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Pixels by which numbers of 32 bits may be off, and the share of a large number.
const BAR: f64 = 2e-3;
const SHARE: f64 = 1e-4;

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= BAR + SHARE * b.abs())
}

/// Edges and keypoints after ops by the reference; `None` if a last bit decides which pixel's displacement counts.
fn by_reference(
    ops: &[Op],
    mut size: (u32, u32),
    (format, clamping): (BoxFormat, Clamping),
    mut found: [f64; 4],
    mut point: [f64; 2],
) -> Option<([f64; 4], [f64; 2])> {
    for op in ops {
        let by = Move::of(op, size);
        let before = size;
        size = Moves::new([op], size).expect("it fits").size();
        let Some(by) = by else { continue };
        if matches!(by, Move::Displaced(..)) {
            // Edges that were cut to the image are exact, but in the other formats they are sums of rounded numbers.
            let certain = |place: f64| (place - place.round()).abs() > 0.01;
            let exact = |at: usize| {
                let side = f64::from(if at.is_multiple_of(2) { before.0 } else { before.1 });
                format == BoxFormat::Xyxy && [0.0, side].contains(&found[at])
            };
            if (0..4).any(|at| !certain(found[at]) && !exact(at)) || !point.into_iter().all(certain) {
                return None;
            }
        }
        found = by.around(found);
        if by.cuts() && clamping == Clamping::Soft {
            found = cut(found, size);
        }
        point = by.point(point);
    }
    // Beyond a perspective's horizon places are far away, and the last bits of numbers decide how far.
    found.iter().chain(&point).all(|place| place.abs() < 1e4).then_some((found, point))
}

#[test]
fn places_go_where_the_reference_leads_them() {
    let formats = [BoxFormat::Xyxy, BoxFormat::Xywh, BoxFormat::Cxcywh];
    let (mut checked, mut doubtful) = (0, 0);
    for number in 0..lists() {
        let mut dice = Dice(number);
        let list: Vec<Transform> = (0..dice.between(1, 5)).map(|_| transform(&mut dice)).collect();
        let plan = Plan::compile(&list, &Output::default()).expect("the list compiles");
        let size = (dice.between(20, 90), dice.between(20, 90));
        // Also beyond the image.
        let mut place = || f64::from(dice.between(0, 1200)) / 10.0 - 15.0;
        let (given, point) = ([place(), place(), place(), place()], [place(), place()]);
        let given = [given[0].min(given[2]), given[1].min(given[3]), given[0].max(given[2]), given[1].max(given[3])];
        for (format, clamping) in formats.into_iter().zip([Clamping::Soft, Clamping::None, Clamping::Soft]) {
            let written = in_format(given, format).map(|value| value as f32);
            let objects = Objects::of_boxes(format, vec![written]).with_clamping(clamping);
            let mut objects = objects.with_keypoints(1, vec![point.map(|value| value as f32)], vec![2]).expect("one");
            let key = Key { seed: number, ..Key::default() };
            let Ok(params) = make_params(&plan, size, &key, &objects) else { continue };
            let ops: Vec<Op> = params.ops.iter().map(|each| each.op.clone()).collect();
            let given = edges(written.map(f64::from), format);
            let Some((expected, seen)) = by_reference(&ops, size, (format, clamping), given, point) else {
                doubtful += 1;
                continue;
            };
            Moves::of(&params).expect("they move boxes").objects(&mut objects).expect("memory");
            let found = edges(objects.boxes()[0].map(f64::from), format);
            assert!(near(&found, &expected), "{format:?} {found:?}, not {expected:?}: {given:?} in {size:?}, {ops:?}");
            let keypoint = objects.keypoints()[0].map(f64::from);
            assert!(near(&keypoint, &seen), "{keypoint:?}, not {seen:?}: {point:?} in {size:?}, {ops:?}");
            checked += 1;
        }
    }
    println!("{checked} boxes, {doubtful} doubtful");
    assert!(checked > 2 * lists(), "{checked}, {doubtful} doubtful");
}

#[derive(Deserialize)]
struct Rows {
    boxes: Vec<Row>,
    keypoints: Vec<Row>,
    #[serde(default)]
    field: Vec<f32>,
}

#[derive(Deserialize)]
struct Row {
    op: String,
    #[serde(default)]
    args: Value,
    format: Option<String>,
    dtype: String,
    clamping_mode: Option<String>,
    /// Height and width.
    canvas_size: [usize; 2],
    #[serde(default)]
    boxes: Vec<[f64; 4]>,
    #[serde(default)]
    points: Vec<[f64; 2]>,
    #[serde(default)]
    out: Vec<Vec<f64>>,
    #[serde(default)]
    out_canvas_size: [usize; 2],
}

impl Row {
    fn get<T: DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_value(self.args[name].clone()).unwrap_or_else(|error| panic!("{name} of {}: {error}", self.op))
    }

    /// The moves of the row's function, each with the (width, height) after it. `field` has displacements in shares of the sides.
    fn moves(&self, field: impl Fn(&Row) -> Vec<f32>) -> Vec<(Move, [usize; 2])> {
        let [height, width] = self.canvas_size;
        let after = self.out_canvas_size;
        let number = |name| self.get::<f64>(name);
        let scale = |[from_h, from_w]: [usize; 2]| {
            Move::Scale([after[1] as f64 / from_w as f64, after[0] as f64 / from_h as f64])
        };
        let one = match self.op.as_str() {
            "horizontal_flip" => Move::FlipX { width: width as f64 },
            "vertical_flip" => Move::FlipY { height: height as f64 },
            "resize" => scale(self.canvas_size),
            "pad" => {
                let [left, top, ..] = self.get::<[f64; 4]>("padding");
                Move::Shift([left, top])
            }
            "crop" => Move::Shift([-number("left"), -number("top")]),
            "resized_crop" => {
                let cropped = [number("height") as usize, number("width") as usize];
                return vec![(Move::Shift([-number("left"), -number("top")]), cropped), (scale(cropped), after)];
            }
            "center_crop" => {
                let by = |side: usize, wanted: usize| -((side as f64 - wanted as f64) / 2.0).round_ties_even();
                Move::Shift([by(width, after[1]), by(height, after[0])])
            }
            "affine" => {
                let (translate, shear, center) = (self.get("translate"), self.get("shear"), self.get("center"));
                Move::affine(
                    &Affine { angle: number("angle"), translate, scale: number("scale"), shear, center },
                    (height, width),
                )
            }
            "rotate" => {
                let (expand, center) = (self.get("expand"), self.get("center"));
                Move::rotate(&Rotation { angle: number("angle"), expand, center }, (height, width))
            }
            "perspective" => Move::perspective(self.get("startpoints"), self.get("endpoints")),
            "elastic" => {
                let field = field(self);
                let pairs: Vec<[f64; 2]> = field.chunks_exact(2).map(|pair| [pair[0].into(), pair[1].into()]).collect();
                Move::displaced(&pairs, (width, height))
            }
            _ => return Vec::new(),
        };
        vec![(one, after)]
    }
}

/// The displacements of a row of the shared set, by their place in a file.
fn displacements(row: &Row, vectors: &[u8]) -> Vec<f32> {
    let begin = row.args["displacement"]["offset"].as_u64().expect("an offset") as usize;
    let bytes = &vectors[begin..][..8 * row.canvas_size[0] * row.canvas_size[1]];
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn check(rows: &Rows, field: impl Fn(&Row) -> Vec<f32>) -> usize {
    let mut checked = 0;
    let format = |name: &str| -> BoxFormat { serde_json::from_value(name.to_lowercase().into()).expect("a format") };
    for row in rows.boxes.iter().filter(|row| row.dtype == "float32") {
        let own = format(row.format.as_deref().expect("a format"));
        let moves = row.moves(&field);
        for (given, theirs) in row.boxes.iter().zip(&row.out) {
            let mut found = edges(*given, own);
            for (by, size) in &moves {
                found = by.around(found);
                if by.cuts() && row.clamping_mode.is_some() {
                    found = cut(found, (size[1] as u32, size[0] as u32));
                }
            }
            let mut written = own;
            match row.op.as_str() {
                "clamp" => found = cut(found, (row.canvas_size[1] as u32, row.canvas_size[0] as u32)),
                "convert" => written = format(&row.get::<String>("new_format")),
                _ => assert!(!moves.is_empty(), "{}", row.op),
            }
            let found = in_format(found, written);
            assert!(near(&found, theirs), "{} {:?} {written:?}: {found:?}, not {theirs:?}", row.op, row.args);
            checked += 1;
        }
    }
    let moved = |row: &&Row| row.dtype == "float32" && !["clamp", "sanitize"].contains(&row.op.as_str());
    for row in rows.keypoints.iter().filter(moved) {
        for (given, theirs) in row.points.iter().zip(&row.out) {
            let found = row.moves(&field).iter().fold(*given, |point, (by, _)| by.point(point));
            assert!(near(&found, theirs), "{} {:?}: {found:?}, not {theirs:?}", row.op, row.args);
            checked += 1;
        }
    }
    checked
}

#[test]
fn the_reference_leads_places_where_torchvision_does() {
    let rows: Rows = serde_json::from_str(include_str!("../golden/targets.json")).expect("targets.json is valid");
    assert!(check(&rows, |_| rows.field.clone()) > 700);
    let Some(folder) = golden::folder("GPUFEED_SHARED") else { return };
    let folder = folder.join("../transforms");
    let rows = std::fs::read(folder.join("targets.json")).expect("targets.json");
    let rows: Rows = serde_json::from_slice(&rows).expect("targets.json is valid");
    let vectors = std::fs::read(folder.join("vectors.bin")).expect("vectors.bin");
    assert!(check(&rows, |row| displacements(row, &vectors)) > 1000);
}
