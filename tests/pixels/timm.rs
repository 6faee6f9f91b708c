//! The operations of timm's policies that move no pixels, against their formulas pixel by pixel. Python's tests compare all
//! of them with timm and Pillow.

use gpufeed::transforms::{Interpolation, Key, Op, TimmAugMix, TimmAugmentOp, TimmOp, Transform};
use gpufeed::{Backend, DType, Layout, Output, Plan, Processor, Semantics};
use gpufeed_testing::adapters::places;
use gpufeed_testing::images::Source;
use gpufeed_testing::procedural;

const BYTES: Output = Output { layout: Layout::Nhwc, dtype: DType::U8 };

fn source(number: u32, (width, height): (u32, u32)) -> Source {
    procedural::build((width, height, 3), |x, y, c| match number % 3 {
        0 => procedural::value(number, x, y, c),
        1 => 40 + procedural::value(number, 97 * x, 89 * y, c) % 150,
        _ => 7,
    })
}

fn run(source: &Source, op: Op) -> Vec<[u8; 3]> {
    let plan = Plan::fixed_as(Semantics::Uint8, 3, &[op], &BYTES).unwrap();
    let params = plan.make_params(source.width, source.height, &Key::default()).unwrap();
    places()[0].prepare(&plan).bytes(source, &params).as_chunks::<3>().0.to_vec()
}

fn timm(id: TimmOp, argument: f64) -> Op {
    Op::Timm { id, argument, interpolation: Interpolation::Bicubic, fill: [128.0; 3] }
}

/// Pillow's blend of two numbers.
fn blend(first: u8, second: u8, share: f32) -> u8 {
    (f32::from(first) + share * (f32::from(second) - f32::from(first))).clamp(0.0, 255.0) as u8
}

fn gray([r, g, b]: [u8; 3]) -> u8 {
    ((19_595 * u32::from(r) + 38_470 * u32::from(g) + 7_471 * u32::from(b) + 32_768) / 65_536) as u8
}

/// What an operation makes of an image of this width.
fn expected(id: TimmOp, number: f64, pixels: &[[u8; 3]], width: usize) -> Vec<[u8; 3]> {
    let (count, share) = (pixels.len(), number as f32);
    let each = |change: &dyn Fn(u8) -> u8| pixels.iter().map(|pixel| pixel.map(change)).collect();
    match id {
        TimmOp::AutoContrast => {
            let of = |c: usize| pixels.iter().map(move |pixel| pixel[c]);
            let range = [0, 1, 2].map(|c| (of(c).min().unwrap(), of(c).max().unwrap()));
            let stretch = |k: u8, (low, high): (u8, u8)| {
                let scale = 255.0 / f64::from(high - low);
                if low == high { k } else { (f64::from(k) * scale - f64::from(low) * scale).clamp(0.0, 255.0) as u8 }
            };
            pixels.iter().map(|pixel| [0, 1, 2].map(|c| stretch(pixel[c], range[c]))).collect()
        }
        TimmOp::Invert => each(&|k| 255 - k),
        TimmOp::Posterize if number >= 8.0 => pixels.to_vec(),
        TimmOp::Posterize => each(&|k| ((u32::from(k) >> (8 - number as u32)) << (8 - number as u32)) as u8),
        TimmOp::Solarize => each(&|k| if f64::from(k) < number { k } else { 255 - k }),
        TimmOp::SolarizeAdd => each(&|k| if k < 128 { k.saturating_add(number as u8) } else { k }),
        TimmOp::Brightness => each(&|k| blend(0, k, share)),
        TimmOp::Color => pixels.iter().map(|pixel| pixel.map(|k| blend(gray(*pixel), k, share))).collect(),
        TimmOp::Desaturate => expected(TimmOp::Color, 1.0 - number, pixels, width),
        TimmOp::Contrast => {
            let sum: u64 = pixels.iter().map(|pixel| u64::from(gray(*pixel))).sum();
            let mean = (2 * sum + count as u64) / (2 * count as u64);
            each(&|k| blend(mean as u8, k, share))
        }
        _ => {
            let height = count / width;
            let at = |i: usize| {
                let (x, y) = (i % width, i / width);
                if x == 0 || y == 0 || x + 1 >= width || y + 1 >= height {
                    return pixels[i];
                }
                let near = (y - 1..y + 2).flat_map(|y| (x - 1..x + 2).map(move |x| y * width + x));
                std::array::from_fn(|c| {
                    let sum: u32 = near.clone().map(|i| u32::from(pixels[i][c])).sum();
                    let mean = f64::from(sum + 4 * u32::from(pixels[i][c])) / 13.0;
                    blend(mean.round() as u8, pixels[i][c], share)
                })
            };
            (0..count).map(at).collect()
        }
    }
}

