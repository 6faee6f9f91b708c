//! Autocontrast: torchvision's `autocontrast_image`. Each channel is stretched to the whole range; one of a single value
//! stays. Pillow's does the same in f64.

use super::Part;
use super::bytes::ByteTable;
use crate::geometry::Rect;
use multiversion::multiversion;

/// In 8-bit numbers. Division and truncation are those of f32; a channel's result is a table of 256 numbers.
pub(super) fn bytes(part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let tables = ranges(part).map(|(low, high)| {
        let scale = f32::from(high.saturating_sub(low)) * (1.0 / 255.0);
        let slope = if low == high { 1.0 } else { 255.0 / f64::from(high - low) };
        let number =
            |k: u8| if low == high { k } else { (f32::from(k.saturating_sub(low)) / scale).clamp(0.0, 255.0) as u8 };
        ByteTable::ramp(if low == high { 0 } else { low }, slope, number)
    });
    out.clear();
    ByteTable::look_up_rows(tables.each_ref(), part.rows_of(window), out);
}

/// Pillow's `ImageOps.autocontrast` of 8-bit numbers, in f64.
pub(super) fn pillow_bytes(part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let tables = ranges(part).map(|(low, high)| {
        if low >= high {
            return ByteTable::new(|k| k);
        }
        let scale = 255.0 / f64::from(high - low);
        let offset = -f64::from(low) * scale;
        // The cast cuts to a whole number from 0 to 255.
        ByteTable::ramp(low, scale, |k| (f64::from(k) * scale + offset) as u8)
    });
    out.clear();
    ByteTable::look_up_rows(tables.each_ref(), part.rows_of(window), out);
}

/// The least and the greatest number of each channel.
fn ranges(part: Part<'_, u8>) -> [(u8, u8); 3] {
    let (mut low, mut high) = ([255; BLOCK], [0; BLOCK]);
    part.runs().for_each(|run| extremes(run.as_flattened(), &mut low, &mut high));
    std::array::from_fn(|c| {
        let low = low.iter().skip(c).step_by(4).min().copied().unwrap_or(0);
        (low, high.iter().skip(c).step_by(4).max().copied().unwrap_or(0))
    })
}

/// Bytes of a block, of four channels.
const BLOCK: usize = 64;

/// Keeps the least and the greatest byte at each place of a block.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn extremes(row: &[u8], low: &mut [u8; BLOCK], high: &mut [u8; BLOCK]) {
    let (blocks, rest) = row.as_chunks::<BLOCK>();
    let (mut least, mut greatest) = (*low, *high);
    for block in blocks {
        for i in 0..BLOCK {
            (least[i], greatest[i]) = (least[i].min(block[i]), greatest[i].max(block[i]));
        }
    }
    for (i, &byte) in rest.iter().enumerate() {
        (least[i], greatest[i]) = (least[i].min(byte), greatest[i].max(byte));
    }
    (*low, *high) = (least, greatest);
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
    let change = |&[r, g, b, a]: &[f32; 4]| [stretch(r, ranges[0]), stretch(g, ranges[1]), stretch(b, ranges[2]), a];
    part.rows_of(window).for_each(|row| out.extend(row.iter().map(change)));
}
