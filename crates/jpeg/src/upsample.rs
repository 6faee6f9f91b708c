//! Upsamples component planes and converts them to RGBA, row by row.

use multiversion::multiversion;

use crate::color::{self, ColorTransform};
use crate::layout::ComponentLayout;
use crate::memory::try_grow;
use crate::{Error, Rect};

/// Decoded samples of one component, at least those of [`ComponentLayout::window`].
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a> {
    pub component: ComponentLayout,
    /// Rows of samples, `stride` apart.
    pub samples: &'a [u8],
    pub stride: usize,
    /// Column and row of `samples[0]` in the component.
    pub left: usize,
    pub top: usize,
}

/// Buffers for upsampled rows. They grow with the region's width.
#[derive(Debug, Default)]
pub struct RowBuffers {
    /// One row of pixels for each component.
    pixels: [Vec<u8>; 4],
    /// One row of samples, each summed with its vertical neighbour (libjpeg's column sums).
    column_sums: Vec<u16>,
}

impl RowBuffers {
    /// Grows the buffers for all regions of an image of `width` columns.
    pub fn reserve(&mut self, width: usize) {
        let length = width + ROW_PADDING;
        for row in &mut self.pixels {
            if row.len() < length {
                *row = vec![0; length];
            }
        }
        if self.column_sums.len() < length {
            self.column_sums = vec![0; length];
        }
    }

    /// Grows the buffers as [`reserve`](Self::reserve) does.
    ///
    /// # Errors
    /// [`Error::NoMemory`]; some of them may have grown.
    pub fn try_reserve(&mut self, width: usize) -> Result<(), Error> {
        let length = width.saturating_add(ROW_PADDING);
        self.pixels.iter_mut().try_for_each(|row| try_grow(row, length))?;
        try_grow(&mut self.column_sums, length)
    }

    /// The largest image width that fits into the buffers.
    pub fn columns(&self) -> usize {
        self.column_sums.len().saturating_sub(ROW_PADDING)
    }
}

/// Extra pixels per row: a region can start and end inside a sample, which covers up to four pixels.
const ROW_PADDING: usize = 16;

