//! The sizes at which pictures are shown.

use super::text::LINE;
use image::RgbImage;
use image::imageops::{self, FilterType};

/// Pixels around and between everything on the sheet.
pub(super) const GAP: u32 = 16;
/// Larger pictures are reduced to this side.
const LARGEST: u32 = 320;
/// Smaller ones are enlarged by a whole factor, up to this side.
pub(super) const ENLARGED: u32 = 160;
/// Bytes that a picture takes at the most: by itself, and twice with its words on the sheet, which is encoded.
pub(super) const A_PICTURE: u64 = 3 * (LARGEST * LARGEST + 2 * (LARGEST + GAP) * (LARGEST + 8 * LINE)) as u64;

/// A draw as the sheet shows it.
pub(super) fn reduced(picture: RgbImage) -> RgbImage {
    shown(&picture, LARGEST, LARGEST)
}

/// The picture within `width` x `height`: as it is, reduced, or, where it is tiny, each pixel as a square of some.
pub(super) fn shown(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
    let (w, h) = picture.dimensions();
    if w > width || h > height {
        let fit = (f64::from(width) / f64::from(w)).min(f64::from(height) / f64::from(h));
        let side = |side: u32| ((f64::from(side) * fit).round() as u32).max(1);
        return imageops::resize(picture, side(w), side(h), FilterType::Triangle);
    }
    match ENLARGED.min(width).min(height) / w.max(h) {
        0 | 1 => picture.clone(),
        times => imageops::resize(picture, w * times, h * times, FilterType::Nearest),
    }
}
