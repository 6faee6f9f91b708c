//! Pillow's affine transform and Gaussian blur: the reference's bytes on every place. `functional.rs` compares bytes that
//! Pillow made, `gather_regions.rs` parts of images.

#![expect(clippy::print_stdout, reason = "tests print what they compared")]

use crate::numpy::{self, Array};
use gpufeed::transforms::{
    AugMix, Interpolation, Key, Op, Params, PillowGaussianBlur, PolicyOp, RandAugment, RandomAffine, RandomRotation,
    Transform,
};
use gpufeed::{DType, Layout, Output, Plan, Semantics};
use gpufeed_testing::adapters::{Prepared, places};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::golden;
use gpufeed_testing::images::Source;
use gpufeed_testing::procedural;
use gpufeed_testing::reference::{self, Picture, pillow};
use serde_json::Value;

const BYTES: Output = Output { layout: Layout::Nchw, dtype: DType::U8 };
const INTERPOLATIONS: [Interpolation; 3] = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic];
const SIZES: [(u32, u32); 12] =
    [(1, 1), (2, 1), (1, 17), (3, 3), (40, 2), (5, 4), (8, 8), (16, 16), (17, 15), (33, 31), (47, 64), (24, 24)];

fn bytes(picture: &Picture) -> Vec<u8> {
    picture.image.planes.iter().map(|&value| value as u8).collect()
}

/// An image: waves, noise, black and white squares, or one colour with a few others.
fn source(kind: u32, size: (u32, u32, u32)) -> Source {
    procedural::build(size, |x, y, c| match kind % 4 {
        0 => procedural::value(kind, x, y, c),
        1 => procedural::value(kind, 97 * x, 89 * y, c),
        2 if ((x + c) / 3 + y / 5).is_multiple_of(2) => 0,
        3 if (x * 7 + y * 5).is_multiple_of(11) => procedural::value(kind, x, y, c),
        _ => 255,
    })
}

fn within(dice: &mut Dice, least: f64, greatest: f64) -> f64 {
    least + f64::from(dice.between(0, 1_000_000)) * 1e-6 * (greatest - least)
}

/// A matrix: what transforms emit, and what only a last bit decides.
fn matrix(dice: &mut Dice, kind: u32, (width, height): (u32, u32)) -> [f64; 6] {
    let (w, h) = (f64::from(width), f64::from(height));
    let center = [w * 0.5, h * 0.5];
    let shift = [0, 1].map(|_| within(dice, -9.0, 9.0).round());
    match kind % 9 {
        0 => pillow::rotation_matrix(within(dice, -180.0, 180.0), center),
        1 => pillow::rotation_matrix(f64::from(dice.between(0, 24)) * 15.0, center),
        2 => {
            let shear = [within(dice, -40.0, 40.0), within(dice, -20.0, 20.0)];
            pillow::affine_matrix(within(dice, -90.0, 90.0), shift, within(dice, 0.3, 3.0), shear, center)
        }
        // Sines that are almost 0, so that rounding decides.
        3 => pillow::affine_matrix(f64::from(dice.between(0, 12)) * 30.0, shift, 1.0, [0.0; 2], center),
        4 => [1.0, within(dice, -0.5, 0.5), 0.0, 0.0, 1.0, 0.0],
        5 => [1.0, 0.0, shift[0] * 0.5, 0.0, 1.0, shift[1]],
        // A scale, in which a column may lie between two pixels.
        6 => {
            let scale = [1.0 / 3.0, 1.5, 0.7, 2.0, -1.0, 1e-9][dice.below(6)];
            [scale, 0.0, center[0] * (1.0 - scale), 0.0, 1.0 / scale, center[1] * (1.0 - 1.0 / scale)]
        }
        // Places far outside, beyond the numbers of 16.16 bits.
        7 => {
            let far = [3e4, 1e7, 1e12][dice.below(3)];
            [far, within(dice, -1.0, 1.0), -0.5 * far, 1e-310, far, -0.5 * far * h]
        }
        _ => std::array::from_fn(|i| within(dice, -2.0, 2.0) * if i % 3 == 2 { w.max(h) } else { 1.0 }),
    }
}

/// Runs `op` in the place of the one that the plan has.
fn run(plan: &Plan, prepared: &Prepared, source: &Source, op: &Op) -> Vec<u8> {
    let mut params = plan.make_params(source.width, source.height, &Key::default()).unwrap();
    params.ops[0].op = op.clone();
    prepared.bytes(source, &params)
}

/// The numbers of images on the CPU and on other places.
const IMAGES: [u32; 2] = [900, 108];

