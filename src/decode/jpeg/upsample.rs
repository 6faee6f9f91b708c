//! Component planes to RGBA: every row of a region is upsampled, then converted.

use multiversion::multiversion;

use super::color::{self, ColorTransform};
use super::layout::Component;
use crate::decode::Rect;

/// Decoded samples of one component: those of [`Component::window`] at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane<'a> {
    pub(super) component: Component,
    /// Rows of samples, `stride` apart.
    pub(super) samples: &'a [u8],
    pub(super) stride: usize,
    /// The place of `samples[0]` in the component: columns before it and rows above it.
    pub(super) left: usize,
    pub(super) top: usize,
}

/// Memory for upsampled rows. It grows with the region's width.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// One row of each component.
    pixels: [Vec<u8>; 3],
    /// One row of samples, mixed with its vertical neighbour.
    mixed: Vec<u16>,
}

impl Rows {
    /// Grows to what any region of an image of `width` columns needs.
    pub(super) fn reserve(&mut self, width: usize) {
        let length = width + PADDING;
        for row in &mut self.pixels {
            if row.len() < length {
                *row = vec![0; length];
            }
        }
        if self.mixed.len() < length {
            self.mixed = vec![0; length];
        }
    }

    /// Columns that it has grown to.
    pub(super) fn columns(&self) -> usize {
        self.mixed.len().saturating_sub(PADDING)
    }
}

/// What a row is longer than its region: a region may begin and end within a sample, which has up to four pixels.
const PADDING: usize = 16;

/// Writes the pixels of `region`, gapless RGBA rows, from as many planes as `transform` has components.
pub(super) fn finish(
    planes: &[Plane<'_>],
    transform: ColorTransform,
    region: Rect,
    rows: &mut Rows,
    target: &mut [u8],
) {
    rows.reserve(region.width as usize);
    finish_rows(planes, transform, region, rows, target);
}

#[multiversion(targets("x86_64+avx2"))]
fn finish_rows(planes: &[Plane<'_>], transform: ColorTransform, region: Rect, rows: &mut Rows, target: &mut [u8]) {
    let columns = (region.left as usize, region.width as usize);
    let Rows { pixels: [first, second, third], mixed } = rows;
    for (i, target) in target.chunks_exact_mut(4 * columns.1).take(region.height as usize).enumerate() {
        let y = region.top as usize + i;
        match (transform, planes) {
            (ColorTransform::Gray, [gray, ..]) => color::gray_row(pixels(gray, y, columns, first, mixed), target),
            (ColorTransform::YCbCr | ColorTransform::Rgb, [one, two, three, ..]) => {
                let row = [
                    pixels(one, y, columns, first, mixed),
                    pixels(two, y, columns, second, mixed),
                    pixels(three, y, columns, third, mixed),
                ];
                if transform == ColorTransform::Rgb {
                    color::rgb_row(row, target);
                } else {
                    color::ycbcr_row(row, target);
                }
            }
            _ => {}
        }
    }
}

/// Row `y` of a component at the image's size, from column `columns.0` on, `columns.1` of them.
#[inline(always)]
fn pixels<'a>(
    plane: &Plane<'a>,
    y: usize,
    columns: (usize, usize),
    buffer: &'a mut [u8],
    mixed: &mut [u16],
) -> &'a [u8] {
    let Component { width, height, upsampling, .. } = plane.component;
    let (across, down) = (upsampling.across, upsampling.down);
    let (left, count) = columns;
    // Samples `first..end` give all the pixels.
    let (first, end) = (left / across, (left + count).div_ceil(across));
    let row = |y: usize| &plane.samples[(y.min(height - 1) - plane.top) * plane.stride..][..plane.stride];
    let near = row(y / down);
    if upsampling.interpolated {
        // libjpeg repeats the edges of the component: the far row of the first and of the last row is itself.
        let far = if down == 1 {
            near
        } else if y.is_multiple_of(2) {
            row((y / 2).saturating_sub(1))
        } else {
            row(y / 2 + 1)
        };
        // Columns `first - 1..=end`, the outermost repeated beyond the edges; without the neighbours where none is read.
        let ring = usize::from(across > 1 && first > 0);
        let last = if across > 1 { end.min(width - 1) } else { end - 1 };
        let at = first - ring - plane.left;
        let mixed = &mut mixed[..end - first + 2];
        let source = near[at..].iter().zip(&far[at..]).take(last + 1 + ring - first);
        let (rise, near_weight) = if down == 1 { (0, 1) } else { (1, 3) };
        for (mixed, (near, far)) in mixed[1 - ring..].iter_mut().zip(source) {
            *mixed = u16::from(*near) * near_weight + u16::from(*far) * rise;
        }
        if ring == 0 {
            mixed[0] = mixed[1];
        }
        if end == width {
            mixed[end - first + 1] = mixed[end - first];
        }
        let buffer = &mut buffer[..across * (end - first)];
        match (across, down) {
            (1, _) => {
                let bias = if y.is_multiple_of(2) { 1 } else { 2 };
                for (pixel, mixed) in buffer.iter_mut().zip(&mixed[1..]) {
                    *pixel = ((mixed + bias) >> 2) as u8;
                }
            }
            (_, 1) => spread::<2>(mixed, [1, 2], buffer),
            _ => spread::<4>(mixed, [8, 7], buffer),
        }
    } else if across == 1 {
        return &near[left - plane.left..][..count];
    } else {
        let samples = &near[first - plane.left..][..end - first];
        for (pixels, sample) in buffer.chunks_exact_mut(across).zip(samples) {
            pixels.fill(*sample);
        }
    }
    &buffer[left - first * across..][..count]
}

/// Two pixels of each value but the outermost: three quarters of it and a quarter of its left and of its right neighbour.
#[inline(always)]
fn spread<const SHIFT: u32>(values: &[u16], [left, right]: [u16; 2], pixels: &mut [u8]) {
    let (pixels, _) = pixels.as_chunks_mut::<2>();
    let before = values.iter();
    for (((pixels, before), value), after) in pixels.iter_mut().zip(before).zip(&values[1..]).zip(&values[2..]) {
        let value = 3 * value;
        *pixels = [((value + before + left) >> SHIFT) as u8, ((value + after + right) >> SHIFT) as u8];
    }
}
