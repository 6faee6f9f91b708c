//! Turns the images of a group into RGB pictures, with Normalize undone.

use gpufeed::decode::ReadMode;
use gpufeed::transforms::{Op, Params};
use gpufeed::{BatchGroup, Layout, Result};
use image::RgbImage;

/// An image of a group as a picture.
pub(super) struct Picture {
    pub(super) image: RgbImage,
    /// The least and the greatest value of an image of 16 bits: they are black and white in the picture.
    pub(super) range: Option<(f32, f32)>,
}

/// Returns the group's images as pictures. They are made one by one, because a batch of large ones takes gigabytes. Values
/// of 16 bits are mapped from their own range, as hardly any depth reaches 65,535, and each number of a mask has a colour of its own, as most
/// classes have small ones.
pub(super) fn pictures(group: BatchGroup<'_>, mode: ReadMode) -> Result<impl Iterator<Item = Picture>> {
    let [_, a, b, c] = group.shape();
    let padded = match group.layout() {
        Layout::Nchw => (c, b),
        Layout::Nhwc => (b, a),
    };
    let (values, channels) = (group.to_host_f32()?, group.channels() as usize);
    let mut begin = 0;
    let picture = move |(number, params): (usize, &Params)| {
        let (width, height) = group.image_size(number).unwrap_or_default();
        let (width, height) = (width as usize, height as usize);
        // Rows and planes of a padded image are those of the largest one in its batch.
        let (pitch, rows) = if group.is_listed() { (width, height) } else { padded };
        let image = &values[begin..][..channels * rows * pitch];
        begin += image.len();
        let value = |x: usize, y: usize, channel: usize| {
            // A gray image repeats its channel.
            let channel = channel.min(channels - 1);
            let at = match group.layout() {
                Layout::Nchw => (channel * rows + y) * pitch + x,
                Layout::Nhwc => (y * pitch + x) * channels + channel,
            };
            params.ops.iter().rev().fold(image[at], |value, op| match op.op {
                Op::Normalize { mean, std } => value * std[channel] + mean[channel],
                _ => value,
            })
        };
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let range = (mode == ReadMode::Gray16).then(|| range(all.map(|(x, y)| value(x, y, 0)))).flatten();
        let image = RgbImage::from_fn(width as u32, height as u32, |x, y| {
            if mode == ReadMode::Mask {
                return image::Rgb(color_of(byte(value(x as usize, y as usize, 0))));
            }
            let shown = |channel| byte(scaled(value(x as usize, y as usize, channel), range));
            image::Rgb([0, 1, 2].map(shown))
        });
        Picture { image, range }
    };
    Ok(group.params().iter().enumerate().map(picture))
}

/// Returns the least and the greatest of finite values; `None` if there are none.
fn range(values: impl Iterator<Item = f32>) -> Option<(f32, f32)> {
    let finite = values.filter(|value| value.is_finite());
    finite.fold(None, |range, value| {
        let (least, greatest) = range.unwrap_or((value, value));
        Some((value.min(least), value.max(greatest)))
    })
}

/// Maps a value from its range to 0 to 1. An image of one value is gray.
fn scaled(value: f32, range: Option<(f32, f32)>) -> f32 {
    match range {
        Some((least, greatest)) if greatest > least => (value - least) / (greatest - least),
        Some(_) => 0.5,
        None => value,
    }
}

/// The colour of a class: that of Pascal VOC's palette, whose red, green and blue have every third bit of the number, the lowest one first
/// and highest. 0 is black, and 255 nearly white.
fn color_of(class: u8) -> [u8; 3] {
    let bit = |number: u32| class >> number & 1;
    [0, 1, 2].map(|channel| {
        (0..3).map(|place| if channel + 3 * place < 8 { bit(channel + 3 * place) << (7 - place) } else { 0 }).sum()
    })
}

/// Rounds a value, so that bytes that became floats become the same bytes again.
fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_16_bits_fill_their_own_range() {
        let depths = [812.0, 2_000.0, f32::NAN, 4_103.0];
        let found = range(depths.into_iter());
        assert_eq!(found, Some((812.0, 4_103.0)));
        assert_eq!([812.0, 4_103.0].map(|value| byte(scaled(value, found))), [0, 255]);
        assert_eq!(byte(scaled(7.0, Some((7.0, 7.0)))), 128);
        assert_eq!(byte(scaled(0.2, None)), 51);
        assert_eq!(range([f32::INFINITY].into_iter()), None);
    }

    /// The first colours of the palette of `SegmentationClass`.
    #[test]
    fn classes_have_the_colours_of_pascal_voc() {
        let expected = [[0, 0, 0], [128, 0, 0], [0, 128, 0], [128, 128, 0], [0, 0, 128], [128, 0, 128], [0, 128, 128]];
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(color_of), expected);
        assert_eq!((color_of(8), color_of(20), color_of(255)), ([64, 0, 0], [0, 64, 128], [224, 224, 192]));
    }
}
