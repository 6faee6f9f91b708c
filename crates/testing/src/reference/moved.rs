//! Operators that move pixels or replace them, in both semantics (torchvision's `functional/_geometry.py` and
//! `functional/_augment.py`).

use super::byte_resize::resize;
use super::inside;
use super::picture::{Picture, Semantics, channel};
use gpufeed::transforms::{Interpolation, PaddingMode};

/// Takes the rectangle of `height` × `width` pixels at row `top`, column `left`; what is outside is 0 (`crop_image`).
pub fn crop(picture: &Picture, (top, left): (i64, i64), (height, width): (usize, usize)) -> Picture {
    let (channels, rows, columns) = picture.shape();
    picture.build((channels, height, width), |c, y, x| {
        let (y, x) = (y as i64 + top, x as i64 + left);
        let seen = (0..rows as i64).contains(&y) && (0..columns as i64).contains(&x);
        if seen { picture.at(c, y as usize, x as usize) } else { 0.0 }
    })
}

/// Crops, then resizes (`resized_crop_image`).
pub fn resized_crop(
    picture: &Picture,
    corner: (i64, i64),
    cropped: (usize, usize),
    size: (usize, usize),
    interpolation: Interpolation,
    antialias: bool,
) -> Picture {
    resize(&crop(picture, corner, cropped), size, interpolation, antialias)
}

/// Takes the middle; rounds half to even (`center_crop_image` for an image that is large enough).
pub fn center_crop(picture: &Picture, (height, width): (usize, usize)) -> Picture {
    let (_, rows, columns) = picture.shape();
    assert!(height <= rows && width <= columns, "a crop inside the image");
    let offset = |whole: usize, part: usize| ((whole - part) as f64 / 2.0).round_ties_even() as i64;
    crop(picture, (offset(rows, height), offset(columns, width)), (height, width))
}

/// The corners upper left, upper right, lower left, lower right, and the middle (`five_crop_image`).
pub fn five_crop(picture: &Picture, size: (usize, usize)) -> Vec<Picture> {
    let (_, rows, columns) = picture.shape();
    let (bottom, right) = ((rows - size.0) as i64, (columns - size.1) as i64);
    let corners = [(0, 0), (0, right), (bottom, 0), (bottom, right)].map(|corner| crop(picture, corner, size));
    corners.into_iter().chain([center_crop(picture, size)]).collect()
}

/// The five crops of the image, then those of the mirrored one (`ten_crop_image`).
pub fn ten_crop(picture: &Picture, size: (usize, usize), vertical_flip: bool) -> Vec<Picture> {
    let mirrored = if vertical_flip { self::vertical_flip(picture) } else { horizontal_flip(picture) };
    five_crop(picture, size).into_iter().chain(five_crop(&mirrored, size)).collect()
}

/// Adds borders of `left`, `top`, `right`, `bottom` pixels (`pad_image`). A fill of bytes is cut to whole numbers.
pub fn pad(picture: &Picture, [left, top, right, bottom]: [usize; 4], mode: PaddingMode, fill: &[f64]) -> Picture {
    let (channels, rows, columns) = picture.shape();
    picture.build((channels, rows + top + bottom, columns + left + right), |c, y, x| {
        let y = inside(y as i64 - top as i64, rows as i64, mode);
        let x = inside(x as i64 - left as i64, columns as i64, mode);
        match (y, x) {
            (Some(y), Some(x)) => picture.at(c, y, x),
            _ => whole(picture, channel(fill, c)),
        }
    })
}

/// Mirrors left and right (`horizontal_flip_image`).
pub fn horizontal_flip(picture: &Picture) -> Picture {
    let (_, _, width) = picture.shape();
    picture.build(picture.shape(), |c, y, x| picture.at(c, y, width - 1 - x))
}

/// Mirrors top and bottom (`vertical_flip_image`).
pub fn vertical_flip(picture: &Picture) -> Picture {
    let (_, height, _) = picture.shape();
    picture.build(picture.shape(), |c, y, x| picture.at(c, height - 1 - y, x))
}

/// Replaces a rectangle by one number, or one for each channel (`erase_image`). A value of bytes is cut to a whole
/// number.
pub fn erase(picture: &Picture, (top, left): (usize, usize), size: (usize, usize), value: &[f64]) -> Picture {
    picture.build(picture.shape(), |c, y, x| {
        let erased = (top..top + size.0).contains(&y) && (left..left + size.1).contains(&x);
        if erased { whole(picture, channel(value, c)) } else { picture.at(c, y, x) }
    })
}

fn whole(picture: &Picture, value: f64) -> f64 {
    match picture.semantics {
        Semantics::Float => value,
        Semantics::Uint8 => value.trunc(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        Picture::from_planes((1, 2, 3), &[1, 2, 3, 4, 5, 6], Semantics::Uint8)
    }

    #[test]
    fn what_is_outside_a_crop_is_zero() {
        assert_eq!(crop(&picture(), (-1, 1), (2, 3)).image.planes, [0.0, 0.0, 0.0, 2.0, 3.0, 0.0]);
        assert_eq!(crop(&picture(), (1, 0), (1, 2)).image.planes, [4.0, 5.0]);
    }

    #[test]
    fn fills_of_bytes_are_cut() {
        let padded = pad(&picture(), [1, 0, 0, 0], PaddingMode::Constant, &[9.9]);
        assert_eq!(padded.image.planes, [9.0, 1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 6.0]);
        assert_eq!(erase(&picture(), (0, 1), (1, 2), &[7.6]).image.planes, [1.0, 7.0, 7.0, 4.0, 5.0, 6.0]);
        let mirrored = pad(&picture(), [0, 1, 2, 0], PaddingMode::Reflect, &[0.0]);
        assert_eq!(mirrored.image.planes[..5], [4.0, 5.0, 6.0, 5.0, 4.0]);
    }

    #[test]
    fn flips_mirror_rows_and_columns() {
        assert_eq!(horizontal_flip(&picture()).image.planes, [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
        assert_eq!(vertical_flip(&picture()).image.planes, [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        assert_eq!(ten_crop(&picture(), (1, 1), true).len(), 10);
    }
}
