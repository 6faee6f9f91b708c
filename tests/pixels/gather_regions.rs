//! Warps, blurs and sharpness of a window give the pixels that they give of the whole image, and no pixel outside the
//! region that the plan reads has a part in them: for random windows, kernels, warps and sizes.

use gpufeed::transforms::{Interpolation, Key, Op, TimmOp};
use gpufeed::{Backend, DType, Output, Plan, Processor, Semantics};
use gpufeed_testing::images::Source;
use gpufeed_testing::lists::Dice;
use gpufeed_testing::procedural;

fn number(dice: &mut Dice, least: i32, greatest: i32) -> f64 {
    f64::from(least) + f64::from(dice.between(0, 1000)) / 1000.0 * f64::from(greatest - least)
}

/// An op that begins a stage, for an image of these sides.
fn op(dice: &mut Dice, semantics: Semantics, (width, height): (u32, u32)) -> Op {
    let interpolation = if dice.chance(50) { Interpolation::Nearest } else { Interpolation::Bilinear };
    let fill = dice.chance(50).then_some([0.25, 0.5, 1.0]);
    let center = dice.chance(30).then(|| [number(dice, -20, 60), number(dice, -20, 60)]);
    if semantics == Semantics::Uint8 && dice.chance(25) {
        return timm(dice);
    }
    match dice.between(0, if semantics == Semantics::Uint8 { 6 } else { 4 }) {
        0 => Op::Affine {
            angle: number(dice, -180, 180),
            translate: [number(dice, -20, 20).round(), number(dice, -20, 20).round()],
            scale: number(dice, 1, 20) / 10.0,
            shear: [number(dice, -40, 40), number(dice, -40, 40)],
            center,
            interpolation,
            fill,
        },
        1 => Op::Rotate { angle: number(dice, -180, 180), expand: dice.chance(50), center, interpolation, fill },
        2 => {
            let (right, bottom) = (width as i32 - 1, height as i32 - 1);
            let startpoints = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
            let mut near = |[x, y]: [i32; 2]| [x + dice.between(0, 16) as i32 - 8, y + dice.between(0, 16) as i32 - 8];
            Op::Perspective { startpoints, endpoints: startpoints.map(&mut near), interpolation, fill }
        }
        3 => {
            let half = if dice.chance(70) { 4 } else { 30 };
            let kernel_size = [0; 2].map(|_| 2 * dice.between(0, half) + 1);
            Op::GaussianBlur { kernel_size, sigma: [number(dice, 1, 9), number(dice, 1, 9)] }
        }
        4 => Op::Sharpness { factor: number(dice, 0, 3) },
        5 => Op::PillowAffine {
            matrix: [0, 1, 2, 3, 4, 5].map(|i| if i % 3 == 2 { number(dice, -20, 40) } else { number(dice, -2, 2) }),
            interpolation: if dice.chance(50) { interpolation } else { Interpolation::Bicubic },
            fill: [7.0, 200.0, 90.0],
        },
        _ => Op::PillowBlur { radius: [number(dice, 0, 3), number(dice, 0, 9)] },
    }
}

/// An operation of timm's policies; all kinds that read other pixels than their own, and some that do not.
fn timm(dice: &mut Dice) -> Op {
    use TimmOp::{AutoContrast, Color, Contrast, GaussianBlur, Rotate, Sharpness, ShearX, Solarize, TranslateYRel};
    let ids = [AutoContrast, Color, Contrast, GaussianBlur, Rotate, Sharpness, ShearX, Solarize, TranslateYRel];
    let id = ids[dice.between(0, 8) as usize];
    let argument = match id {
        Rotate => number(dice, -180, 180),
        Solarize => 128.0,
        ShearX | TranslateYRel => number(dice, -1, 1),
        _ => number(dice, 0, 3),
    };
    let modes = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic];
    let interpolation = modes[dice.between(0, 2) as usize];
    Op::Timm { id, argument, interpolation, fill: [9.0, 99.0, 199.0] }
}

/// Returns the bytes of the result, a pixel after the other, or `None` for ops that the image does not take.
fn run(semantics: Semantics, ops: &[Op], source: &Source) -> Option<(Plan, Vec<u8>)> {
    let output = Output { layout: gpufeed::Layout::Nhwc, dtype: DType::F32 };
    let plan = Plan::fixed_as(semantics, source.channels, ops, &output).unwrap();
    let params = plan.make_params(source.width, source.height, &Key::default()).ok()?;
    let result = Processor::new(&plan, &Backend::Cpu).unwrap().run(&[(source.pixels(), &params)]).ok()?;
    Some((plan, result))
}

#[test]
fn a_window_has_the_pixels_of_the_whole() {
    let (mut windows, mut smaller) = (0, 0);
    for case in 0..4000 {
        let mut dice = Dice(case);
        let semantics = if dice.chance(50) { Semantics::Uint8 } else { Semantics::Float };
        let channels = if dice.chance(20) { 1 } else { 3 };
        let mut side = || if dice.chance(25) { dice.between(1, 3) } else { dice.between(4, 50) };
        let size = (side(), side());
        let source = procedural::build((size.0, size.1, channels), |x, y, c| procedural::value(case as u32, x, y, c));
        let op = op(&mut dice, semantics, size);
        let Some((_, whole)) = run(semantics, std::slice::from_ref(&op), &source) else { continue };
        let pixel = 4 * channels as usize;
        // The size of an expanded rotation is known by its result alone.
        let (width, height) = match op {
            Op::Rotate { expand: true, .. } => {
                let sized = |width: usize| whole.len() / pixel / width.max(1);
                let widths = (1..=whole.len() / pixel).filter(|&width| width * sized(width) * pixel == whole.len());
                let fits = |width: &usize| {
                    let crop = Op::Crop { top: 0, left: 0, height: sized(*width) as u32, width: *width as u32 };
                    run(semantics, &[op.clone(), crop], &source).is_some_and(|(_, cropped)| cropped == whole)
                };
                let Some(width) = widths.into_iter().find(fits) else { panic!("no size fits {op:?}") };
                (width as u32, sized(width) as u32)
            }
            _ => size,
        };
        let (w, h) = (dice.between(1, width), dice.between(1, height));
        let (left, top) = (dice.between(0, width - w), dice.between(0, height - h));
        let ops = [op, Op::Crop { top, left, height: h, width: w }];
        let (plan, window) = run(semantics, &ops, &source).expect("the window is inside");
        let name = || format!("case {case}, {semantics:?}: {ops:?} of {size:?}");
        for y in 0..h {
            let from = ((top + y) * width + left) as usize * pixel;
            let row = w as usize * pixel;
            assert!(window[y as usize * row..][..row] == whole[from..][..row], "row {y} of {}", name());
        }
        // Pixels outside the region have no part in it.
        let params = plan.make_params(size.0, size.1, &Key::default()).unwrap();
        let region = plan.source_region(&params).unwrap();
        let mut other = source.clone();
        for (i, byte) in other.bytes.iter_mut().enumerate() {
            let (x, y) = (i as u32 / channels % size.0, i as u32 / channels / size.0);
            let inside = x.wrapping_sub(region.left) < region.width && y.wrapping_sub(region.top) < region.height;
            *byte = if inside { *byte } else { !*byte };
        }
        assert!(run(semantics, &ops, &other).unwrap().1 == window, "outside {region:?}: {}", name());
        windows += 1;
        smaller += usize::from((region.width, region.height) != size);
    }
    assert!(windows > 3000 && 3 * smaller > windows, "{smaller} of {windows} regions are smaller than the image");
}
