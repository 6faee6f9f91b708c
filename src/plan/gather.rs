//! Operators whose pixels depend on more than one pixel of the image before, in another way than by a resize: warps,
//! blur, sharpness, and those that need a statistic of each channel.
//!
//! A stage begins with at most one of them, and its sampling, without a resize, and its colour steps follow.

use crate::elastic::Elastic;
use crate::geometry::Rect;
use crate::warp::Warp;

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
    /// What a JPEG of this quality makes of the image; in 8-bit numbers.
    Jpeg {
        quality: u32,
    },
    Autocontrast,
    Equalize,
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
            GatherKind::Sharpen { .. } => grown(window, (1, 1), self.source),
            GatherKind::Elastic(elastic) => grown(window, elastic.reach(), self.source),
            GatherKind::Jpeg { .. } => whole_blocks(window, self.source),
            GatherKind::Blur { .. } | GatherKind::Autocontrast | GatherKind::Equalize => {
                Rect { left: 0, top: 0, width: self.source.0, height: self.source.1 }
            }
        }
    }
}

/// The weights of a kernel of `size` pixels: `exp(-i² / (2 sigma²))`, normalised.
pub(crate) fn blur_weights(size: u32, sigma: f64) -> Vec<f32> {
    let half = (f64::from(size) - 1.0) / 2.0;
    let at = |i: u32| libm::exp(-(f64::from(i) - half).powi(2) / (2.0 * sigma * sigma));
    let sum: f64 = (0..size).map(at).sum();
    (0..size).map(|i| (at(i) / sum) as f32).collect()
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
