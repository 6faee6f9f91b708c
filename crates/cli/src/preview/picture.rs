//! Turns the images of a group into RGB pictures, with Normalize undone.

use gpufeed::transforms::Op;
use gpufeed::{BatchGroup, Layout, Result};
use image::RgbImage;

/// Returns the group's images as pictures. They are made one by one, because a batch of large ones takes gigabytes.
pub(super) fn pictures(group: BatchGroup<'_>) -> Result<impl Iterator<Item = RgbImage>> {
    let [_, a, b, c] = group.shape();
    let (height, width, channels) = match group.layout() {
        Layout::Nchw => (b, c, a),
        Layout::Nhwc => (a, b, c),
    };
    let values = group.to_host_f32()?;
    let length = channels * height * width;
    let picture = move |(number, params): (usize, &gpufeed::transforms::Params)| {
        let image = &values[number * length..][..length];
        let value = |x: usize, y: usize, channel: usize| {
            // A gray image repeats its channel.
            let channel = channel.min(channels - 1);
            let at = match group.layout() {
                Layout::Nchw => (channel * height + y) * width + x,
                Layout::Nhwc => (y * width + x) * channels + channel,
            };
            params.ops.iter().rev().fold(image[at], |value, op| match op.op {
                Op::Normalize { mean, std } => value * std[channel] + mean[channel],
                _ => value,
            })
        };
        RgbImage::from_fn(width as u32, height as u32, |x, y| {
            image::Rgb([0, 1, 2].map(|channel| byte(value(x as usize, y as usize, channel))))
        })
    };
    Ok(group.params().iter().enumerate().map(picture))
}

/// Rounds a value, so that bytes that became floats become the same bytes again.
fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}
