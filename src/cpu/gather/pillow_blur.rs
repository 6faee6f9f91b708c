//! Pillow's Gaussian blur: a box, moved three times over each row, then over each column. Each time the mean of the pixels
//! under it is rounded to a byte.

use super::Part;
use crate::allocate::{AUGMENTING, reserve_like};
use crate::error::Result;
use crate::geometry::Rect;
use crate::pillow::BoxBlur;
use multiversion::multiversion;

/// The memory of the blur.
#[derive(Debug, Default)]
pub(super) struct PillowBlurScratch {
    /// The pixels before and after a pass.
    pixels: [Vec<u8>; 2],
    /// The sums of the pixels under the box.
    sums: Vec<u32>,
}

impl PillowBlurScratch {
    pub(super) fn reserve_like(&mut self, other: &PillowBlurScratch) {
        self.pixels.iter_mut().zip(&other.pixels).for_each(|(vec, other)| reserve_like(vec, other));
        reserve_like(&mut self.sums, &other.sums);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pixels.iter().map(Vec::capacity).sum::<usize>() + 4 * self.sums.capacity()
    }
}

/// Writes `window` of the result. Beyond the edges of `part` its last pixels go on, as those of the image do: where `part`
/// ends inside the image, it reaches so far beyond the window that the window shows nothing of this.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
pub(super) fn run(
    [across, down]: [Option<BoxBlur>; 2],
    part: Part<'_, u8>,
    window: Rect,
    scratch: &mut PillowBlurScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    let PillowBlurScratch { pixels: [pixels, blurred], sums } = scratch;
    let (width, height) = (part.rect.width as usize, part.rect.height as usize);
    let row = 4 * width;
    for vec in [&mut *pixels, &mut *blurred] {
        AUGMENTING.resize(vec, row * height, 0)?;
    }
    AUGMENTING.resize(sums, row, 0)?;
    pixels.chunks_exact_mut(row).zip(part.rows()).for_each(|(to, from)| to.copy_from_slice(from.as_flattened()));
    if let Some(across) = across {
        for _ in 0..3 {
            let rows = pixels.chunks_exact(row).zip(blurred.chunks_exact_mut(row));
            rows.for_each(|(from, to)| blur_row(across, from, to));
            std::mem::swap(pixels, blurred);
        }
    }
    if let Some(down) = down {
        for _ in 0..3 {
            blur_columns(down, pixels, blurred, sums);
            std::mem::swap(pixels, blurred);
        }
    }
    let first = 4 * (window.left - part.rect.left) as usize;
    let rows = pixels.chunks_exact(row).skip((window.top - part.rect.top) as usize).take(window.height as usize);
    rows.for_each(|row| out.extend_from_slice(row[first..][..4 * window.width as usize].as_chunks().0));
    Ok(())
}

/// Moves the box over the pixels of a row.
fn blur_row(blur: BoxBlur, from: &[u8], to: &mut [u8]) {
    let mut sums = [0; 4];
    blur_line(blur, from, to, &mut sums);
}

/// Moves the box over all columns at once, of which a row has one pixel each.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn blur_columns(blur: BoxBlur, from: &[u8], to: &mut [u8], sums: &mut [u32]) {
    blur_line(blur, from, to, sums);
}

/// Moves the box over a line of elements of as many bytes as there are sums.
#[inline(always)]
fn blur_line(blur: BoxBlur, from: &[u8], to: &mut [u8], sums: &mut [u32]) {
    let lanes = sums.len();
    let last = from.len() / lanes - 1;
    let element = |at: i64| &from[at.clamp(0, last as i64) as usize * lanes..][..lanes];
    let radius = i64::from(blur.radius);
    // Under the box at the first element; what repeats an end is counted at once.
    let inside = (radius as usize).min(last);
    sums.fill(0);
    for (i, element) in from.chunks_exact(lanes).take(inside + 1).enumerate() {
        let times = if i == 0 { blur.radius + 1 } else { 1 };
        sums.iter_mut().zip(element).for_each(|(sum, &byte)| *sum += times * u32::from(byte));
    }
    let beyond = blur.radius - inside as u32;
    sums.iter_mut().zip(element(last as i64)).for_each(|(sum, &byte)| *sum += beyond * u32::from(byte));
    for (i, out) in (0..).zip(to.chunks_exact_mut(lanes)) {
        let (before, after) = (element(i - radius - 1), element(i + radius + 1));
        let leaving = element(i - radius);
        let lanes = out.iter_mut().zip(sums.iter_mut()).zip(before.iter().zip(after).zip(leaving));
        for ((out, sum), ((&before, &after), &leaving)) in lanes {
            let (before, after) = (u32::from(before), u32::from(after));
            *out = blur.mean(*sum, before + after);
            *sum = sum.wrapping_add(after).wrapping_sub(leaving.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of each pixel by itself.
    #[test]
    fn a_moved_box_has_the_means_of_each_place() {
        let line: Vec<u8> = (0..61_u32).map(|i| (i * i * 37 % 251) as u8).collect();
        for (len, sigma) in [(1, 2.0), (2, 0.3), (3, 50.0), (17, 4.0), (61, 3.0), (61, 90.0)] {
            let (from, mut to) = (&line[..len], vec![0; len]);
            let blur = BoxBlur::of_gaussian(sigma).unwrap();
            blur_line(blur, from, &mut to, &mut [0]);
            let at = |i: i64| u32::from(from[i.clamp(0, len as i64 - 1) as usize]);
            let radius = i64::from(blur.radius);
            let mean = |i: i64| {
                let sum = (i - radius..=i + radius).map(at).sum();
                blur.mean(sum, at(i - radius - 1) + at(i + radius + 1))
            };
            assert_eq!(to, (0..len as i64).map(mean).collect::<Vec<_>>(), "{len} {sigma}");
        }
    }
}
