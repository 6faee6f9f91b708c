//! Mixed images equal torchvision's on every backend: a window of its vectors, which is part of the repository, and
//! all of them in the folder `transforms` beside the one that `GPUFEED_SHARED` names.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use gpufeed::internals::soft_labels;
use gpufeed::transforms::{CenterCrop, Key, Mix, Mixed};
use gpufeed::{DType, DataLoader, InMemory, Label, Layout, PixelFormat};
use gpufeed_testing::pipeline::{Place, places};
use gpufeed_testing::vectors;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Images of a batch in NCHW, and what torchvision makes of them.
struct Case {
    name: String,
    shape: [usize; 4],
    mix: Mix,
    images: Values,
    output: Values,
    labels: Vec<u32>,
    num_classes: usize,
    /// Soft labels, from whole-number ones.
    soft: Option<Vec<f32>>,
}

#[derive(Clone, PartialEq)]
enum Values {
    Bytes(Vec<u8>),
    Floats(Vec<f32>),
}

impl Values {
    fn parse(values: &Value, dtype: &Value) -> Values {
        if dtype == "u8" {
            Values::Bytes(serde_json::from_value(values.clone()).expect("bytes"))
        } else {
            Values::Floats(serde_json::from_value(values.clone()).expect("floats"))
        }
    }
}

fn mix(case: &Value, [x1, y1, x2, y2]: [u32; 4]) -> Mix {
    if case["kind"] == "mixup" {
        return Mix::MixUp { lambda: case["lam"].as_f64().expect("a number") };
    }
    let lambda = case.get("lam_adjusted").unwrap_or(&case["lam"]).as_f64().expect("a number");
    Mix::CutMix { top: y1, left: x1, height: y2 - y1, width: x2 - x1, lambda }
}

fn sides(case: &Value) -> [u32; 4] {
    case.get("box").map_or([0; 4], |sides| serde_json::from_value(sides.clone()).expect("four sides"))
}

/// Returns the committed cases.
fn committed() -> Vec<Case> {
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("the file is JSON");
    let (selected, mut others) =
        (parse(include_str!("../golden/batches.json")), parse(include_str!("../golden/operators.json")));
    [selected, others["batches"].take()].iter().flat_map(cases).collect()
}

/// Returns the cases of a table, which has the images once for each type.
fn cases(table: &Value) -> Vec<Case> {
    let read = |(number, case): (usize, &Value)| {
        let dtype = &case["dtype"];
        Case {
            name: format!("case {number}, {} of {dtype}", case["kind"]),
            shape: serde_json::from_value(table["shape"].clone()).expect("a shape"),
            mix: mix(case, sides(case)),
            images: Values::parse(&table["images"][dtype.as_str().expect("a type")], dtype),
            output: Values::parse(&case["output"], dtype),
            labels: serde_json::from_value(case["labels"].clone()).expect("classes"),
            num_classes: case["num_classes"].as_u64().expect("a number") as usize,
            soft: Some(serde_json::from_value(case["soft"].clone()).expect("floats")),
        }
    };
    table["cases"].as_array().expect("a list").iter().enumerate().map(read).collect()
}

#[derive(Deserialize)]
struct Place4 {
    offset: usize,
    shape: Vec<usize>,
    dtype: String,
}

