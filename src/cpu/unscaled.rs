//! Source rows to output rows where nothing is resized and no border shows: crops and flips of bytes, without tables.
//!
//! The numbers are those of `resample`, bit for bit: one tap of weight 1.

use super::Pixels;
use crate::plan::sampling::Sampling;
use multiversion::multiversion;

/// The part of the source that is the output, pixel by pixel.
pub(super) struct Unscaled<'a> {
    data: &'a [u8],
    stride: usize,
    /// Bytes of a pixel: 3 or 4.
    size: usize,
    columns: std::ops::Range<usize>,
    /// Whether the last column comes first.
    mirror: bool,
    sampling: &'a Sampling,
}

impl<'a> Unscaled<'a> {
    /// `None` where `resample` is needed.
    pub(super) fn new(sampling: &'a Sampling, source: Pixels<'a>) -> Option<Self> {
        let Pixels::Bytes { data, stride, size } = source else { return None };
        if !sampling.is_unscaled() {
            return None;
        }
        let column = |i: i32| Some(sampling.x.source(sampling.x.grid(i, None)?, None)? as usize);
        let (first, last) = (column(0)?, column(sampling.x.len - 1)?);
        let columns = first.min(last)..first.max(last) + 1;
        Some(Unscaled { data, stride, size, columns, mirror: first > last, sampling })
    }

    /// Writes output row `i` to `planes`: all reds, all greens, all blues.
    pub(super) fn row(&self, i: usize, planes: &mut [f32]) {
        let axis = &self.sampling.y;
        let y = axis.grid(i as i32, None).and_then(|y| axis.source(y, None)).unwrap_or(0) as usize;
        let bytes = &self.data[y * self.stride..][self.size * self.columns.start..self.size * self.columns.end];
        match self.size {
            3 => split(bytes.as_chunks::<3>().0, self.mirror, planes),
            _ => split(bytes.as_chunks::<4>().0, self.mirror, planes),
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn split<const N: usize>(pixels: &[[u8; N]], mirror: bool, planes: &mut [f32]) {
    let n = pixels.len();
    let (red, rest) = planes.split_at_mut(n);
    let (green, blue) = rest.split_at_mut(n);
    let blue = &mut blue[..n];
    for i in 0..n {
        let [r, g, b] = [0, 1, 2].map(|c| f32::from(pixels[i][c]) * (1.0 / 255.0));
        (red[i], green[i], blue[i]) = (r, g, b);
    }
    if mirror {
        [red, green, blue].into_iter().for_each(<[f32]>::reverse);
    }
}
