//! Images that the CPU executor finishes for shaders, as they are reduced too much for these, have the CPU's values, also in
//! lists whose shaders hand bytes from one stage to the next.

use gpufeed::transforms::{
    GaussianBlur, Interpolation, Key, Normalize, Params, RandomInvert, RandomRotation, RandomSolarize, Resize, ToDtype,
    Transform,
};
use gpufeed::{Backend, DType, Layout, Output, PixelFormat, Pixels, Plan, Processor, Semantics};
use gpufeed_testing::adapters::places;
use half::f16;

/// A bilinear reduction by more than 30 leaves the GPU (`src/plan/cpu_fallback.rs`).
const REDUCED: (u32, u32) = (640, 690);
const PLAIN: (u32, u32) = (64, 69);

fn pixels((width, height): (u32, u32)) -> Vec<u8> {
    (0..width * height)
        .flat_map(|i| [i % 251, i / width % 256, i.wrapping_mul(i) % 256].map(|value| value as u8))
        .collect()
}

fn params(plan: &Plan, size: (u32, u32)) -> Params {
    plan.make_params(size.0, size.1, &Key::default()).unwrap()
}

/// Lists by what their stages hand on. The values of Normalize are beyond bytes.
fn lists() -> [(&'static str, Vec<Transform>); 5] {
    let resize = || Resize::new((4, 6)).into();
    let rotate = || RandomRotation::new((-5.4, -5.4)).interpolation(Interpolation::Bilinear).into();
    let blur = || GaussianBlur::new(3).into();
    let (invert, solarize) = (RandomInvert::new(1.0).into(), RandomSolarize::new(100.0).p(1.0).into());
    let normalize = || Normalize::IMAGENET.into();
    [
        ("one stage", vec![resize(), normalize()]),
        ("bytes between", vec![resize(), rotate(), normalize()]),
        ("bytes twice", vec![resize(), rotate(), blur(), invert, normalize()]),
        ("bytes, then floats", vec![resize(), rotate(), ToDtype::new().into(), blur(), normalize()]),
        ("bytes to the end", vec![resize(), rotate(), solarize]),
    ]
}

#[test]
fn finished_images_pass_intermediates_in_bytes() {
    let (large, small) = (pixels(REDUCED), pixels(PLAIN));
    let image = |size: (u32, u32), bytes| Pixels::new(size.0, size.1, PixelFormat::Rgb8, bytes).unwrap();
    let (large, small) = (image(REDUCED, &large), image(PLAIN, &small));
    for (name, list) in lists() {
        // A batch of 8-bit numbers holds no result of Normalize.
        let ends_in_bytes = name == "bytes to the end";
        let last = if ends_in_bytes { DType::U8 } else { DType::F32 };
        for (dtype, layout) in [(DType::F32, Layout::Nchw), (DType::F16, Layout::Nhwc), (last, Layout::Nhwc)] {
            let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output { dtype, layout }).unwrap();
            let of = [params(&plan, REDUCED), params(&plan, PLAIN)];
            // Finished images stand before, between and after others.
            let batch = [(large, &of[0]), (small, &of[1]), (large, &of[0]), (large, &of[0]), (small, &of[1])];
            let run = |backend: &Backend| Processor::new(&plan, backend).unwrap().run(&batch).unwrap();
            let expected = values(&run(&Backend::Cpu), dtype);
            if !ends_in_bytes {
                assert!(expected.iter().any(|value| !(0.0..=1.0).contains(value)), "{name}: nothing is beyond bytes");
            }
            for place in places() {
                let found = values(&run(&place.backend), dtype);
                let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                let bound = if dtype == DType::F16 { 2e-3 } else { 2e-5 };
                assert!(off <= bound, "{name}, {dtype:?}, {}: off by {off}", place.name);
            }
        }
    }
}

fn values(bytes: &[u8], dtype: DType) -> Vec<f32> {
    match dtype {
        DType::F32 => bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect(),
        DType::F16 => bytes.as_chunks::<2>().0.iter().map(|&bytes| f16::from_ne_bytes(bytes).to_f32()).collect(),
        _ => bytes.iter().map(|&byte| f32::from(byte)).collect(),
    }
}
