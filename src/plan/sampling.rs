//! The source pixels of a stage: the canonical form into which crops, pads, a resize and flips compose.
//!
//! ```text
//! output ─ mirror ─ window ─ border ─▶ grid ─ resize taps ─▶ view ─ mirror ─ window ─ border ─▶ source
//! ```
//!
//! `composer.rs` makes a sampling of a stage's ops; `read_region.rs` tells which source pixels it reads.
//!
//! The axes are independent, so each has an [`Axis`]. Resize centres are computed in coordinates of the *whole* grid, so
//! a resize and a crop equal the crop of the whole resize. The taps stop at the edges of the *view*, so a crop and a
//! resize read only the crop, as in torchvision. The WGSL twin is `shaders/sample/`.

use crate::geometry::{Rect, Scaled};
use crate::transforms::{Interpolation, PaddingMode};
use bytemuck::{Pod, Zeroable};

/// One axis of a [`Sampling`]; the layout is that of `Axis` in `shaders/prelude.wgsl`. Units are pixels.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Axis {
    /// Outputs on this axis.
    pub(crate) len: i32,
    /// 1 if output `i` shows the window's pixel `len - 1 - i`.
    pub(crate) grid_mirror: u32,
    /// First window coordinate, relative to the grid's rectangle; outside it the grid's border begins.
    pub(crate) grid_window: i32,
    /// The rectangle that the grid's border surrounds, in grid coordinates.
    pub(crate) grid_start: i32,
    pub(crate) grid_len: i32,
    /// View pixels per grid pixel.
    pub(crate) scale: f32,
    /// Half the filter's width in view pixels (antialiased filters only).
    pub(crate) support: f32,
    /// 1 / scale if the filter is antialiased and downscales, else 1.
    pub(crate) inverse: f32,
    /// Pixels of the view, at whose edges taps stop.
    pub(crate) view_len: i32,
    /// 1 if view pixel `i` is the source window's pixel `view_len - 1 - i`.
    pub(crate) view_mirror: u32,
    /// First window coordinate, relative to the source's rectangle; outside it the source's border begins.
    pub(crate) source_window: i32,
    /// The rectangle that the source's border surrounds, in source pixels.
    pub(crate) source_start: i32,
    pub(crate) source_len: i32,
    /// The start of the grid in the view: 0, or for a source that was decoded at a smaller scale up to half a pixel
    /// before or after.
    pub(crate) phase: f32,
    /// 0, which shaders read and compilers do not know: `shaders/exact/exact.wgsl`.
    pub(crate) zero: u32,
    pub(crate) padding: u32,
}

/// The content of a border; the numbers are those of `shaders/prelude.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Border {
    pub(crate) mode: PaddingMode,
    pub(crate) fill: [f32; 3],
}

/// The filter of a resampling; the numbers are those of `shaders/prelude.wgsl`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Nearest = 0,
    NearestExact = 1,
    Linear = 2,
    Cubic = 3,
    LinearAntialias = 4,
    CubicAntialias = 5,
}

impl Filter {
    pub(crate) fn new(interpolation: Interpolation, antialias: bool) -> Self {
        match (interpolation, antialias) {
            (Interpolation::Nearest, _) => Filter::Nearest,
            (Interpolation::NearestExact, _) => Filter::NearestExact,
            (Interpolation::Bilinear, false) => Filter::Linear,
            (Interpolation::Bilinear, true) => Filter::LinearAntialias,
            (Interpolation::Bicubic, false) => Filter::Cubic,
            (Interpolation::Bicubic, true) => Filter::CubicAntialias,
        }
    }

    /// Half the filter's width at scale 1; for antialiased filters.
    pub(super) fn half_width(self) -> f32 {
        if self == Filter::CubicAntialias { 2.0 } else { 1.0 }
    }
}

/// All numbers with which a stage reads its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampling {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) filter: Filter,
    pub(crate) source_border: Option<Border>,
    pub(crate) grid_border: Option<Border>,
    /// For a resize in torchvision's arithmetic on 8-bit numbers: its whole size (width, height), before crops.
    pub(crate) resized_u8: Option<[u32; 2]>,
}

/// The pixel in a rectangle of `len` pixels that coordinate `i` of a window shows, or `None` for the fill colour.
pub(crate) fn border_index(i: i32, len: i32, border: Option<Border>) -> Option<i32> {
    if (0..len).contains(&i) {
        return Some(i);
    }
    match border.map(|border| border.mode) {
        None | Some(PaddingMode::Edge) => Some(i.clamp(0, len - 1)),
        Some(PaddingMode::Constant) => None,
        Some(PaddingMode::Reflect) if len == 1 => Some(0),
        Some(PaddingMode::Reflect) => {
            let period = 2 * (len - 1);
            let phase = i.rem_euclid(period);
            Some(if phase < len { phase } else { period - phase })
        }
        Some(PaddingMode::Symmetric) => {
            let phase = i.rem_euclid(2 * len);
            Some(if phase < len { phase } else { 2 * len - 1 - phase })
        }
    }
}

/// One source pixel and its weight; `index` is `None` for the border's fill colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    pub(crate) index: Option<i32>,
    pub(crate) weight: f32,
}

impl Axis {
    /// The grid coordinate of output `i`, or `None` if it shows the grid's fill colour.
    pub(crate) fn grid(&self, i: i32, border: Option<Border>) -> Option<i32> {
        let i = if self.grid_mirror == 1 { self.len - 1 - i } else { i };
        Some(border_index(i + self.grid_window, self.grid_len, border)? + self.grid_start)
    }