fn images(place: usize) -> impl Iterator<Item = (u32, (u32, u32))> {
    (0..IMAGES[place.min(1)]).zip(SIZES.into_iter().cycle())
}

#[test]
fn an_affine_transform_has_the_bytes_of_the_reference() {
    for (number, place) in places().iter().enumerate() {
        for interpolation in INTERPOLATIONS {
            let mut dice = Dice(11);
            let (mut compared, mut differ) = (0, 0);
            for channels in [3, 1] {
                let op = |matrix, fill| Op::PillowAffine { matrix, interpolation, fill };
                let any = op([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.0; 3]);
                let plan = Plan::fixed_as(Semantics::Uint8, channels, &[any], &BYTES).unwrap();
                let prepared = place.prepare(&plan);
                for (kind, size) in images(number).filter(|(kind, _)| (kind % 5 == 0) == (channels == 1)) {
                    let source = source(kind, (size.0, size.1, channels));
                    let matrix = matrix(&mut dice, kind / 12, size);
                    let fill = if kind % 3 == 0 { [0.0; 3] } else { [90.0, 300.0, 0.9] };
                    let picture = source.picture(reference::Semantics::Uint8);
                    let fills = fill.map(f64::from);
                    let expected = bytes(&pillow::affine(&picture, matrix, &format!("{interpolation:?}"), &fills));
                    let actual = run(&plan, &prepared, &source, &op(matrix, fill));
                    assert!(actual == expected, "{}, image {kind}, {size:?}: {:?}", place.name, op(matrix, fill));
                    compared += 1;
                    differ += usize::from(actual != bytes(&picture));
                }
            }
            println!("{}: {interpolation:?}: {compared} images, of which {differ} change", place.name);
            assert!(2 * differ > compared);
        }
    }
}

#[test]
fn a_blur_has_the_bytes_of_the_reference() {
    for (number, place) in places().iter().enumerate() {
        let mut dice = Dice(12);
        for channels in [3, 1] {
            let both = [[1.0, 0.0], [0.0, 1.0]].map(|radius| Op::PillowBlur { radius });
            let plan = Plan::fixed_as(Semantics::Uint8, channels, &both, &BYTES).unwrap();
            let prepared = place.prepare(&plan);
            for (kind, size) in images(number).filter(|(kind, _)| (kind % 5 == 0) == (channels == 1)) {
                let source = source(kind, (size.0, size.1, channels));
                let greatest = [0.4, 2.0, 2.0, 9.0, 60.0][kind as usize % 5];
                let radius = [0, 1].map(|_| within(&mut dice, 0.0, greatest));
                let mut params = plan.make_params(size.0, size.1, &Key::default()).unwrap();
                params.ops[0].op = Op::PillowBlur { radius: [radius[0], 0.0] };
                params.ops[1].op = Op::PillowBlur { radius: [0.0, radius[1]] };
                let picture = source.picture(reference::Semantics::Uint8);
                let expected = bytes(&pillow::gaussian_blur(&picture, radius));
                let name = format!("{}, image {kind}, {size:?}: {radius:?}", place.name);
                assert!(prepared.bytes(&source, &params) == expected, "{name}");
                // Both axes in one op, which only the CPU executor has.
                params.ops[0].op = Op::PillowBlur { radius };
                params.ops[1].op = Op::PillowBlur { radius: [0.0; 2] };
                assert!(prepared.bytes(&source, &params) == expected, "{name} at once");
            }
        }
    }
}

/// Bicubic operations of policies are Pillow's with torchvision's matrices. No middle of these images is one of a pixel,
/// where the last bit of a sine would decide.
#[test]
fn bicubic_operations_of_policies_are_pillows() {
    use PolicyOp::{Rotate, ShearX, ShearY, TranslateX, TranslateY};
    for place in places() {
        let policy = |id, magnitude| Op::Policy { id, magnitude, interpolation: Interpolation::Bicubic, fill: None };
        let plan = Plan::fixed_as(Semantics::Uint8, 3, &[policy(Rotate, 1.0)], &BYTES).unwrap();
        let prepared = place.prepare(&plan);
        let source = source(1, (32, 22, 3));
        let picture = source.picture(reference::Semantics::Uint8);
        let (corner, middle) = ([0.0; 2], [16.0, 11.0]);
        let sheared = |m: f64| m.atan().to_degrees();
        for (id, magnitude, of) in [
            (ShearX, 0.23_f32, pillow::affine_matrix as fn(f64, [f64; 2], f64, [f64; 2], [f64; 2]) -> [f64; 6]),
            (ShearY, -0.31, pillow::affine_matrix),
            (TranslateX, 7.9, pillow::affine_matrix),
            (TranslateY, -3.2, pillow::affine_matrix),
            (Rotate, 17.3, |angle, _, _, _, center| pillow::rotation_matrix(angle, center)),
        ] {
            let m = f64::from(magnitude);
            let matrix = match id {
                ShearX => of(0.0, [0.0; 2], 1.0, [sheared(m), 0.0], corner),
                ShearY => of(0.0, [0.0; 2], 1.0, [0.0, sheared(m)], corner),
                TranslateX => of(0.0, [m.trunc(), 0.0], 1.0, [0.0; 2], middle),
                TranslateY => of(0.0, [0.0, m.trunc()], 1.0, [0.0; 2], middle),
                _ => of(m, [0.0; 2], 1.0, [0.0; 2], middle),
            };
            let expected = bytes(&pillow::affine(&picture, matrix, "Bicubic", &[0.0]));
            assert_ne!(expected, bytes(&picture), "{id:?}");
            assert!(run(&plan, &prepared, &source, &policy(id, magnitude)) == expected, "{}: {id:?}", place.name);
        }
        // The other operations are torchvision's.
        let changed = run(&plan, &prepared, &source, &policy(PolicyOp::Equalize, 0.0));
        assert!(changed == bytes(&reference::statistics::equalize(&picture)), "{}", place.name);
    }
}