#[test]
fn colours_are_those_of_pillows_formulas() {
    let of_factor = [0.0, 0.1, 0.55, 1.0, 1.37, 1.9, 40.0];
    let cases: [(TimmOp, &[f64]); 10] = [
        (TimmOp::AutoContrast, &[0.0]),
        (TimmOp::Invert, &[0.0]),
        (TimmOp::Posterize, &[0.0, 1.0, 3.0, 7.0, 8.0, 9.0]),
        (TimmOp::Solarize, &[0.0, 1.0, 128.0, 255.0, 256.0]),
        (TimmOp::SolarizeAdd, &[0.0, 30.0, 110.0, 128.0]),
        (TimmOp::Brightness, &of_factor),
        (TimmOp::Color, &of_factor),
        (TimmOp::Desaturate, &[0.5, 0.75, 1.0]),
        (TimmOp::Contrast, &of_factor),
        (TimmOp::Sharpness, &of_factor),
    ];
    let sizes = [(1, 1), (2, 5), (5, 2), (3, 3), (17, 4), (40, 31), (129, 66)];
    for (number, size) in (0..).zip(sizes.into_iter().cycle().take(21)) {
        let source = source(number, size);
        let pixels = source.bytes.as_chunks::<3>().0;
        let mut changed = 0;
        for (id, arguments) in cases {
            for &argument in arguments {
                let found = run(&source, timm(id, argument));
                assert!(
                    found == expected(id, argument, pixels, size.0 as usize),
                    "{id:?} {argument}, image {number} of {size:?}"
                );
                changed += usize::from(found != pixels);
            }
        }
        assert!(changed > 10, "{changed} operations change image {number}");
    }
}

#[test]
fn chains_are_blended_as_pillow_blends() {
    let source = source(0, (23, 14));
    let pixels = source.bytes.as_chunks::<3>().0;
    let chains = vec![vec![timm(TimmOp::Invert, 0.0)], vec![], vec![timm(TimmOp::Solarize, 90.0); 2]];
    let results: Vec<Vec<[u8; 3]>> = chains
        .iter()
        .map(|chain: &Vec<Op>| {
            chain.iter().fold(pixels.to_vec(), |pixels, op| {
                let Op::Timm { id, argument, .. } = op else { panic!("{op:?}") };
                expected(*id, *argument, &pixels, 23)
            })
        })
        .collect();
    let (m, weights) = (0.4f32, vec![0.5f32, 0.2, 0.3]);
    let mixture = |blended| Op::TimmMixture { m, weights: weights.clone(), chains: chains.clone(), blended };
    let at = |i: usize, c: usize| {
        let sum =
            weights.iter().zip(&results).fold(0.0, |sum, (weight, result)| sum + weight * f32::from(result[i][c]));
        blend(pixels[i][c], sum.clamp(0.0, 255.0) as u8, m)
    };
    let expected: Vec<[u8; 3]> = (0..pixels.len()).map(|i| [0, 1, 2].map(|c| at(i, c))).collect();
    assert!(run(&source, mixture(false)) == expected);
    // One after the other: the last chain's share is its own, the others' are those of what it leaves.
    let last = weights[2] * m;
    let middle = weights[1] * m / (1.0 - last);
    let first = weights[0] * m / ((1.0 - last) * (1.0 - middle));
    let at = |i: usize, c: usize| {
        let shares = [first, middle, last].into_iter().zip(&results);
        shares.fold(pixels[i][c], |k, (share, result)| blend(k, result[i][c], share))
    };
    let expected: Vec<[u8; 3]> = (0..pixels.len()).map(|i| [0, 1, 2].map(|c| at(i, c))).collect();
    assert!(run(&source, mixture(true)) == expected);
}

#[test]
fn floats_are_refused_with_what_works() {
    let op = TimmAugmentOp::new(TimmOp::Rotate);
    let lists: [Transform; 2] = [op.clone().into(), TimmAugMix::new([op]).into()];
    for transform in lists {
        let error = Plan::compile(std::slice::from_ref(&transform), &BYTES).unwrap_err().to_string();
        assert!(error.contains(&format!("{} needs 8-bit numbers, but gets floats", transform.name())), "{error}");
        assert!(Plan::compile_as(Semantics::Uint8, 3, &[transform], &BYTES).is_ok());
    }
}

/// Every operation, by the names that serde knows.
fn every_operation() -> Vec<TimmOp> {
    let error = serde_json::from_str::<TimmOp>("\"?\"").expect_err("there is no such operation").to_string();
    let names = error.split('`').skip(3).step_by(2);
    names.map(|name| serde_json::from_value(name.into()).unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

#[test]
fn hostile_numbers_are_errors_or_pixels() {
    let all = every_operation();
    assert_eq!(all.len(), 27);
    let (mut errors, mut images) = (0, 0);
    for (number, id) in (0..).zip(all) {
        for argument in [f64::NAN, f64::INFINITY, -1e300, 1e300, 1e9, -1e9, 2e6, -400.0, 255.5, 90.0, -0.0, 1e-40] {
            for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic] {
                let source = source(number, (13, 8));
                let op = Op::Timm { id, argument, interpolation, fill: [0.0, -9.0, 1e9] };
                let plan = Plan::fixed_as(Semantics::Uint8, 3, &[op], &BYTES).unwrap();
                let Ok(params) = plan.make_params(13, 8, &Key::default()) else {
                    errors += 1;
                    continue;
                };
                let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
                match processor.run(&[(source.pixels(), &params)]) {
                    Ok(pixels) => images += usize::from(pixels.len() == 3 * 13 * 8),
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert_eq!(errors + images, 27 * 12 * 3);
    assert!(errors > 300 && images > 300, "{errors} errors, {images} images");
}
