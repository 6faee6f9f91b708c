//! Autocontrast: torchvision's `autocontrast_image`. Each channel is stretched to the whole range; one of a single value
//! stays.

use super::Part;
use crate::geometry::Rect;

/// In 8-bit numbers. Division and truncation are those of f32; a channel's result is a table of 256 numbers.
pub(super) fn bytes(part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let tables: [[u8; 256]; 3] = std::array::from_fn(|c| {
        let values = || part.pixels.iter().map(|pixel| pixel[c]);
        let (low, high) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        let scale = f32::from(high - low) * (1.0 / 255.0);
        std::array::from_fn(|k| {
            let k = k as u8;
            if low == high { k } else { (f32::from(k.saturating_sub(low)) / scale).clamp(0.0, 255.0) as u8 }
        })
    });
    each(part, window, |[r, g, b, _]| [tables[0][r as usize], tables[1][g as usize], tables[2][b as usize], 255], out);
}

/// In floats: `(x - low) / (high - low)`, clamped.
pub(super) fn floats(part: Part<'_, f32>, window: Rect, out: &mut Vec<[f32; 4]>) {
    let ranges: [(f32, f32); 3] = std::array::from_fn(|c| {
        let values = part.pixels.iter().map(|pixel| pixel[c]);
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    });
    let stretch = |value: f32, (low, high): (f32, f32)| {
        if low == high { value } else { (value - low) / (high - low) }.clamp(0.0, 1.0)
    };
    each(part, window, |[r, g, b, a]| [stretch(r, ranges[0]), stretch(g, ranges[1]), stretch(b, ranges[2]), a], out);
}

/// Writes `window` of the image, each pixel changed by `change`.
pub(super) fn each<T: Copy>(part: Part<'_, T>, window: Rect, change: impl Fn([T; 4]) -> [T; 4], out: &mut Vec<[T; 4]>) {
    let skipped = ((window.left - part.rect.left) as usize, (window.top - part.rect.top) as usize);
    let rows = part.pixels.chunks_exact(part.rect.width as usize).skip(skipped.1).take(window.height as usize);
    rows.for_each(|row| out.extend(row[skipped.0..][..window.width as usize].iter().map(|&pixel| change(pixel))));
}
