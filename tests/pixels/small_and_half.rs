//! What random lists found: images of a few pixels, and fills between two levels.

use gpufeed::transforms::{CenterCrop, Interpolation, Key, Op, RandomOrder, RandomPerspective, Resize, Transform};
use gpufeed::{Backend, DType, Output, PixelFormat, Pixels, Plan, Processor, Semantics};
use gpufeed_testing::adapters::places;

fn run(semantics: Semantics, dtype: DType, ops: &[Op], size: (u32, u32), bytes: &[u8]) -> Vec<u8> {
    run_on(&Backend::Cpu, semantics, dtype, ops, size, bytes)
}

fn run_on(
    backend: &Backend,
    semantics: Semantics,
    dtype: DType,
    ops: &[Op],
    (width, height): (u32, u32),
    bytes: &[u8],
) -> Vec<u8> {
    let output = Output { dtype, ..Output::default() };
    let plan = Plan::fixed_as(semantics, 1, ops, &output).unwrap();
    let params = plan.make_params(width, height, &Key::default()).unwrap();
    let pixels = Pixels::new(width, height, PixelFormat::R8, bytes).unwrap();
    Processor::new(&plan, backend).unwrap().run(&[(pixels, &params)]).unwrap()
}

/// torch rounds the fill of 8-bit numbers with the image: half to even.
#[test]
fn a_fill_between_two_levels_is_rounded_to_even() {
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear] {
        for half in 0..255u8 {
            let fill = Some([f32::from(half) + 0.5; 3]);
            let (translate, shear) = ([100.0, 0.0], [0.0; 2]);
            let warp = Op::Affine { angle: 0.0, translate, scale: 1.0, shear, center: None, interpolation, fill };
            let even = half + half % 2;
            assert_eq!(run(Semantics::Uint8, DType::U8, &[warp], (1, 1), &[7]), [even], "{half}.5, {interpolation:?}");
        }
    }
}

/// torchvision returns an image of up to two pixels a side as it is, also where a cubic filter has overshot.
#[test]
fn sharpness_clamps_no_image_that_it_leaves_alone() {
    let (interpolation, antialias) = (Interpolation::Bicubic, false);
    for (size, clamped) in [((2, 9), false), ((9, 2), false), ((9, 9), true)] {
        let resize = Op::Resize { height: size.0, width: size.1, interpolation, antialias };
        let ops = [resize, Op::Sharpness { factor: 1.0 }];
        for place in places() {
            let bytes = [0, 0, 255, 255].repeat(4);
            let values = run_on(&place.backend, Semantics::Float, DType::F32, &ops, (4, 4), &bytes);
            let values: Vec<f32> = values.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
            let is_inside = values.iter().all(|value| (0.0..=1.0).contains(value));
            assert_eq!(is_inside, clamped, "{}, {size:?}: {values:?}", place.name);
        }
    }
}

/// Corners that meet on a line have no perspective: such an image stays as it is.
#[test]
fn a_perspective_of_a_few_pixels_never_fails() {
    let plan = Plan::compile_for(1, &[RandomPerspective::new(1.0).p(1.0).into()], &Output::default()).unwrap();
    let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
    let (mut unchanged, mut warped) = (0, 0);
    for (width, height) in (1..6).flat_map(|width| (1..6).map(move |height| (width, height))) {
        for sample in 0..200 {
            let params = plan.make_params(width, height, &Key { sample, ..Key::default() }).unwrap();
            let bytes = vec![90; (width * height) as usize];
            let pixels = Pixels::new(width, height, PixelFormat::R8, &bytes).unwrap();
            processor.run(&[(pixels, &params)]).unwrap_or_else(|error| panic!("{error}: {params:?}"));
            if params.ops.is_empty() { unchanged += 1 } else { warped += 1 }
        }
    }
    assert!(unchanged > 500 && warped > 1000, "{unchanged} unchanged, {warped} warped");
}

/// A crop needs a border where what came before it in a random order has made the image smaller.
#[test]
fn a_crop_in_a_random_order_knows_no_size() {
    let order: [Transform; 2] = [Resize::new((4, 5)).into(), CenterCrop::new((6, 7)).into()];
    let list: [Transform; 2] = [Resize::new((20, 30)).into(), RandomOrder::new(order).into()];
    let plan = Plan::compile_for(1, &list, &Output::default()).unwrap();
    let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
    let mut sizes = std::collections::BTreeSet::new();
    for sample in 0..20 {
        let params = plan.make_params(9, 8, &Key { sample, ..Key::default() }).unwrap();
        let pixels = Pixels::new(9, 8, PixelFormat::R8, &[200; 72]).unwrap();
        sizes.insert(processor.run(&[(pixels, &params)]).unwrap().len() / 4);
    }
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [4 * 5, 6 * 7]);
}
