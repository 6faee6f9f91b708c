//! AugMix against the naive operators of `gpufeed_testing::reference`, one after the other: whole numbers exactly.
//!
//! Bilinear warps of bytes are left out where a last bit decides a pixel: torchvision's vectors (`functional.rs`) have
//! them.

use gpufeed::transforms::{AugMix, Fill, Interpolation, Key, Op, Params, PolicyOp};
use gpufeed::{Backend, DType, Layout, Output, PixelFormat, Pixels, Plan, Processor, Semantics};
use gpufeed_testing::reference::policy::{mix, operation};
use gpufeed_testing::reference::sampling::Filter;
use gpufeed_testing::reference::{self, Picture};

/// A source of noise and slopes, one plane after the other.
fn planes(channels: usize, width: usize, height: usize) -> Vec<u8> {
    let value = |i: usize| {
        let (c, y, x) = (i / (width * height), i / width % height, i % width);
        (7 * x + 3 * y + 40 * c + (i.wrapping_mul(2_654_435_761) >> 7) % 61) as u8
    };
    (0..channels * width * height).map(value).collect()
}

fn interleaved(planes: &[u8], channels: usize) -> Vec<u8> {
    let area = planes.len() / channels;
    (0..area).flat_map(|i| (0..channels).map(move |c| planes[c * area + i])).collect()
}

/// The mixture that the parameters say, by the reference; `None` if it warps or, in floats, has a step after another
/// operation, where the last bit may decide.
fn expected(params: &Params, picture: &Picture) -> Option<Picture> {
    let [op] = &params.ops[..] else { panic!("{params:?}") };
    let Op::Mixture { m, weights, chains } = &op.op else { panic!("{op:?}") };
    let mut results = Vec::new();
    for chain in chains {
        let mut result = picture.clone();
        for (i, op) in chain.iter().enumerate() {
            let Op::Policy { id, magnitude, .. } = *op else { panic!("{op:?}") };
            let warps = matches!(id, PolicyOp::ShearX | PolicyOp::ShearY | PolicyOp::Rotate);
            let steps =
                matches!(id, PolicyOp::Posterize | PolicyOp::Solarize | PolicyOp::Equalize | PolicyOp::AutoContrast);
            if warps || (steps && i > 0 && picture.semantics == reference::Semantics::Float) {
                return None;
            }
            result = operation(&result, &format!("{id:?}"), f64::from(magnitude), Filter::Bilinear, None);
        }
        results.push(result);
    }
    let weights: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
    Some(mix(picture, m.map(f64::from), &weights, &results))
}

/// Compares `count` draws, and returns how many could be compared.
fn compare(semantics: Semantics, channels: usize, (width, height): (usize, usize), count: u64, wrong: f32) -> usize {
    let (reference, dtype) = match semantics {
        Semantics::Uint8 => (reference::Semantics::Uint8, DType::U8),
        Semantics::Float => (reference::Semantics::Float, DType::F32),
    };
    let list = [AugMix::new().severity(8).interpolation(Interpolation::Bilinear).fill(Fill::None).into()];
    let output = Output { layout: Layout::Nchw, dtype };
    let plan = Plan::compile_as(semantics, channels as u32, &list, &output).unwrap();
    let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
    let planes = planes(channels, width, height);
    let picture = Picture::from_planes((channels, height, width), &planes, reference);
    let bytes = interleaved(&planes, channels);
    let format = if channels == 1 { PixelFormat::R8 } else { PixelFormat::Rgb8 };
    let pixels = Pixels::new(width as u32, height as u32, format, &bytes).unwrap();
    let mut compared = 0;
    for sample in 0..count {
        let key = Key { seed: 5, sample, ..Key::default() };
        let mut params = plan.make_params(width as u32, height as u32, &key).unwrap();
        let Some(expected) = expected(&params, &picture) else { continue };
        if let Op::Mixture { m, .. } = &mut params.ops[0].op {
            m[0] += wrong;
        }
        let actual = processor.run(&[(pixels, &params)]).unwrap();
        let actual: Vec<f64> = match semantics {
            Semantics::Uint8 => actual.iter().map(|byte| f64::from(*byte)).collect(),
            Semantics::Float => {
                actual.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
            }
        };
        let bar = if semantics == Semantics::Uint8 { 0.0 } else { 1e-5 };
        let differences = actual.iter().zip(&expected.image.planes).map(|(a, b)| (a - b).abs());
        let worst = differences.fold(0.0, f64::max);
        assert!(worst <= bar, "{semantics:?}, {width}x{height}x{channels}: {worst} in {params:?}");
        compared += 1;
    }
    compared
}

#[test]
fn mixtures_are_those_of_the_operators_one_by_one() {
    for semantics in [Semantics::Uint8, Semantics::Float] {
        for channels in [1, 3] {
            let sizes = [(1, 1), (2, 3), (31, 17), (64, 40)];
            let compared: usize = sizes.iter().map(|&size| compare(semantics, channels, size, 150, 0.0)).sum();
            assert!(compared > 40, "{semantics:?}: {compared}");
        }
    }
}

#[test]
#[should_panic(expected = "31x17")]
fn a_wrong_weight_is_noticed() {
    compare(Semantics::Uint8, 3, (31, 17), 20, 0.03);
}
