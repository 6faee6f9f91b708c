//! Writes text on a picture, in a compiled-in font, so that the sheet looks the same everywhere.

use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// Pixels from one line to the next.
pub(super) const LINE: u32 = 17;

/// Returns the width of a letter in pixels.
pub(super) fn letter() -> u32 {
    get_raster_width(FontWeight::Regular, RasterHeight::Size16) as u32
}

/// Writes one line with its corner at (`left`, `top`). Letters that the font lacks become question marks.
pub(super) fn write(image: &mut RgbImage, text: &str, (left, top): (u32, u32), color: Rgb<u8>) {
    let glyph = |letter| get_raster(letter, FontWeight::Regular, RasterHeight::Size16);
    for (place, symbol) in (0..).zip(text.chars()) {
        let Some(raster) = glyph(symbol).or_else(|| glyph('?')) else { continue };
        for (y, row) in (top..).zip(raster.rows()) {
            for (x, ink) in (left + place * letter()..).zip(row.iter()) {
                if let Some(pixel) = image.get_pixel_mut_checked(x, y) {
                    let mix = |below: u8, above: u8| {
                        let ink = u32::from(*ink);
                        ((u32::from(below) * (255 - ink) + u32::from(above) * ink + 127) / 255) as u8
                    };
                    *pixel = Rgb([0, 1, 2].map(|channel| mix(pixel.0[channel], color.0[channel])));
                }
            }
        }
    }
}

/// Breaks `text` into lines of at most `letters` letters, between words if possible.
pub(super) fn wrap(text: &str, letters: usize) -> Vec<String> {
    let letters = letters.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let len = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + len <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                let all: Vec<char> = word.chars().collect();
                lines.extend(all.chunks(letters).map(String::from_iter));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_break_inside() {
        assert_eq!(wrap("crop 31x40 at 2,3", 10), ["crop 31x40", "at 2,3"]);
        assert_eq!(wrap("n01440764_10026.JPEG", 8), ["n0144076", "4_10026.", "JPEG"]);
        assert!(wrap("", 8).is_empty());
    }

    #[test]
    fn letters_differ_and_stay_inside_of_the_picture() {
        let draw = |text: &str| {
            let mut image = RgbImage::from_pixel(20, 20, Rgb([255; 3]));
            write(&mut image, text, (2, 2), Rgb([0; 3]));
            image
        };
        assert_ne!(draw("a"), draw("b"));
        assert_eq!(draw("\u{4e2d}"), draw("?"));
        assert!(draw("a").pixels().any(|pixel| pixel.0[0] < 100));
        draw("far too long for twenty pixels");
    }
}
