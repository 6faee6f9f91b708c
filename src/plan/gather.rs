//! Operators whose pixels depend on more than one pixel of the image before, in another way than by a resize: warps,
//! blur, sharpness, and those that need a statistic of each channel.
//!
//! A stage begins with at most one of them, and its sampling, without a resize, and its colour steps follow.

use super::composer::Composer;
use crate::elastic::Elastic;
use crate::geometry::Rect;
use crate::pillow::{BoxBlur, PillowAffine, PillowFilter, reached};
use crate::transforms::{Interpolation, Op, repeated};
use crate::warp::{Map, Warp};

/// The operator at the beginning of a stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gather {
    pub(crate) kind: GatherKind,
    /// Width and height of the image that it reads.
    pub(crate) source: (u32, u32),
    /// The first column and row of that image that are present on the GPU.
    pub(crate) origin: (u32, u32),
    /// True if it computes on 8-bit numbers.
    pub(crate) is_uint8: bool,
}

/// Which operator it is, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GatherKind {
    Warp(Warp),
    Blur {
        kernel_size: [u32; 2],
        sigma: [f64; 2],
    },
    /// `ratio` is the sharpness factor.
    Sharpen {
        ratio: f64,
    },
    Elastic(Elastic),
    /// The image that a JPEG of this quality gives back; in 8-bit numbers.
    Jpeg {
        quality: u32,
    },
    /// In 8-bit numbers, without a map for [`GatherKind::Warp`].
    PillowAffine(PillowAffine),
    /// The boxes across and down; in 8-bit numbers.
    PillowBlur([Option<BoxBlur>; 2]),
    Autocontrast,
    Equalize,
    /// Each number by itself; 8-bit numbers alone, as all that follow.
    Table(Box<[u8; 256]>),
    /// Pillow's `ImageOps.autocontrast`.
    PillowAutocontrast,
    /// Pillow's `ImageEnhance`, with its factor.
    Enhance(Enhance, f32),
}

/// What Pillow's `ImageEnhance` blends the image with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enhance {
    /// Its gray.
    Color,
    /// The mean of its gray.
    Contrast,
    /// What `ImageFilter.SMOOTH` makes of it.
    Sharpness,
}

impl Gather {
    /// Width and height of the result.
    pub(crate) fn size(&self) -> (u32, u32) {
        match &self.kind {
            GatherKind::Warp(warp) => warp.size,
            _ => self.source,
        }
    }

    /// True if it reads a table of each channel.
    pub(crate) fn has_tables(&self) -> bool {
        matches!(self.kind, GatherKind::Autocontrast | GatherKind::Equalize)
    }

    /// The region of the image before that `window` of the result depends on.
    pub(crate) fn read_region(&self, window: Rect) -> Rect {
        match &self.kind {
            GatherKind::Warp(warp) => warp.read_region(window, self.source),
            // A blur of a wide kernel in a small image reflects more than once.
            GatherKind::Blur { kernel_size: [x, y], .. } if x / 2 < self.source.0 && y / 2 < self.source.1 => {
                grown(window, (x / 2, y / 2), self.source)
            }
            GatherKind::Sharpen { .. } | GatherKind::Enhance(Enhance::Sharpness, _) => {
                grown(window, (1, 1), self.source)
            }
            GatherKind::Table(_) | GatherKind::Enhance(Enhance::Color, _) => window,
            GatherKind::Elastic(elastic) => grown(window, elastic.reach(), self.source),
            GatherKind::Jpeg { .. } => whole_blocks(window, self.source),
            GatherKind::PillowAffine(affine) => affine.read_region(window, self.source),
            GatherKind::PillowBlur(boxes) => reached(*boxes, window, self.source),
            GatherKind::Blur { .. }
            | GatherKind::Autocontrast
            | GatherKind::Equalize
            | GatherKind::PillowAutocontrast
            | GatherKind::Enhance(Enhance::Contrast, _) => {
                Rect { left: 0, top: 0, width: self.source.0, height: self.source.1 }
            }
        }
    }
}

