//! The size of each component, its upsampling ratio, and the samples that a region needs.

use crate::Rect;
use crate::idct::IdctSize;

/// The size and the components of a frame at the scale at which it is decoded.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Columns and rows of the decoded image.
    pub width: usize,
    pub height: usize,
    /// The image's components: one, three or four.
    pub components: Vec<ComponentLayout>,
}

/// The grid of samples of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentLayout {
    /// Samples on the side of a decoded block. At smaller scales chroma gets larger blocks where that replaces
    /// upsampling.
    pub idct_size: IdctSize,
    /// Columns and rows of samples that belong to the image. The blocks contain more samples, which are not read.
    pub width: usize,
    pub height: usize,
    pub upsampling: Upsampling,
}

/// The ratio between pixels and samples of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upsampling {
    /// Pixels that one sample covers across.
    pub horizontal: usize,
    pub vertical: usize,
    /// True to interpolate with weights of one and three quarters (libjpeg's "fancy" upsampling), false to repeat
    /// samples.
    pub interpolated: bool,
}

/// A rectangle of samples of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleWindow {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl Layout {
    /// Computes the layout of an image of `size` = (columns, rows) whose components have `factors` = (horizontal,
    /// vertical) sampling factors, at the scale that turns a block into `scale` samples. Returns `None` for ratios of
    /// factors that are not integers, which libjpeg rejects.
    pub fn new(size: (u32, u32), factors: &[(u8, u8)], scale: IdctSize) -> Option<Layout> {
        let (columns, rows) = (size.0 as usize, size.1 as usize);
        let max_h = usize::from(factors.iter().map(|factor| factor.0).max()?);
        let max_v = usize::from(factors.iter().map(|factor| factor.1).max()?);
        let scaled = scale.samples();
        let component = |factor: &(u8, u8)| {
            let (h, v) = (usize::from(factor.0), usize::from(factor.1));
            if h == 0 || v == 0 {
                return None;
            }
            let mut idct_size = scale;
            while let Some(doubled) = idct_size.doubled()
                && (max_h * scaled).is_multiple_of(h * doubled.samples())
                && (max_v * scaled).is_multiple_of(v * doubled.samples())
            {
                idct_size = doubled;
            }
            // libjpeg computes the ratios from groups of samples that make `max_h` × `max_v` pixels, and rounds the
            // group's size down.
            let group = (h * idct_size.samples() / scaled, v * idct_size.samples() / scaled);
            if !max_h.is_multiple_of(group.0) || !max_v.is_multiple_of(group.1) {
                return None;
            }
            let width = (columns * h * idct_size.samples()).div_ceil(max_h * 8);
            let height = (rows * v * idct_size.samples()).div_ceil(max_v * 8);
            let (horizontal, vertical) = (max_h / group.0, max_v / group.1);
            // libjpeg interpolates horizontally from three columns on, and repeats samples for blocks of one sample,
            // because it keeps no neighbouring rows of these.
            let interpolated = scaled > 1
                && match (horizontal, vertical) {
                    (2, 1 | 2) => width > 2,
                    (1, 2) => true,
                    _ => false,
                };
            let upsampling = Upsampling { horizontal, vertical, interpolated };
            Some(ComponentLayout { idct_size, width, height, upsampling })
        };
        Some(Layout {
            width: (columns * scaled).div_ceil(8),
            height: (rows * scaled).div_ceil(8),
            components: factors.iter().map(component).collect::<Option<_>>()?,
        })
    }
}

impl ComponentLayout {
    /// The samples from which the pixels of `region` are computed, including the neighbours that interpolation needs.
    pub fn window(&self, region: Rect) -> SampleWindow {
        let Upsampling { horizontal, vertical, interpolated } = self.upsampling;
        let span = |first: u32, count: u32, ratio: usize, limit: usize| {
            let neighbour = usize::from(interpolated && ratio == 2);
            let (first, end) = (first as usize / ratio, (first as usize + count as usize).div_ceil(ratio));
            let (first, end) = (first.saturating_sub(neighbour), (end + neighbour).min(limit));
            (first, end.saturating_sub(first))
        };
        let (left, width) = span(region.left, region.width, horizontal, self.width);
        let (top, height) = span(region.top, region.height, vertical, self.height);
        SampleWindow { left, top, width, height }
    }
}

impl IdctSize {
    fn doubled(self) -> Option<IdctSize> {
        match self {
            IdctSize::One => Some(IdctSize::Two),
            IdctSize::Two => Some(IdctSize::Four),
            IdctSize::Four => Some(IdctSize::Eight),
            IdctSize::Eight => None,
        }
    }
}
