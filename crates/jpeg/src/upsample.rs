//! Component planes to RGBA: every row of a region is upsampled, then converted.

use multiversion::multiversion;

use crate::Rect;
use crate::color::{self, ColorTransform};
use crate::layout::Component;

/// Decoded samples of one component: those of [`Component::window`] at least.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a> {
    pub component: Component,
    /// Rows of samples, `stride` apart.
    pub samples: &'a [u8],
    pub stride: usize,
    /// The place of `samples[0]` in the component: columns before it and rows above it.
    pub left: usize,
    pub top: usize,
}

/// Memory for upsampled rows. It grows with the region's width.
#[derive(Debug, Default)]
pub struct Rows {
    /// One row of each component.
    pixels: [Vec<u8>; 3],
    /// One row of samples, mixed with its vertical neighbour.
    mixed: Vec<u16>,
}

impl Rows {
    /// Grows to what any region of an image of `width` columns needs.
    pub fn reserve(&mut self, width: usize) {
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
    pub fn columns(&self) -> usize {
        self.mixed.len().saturating_sub(PADDING)
    }
}

/// Pixels by which a row is longer than its region: a region may begin and end within a sample, which has up to four pixels.
const PADDING: usize = 16;

/// Writes the pixels of `region`, gapless RGBA rows, from as many planes as `transform` has components.
pub fn finish(planes: &[Plane<'_>], transform: ColorTransform, region: Rect, rows: &mut Rows, target: &mut [u8]) {
    rows.reserve(region.width as usize);
    finish_rows(planes, transform, region, rows, target);
}

#[multiversion(targets("x86_64+avx2"))]
fn finish_rows(planes: &[Plane<'_>], transform: ColorTransform, region: Rect, rows: &mut Rows, target: &mut [u8]) {
    write_rows(planes, transform, region, rows, target);
}

/// `finish_rows` with the vectors of whichever function it becomes a part of.
#[inline(always)]
pub fn write_rows(planes: &[Plane<'_>], transform: ColorTransform, region: Rect, rows: &mut Rows, target: &mut [u8]) {
    let Rows { pixels: [first, second, third], mixed } = rows;
    let lines = (region.top as usize..).zip(target.chunks_exact_mut(4 * region.width as usize));
    let lines = lines.take(region.height as usize);
    match (transform, planes) {
        (ColorTransform::Gray, [gray, ..]) => {
            let gray = Columns::new(gray, region);
            for (y, target) in lines {
                color::gray_row(gray.row(y, first, mixed), target);
            }
        }
        (ColorTransform::YCbCr | ColorTransform::Rgb, [one, two, three, ..]) => {
            let [one, two, three] = [one, two, three].map(|plane| Columns::new(plane, region));
            for (y, target) in lines {
                let row = [one.row(y, first, mixed), two.row(y, second, mixed), three.row(y, third, mixed)];
                if transform == ColorTransform::Rgb {
                    color::rgb_row(row, target);
                } else {
                    color::ycbcr_row(row, target);
                }
            }
        }
        _ => {}
    }
}

/// The columns of a plane that a region's pixels are made of.
#[derive(Clone, Copy)]
struct Columns<'a> {
    plane: Plane<'a>,
    /// From the first sample on, `samples` of them.
    first: usize,
    samples: usize,
    /// Pixels of the first sample that lie before the region.
    before: usize,
    /// Pixels of a row of the region.
    pixels: usize,
}

impl<'a> Columns<'a> {
    #[inline(always)]
    fn new(plane: &Plane<'a>, region: Rect) -> Columns<'a> {
        let (left, pixels) = (region.left as usize, region.width as usize);
        let across = plane.component.upsampling.across;
        let (first, end) = (left / across, (left + pixels).div_ceil(across));
        Columns { plane: *plane, first, samples: end - first, before: left % across, pixels }
    }

    /// Row `y` of the image, from one or two rows of samples.
    #[inline(always)]
    fn row<'b>(&self, y: usize, buffer: &'b mut [u8], mixed: &mut [u16]) -> &'b [u8]
    where
        'a: 'b,
    {
        let Component { height, upsampling, .. } = self.plane.component;
        let (across, interpolated) = (upsampling.across, upsampling.interpolated);
        let line = |y: usize| {
            let y = y.min(height - 1) - self.plane.top;
            &self.plane.samples[y * self.plane.stride..][..self.plane.stride]
        };
        let odd = y & 1 == 1;
        let (near, far) = match upsampling.down {
            1 => (y, y),
            // libjpeg repeats the edges: the row beyond the first and beyond the last is itself.
            2 => (y / 2, if odd { y / 2 + 1 } else { (y / 2).saturating_sub(1) }),
            down => (y / down, y / down),
        };
        let near = line(near);
        let from = self.first - self.plane.left;
        match (across, upsampling.down) {
            (1, 2) if interpolated => {
                let source = near[from..].iter().zip(&line(far)[from..]);
                let bias = 1 + u16::from(odd);
                for (pixel, (near, far)) in buffer[..self.pixels].iter_mut().zip(source) {
                    *pixel = ((3 * u16::from(*near) + u16::from(*far) + bias) >> 2) as u8;
                }
            }
            (1, _) => return &near[from..][..self.pixels],
            (_, 1) if interpolated => {
                let mixed = self.with_neighbours(mixed, near, near, |near, _| near);
                spread::<2>(mixed, [1, 2], buffer);
            }
            (_, _) if interpolated => {
                let mixed = self.with_neighbours(mixed, near, line(far), |near, far| 3 * near + far);
                spread::<4>(mixed, [8, 7], buffer);
            }
            (2, _) => repeat::<2>(&near[from..][..self.samples], buffer),
            (4, _) => repeat::<4>(&near[from..][..self.samples], buffer),
            _ => {
                let samples = &near[from..][..self.samples];
                for (pixels, sample) in buffer.chunks_exact_mut(across).zip(samples) {
                    pixels.fill(*sample);
                }
            }
        }
        &buffer[self.before..][..self.pixels]
    }

    /// Two rows as one, with a column more on either side: the neighbours, or at the image's edges the outermost again.
    #[inline(always)]
    fn with_neighbours<'b>(
        &self,
        mixed: &'b mut [u16],
        near: &[u8],
        far: &[u8],
        mix: impl Fn(u16, u16) -> u16,
    ) -> &'b [u16] {
        let (left, right) = (self.first > 0, self.first + self.samples < self.plane.component.width);
        let from = self.first - usize::from(left) - self.plane.left;
        let count = self.samples + usize::from(left) + usize::from(right);
        let mixed = &mut mixed[..self.samples + 2];
        let (near, far) = (&near[from..][..count], &far[from..][..count]);
        for (mixed, (near, far)) in mixed[usize::from(!left)..].iter_mut().zip(near.iter().zip(far)) {
            *mixed = mix(u16::from(*near), u16::from(*far));
        }
        if !left {
            mixed[0] = mixed[1];
        }
        if !right {
            mixed[self.samples + 1] = mixed[self.samples];
        }
        mixed
    }
}

#[inline(always)]
fn repeat<const TIMES: usize>(samples: &[u8], pixels: &mut [u8]) {
    for (pixels, sample) in pixels.as_chunks_mut().0.iter_mut().zip(samples) {
        *pixels = [*sample; TIMES];
    }
}

/// Two pixels of each value but the outermost: three quarters of it and a quarter of its left and of its right neighbour.
#[inline(always)]
fn spread<const SHIFT: u32>(values: &[u16], [left, right]: [u16; 2], pixels: &mut [u8]) {
    let (pixels, _) = pixels.as_chunks_mut::<2>();
    for (((pixels, before), value), after) in pixels.iter_mut().zip(values).zip(&values[1..]).zip(&values[2..]) {
        let value = 3 * value;
        *pixels = [((value + before + left) >> SHIFT) as u8, ((value + after + right) >> SHIFT) as u8];
    }
}
