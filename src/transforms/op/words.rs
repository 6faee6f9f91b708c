//! An op in words.

use super::Op;
use crate::transforms::arguments::{Erased, PolicyOp};
use crate::transforms::timm_ops::TimmOp;
use std::fmt;

/// A few words, as `gpufeed preview` prints them below a picture: `crop 3x4 at 2,1`. A user's own step is `custom`.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Crop { top, left, height, width } => write!(f, "crop {width}x{height} at {left},{top}"),
            Op::Pad { left, top, right, bottom, .. } if [top, right, bottom] == [left; 3] => write!(f, "pad {left}"),
            Op::Pad { left, top, right, bottom, .. } => {
                write!(f, "pad left {left}, top {top}, right {right}, bottom {bottom}")
            }
            Op::Resize { height, width, .. } => write!(f, "resize {width}x{height}"),
            Op::HorizontalFlip => f.write_str("flip left-right"),
            Op::VerticalFlip => f.write_str("flip top-bottom"),
            Op::Hue { factor } => write!(f, "hue {factor:+.3}"),
            Op::Grayscale { .. } => f.write_str("gray"),
            Op::AdjustGamma { gamma, gain: 1.0 } => write!(f, "gamma {gamma:.2}"),
            Op::AdjustGamma { gamma, gain } => write!(f, "gamma {gamma:.2}, gain {gain:.2}"),
            Op::Posterize { bits } => write!(f, "posterize {bits} bits"),
            Op::PermuteChannels { permutation } => {
                let names = permutation.map(|channel| ["R", "G", "B"].get(channel as usize).copied().unwrap_or("?"));
                write!(f, "channels {}", names.concat())
            }
            Op::Custom { parameters } => write!(f, "custom {parameters:?}"),
            Op::GaussianNoise { mean: 0.0, sigma, .. } => write!(f, "noise {sigma:.2}"),
            Op::GaussianNoise { mean, sigma, .. } => write!(f, "noise {sigma:.2}, mean {mean:.2}"),
            Op::Erase { top, left, height, width, value } => {
                let noise = if matches!(value, Erased::Noise { .. }) { " (noise)" } else { "" };
                write!(f, "erase {width}x{height} at {left},{top}{noise}")
            }
            Op::Affine { angle, translate: [x, y], scale, shear: [a, b], .. } => {
                write!(f, "affine {angle:.1} deg")?;
                if [x, y] != [0.0; 2] {
                    write!(f, ", by {x},{y}")?;
                }
                if scale != 1.0 {
                    write!(f, ", scale {scale:.2}")?;
                }
                if [a, b] != [0.0; 2] {
                    write!(f, ", shear {a:.1},{b:.1} deg")?;
                }
                Ok(())
            }
            Op::Rotate { angle, .. } => write!(f, "rotate {angle:.1} deg"),
            // How far each corner goes, in pixels.
            Op::Perspective { startpoints, endpoints, .. } => {
                f.write_str("perspective")?;
                let mut moved = startpoints.iter().zip(&endpoints);
                moved.try_for_each(|([x, y], [to_x, to_y])| {
                    write!(f, " {},{}", i64::from(*to_x) - i64::from(*x), i64::from(*to_y) - i64::from(*y))
                })
            }
            Op::GaussianBlur { kernel_size: [x, y], sigma: [sigma, _] } => write!(f, "blur {x}x{y}, sigma {sigma:.2}"),
            Op::Elastic { alpha: [x, y], sigma: [sigma, _], .. } => {
                write!(f, "elastic {x:.1},{y:.1}, smooth {sigma:.1}")
            }
            Op::Jpeg { quality } => write!(f, "JPEG {quality}"),
            Op::PillowAffine { matrix: [a, b, left, d, e, top], .. } => {
                write!(f, "Pillow affine {a:.2},{b:.2},{left:.1} {d:.2},{e:.2},{top:.1}")
            }
            Op::PillowBlur { radius: [x, y] } if x == y => write!(f, "Pillow blur {x:.2}"),
            Op::PillowBlur { radius: [x, y] } => write!(f, "Pillow blur {x:.2},{y:.2}"),
            // A sum with 0 is never -0.
            Op::Policy { id, magnitude, .. } => match (id, magnitude + 0.0) {
                (PolicyOp::Identity | PolicyOp::AutoContrast | PolicyOp::Equalize | PolicyOp::Invert, _) => {
                    write!(f, "{id:?}")
                }
                (PolicyOp::TranslateX | PolicyOp::TranslateY, m) => write!(f, "{id:?} {} pixels", m.trunc() + 0.0),
                (PolicyOp::Rotate, m) => write!(f, "{id:?} {m:.1} deg"),
                (PolicyOp::Posterize, m) => write!(f, "{id:?} {} bits", m.trunc()),
                (PolicyOp::Solarize, m) => write!(f, "{id:?} {m:.2}"),
                (_, m) => write!(f, "{id:?} {m:+.2}"),
            },
            Op::Mixture { m: [own, mixed], ref weights, ref chains } => {
                write!(f, "mix {own:.2}")?;
                chained(f, weights.iter().map(|weight| weight * mixed).zip(chains))
            }
            Op::Timm { id: id @ (TimmOp::AutoContrast | TimmOp::Equalize | TimmOp::Invert), .. } => write!(f, "{id:?}"),
            Op::Timm { id, argument, .. } => write!(f, "{id:?} {:.2}", argument + 0.0),
            Op::TimmMixture { m, ref weights, ref chains, .. } => {
                write!(f, "mix {:.2}", 1.0 - m)?;
                chained(f, weights.iter().map(|weight| weight * m).zip(chains))
            }
            Op::HostCode { .. } => f.write_str("own code"),
            Op::Objects(ref op) => write!(f, "{}", op.name()),
            Op::Normalize { .. } => f.write_str("normalize"),
            // The name and the numbers: `Brightness { factor: 1.2 }` is "brightness 1.20".
            ref other => {
                let text = format!("{other:.2?}").to_lowercase();
                let words =
                    text.split([' ', ',']).filter(|word| !["", "{", "}"].contains(word) && !word.ends_with(':'));
                f.write_str(&words.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// Writes the chains of a mixture, each with its share.
fn chained<'a>(f: &mut fmt::Formatter<'_>, chains: impl Iterator<Item = (f32, &'a Vec<Op>)>) -> fmt::Result {
    for (share, chain) in chains {
        let words: Vec<String> = chain.iter().map(Op::to_string).collect();
        let words = if words.is_empty() { "image".to_owned() } else { words.join(", ") };
        write!(f, " + {share:.2} {words}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::arguments::Interpolation;

    fn policy(id: PolicyOp, magnitude: f32) -> Op {
        Op::Policy { id, magnitude, interpolation: Interpolation::Nearest, fill: None }
    }

    fn timm(id: TimmOp, argument: f64) -> Op {
        Op::Timm { id, argument, interpolation: Interpolation::Bicubic, fill: [128.0; 3] }
    }

    #[test]
    fn each_op_is_a_short_line_in_basic_letters() {
        let (interpolation, fill) = (Interpolation::Bilinear, None);
        let turned = Op::Rotate { angle: -7.25, expand: false, center: None, interpolation, fill };
        let affine = |translate, scale, shear| Op::Affine {
            angle: 3.0,
            translate,
            scale,
            shear,
            center: None,
            interpolation,
            fill,
        };
        let startpoints = [[0, 0], [9, 0], [9, 9], [0, 9]];
        let endpoints = [[1, 2], [8, 0], [9, 7], [0, 9]];
        let chains = vec![vec![policy(PolicyOp::Equalize, 0.0), policy(PolicyOp::Color, -0.1)], vec![turned.clone()]];
        for (op, text) in [
            (policy(PolicyOp::TranslateX, -12.6), "TranslateX -12 pixels"),
            (policy(PolicyOp::TranslateY, -0.9), "TranslateY 0 pixels"),
            (policy(PolicyOp::ShearY, 0.09), "ShearY +0.09"),
            (policy(PolicyOp::ShearX, -0.0), "ShearX +0.00"),
            (policy(PolicyOp::Rotate, -9.0), "Rotate -9.0 deg"),
            (policy(PolicyOp::Posterize, 7.0), "Posterize 7 bits"),
            (policy(PolicyOp::Solarize, 0.7), "Solarize 0.70"),
            (policy(PolicyOp::AutoContrast, 0.0), "AutoContrast"),
            (turned, "rotate -7.2 deg"),
            (affine([0.0; 2], 1.0, [0.0; 2]), "affine 3.0 deg"),
            (affine([4.0, -1.0], 1.5, [2.0, 0.0]), "affine 3.0 deg, by 4,-1, scale 1.50, shear 2.0,0.0 deg"),
            (Op::Perspective { startpoints, endpoints, interpolation, fill }, "perspective 1,2 -1,0 0,-2 0,0"),
            (Op::Brightness { factor: 1.234 }, "brightness 1.23"),
            (Op::Solarize { threshold: 128.0 }, "solarize 128.00"),
            (Op::Invert, "invert"),
            (Op::Sharpness { factor: 0.5 }, "sharpness 0.50"),
            (timm(TimmOp::TranslateXRel, -0.0), "TranslateXRel 0.00"),
            (timm(TimmOp::Equalize, 0.0), "Equalize"),
            (
                Op::TimmMixture {
                    m: 0.4,
                    weights: vec![0.75, 0.25],
                    chains: vec![vec![timm(TimmOp::Rotate, -3.0), timm(TimmOp::Invert, 0.0)], vec![]],
                    blended: false,
                },
                "mix 0.60 + 0.30 Rotate -3.00, Invert + 0.10 image",
            ),
            (Op::GaussianBlur { kernel_size: [23, 23], sigma: [1.234; 2] }, "blur 23x23, sigma 1.23"),
            (
                Op::Mixture { m: [0.6, 0.4], weights: vec![0.75, 0.25], chains },
                "mix 0.60 + 0.30 Equalize, Color -0.10 + 0.10 rotate -7.2 deg",
            ),
        ] {
            assert_eq!(op.to_string(), text);
            assert!(text.is_ascii(), "the sheet's font has basic Latin alone");
        }
    }
}
