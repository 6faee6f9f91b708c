//! Single operators of the CPU executor on 8-bit images of 224×224, on one thread: CPU time an image, and with
//! `--once` one pass alone, for a tool that counts instructions.
//!
//! `cargo bench --bench operators -- [NAME]...`; `benches/peers/operators.py` measures torchvision's.

#![allow(clippy::print_stdout)]

use cpu_time::ThreadTime;
use gpufeed::internals::{Native, mix};
use gpufeed::transforms::*;
use gpufeed::{DType, Layout, Output, Plan, Semantics};
use std::hint::black_box;

const SIDE: u32 = 224;
/// Images that each measurement augments before it looks at the clock.
const IMAGES: usize = 32;

/// A list of transforms or ops, the side of its source, and the type of its output.
struct Case {
    name: &'static str,
    plan: Plan,
    side: u32,
}

fn ops(name: &'static str, ops: &[Op]) -> gpufeed::Result<Case> {
    let output = Output { layout: Layout::Nchw, dtype: DType::U8 };
    Ok(Case { name, plan: Plan::fixed_as(Semantics::Uint8, 3, ops, &output)?, side: SIDE })
}

fn list(name: &'static str, side: u32, dtype: DType, transforms: &[Transform]) -> gpufeed::Result<Case> {
    let output = Output { layout: Layout::Nchw, dtype };
    Ok(Case { name, plan: Plan::compile_as(Semantics::Uint8, 3, transforms, &output)?, side })
}

fn rotate(interpolation: Interpolation) -> Op {
    Op::Rotate { angle: 30.0, expand: false, center: None, interpolation, fill: Some([0.0; 3]) }
}

fn cases() -> gpufeed::Result<Vec<Case>> {
    let (nearest, bilinear) = (Interpolation::Nearest, Interpolation::Bilinear);
    let affine = Op::Affine {
        angle: 15.0,
        translate: [10.0, -7.0],
        scale: 0.9,
        shear: [5.0, 0.0],
        center: None,
        interpolation: bilinear,
        fill: Some([0.0; 3]),
    };
    let perspective = Op::Perspective {
        startpoints: [[0, 0], [223, 0], [223, 223], [0, 223]],
        endpoints: [[20, 30], [200, 10], [215, 190], [5, 210]],
        interpolation: bilinear,
        fill: Some([0.0; 3]),
    };
    let resize = |interpolation| Resize::new((SIDE, SIDE)).interpolation(interpolation).into();
    let crop = || RandomResizedCrop::new(SIDE).into();
    [
        ops("rotate nearest", &[rotate(nearest)]),
        ops("rotate bilinear", &[rotate(bilinear)]),
        ops("affine bilinear", &[affine]),
        ops("perspective", &[perspective]),
        ops("equalize", &[Op::Equalize]),
        ops("autocontrast", &[Op::Autocontrast]),
        ops("sharpness", &[Op::Sharpness { factor: 1.5 }]),
        ops("blur 23", &[Op::GaussianBlur { kernel_size: [23, 23], sigma: [1.0, 1.0] }]),
        ops("brightness", &[Op::Brightness { factor: 1.3 }]),
        ops("contrast", &[Op::Contrast { factor: 1.3 }]),
        ops("saturation", &[Op::Saturation { factor: 1.3 }]),
        ops("hue", &[Op::Hue { factor: 0.1 }]),
        ops("gray", &[Op::Grayscale { channels: 3 }]),
        ops("posterize", &[Op::Posterize { bits: 4 }]),
        ops("solarize", &[Op::Solarize { threshold: 128.0 }]),
        list("RandAugment", SIDE, DType::U8, &[RandAugment::default().into()]),
        list("TrivialAugmentWide", SIDE, DType::U8, &[TrivialAugmentWide::default().into()]),
        list("AugMix", SIDE, DType::U8, &[AugMix::default().into()]),
        list("elastic", SIDE, DType::U8, &[ElasticTransform::default().into()]),
        list("crop, RandAugment, f32", 256, DType::F32, &[RandomCrop::new(SIDE).into(), RandAugment::default().into()]),
        list("resize", 320, DType::U8, &[resize(bilinear)]),
        list("bicubic resize", 320, DType::U8, &[resize(Interpolation::Bicubic)]),
        list("resized crop, Normalize", 400, DType::F32, &[crop(), Normalize::IMAGENET.into()]),
        list(
            "H without decoding",
            400,
            DType::F32,
            &[
                crop(),
                RandomHorizontalFlip::new(0.5).into(),
                RandAugment::default().into(),
                Normalize::IMAGENET.into(),
                RandomErasing::new(0.1).into(),
            ],
        ),
    ]
    .into_iter()
    .collect()
}

/// CPU time of an image in microseconds: the median of some measurements.
fn time(mut pass: impl FnMut(), images: usize, once: bool) -> f64 {
    if once {
        pass();
        return 0.0;
    }
    pass();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = ThreadTime::now();
            pass();
            start.elapsed().as_secs_f64() * 1e6 / images as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let once = words.iter().any(|word| word == "--once");
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    for case in cases()?.into_iter().filter(|case| wanted(case.name)) {
        let plan = case.plan;
        let params: Result<Vec<Params>, _> = (0..IMAGES as u64)
            .map(|sample| plan.make_params(case.side, case.side, &Key { sample, ..Key::default() }))
            .collect();
        // Slopes with some noise, as a photograph has them.
        let row = 3 * case.side as usize;
        let picture = move |i: usize| {
            let (x, y) = (i % row / 3, i / row);
            ((x / 2 + y / 3 + 20 * (i % 3)) as u32 + (i as u32).wrapping_mul(2_654_435_761) / (1 << 28)) as u8
        };
        let mut native = Native::new(&plan, &params?, 3)?.picture(picture);
        let micros = time(
            || {
                black_box(native.run().expect("there is memory"));
            },
            IMAGES,
            once,
        );
        println!("{:28} {micros:8.1} µs", case.name);
    }
    if wanted("MixUp") {
        let samples = 64;
        let plan = Plan::compile(&[Resize::new((SIDE, SIDE)).into()], &Output::default())?;
        let mut batch = vec![0x3f; samples * 3 * 4 * (SIDE * SIDE) as usize];
        let params = BatchParams::all(Mix::MixUp { lambda: 0.3 }, Partner::Previous);
        let micros = time(|| mix(&plan, &params, samples, black_box(&mut batch)), samples, once);
        println!("{:28} {micros:8.1} µs", "MixUp f32");
    }
    Ok(())
}
