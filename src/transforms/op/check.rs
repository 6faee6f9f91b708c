//! Checks the numbers of an op.

use super::{ColorOp, Op};
use crate::transforms::arguments::{Erased, Interpolation, MAX_RADIUS, MAX_SIDE, PolicyOp, check_elastic};
use crate::transforms::timm_ops::TimmOp;

/// The most pixels of an image that an op makes: 16 GiB of four floats.
const MAX_PIXELS: u64 = 1 << 30;

/// Sums of such numbers times the sides of an image are finite.
const MAX_ENTRY: f64 = 1e15;

impl Op {
    /// Checks the numbers for an image of this (width, height).
    ///
    /// # Errors
    /// The reason, as the end of a sentence about the op.
    pub(crate) fn check(&self, (w, h): (u32, u32)) -> Result<(), String> {
        let inside =
            |offset: u32, len: u32, side: u32| len > 0 && offset.checked_add(len).is_some_and(|end| end <= side);
        let side = |side: u64| side > 0 && side <= u64::from(MAX_SIDE);
        let fits = |w: u64, h: u64| side(w) && side(h) && w * h <= MAX_PIXELS;
        let sum = |a: u32, b: u32, c: u32| u64::from(a) + u64::from(b) + u64::from(c);
        match *self {
            Op::Crop { top, left, height, width } | Op::Erase { top, left, height, width, .. }
                if !inside(left, width, w) || !inside(top, height, h) =>
            {
                Err(format!("reaches outside an image of {w}x{h}"))
            }
            Op::Resize { height, width, .. } if !side(width.into()) || !side(height.into()) => impossible_size(),
            Op::Pad { left, top, right, bottom, .. } if !side(sum(w, left, right)) || !side(sum(h, top, bottom)) => {
                impossible_size()
            }
            Op::Custom { parameters } => finite(&parameters),
            Op::GaussianNoise { mean, .. } if !(-1e6..=1e6).contains(&mean) => {
                Err(format!("a mean of {mean}; -1,000,000 to 1,000,000 work"))
            }
            Op::GaussianNoise { sigma, .. } if !(0.0..=1e6).contains(&sigma) => {
                Err(format!("a sigma of {sigma}; 0 to 1,000,000 work"))
            }
            Op::Affine { angle, translate, scale, shear, center, interpolation, fill } => {
                let [x, y] = center.unwrap_or_default();
                let numbers = [angle, translate[0], translate[1], shear[0], shear[1], x, y];
                if !(scale > 0.0 && scale.is_finite()) {
                    return Err(format!("a scale of {scale}; more than 0 works"));
                }
                finite_f64(&numbers).and(warps(interpolation, fill))
            }
            Op::Rotate { angle, center, interpolation, fill, .. } => {
                let [x, y] = center.unwrap_or_default();
                finite_f64(&[angle, x, y]).and(warps(interpolation, fill))?;
                let (w, h) = self.size_after((w, h));
                if fits(w.into(), h.into()) { Ok(()) } else { impossible_size() }
            }
            Op::Perspective { interpolation, fill, .. } => warps(interpolation, fill),
            Op::GaussianBlur { kernel_size, sigma } => {
                if kernel_size.iter().any(|size| size % 2 == 0 || *size > MAX_SIDE) {
                    return Err(format!("a kernel of {kernel_size:?}; odd sizes work"));
                }
                if sigma.iter().all(|sigma| *sigma > 0.0 && sigma.is_finite()) {
                    Ok(())
                } else {
                    Err(format!("a sigma of {sigma:?}; more than 0 works"))
                }
            }
            // Factors are 1 + magnitude.
            Op::Policy { magnitude, .. } if !(-1e6..=1e6).contains(&magnitude) => {
                Err(format!("a magnitude of {magnitude}; -1,000,000 to 1,000,000 work"))
            }
            Op::Policy { id: PolicyOp::Posterize, magnitude, .. } if !(0.0..9.0).contains(&magnitude) => {
                Err("0 to 8 bits work".to_owned())
            }
            Op::Policy { interpolation: Interpolation::Bicubic, fill, .. } => finite(&fill.unwrap_or_default()),
            Op::Policy { interpolation, fill, .. } => warps(interpolation, fill),
            Op::Mixture { m, ref weights, ref chains } => {
                check_mixture(m, weights, chains, |op| matches!(op, Op::Policy { .. }))
            }
            Op::Sharpness { factor } if factor >= 0.0 && factor.is_finite() => Ok(()),
            Op::Sharpness { factor } => Err(format!("a factor of {factor}; 0 or more works")),
            Op::Elastic { alpha, sigma, interpolation, fill, .. } => check_elastic(alpha, sigma)
                .map_err(|(key, reason)| format!("{key}: {reason}"))
                .and(warps(interpolation, fill)),
            Op::Jpeg { quality } if !(1..=100).contains(&quality) => {
                Err(format!("a quality of {quality}; 1 to 100 work"))
            }
            Op::PillowAffine { matrix, interpolation, fill } => {
                if interpolation == Interpolation::NearestExact {
                    return Err(format!("{interpolation:?}; Nearest, Bilinear and Bicubic work"));
                }
                if matrix.iter().any(|entry| entry.is_nan() || entry.abs() > MAX_ENTRY) {
                    return Err(format!("a matrix of {matrix:?}; entries of up to {MAX_ENTRY:e} work"));
                }
                finite(&fill)
            }
            Op::PillowBlur { radius } if radius.iter().any(|radius| !(0.0..=MAX_RADIUS).contains(radius)) => {
                Err(format!("a radius of {radius:?}; 0 to {MAX_RADIUS} work"))
            }
            Op::Timm { argument, .. } if !(-1e9..=1e9).contains(&argument) => {
                Err(format!("a number of {argument}; -1,000,000,000 to 1,000,000,000 work"))
            }
            Op::Timm { interpolation: Interpolation::NearestExact, .. } => {
                Err("NearestExact; Nearest, Bilinear and Bicubic work".to_owned())
            }
            Op::Timm { id: TimmOp::GaussianBlur | TimmOp::GaussianBlurRand, argument, .. }
                if !(0.0..=MAX_RADIUS).contains(&argument) =>
            {
                Err(format!("a radius of {argument}; 0 to {MAX_RADIUS} work"))
            }
            Op::Timm { fill, .. } => finite(&fill),
            Op::TimmMixture { m, ref weights, ref chains, .. } => {
                let is_op = |op: &Op| matches!(op, Op::Timm { .. });
                check_mixture([m, m], weights, chains, is_op)
            }
            Op::Normalize { mean, std } => finite(&mean).and(finite(&std)),
            Op::Erase { value: Erased::Color(color), .. } => finite(&color),
            ref other => match other.color(false) {
                Some(ColorOp { wrong: Some(reason), .. }) => Err(reason.to_owned()),
                Some(ColorOp { numbers, .. }) => finite(&numbers),
                None => Ok(()),
            },
        }
    }
}