fn drawn(list: &[Transform], sample: u64, size: (u32, u32)) -> Params {
    let plan = Plan::compile_as(Semantics::Uint8, 3, list, &BYTES).unwrap();
    plan.make_params(size.0, size.1, &Key { sample, ..Key::default() }).unwrap()
}

/// A bicubic transform draws what it draws with another interpolation, and has the matrix of torchvision on PIL images.
#[test]
fn bicubic_transforms_have_the_matrices_of_pil_images() {
    let bilinear = Interpolation::Bilinear;
    let affine = RandomAffine::new(40.0).translate(0.1, 0.2).scale(0.7, 1.3).shear(12.0).shear_y((-3.0, 9.0));
    for sample in 0..60 {
        let size = SIZES[sample as usize % SIZES.len()];
        let middle = [f64::from(size.0) * 0.5, f64::from(size.1) * 0.5];
        let center = (sample % 2 == 0).then_some([3.0, 7.5]);
        let other = RandomAffine { center, ..affine.clone() };
        let cubic = other.clone().interpolation(Interpolation::Bicubic).fill([7.0, 8.0, 9.0]);
        let op = |list: Transform| drawn(&[list], sample, size).ops.remove(0).op;
        let Op::Affine { angle, translate, scale, shear, .. } = op(other.interpolation(bilinear).into()) else {
            panic!("an affine transform")
        };
        let expected = pillow::affine_matrix(angle, translate, scale, shear, center.unwrap_or(middle));
        let Op::PillowAffine { matrix, interpolation, fill } = op(cubic.into()) else { panic!("Pillow's") };
        assert_eq!((interpolation, fill), (Interpolation::Bicubic, [7.0, 8.0, 9.0]));
        // Sines of another library may differ in the last bit.
        let close = |a: &[f64; 6], b: &[f64; 6]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * (1.0 + a.abs()));
        assert!(close(&matrix, &expected), "{matrix:?} {expected:?}");

        let turned = RandomRotation { center, ..RandomRotation::new(170.0) };
        let Op::Rotate { angle, .. } = op(turned.clone().into()) else { panic!("a rotation") };
        let expected = pillow::rotation_matrix(angle, center.unwrap_or(middle));
        let op = op(turned.interpolation(Interpolation::Bicubic).into());
        let Op::PillowAffine { matrix, interpolation, fill } = op else { panic!("Pillow's") };
        assert_eq!((interpolation, fill), (Interpolation::Bicubic, [0.0; 3]));
        assert!(close(&matrix, &expected), "{matrix:?} {expected:?}");
    }
}