/// The operator that begins a stage; `None` if the op only mirrors the image, or leaves it as it is.
///
/// # Errors
/// The reason, if the op's points have no perspective, if it has no arithmetic on floats and gets them, or if a warp of
/// 8-bit numbers reads too far away.
pub(super) fn gather_of(
    op: &Op,
    source: (u32, u32),
    channels: u32,
    is_uint8: bool,
    composer: &mut Composer,
) -> Result<Option<Gather>, String> {
    let middle = |center: Option<[f64; 2]>| {
        let [x, y] = center.unwrap_or([f64::from(source.0) * 0.5, f64::from(source.1) * 0.5]);
        [x - f64::from(source.0) * 0.5, y - f64::from(source.1) * 0.5]
    };
    // Times 255 the quotient is the number again, whose half is rounded to even; a product with 1/255 is not.
    let in_floats = |number: f32| if is_uint8 { number / 255.0 } else { number };
    let warp = |map: Map, size: (u32, u32), interpolation: Interpolation, fill: Option<[f32; 3]>| {
        let nearest = interpolation == Interpolation::Nearest;
        let fill = fill.map(|fill| repeated(fill.map(in_floats), channels));
        let map = if nearest { map.without_ties() } else { map };
        let map = if is_uint8 { map.on_grid(source, size)? } else { map };
        Ok::<_, String>(GatherKind::Warp(Warp { map, size, nearest, fill }))
    };
    let kind = match *op {
        Op::Affine { angle, translate, scale, shear, center, interpolation, fill } => {
            let map = Map::affine((source, source), angle, translate, scale, shear, middle(center));
            warp(map, source, interpolation, fill)?
        }
        Op::Rotate { angle, center, interpolation, fill, .. } => {
            let size = op.size_after(source);
            let turn = angle.rem_euclid(360.0);
            let (width, height) = (f64::from(source.0), f64::from(source.1));
            let quarter = center.is_none() && size == (source.1, source.0);
            if center.is_none() && turn == 0.0 {
                return Ok(None);
            } else if center.is_none() && turn == 180.0 {
                composer.flip(false, 0);
                composer.flip(false, 1);
                return Ok(None);
            } else if quarter && turn == 90.0 {
                warp(Map::Affine([0.0, -1.0, width - 1.0, 1.0, 0.0, 0.0]), size, Interpolation::Nearest, None)?
            } else if quarter && turn == 270.0 {
                warp(Map::Affine([0.0, 1.0, 0.0, -1.0, 0.0, height - 1.0]), size, Interpolation::Nearest, None)?
            } else {
                let map = Map::affine((source, size), -turn, [0.0; 2], 1.0, [0.0; 2], middle(center));
                warp(map, size, interpolation, fill)?
            }
        }
        Op::Perspective { startpoints, endpoints, interpolation, fill } => {
            let map = Map::perspective(startpoints, endpoints);
            let map = map.ok_or("its points lie on a line: there is no such perspective".to_owned())?;
            warp(map, source, interpolation, fill)?
        }
        Op::GaussianBlur { kernel_size, sigma } => GatherKind::Blur { kernel_size, sigma },
        Op::Sharpness { factor } => GatherKind::Sharpen { ratio: factor },
        Op::Elastic { alpha, sigma, key, interpolation, fill } => {
            let fill = fill.map(|fill| repeated(fill.map(in_floats), channels));
            GatherKind::Elastic(Elastic { alpha, sigma, key, nearest: interpolation == Interpolation::Nearest, fill })
        }
        Op::PillowAffine { .. } | Op::PillowBlur { .. } | Op::Jpeg { .. } if !is_uint8 => {
            return Err("it needs 8-bit numbers, but gets floats".to_owned());
        }
        Op::Jpeg { quality } => GatherKind::Jpeg { quality },
        Op::PillowAffine { matrix, interpolation, fill } => {
            let filter = match interpolation {
                Interpolation::Bilinear => PillowFilter::Bilinear,
                Interpolation::Bicubic => PillowFilter::Bicubic,
                Interpolation::Nearest | Interpolation::NearestExact => PillowFilter::Nearest,
            };
            let fill = repeated(fill, channels).map(|number| number as u8);
            let affine = PillowAffine::new(matrix, filter, fill);
            let map = if filter == PillowFilter::Nearest { affine.nearest_map(source) } else { None };
            map.map_or(GatherKind::PillowAffine(affine), |map| {
                let fill = Some(fill.map(|byte| f32::from(byte) / 255.0));
                GatherKind::Warp(Warp { map, size: source, nearest: true, fill })
            })
        }
        Op::PillowBlur { radius } => {
            let boxes = radius.map(BoxBlur::of_gaussian);
            if boxes == [None; 2] {
                return Ok(None);
            }
            GatherKind::PillowBlur(boxes)
        }
        Op::Autocontrast => GatherKind::Autocontrast,
        _ => GatherKind::Equalize,
    };
    Ok(Some(Gather { kind, source, origin: (0, 0), is_uint8 }))
}