    /// The source pixel of view pixel `i`, or `None` if it shows the source's fill colour.
    pub(crate) fn source(&self, i: i32, border: Option<Border>) -> Option<i32> {
        let i = if self.view_mirror == 1 { self.view_len - 1 - i } else { i };
        Some(border_index(i + self.source_window, self.source_len, border)? + self.source_start)
    }

    /// Appends the taps of grid coordinate `i`: ATen's formulas (`UpSampleKernel.cpp`: `HelperInterp*`,
    /// `_compute_indices_min_size_weights_aa`, `area_pixel_compute_source_index`), in f32 as ATen computes them.
    pub(crate) fn taps(&self, i: i32, filter: Filter, border: Option<Border>, taps: &mut Vec<Tap>) {
        let last = self.view_len - 1;
        let tap = |v: i32, weight: f32| Tap { index: self.source(v.clamp(0, last), border), weight };
        let centre = self.scale * (i as f32 + 0.5) + self.phase;
        match filter {
            Filter::Nearest => taps.push(tap((self.scale * i as f32) as i32, 1.0)),
            Filter::NearestExact => taps.push(tap(centre as i32, 1.0)),
            Filter::Linear => {
                let at = (centre - 0.5).max(0.0);
                let first = (at as i32).min(last);
                let t = at - first as f32;
                taps.extend([tap(first, 1.0 - t), tap(first + 1, t)]);
            }
            Filter::Cubic => {
                let at = centre - 0.5;
                let first = at.floor();
                let t = at - first;
                let weights = [outer(t + 1.0, -0.75), inner(t, -0.75), inner(1.0 - t, -0.75), outer(2.0 - t, -0.75)];
                taps.extend(weights.iter().zip(first as i32 - 1..).map(|(&weight, v)| tap(v, weight)));
            }
            Filter::LinearAntialias | Filter::CubicAntialias => {
                // `as i32` truncates towards zero, as ATen's cast does.
                let first = ((centre - self.support + 0.5) as i32).max(0);
                let end = ((centre + self.support + 0.5) as i32).min(self.view_len);
                let weight = |v: i32| {
                    let x = ((v as f32 - centre + 0.5) * self.inverse).abs();
                    match filter {
                        Filter::LinearAntialias => (1.0 - x).max(0.0),
                        _ if x < 1.0 => inner(x, -0.5),
                        _ if x < 2.0 => outer(x, -0.5),
                        _ => 0.0,
                    }
                };
                let sum: f32 = (first..end).map(weight).sum();
                taps.extend((first..end).map(|v| tap(v, weight(v) / sum)));
            }
        }
    }

    /// The axis for a source of `len` pixels, each of which covers `divisor` of the old ones; the first begins `before`
    /// old pixels before the old source. The view becomes the pixels whose centres are in it, and `phase` leaves every
    /// output at its position.
    fn scaled_down(mut self, divisor: u32, len: u32, before: u32) -> Self {
        let by = divisor as i32;
        let first = self.source_window + before as i32;
        let end = first + self.view_len;
        let nearest = |edge: i32| (edge + by / 2).div_euclid(by);
        let (view, view_end) = (nearest(first), nearest(end));
        let phase = if self.view_mirror == 1 { view_end * by - end } else { first - view * by };
        let times = divisor as f32;
        (self.scale, self.support, self.inverse) = (self.scale / times, self.support / times, self.inverse * times);
        (self.source_window, self.source_len, self.view_len) = (view, len as i32, view_end - view);
        self.phase = phase as f32 / times;
        self
    }
}

/// The cubic kernel for |x| ≤ 1.
fn inner(x: f32, a: f32) -> f32 {
    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
}

/// The cubic kernel for 1 ≤ |x| ≤ 2.
fn outer(x: f32, a: f32) -> f32 {
    ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
}

impl Sampling {
    /// Width and height of the result.
    pub(crate) fn size(&self) -> (u32, u32) {
        (self.x.len as u32, self.y.len as u32)
    }

    /// The sampling for a source of which only `region` is present.
    pub(crate) fn relative_to(mut self, region: Rect) -> Self {
        self.x.source_start -= region.left as i32;
        self.y.source_start -= region.top as i32;
        self
    }

    /// The sampling that computes only `window` of the result.
    pub(crate) fn cropped(mut self, window: Rect) -> Self {
        let Rect { left, top, width, height } = window;
        for (axis, start, len) in [(&mut self.x, left as i32, width as i32), (&mut self.y, top as i32, height as i32)] {
            axis.grid_window += if axis.grid_mirror == 1 { axis.len - start - len } else { start };
            axis.len = len;
        }
        self
    }

    /// The factor by which the source may be smaller without being enlarged. 1 if no smaller source would do: without
    /// smoothing single pixels show, and a border has a width in pixels.
    pub(crate) fn reduction(&self) -> f32 {
        let smooth = matches!(self.filter, Filter::LinearAntialias | Filter::CubicAntialias);
        if smooth && self.source_border.is_none() && self.resized_u8.is_none() {
            self.x.scale.min(self.y.scale).max(1.0)
        } else {
            1.0
        }
    }

    /// The sampling for the source decoded at a scale, within [`reduction`](Self::reduction).
    pub(crate) fn scaled_down(mut self, to: &Scaled) -> Self {
        self.x = self.x.scaled_down(to.divisor, to.size.0, to.before.0);
        self.y = self.y.scaled_down(to.divisor, to.size.1, to.before.1);
        self
    }

    /// True if the strip kernel can run it: bilinear, antialiased, downscaling in y, no border.
    pub(crate) fn uses_strip_kernel(&self) -> bool {
        self.filter == Filter::LinearAntialias
            && self.resized_u8.is_none()
            && self.y.scale >= 1.0
            && self.source_border.is_none()
            && self.grid_border.is_none()
    }
}