fn finite(numbers: &[f32]) -> Result<(), String> {
    if numbers.iter().all(|n| n.is_finite()) { Ok(()) } else { Err("not finite".to_owned()) }
}

fn finite_f64(numbers: &[f64]) -> Result<(), String> {
    if numbers.iter().all(|n| n.is_finite()) { Ok(()) } else { Err("not finite".to_owned()) }
}

/// Checks the arguments of a warp.
fn warps(interpolation: Interpolation, fill: Option<[f32; 3]>) -> Result<(), String> {
    if !matches!(interpolation, Interpolation::Nearest | Interpolation::Bilinear) {
        return Err(format!("{interpolation:?}; Nearest and Bilinear work"));
    }
    finite(&fill.unwrap_or_default())
}

/// Checks the numbers of a mixture; operations of a policy change no sizes.
fn check_mixture(m: [f32; 2], weights: &[f32], chains: &[Vec<Op>], is_op: impl Fn(&Op) -> bool) -> Result<(), String> {
    if weights.len() != chains.len() {
        return Err(format!("{} weights for {} chains; one each works", weights.len(), chains.len()));
    }
    finite(&m).and(finite(weights))?;
    chains
        .iter()
        .flatten()
        .try_for_each(|op| if is_op(op) { op.check((1, 1)) } else { Err("operations of policies work".to_owned()) })
}

fn impossible_size() -> Result<(), String> {
    Err("an impossible size".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(id: PolicyOp, magnitude: f32) -> Op {
        Op::Policy { id, magnitude, interpolation: Interpolation::Nearest, fill: None }
    }

    #[test]
    fn a_mixture_of_other_ops_or_numbers_is_refused() {
        let chain = || vec![policy(PolicyOp::Rotate, 3.0)];
        let mixture = |m, weights: &[f32], chains| Op::Mixture { m, weights: weights.to_vec(), chains };
        assert_eq!(mixture([0.5; 2], &[1.0], vec![chain()]).check((3, 4)), Ok(()));
        for wrong in [
            mixture([0.5; 2], &[1.0], vec![]),
            mixture([0.5; 2], &[0.5, 0.5], vec![chain()]),
            mixture([f32::NAN, 0.5], &[1.0], vec![chain()]),
            mixture([0.5; 2], &[f32::INFINITY], vec![chain()]),
            mixture([0.5; 2], &[1.0], vec![vec![Op::HorizontalFlip]]),
            mixture([0.5; 2], &[1.0], vec![vec![policy(PolicyOp::Posterize, 9.0)]]),
            mixture([0.5; 2], &[1.0], vec![vec![mixture([0.5; 2], &[], vec![])]]),
        ] {
            assert!(wrong.check((3, 4)).is_err(), "{wrong:?}");
        }
    }
}
