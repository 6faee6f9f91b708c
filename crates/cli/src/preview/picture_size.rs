//! The sizes of pictures on the sheet.

use super::text::LINE;
use image::RgbImage;
use image::imageops::{self, FilterType};

/// Pixels around and between all parts of the sheet.
pub(super) const GAP: u32 = 16;
/// Pictures with a larger side are reduced to this one.
const LARGEST: u32 = 320;
/// Smaller pictures are enlarged by a whole factor, up to this side.
pub(super) const ENLARGED: u32 = 160;
/// The most bytes of a picture: once by itself, and twice with its text on the sheet, which is encoded.
pub(super) const MOST_BYTES: u64 = 3 * (LARGEST * LARGEST + 2 * (LARGEST + GAP) * (LARGEST + 14 * LINE)) as u64;

/// Reduces a draw to the sheet's size.
pub(super) fn reduce(picture: RgbImage) -> RgbImage {
    resize(&picture, LARGEST, LARGEST)
}

/// Fits a picture into `width` x `height`. A tiny picture is enlarged so that each pixel becomes a square.
pub(super) fn resize(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
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
