//! EXIF orientation: reading the tag, mapping regions back to the stored image, and turning pixels.
//!
//! The eight values are those of tag 274 of TIFF 6.0, which EXIF shares: 1 as stored, 2 mirrored left-right, 3 turned
//! by 180°, 4 mirrored top-bottom, 5 transposed, 6 to be turned 90° clockwise, 7 transposed along the other diagonal, 8
//! to be turned 90° counter-clockwise.

use super::PIXEL;
use crate::geometry::Rect;

/// The number of the orientation tag in EXIF.
const TAG: u16 = 274;

/// Returns the orientation, 1..=8, in the first directory of a TIFF structure (EXIF data without its "Exif\0\0"); 1 if
/// there is none or an invalid one.
pub(super) fn from_tiff(tiff: &[u8]) -> u8 {
    find(tiff).filter(|value| (1..=8).contains(value)).unwrap_or(1)
}

fn find(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let u16_at = |at: usize| {
        let pair: [u8; 2] = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let u32_at = |at: usize| {
        let word: [u8; 4] = tiff.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
    };
    let directory = usize::try_from(u32_at(4)?).ok()?;
    let entries = u16_at(directory)?;
    for entry in 0..usize::from(entries) {
        // An entry is tag, type, count, value: 2 + 2 + 4 + 4 bytes.
        let at = directory.checked_add(2 + 12 * entry)?;
        if u16_at(at)? == TAG {
            let value = match u16_at(at + 2)? {
                3 => u32::from(u16_at(at + 8)?),
                // Some writers use LONG where the standard says SHORT.
                4 => u32_at(at + 8)?,
                _ => return None,
            };
            return u8::try_from(value).ok();
        }
    }
    None
}

/// Returns true if the oriented image's width is the stored image's height.
pub(super) fn swaps_axes(orientation: u8) -> bool {
    orientation >= 5
}

/// Returns true for each axis, (columns, rows), along which the oriented image runs backwards in the stored image.
pub(super) fn backwards(orientation: u8) -> (bool, bool) {
    (matches!(orientation, 2 | 3 | 6 | 7), matches!(orientation, 3 | 4 | 7 | 8))
}

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

    #[test]
    fn reads_both_byte_orders() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";
        assert_eq!(from_tiff(little), 6);
        assert_eq!(from_tiff(big), 8);
        for length in 0..little.len() - 6 {
            let cut = from_tiff(&little[..length]);
            assert!(cut == 1 || length >= 20, "cut at {length}: {cut}");
        }
    }

    #[test]
    fn nonsense_means_as_stored() {
        let entry = |value: u8| [&b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..], &[value, 0, 0, 0]].concat();
        assert_eq!(from_tiff(&entry(8)), 8);
        assert_eq!(from_tiff(&entry(0)), 1);
        assert_eq!(from_tiff(&entry(9)), 1);
        assert_eq!(from_tiff(b""), 1);
        assert_eq!(from_tiff(b"II*\0\xff\xff\xff\xff"), 1);
        assert_eq!(from_tiff(b"II*\0\x08\0\0\0\xff\xff"), 1);
    }
}
