//! How large each component is, how it becomes as large as the image, and which of its samples a region needs.

use crate::Rect;
use crate::idct::IdctSize;

/// A frame's size and components, at the scale that it is decoded at.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Columns and rows of the result; of the image as stored where nothing is scaled down.
    pub width: usize,
    pub height: usize,
    /// One or three.
    pub components: Vec<Component>,
}

/// A component's own grid of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Samples on the side of one of its blocks. Scaled decoding gives chroma larger blocks where that spares upsampling.
    pub size: IdctSize,
    /// Its samples in a row and in a column that belong to the image; blocks hold more, which are not looked at.
    pub width: usize,
    pub height: usize,
    pub upsampling: Upsampling,
}

/// How a component's samples become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upsampling {
    /// Pixels to a sample, horizontally and vertically.
    pub across: usize,
    pub down: usize,
    /// Whether pixels lie between samples (a quarter and three quarters of the way) or repeat them.
    pub interpolated: bool,
}

/// A rectangle of samples of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl Layout {
    /// The layout of an image of `size` = (columns, rows) whose components have `factors` = (horizontal, vertical) sampling
    /// factors, decoded to `scale` samples a block. None where a ratio of factors is not integral, which libjpeg refuses.
    pub fn new(size: (u32, u32), factors: &[(u8, u8)], scale: IdctSize) -> Option<Layout> {
        let (columns, rows) = (size.0 as usize, size.1 as usize);
        let across = usize::from(factors.iter().map(|factor| factor.0).max()?);
        let down = usize::from(factors.iter().map(|factor| factor.1).max()?);
        let one = scale.samples();
        let component = |factor: &(u8, u8)| {
            let (h, v) = (usize::from(factor.0), usize::from(factor.1));
            if h == 0 || v == 0 {
                return None;
            }
            let mut size = scale;
            while let Some(doubled) = size.doubled()
                && (across * one).is_multiple_of(h * doubled.samples())
                && (down * one).is_multiple_of(v * doubled.samples())
            {
                size = doubled;
            }
            // libjpeg counts in groups of samples that make `across` × `down` pixels; its quotients are rounded down.
            let group = (h * size.samples() / one, v * size.samples() / one);
            if !across.is_multiple_of(group.0) || !down.is_multiple_of(group.1) {
                return None;
            }
            let width = (columns * h * size.samples()).div_ceil(across * 8);
            let height = (rows * v * size.samples()).div_ceil(down * 8);
            let (across, down) = (across / group.0, down / group.1);
            // The edges need three columns, and libjpeg keeps no neighbouring rows when a block is one sample.
            let interpolated = one > 1
                && match (across, down) {
                    (2, 1 | 2) => width > 2,
                    (1, 2) => true,
                    _ => false,
                };
            Some(Component { size, width, height, upsampling: Upsampling { across, down, interpolated } })
        };
        Some(Layout {
            width: (columns * one).div_ceil(8),
            height: (rows * one).div_ceil(8),
            components: factors.iter().map(component).collect::<Option<_>>()?,
        })
    }
}

impl Component {
    /// The samples that the pixels of `region` are made of, a ring of neighbours included where they are interpolated.
    pub fn window(&self, region: Rect) -> Window {
        let Upsampling { across, down, interpolated } = self.upsampling;
        let span = |first: u32, count: u32, ratio: usize, limit: usize| {
            let ring = usize::from(interpolated && ratio == 2);
            let (first, end) = (first as usize / ratio, (first as usize + count as usize).div_ceil(ratio));
            let (first, end) = (first.saturating_sub(ring), (end + ring).min(limit));
            (first, end.saturating_sub(first))
        };
        let (left, width) = span(region.left, region.width, across, self.width);
        let (top, height) = span(region.top, region.height, down, self.height);
        Window { left, top, width, height }
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
