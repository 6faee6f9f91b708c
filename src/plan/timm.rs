//! What the operations of timm's policies are: Pillow's functions with timm's numbers, on 8-bit numbers.

use super::composer::Composer;
use super::gather::{Enhance, Gather, GatherKind, gather_of};
use crate::pillow::rotation_matrix;
use crate::transforms::{Interpolation, Op, TimmOp};

/// The operator that begins a stage for an operation; `None` if it leaves the image as it is, or only mirrors it.
///
/// # Errors
/// Those of the warps and blurs of [`gather_of`].
pub(super) fn gather_of_timm(
    (id, argument): (TimmOp, f64),
    (interpolation, fill): (Interpolation, [f32; 3]),
    source: (u32, u32),
    channels: u32,
    composer: &mut Composer,
) -> Result<Option<Gather>, String> {
    let gather = |kind: GatherKind| Ok(Some(Gather { kind, source, origin: (0, 0), is_uint8: true }));
    let enhance = |what: Enhance, factor: f64| gather(GatherKind::Enhance(what, factor as f32));
    let table = |number: &dyn Fn(i32) -> i32| {
        gather(GatherKind::Table(Box::new(std::array::from_fn(|k| number(k as i32).clamp(0, 255) as u8))))
    };
    let mut other = |op: Op| gather_of(&op, source, channels, true, composer);
    let affine = |matrix: [f64; 6]| Op::PillowAffine { matrix, interpolation, fill };
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    let whole = argument as i32;
    match id {
        TimmOp::AutoContrast => gather(GatherKind::PillowAutocontrast),
        TimmOp::Equalize => gather(GatherKind::Equalize),
        TimmOp::Invert => table(&|k| 255 - k),
        TimmOp::Posterize | TimmOp::PosterizeIncreasing | TimmOp::PosterizeOriginal if whole >= 8 => Ok(None),
        // Pillow up to 12 makes 0 bits black, and less than 0, too; 13 refuses them.
        TimmOp::Posterize | TimmOp::PosterizeIncreasing | TimmOp::PosterizeOriginal => {
            table(&|k| k & !((1 << (8 - whole.max(0))) - 1))
        }
        TimmOp::Solarize | TimmOp::SolarizeIncreasing => table(&|k| if k < whole { k } else { 255 - k }),
        TimmOp::SolarizeAdd => table(&|k| if k < 128 { k + whole } else { k }),
        TimmOp::Brightness | TimmOp::BrightnessIncreasing => table(&|k| blend(0.0, k as f32, argument as f32) as i32),
        TimmOp::Color | TimmOp::ColorIncreasing => enhance(Enhance::Color, argument),
        TimmOp::Desaturate => enhance(Enhance::Color, (1.0 - argument).clamp(0.0, 1.0)),
        TimmOp::Contrast | TimmOp::ContrastIncreasing => enhance(Enhance::Contrast, argument),
        TimmOp::Sharpness | TimmOp::SharpnessIncreasing => enhance(Enhance::Sharpness, argument),
        TimmOp::ShearX => other(affine([1.0, argument, 0.0, 0.0, 1.0, 0.0])),
        TimmOp::ShearY => other(affine([1.0, 0.0, 0.0, argument, 1.0, 0.0])),
        TimmOp::TranslateX => other(affine([1.0, 0.0, argument, 0.0, 1.0, 0.0])),
        TimmOp::TranslateY => other(affine([1.0, 0.0, 0.0, 0.0, 1.0, argument])),
        TimmOp::TranslateXRel => other(affine([1.0, 0.0, argument * width, 0.0, 1.0, 0.0])),
        TimmOp::TranslateYRel => other(affine([1.0, 0.0, 0.0, 0.0, 1.0, argument * height])),
        // Whole quarter turns, which Pillow transposes, lie exactly on pixels.
        TimmOp::Rotate => other(affine(rotation_matrix(argument, [width / 2.0, height / 2.0]))),
        TimmOp::GaussianBlur | TimmOp::GaussianBlurRand => other(Op::PillowBlur { radius: [argument; 2] }),
    }
}

/// Pillow's `Image.blend` of two 8-bit numbers, in f32 and cut to a whole number.
#[inline(always)]
pub(crate) fn blend(first: f32, second: f32, share: f32) -> f32 {
    (first + share * (second - first)).clamp(0.0, 255.0).trunc()
}

/// The shares by which `_calc_blended_weights` of timm's `AugMixAugment` has Pillow blend one chain after the other.
pub(super) fn blended_shares(weights: &[f32], m: f32) -> Vec<f32> {
    let mut left = 1.0;
    let mut shares: Vec<f32> = weights
        .iter()
        .rev()
        .map(|weight| {
            let share = weight * m / left;
            left *= 1.0 - share;
            // Where nothing is left, rounding has taken it: 0 / 0 is no share.
            if share.is_finite() { share } else { 0.0 }
        })
        .collect();
    shares.reverse();
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_one_after_the_other_are_the_weights() {
        let (weights, m) = ([0.5, 0.2, 0.3], 0.4);
        let shares = blended_shares(&weights, m);
        let mut left = [1.0f32, 0.0, 0.0, 0.0];
        for (i, share) in shares.iter().enumerate() {
            left.iter_mut().for_each(|part| *part *= 1.0 - share);
            left[1 + i] += share;
        }
        for (found, expected) in left.iter().zip([0.6, 0.2, 0.08, 0.12]) {
            assert!((found - expected).abs() < 1e-6, "{left:?}");
        }
    }
}
