//! A batch's images as pictures: one layout, three channels, bytes, and Normalize undone.

use gpufeed::transforms::Op;
use gpufeed::{Batch, Layout, Result};
use image::RgbImage;

/// Each image of the batch.
pub(super) fn pictures(batch: &Batch) -> Result<Vec<RgbImage>> {
    let [_, a, b, c] = batch.shape();
    let (height, width, channels) = match batch.layout() {
        Layout::Nchw => (b, c, a),
        Layout::Nhwc => (a, b, c),
    };
    let values = batch.to_host_f32()?;
    let images = values.chunks_exact(channels * height * width).zip(batch.drawn());
    let picture = |(image, drawn): (&[f32], &gpufeed::transforms::Drawn)| {
        let value = |x: usize, y: usize, channel: usize| {
            // One channel is shown in all three.
            let channel = channel.min(channels - 1);
            let at = match batch.layout() {
                Layout::Nchw => (channel * height + y) * width + x,
                Layout::Nhwc => (y * width + x) * channels + channel,
            };
            drawn.ops.iter().rev().fold(image[at], |value, op| match op.op {
                Op::Normalize { mean, std } => value * std[channel] + mean[channel],
                _ => value,
            })
        };
        RgbImage::from_fn(width as u32, height as u32, |x, y| {
            image::Rgb([0, 1, 2].map(|channel| byte(value(x as usize, y as usize, channel))))
        })
    };
    Ok(images.map(picture).collect())
}

/// Rounded, so that bytes which became floats are the same bytes again.
fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}
