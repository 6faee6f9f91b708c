//! EXIF orientation: mapping regions back to the stored image, and turning pixels.
//!
//! The eight values are those of tag 274 of TIFF 6.0, which EXIF shares: 1 as stored, 2 mirrored left-right, 3 turned
//! by 180°, 4 mirrored top-bottom, 5 transposed, 6 to be turned 90° clockwise, 7 transposed along the other diagonal, 8
//! to be turned 90° counter-clockwise.

use super::PIXEL;
use crate::geometry::{Rect, backwards, swaps_axes};

/// Returns the region of a stored image of `(width, height)` pixels that becomes `region` when oriented.
pub(super) fn stored_region(orientation: u8, region: Rect, (width, height): (u32, u32)) -> Rect {
    let (columns_back, rows_back) = backwards(orientation);
    let swapped = swaps_axes(orientation);
    let (across, down) = if swapped { (height, width) } else { (width, height) };
    let left = if columns_back { across - region.left - region.width } else { region.left };
    let top = if rows_back { down - region.top - region.height } else { region.top };
    if swapped {
        Rect { left: top, top: left, width: region.height, height: region.width }
    } else {
        Rect { left, top, width: region.width, height: region.height }
    }
}

/// Orients the pixels of `stored` and writes them without gaps into `target`, which they fill exactly. Its first row
/// starts `source`, and its rows are `stride` bytes apart. Only the size of `stored` is used.
pub(super) fn turn(orientation: u8, source: &[u8], stride: usize, stored: Rect, target: &mut [u8]) {
    let (width, height) = (stored.width as usize, stored.height as usize);
    let (columns_back, rows_back) = backwards(orientation);
    let (target, _) = target.as_chunks_mut::<PIXEL>();
    let source_row = |y: usize| source[y * stride..][..width * PIXEL].as_chunks::<PIXEL>().0;
    if !swaps_axes(orientation) {
        for (y, row) in target.chunks_exact_mut(width).enumerate() {
            row.copy_from_slice(source_row(if rows_back { height - 1 - y } else { y }));
            if columns_back {
                row.reverse();
            }
        }
        return;
    }
    // A stored row becomes a target column. Bands of stored rows let the target rows being written stay in the CPU's
    // cache.
    const BAND: usize = 16;
    for first in (0..height).step_by(BAND) {
        for step in 0..width {
            let x = if rows_back { width - 1 - step } else { step };
            let row = &mut target[step * height..][..height];
            for y in first..(first + BAND).min(height) {
                let column = if columns_back { height - 1 - y } else { y };
                let at = y * stride + x * PIXEL;
                row[column].copy_from_slice(&source[at..at + PIXEL]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps oriented (x, y) to stored coordinates by the definition of the eight values.
    fn stored_of(orientation: u8, x: u32, y: u32, (w, h): (u32, u32)) -> (u32, u32) {
        match orientation {
            2 => (w - 1 - x, y),
            3 => (w - 1 - x, h - 1 - y),
            4 => (x, h - 1 - y),
            5 => (y, x),
            6 => (y, h - 1 - x),
            7 => (w - 1 - y, h - 1 - x),
            8 => (w - 1 - y, x),
            _ => (x, y),
        }
    }

    #[test]
    fn turning_a_region_follows_the_definition() {
        let size = (37, 21);
        let pixel = |x: u32, y: u32| [x as u8, y as u8, 7, 255];
        let image: Vec<u8> = (0..size.1).flat_map(|y| (0..size.0).flat_map(move |x| pixel(x, y))).collect();
        for orientation in 1..=8 {
            let region = Rect { left: 3, top: 2, width: 17, height: 18 };
            let stored = stored_region(orientation, region, size);
            let stride = size.0 as usize * PIXEL;
            let source = &image[stored.top as usize * stride + stored.left as usize * PIXEL..];
            let mut target = vec![0; 17 * 18 * PIXEL];
            turn(orientation, source, stride, stored, &mut target);
            for y in 0..region.height {
                for x in 0..region.width {
                    let (sx, sy) = stored_of(orientation, x + region.left, y + region.top, size);
                    let at = (y * region.width + x) as usize * PIXEL;
                    assert_eq!(target[at..at + PIXEL], pixel(sx, sy), "orientation {orientation} at {x}, {y}");
                }
            }
        }
    }
}