fn read_vector(place: &Value, vectors: &[u8]) -> Values {
    let Place4 { offset, shape, dtype } = serde_json::from_value(place.clone()).expect("a place");
    let count: usize = shape.iter().product();
    if dtype == "u8" {
        return Values::Bytes(vectors[offset..offset + count].to_vec());
    }
    let bytes = vectors[offset..offset + 4 * count].as_chunks::<4>().0;
    Values::Floats(bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Returns the shared cases.
fn shared(folder: &Path) -> Vec<Case> {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (manifest, vectors) = (read("manifest.json"), read("vectors.bin"));
    let manifest: Value = serde_json::from_slice(&manifest).expect("the manifest is JSON");
    let case = |(number, case): (usize, &Value)| {
        let Values::Floats(soft) = read_vector(&case["soft"], &vectors) else { panic!("soft labels are floats") };
        let classes: Option<Vec<u32>> = serde_json::from_value(case["labels"].clone()).ok();
        Case {
            name: format!("shared case {number}, {}", case["kind"]),
            shape: serde_json::from_value(case["images"]["shape"].clone()).expect("a shape"),
            mix: mix(case, sides(case)),
            images: read_vector(&case["images"], &vectors),
            output: read_vector(&case["output"], &vectors),
            // Of labels that are probabilities, those of whole-number classes beside them have the images.
            soft: classes.is_some().then_some(soft),
            labels: classes.unwrap_or_else(|| vec![0; 5]),
            num_classes: case["num_classes"].as_u64().expect("a number") as usize,
        }
    };
    manifest["batches"].as_array().expect("a list").iter().enumerate().map(case).collect()
}

/// Returns a loader of the images of `case`, which changes none.
fn loader(case: &Case, place: &Place) -> DataLoader {
    let [images, channels, height, width] = case.shape;
    let (format, dtype) = match case.images {
        Values::Bytes(_) => (PixelFormat::Rgb8, DType::U8),
        Values::Floats(_) => (PixelFormat::F32 { channels: 3 }, DType::F32),
    };
    let plane = height * width;
    let mut data = InMemory::new();
    for image in 0..images {
        let at = |pixel: usize| (0..channels).map(move |c| (image * channels + c) * plane + pixel);
        let places = (0..plane).flat_map(at);
        let bytes: Vec<u8> = match &case.images {
            Values::Bytes(values) => places.map(|at| values[at]).collect(),
            Values::Floats(values) => places.flat_map(|at| values[at].to_ne_bytes()).collect(),
        };
        data.push_pixels(width as u32, height as u32, format, bytes, Label::Class(case.labels[image])).unwrap();
    }
    let size = (height as u32, width as u32);
    // The kernel that mixes belongs to loaders with a batch transform alone.
    let builder = DataLoader::builder(data).transform(CenterCrop::new(size)).output(Layout::Nchw, dtype);
    place.build(builder.batch_size(images).batch_transform(gpufeed::transforms::CutMix::default()))
}

/// Returns the largest difference of the mixed images from torchvision's, and whether all bits are equal.
fn difference(case: &Case, place: &Place, mix: Mix) -> (f64, bool) {
    let (loader, [images, _, height, width]) = (loader(case, place), case.shape);
    let params = loader.plan().make_params(width as u32, height as u32, &Key::default()).unwrap();
    let mut seen = Vec::new();
    for index in 0..images {
        let partner = (index + images - 1) % images;
        let mixed = Mixed { mix, index: partner, id: partner as u64, params: params.clone() };
        let params = gpufeed::transforms::Params { mixed: Some(Box::new(mixed)), ..params.clone() };
        seen.extend(loader.replay(index, &params).unwrap());
    }
    let (seen, expected): (Vec<f64>, Vec<f64>) = match &case.output {
        Values::Bytes(values) => {
            (seen.into_iter().map(f64::from).collect(), values.iter().map(|v| f64::from(*v)).collect())
        }
        Values::Floats(values) => {
            let seen = seen.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes).into());
            (seen.collect(), values.iter().map(|value| f64::from(*value)).collect())
        }
    };
    assert_eq!(seen.len(), expected.len());
    let largest = seen.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    (largest, seen == expected)
}

fn check(cases: &[Case]) {
    for place in places() {
        let mut worst = 0.0f64;
        for case in cases {
            let (difference, same) = difference(case, place, case.mix);
            worst = worst.max(difference);
            // Shaders may contract a multiplication and an addition.
            let exact = !place.is_shaders() || matches!(case.mix, Mix::CutMix { .. });
            assert!(if exact { same } else { difference <= 1e-6 }, "{}, {}: {difference}", place.name, case.name);
        }
        println!("{}: {} cases, {worst:e} at the most", place.name, cases.len());
    }
    for case in cases {
        let Some(soft) = &case.soft else { continue };
        let partners = case.labels.iter().cycle().skip(case.labels.len() - 1);
        let mixed: Vec<_> =
            case.labels.iter().zip(partners).map(|(own, partner)| (*own, *partner, case.mix.lambda())).collect();
        assert_eq!(&soft_labels(&mixed, case.num_classes, 0.0).unwrap(), soft, "{}", case.name);
    }
}

#[test]
fn mixed_batches_are_torchvisions() {
    let cases = committed();
    assert_eq!(cases.len(), 20);
    check(&cases);
}

#[test]
fn mixed_batches_are_those_of_the_shared_vectors() {
    let Some(folder) = vectors::shared() else { return };
    let cases = shared(&folder);
    assert_eq!(cases.len(), 22);
    check(&cases);
}

#[test]
fn the_comparison_rejects_other_shares_and_rectangles() {
    let place = &places()[0];
    for case in committed() {
        let wrong = match case.mix {
            Mix::MixUp { lambda } => Mix::MixUp { lambda: (lambda - 1e-5).abs() },
            Mix::CutMix { top, left, height, width, lambda } => {
                let (width, height) = if width > 0 && height > 0 { (width - 1, height) } else { (1, 1) };
                Mix::CutMix { top: top.min(1), left: left.min(2), height, width, lambda }
            }
        };
        let (difference, same) = difference(&case, place, wrong);
        assert!(!same && difference > 1e-6, "{}: {difference}", case.name);
    }
}