/// The weights of a kernel of `size` pixels: `exp(-i² / (2 sigma²))`, normalised.
pub(crate) fn blur_weights(size: u32, sigma: f64) -> Vec<f32> {
    let half = (f64::from(size) - 1.0) / 2.0;
    // The square of a sigma below 1e-162 would be 0, and 0 / 0 no weight.
    let divisor = (2.0 * sigma * sigma).max(f64::MIN_POSITIVE);
    let at = |i: u32| libm::exp(-(f64::from(i) - half).powi(2) / divisor);
    let sum: f64 = (0..size).map(at).sum();
    (0..size).map(|i| (at(i) / sum) as f32).collect()
}

/// The number of weights at either end of a blur of 8-bit numbers that change no result by a millionth of a level: those
/// below 2^-33. Both executors leave them out.
pub(crate) fn negligible_weights(weights: &[f32]) -> usize {
    const LEAST: f32 = 1.0 / (1u64 << 33) as f32;
    weights.iter().take_while(|&&weight| weight < LEAST).count().min(weights.len() / 2)
}

/// The blocks of 16 x 16 pixels that `window` lies in, with those of the two pixels around it, which decide its colours.
fn whole_blocks(window: Rect, (width, height): (u32, u32)) -> Rect {
    let axis = |start: u32, len: u32, side: u32| {
        let first = start.saturating_sub(2) / 16 * 16;
        (first, ((start + len + 1) / 16 * 16 + 16).min(side) - first)
    };
    let ((left, width), (top, height)) =
        (axis(window.left, window.width, width), axis(window.top, window.height, height));
    Rect { left, top, width, height }
}

/// `window` with `x` and `y` more pixels on each side, inside an image of `size`; all of a side that a reflected pixel
/// can be of.
pub(crate) fn grown(window: Rect, (x, y): (u32, u32), (width, height): (u32, u32)) -> Rect {
    // A reflection of a pixel before the first one lies as far behind it.
    let axis = |start: u32, len: u32, by: u32, side: u32| {
        let end = (start + len).saturating_add(by).min(side).max((by + 1).saturating_sub(start).min(side));
        let reflected = (start + len).saturating_add(by).saturating_sub(side);
        let first = start.saturating_sub(by).min(side.saturating_sub(reflected + 1));
        (first, end - first)
    };
    let ((left, width), (top, height)) =
        (axis(window.left, window.width, x, width), axis(window.top, window.height, y, height));
    Rect { left, top, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_numbers_for_every_sigma() {
        assert_eq!(blur_weights(3, 1e-300), [0.0, 1.0, 0.0]);
        assert_eq!(blur_weights(3, 1e300), [1.0 / 3.0; 3]);
    }
}