#[test]
fn floats_and_other_sizes_are_refused_by_name() {
    let cubic = Interpolation::Bicubic;
    let blur = || PillowGaussianBlur::new(0.1, 2.0);
    for (transform, name) in [
        (Transform::from(blur()), "PillowGaussianBlur needs 8-bit numbers"),
        (RandomRotation::new(9.0).interpolation(cubic).into(), "RandomRotation with Bicubic, which is Pillow's, needs"),
        (RandAugment::new(2, 9).interpolation(cubic).into(), "RandAugment with Bicubic, which is Pillow's, needs"),
        (AugMix::new().interpolation(cubic).into(), "Bicubic warps are Pillow's and need 8-bit numbers"),
    ] {
        let list = [transform];
        assert!(Plan::compile_as(Semantics::Uint8, 3, &list, &BYTES).is_ok());
        let error = Plan::compile(&list, &BYTES).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("Semantics::Uint8"), "{error}");
    }
    let error = Plan::fixed(3, &[Op::PillowBlur { radius: [1.0; 2] }], &BYTES).unwrap_err().to_string();
    assert!(error.contains("PillowBlur needs 8-bit numbers"), "{error}");
    let expanded = Transform::from(RandomRotation::new(9.0).interpolation(cubic).expand(true));
    let error = expanded.validate().unwrap_err().to_string();
    assert!(error.contains("expand: true with Bicubic"), "{error}");
    // A policy whose warps are bicubic has no slot for others.
    let list = [RandAugment::new(1, 9).interpolation(cubic).into()];
    let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &BYTES).unwrap();
    let draws = (0..).map(|sample| plan.make_params(9, 9, &Key { sample, ..Key::default() }).unwrap());
    let mut params = draws.into_iter().find(|params| !params.ops.is_empty()).unwrap();
    let (id, interpolation) = (PolicyOp::Rotate, Interpolation::Nearest);
    params.ops[0].op = Op::Policy { id, magnitude: 9.0, interpolation, fill: None };
    assert!(plan.source_region(&params).unwrap_err().to_string().contains("does not belong"));
}

/// The cases of `affine` and `rotate` on PIL images. A case with `expand` has another size, which no op of Pillow has.
#[test]
fn the_shared_cases_of_pil_images_are_equal_to_the_byte() {
    let Some(folder) = golden::folder("GPUFEED_SHARED") else { return };
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let (mut compared, mut expanded) = (0, 0);
    for case in manifest["cases"].as_array().unwrap().iter().filter(|case| case["backend"] == "pil") {
        let arguments = &case["params"];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number in {case}"));
        let pair = |name: &str| [0, 1].map(|i| number(&arguments[name][i]));
        let image = image::open(folder.join(case["input"].as_str().unwrap())).unwrap().to_rgb8();
        let (width, height) = image.dimensions();
        let center = [f64::from(width) * 0.5, f64::from(height) * 0.5];
        let matrix = match case["op"].as_str() {
            Some("rotate") if arguments["expand"] == true => {
                expanded += 1;
                continue;
            }
            Some("rotate") => pillow::rotation_matrix(number(&arguments["angle"]), center),
            Some("affine") => {
                let (angle, scale) = (number(&arguments["angle"]), number(&arguments["scale"]));
                pillow::affine_matrix(angle, pair("translate"), scale, pair("shear"), center)
            }
            _ => continue,
        };
        let interpolation = match arguments["interpolation"].as_str() {
            Some("nearest") => Interpolation::Nearest,
            Some("bilinear") => Interpolation::Bilinear,
            other => panic!("{other:?}"),
        };
        let op = Op::PillowAffine { matrix, interpolation, fill: [number(&arguments["fill"]) as f32; 3] };
        let source = Source { width, height, channels: 3, bytes: image.into_raw() };
        let shape = serde_json::from_value(case["shape"].clone()).unwrap();
        let Array::Bytes(expected) = numpy::read(&folder.join(case["output"].as_str().unwrap()), shape) else {
            panic!("floats instead of bytes: {case}");
        };
        for place in places() {
            let plan = Plan::fixed_as(Semantics::Uint8, 3, std::slice::from_ref(&op), &BYTES).unwrap();
            assert!(run(&plan, &place.prepare(&plan), &source, &op) == expected, "{}: {case}", place.name);
        }
        compared += 1;
    }
    println!("{compared} cases of PIL images compared; {expanded} with expand have no op");
    assert_eq!((compared, expanded), (45, 9));
}

#[test]
fn each_op_has_a_shader() {
    let ops = [
        Op::PillowAffine {
            matrix: pillow::rotation_matrix(20.0, [24.0; 2]),
            interpolation: Interpolation::Bicubic,
            fill: [0.0; 3],
        },
        Op::PillowAffine {
            matrix: pillow::rotation_matrix(20.0, [24.0; 2]),
            interpolation: Interpolation::Nearest,
            fill: [0.0; 3],
        },
        Op::PillowBlur { radius: [2.0, 0.0] },
        Op::PillowBlur { radius: [0.0, 2.0] },
    ];
    let plan = Plan::fixed_as(Semantics::Uint8, 3, &ops, &BYTES).unwrap();
    let passes: Vec<String> = plan.shaders().into_iter().map(|shader| shader.pass).collect();
    for name in ["stage 0, Pillow affine", "stage 1, warp", "stage 2, Pillow blur", "stage 3, Pillow blur"] {
        assert!(passes.iter().any(|pass| pass == name), "{name} in {passes:?}");
    }
}