/// Writes the pixels of `region` to `target` as RGBA rows without gaps. `planes` has one plane for each component of
/// `transform`.
pub fn planes_to_rgba(
    planes: &[Plane<'_>],
    transform: ColorTransform,
    region: Rect,
    buffers: &mut RowBuffers,
    target: &mut [u8],
) {
    buffers.reserve(region.width as usize);
    rows_to_rgba_multiversion(planes, transform, region, buffers, target);
}

#[multiversion(targets("x86_64+avx2"))]
fn rows_to_rgba_multiversion(
    planes: &[Plane<'_>],
    transform: ColorTransform,
    region: Rect,
    buffers: &mut RowBuffers,
    target: &mut [u8],
) {
    rows_to_rgba(planes, transform, region, buffers, target);
}

/// [`planes_to_rgba`] compiled with the target features of the caller. The buffers must have the region's width.
#[inline(always)]
pub fn rows_to_rgba(
    planes: &[Plane<'_>],
    transform: ColorTransform,
    region: Rect,
    buffers: &mut RowBuffers,
    target: &mut [u8],
) {
    let RowBuffers { pixels: [first, second, third, fourth], column_sums } = buffers;
    let rows = (region.top as usize..).zip(target.chunks_exact_mut(4 * region.width as usize));
    let rows = rows.take(region.height as usize);
    match (transform, planes) {
        (ColorTransform::Gray, [gray, ..]) => {
            let gray = PlaneColumns::new(gray, region);
            for (y, target) in rows {
                color::gray_row(gray.row(y, first, column_sums), target);
            }
        }
        (ColorTransform::YCbCr | ColorTransform::Rgb, [one, two, three, ..]) => {
            let [one, two, three] = [one, two, three].map(|plane| PlaneColumns::new(plane, region));
            for (y, target) in rows {
                let row =
                    [one.row(y, first, column_sums), two.row(y, second, column_sums), three.row(y, third, column_sums)];
                if transform == ColorTransform::Rgb {
                    color::rgb_row(row, target);
                } else {
                    color::ycbcr_row(row, target);
                }
            }
        }
        (ColorTransform::Cmyk | ColorTransform::Ycck, [one, two, three, black]) => {
            let planes = [one, two, three, black].map(|plane| PlaneColumns::new(plane, region));
            let [one, two, three, black] = planes;
            for (y, target) in rows {
                let row =
                    [one.row(y, first, column_sums), two.row(y, second, column_sums), three.row(y, third, column_sums)];
                let black = black.row(y, fourth, column_sums);
                if transform == ColorTransform::Cmyk {
                    color::cmyk_row(row, black, target);
                } else {
                    color::ycck_row(row, black, target);
                }
            }
        }
        _ => {}
    }
}

/// The columns of a plane from which a region's pixels are computed.
#[derive(Clone, Copy)]
struct PlaneColumns<'a> {
    plane: Plane<'a>,
    /// The first column and the number of columns.
    first: usize,
    samples: usize,
    /// Number of pixels of the first sample that lie left of the region.
    pixels_before: usize,
    /// Number of pixels in a row of the region.
    pixels: usize,
}

impl<'a> PlaneColumns<'a> {
    #[inline(always)]
    fn new(plane: &Plane<'a>, region: Rect) -> PlaneColumns<'a> {
        let (left, pixels) = (region.left as usize, region.width as usize);
        let horizontal = plane.component.upsampling.horizontal;
        let (first, end) = (left / horizontal, (left + pixels).div_ceil(horizontal));
        PlaneColumns { plane: *plane, first, samples: end - first, pixels_before: left % horizontal, pixels }
    }

    /// Computes row `y` of the image from one or two rows of samples.
    #[inline(always)]
    fn row<'b>(&self, y: usize, buffer: &'b mut [u8], column_sums: &mut [u16]) -> &'b [u8]
    where
        'a: 'b,
    {
        let ComponentLayout { height, upsampling, .. } = self.plane.component;
        let (horizontal, interpolated) = (upsampling.horizontal, upsampling.interpolated);
        let sample_row = |y: usize| {
            let y = y.min(height - 1) - self.plane.top;
            &self.plane.samples[y * self.plane.stride..][..self.plane.stride]
        };
        let odd = y & 1 == 1;
        let (near, far) = match upsampling.vertical {
            1 => (y, y),
            // libjpeg repeats the first and the last row of samples beyond the edges of the image.
            2 => (y / 2, if odd { y / 2 + 1 } else { (y / 2).saturating_sub(1) }),
            vertical => (y / vertical, y / vertical),
        };
        let near = sample_row(near);
        let start = self.first - self.plane.left;
        match (horizontal, upsampling.vertical) {
            (1, 2) if interpolated => {
                let source = near[start..].iter().zip(&sample_row(far)[start..]);
                let bias = 1 + u16::from(odd);
                for (pixel, (near, far)) in buffer[..self.pixels].iter_mut().zip(source) {
                    *pixel = ((3 * u16::from(*near) + u16::from(*far) + bias) >> 2) as u8;
                }
            }
            (1, _) => return &near[start..][..self.pixels],
            (_, 1) if interpolated => {
                let sums = self.padded_column_sums(column_sums, near, near, |near, _| near);
                interpolate::<2>(sums, [1, 2], buffer);
            }
            (_, _) if interpolated => {
                let sums = self.padded_column_sums(column_sums, near, sample_row(far), |near, far| 3 * near + far);
                interpolate::<4>(sums, [8, 7], buffer);
            }
            (2, _) => repeat::<2>(&near[start..][..self.samples], buffer),
            (4, _) => repeat::<4>(&near[start..][..self.samples], buffer),
            _ => {
                let samples = &near[start..][..self.samples];
                for (pixels, sample) in buffer.chunks_exact_mut(horizontal).zip(samples) {
                    pixels.fill(*sample);
                }
            }
        }
        &buffer[self.pixels_before..][..self.pixels]
    }

    /// Combines two rows of samples with `sum` and adds one column on either side: the neighbouring column, or a copy
    /// of the outermost one at the edges of the image.
    #[inline(always)]
    fn padded_column_sums<'b>(
        &self,
        column_sums: &'b mut [u16],
        near: &[u8],
        far: &[u8],
        sum: impl Fn(u16, u16) -> u16,
    ) -> &'b [u16] {
        let (left, right) = (self.first > 0, self.first + self.samples < self.plane.component.width);
        let start = self.first - usize::from(left) - self.plane.left;
        let count = self.samples + usize::from(left) + usize::from(right);
        let column_sums = &mut column_sums[..self.samples + 2];
        let (near, far) = (&near[start..][..count], &far[start..][..count]);
        for (column_sum, (near, far)) in column_sums[usize::from(!left)..].iter_mut().zip(near.iter().zip(far)) {
            *column_sum = sum(u16::from(*near), u16::from(*far));
        }
        if !left {
            column_sums[0] = column_sums[1];
        }
        if !right {
            column_sums[self.samples + 1] = column_sums[self.samples];
        }
        column_sums
    }
}

#[inline(always)]
fn repeat<const TIMES: usize>(samples: &[u8], pixels: &mut [u8]) {
    for (pixels, sample) in pixels.as_chunks_mut().0.iter_mut().zip(samples) {
        *pixels = [*sample; TIMES];
    }
}

/// Computes two pixels from each value except the outermost ones: three quarters of the value plus a quarter of its
/// left and of its right neighbour, with a rounding bias for each of the two.
#[inline(always)]
fn interpolate<const SHIFT: u32>(values: &[u16], [left_bias, right_bias]: [u16; 2], pixels: &mut [u8]) {
    let (pixels, _) = pixels.as_chunks_mut::<2>();
    for (((pixels, before), value), after) in pixels.iter_mut().zip(values).zip(&values[1..]).zip(&values[2..]) {
        let value = 3 * value;
        *pixels = [((value + before + left_bias) >> SHIFT) as u8, ((value + after + right_bias) >> SHIFT) as u8];
    }
}
