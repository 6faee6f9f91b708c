//! Converts samples to RGBA, as Pillow's `convert("RGB")` does: alpha is dropped, premultiplied colours are divided by
//! it, gray is replicated.
//!
//! Samples that fill a range are scaled to it: integers of up to 8 bits to 0 to 255, of deeper ones the highest 8 bits are
//! taken, floats of RGB are 0 to 1. (Pillow clips gray of 12 and 16 bits at 255 instead, and does not read floats
//! of RGB.) Gray samples whose range is not known, signed ones, 32-bit ones and floats, are clipped to 0 to 255, as in
//! Pillow.

use super::super::PIXEL;
use super::layout::{Color, Kind, Layout};
use super::ycbcr;
use crate::pixels::convert_row;

pub(super) struct Converter<'a> {
    layout: &'a Layout<'a>,
    plane: usize,
    row: usize,
    colors: ColorModel,
}

/// How the numbers of a pixel make its colour.
enum ColorModel {
    Gray { white_is_zero: bool },
    Palette(Box<[[u8; 3]; 256]>),
    Rgb,
    Cmyk,
    YCbCr(Box<ycbcr::Tables>),
}

impl<'a> Converter<'a> {
    pub(super) fn new(layout: &'a Layout<'a>) -> Self {
        let colors = match layout.color {
            Color::Gray { white_is_zero } => ColorModel::Gray { white_is_zero },
            Color::Palette(values) => {
                // All of red, then green, then blue, in 16 bits each.
                let color = |index: usize| {
                    let plane = values.len() / 3;
                    [0, 1, 2].map(|n| values.get(n * plane + index).map_or(0, |value| (value >> 8) as u8))
                };
                ColorModel::Palette(Box::new(std::array::from_fn(|index| {
                    if index < 1 << layout.bits { color(index) } else { [0; 3] }
                })))
            }
            Color::Rgb => ColorModel::Rgb,
            Color::Cmyk => ColorModel::Cmyk,
            Color::YCbCr(ycbcr) => ColorModel::YCbCr(Box::new(ycbcr.tables())),
        };
        // The layout was checked to fit this machine's memory.
        let plane = layout.chunk_bytes() as usize;
        Converter { layout, plane, row: layout.bytes_of_rows(1), colors }
    }

    /// Converts pixels from column `x` on of row `y` of a chunk, as many as `target` has.
    pub(super) fn row(&self, chunk: &[u8], x: usize, y: usize, target: &mut [u8]) {
        let Layout { bits, samples, planes, .. } = *self.layout;
        if let (ColorModel::YCbCr(tables), Some((across, down))) = (&self.colors, self.layout.subsampling()) {
            let (across, down) = (across as usize, down as usize);
            let row = &chunk[y / down * self.layout.bytes_of_rows(down)..];
            for (x, target) in (x..).zip(target.as_chunks_mut::<PIXEL>().0) {
                let block = &row[x / across * (across * down + 2)..][..across * down + 2];
                let luma = block[y % down * across + x % across];
                *target = opaque(tables.rgb(luma, block[across * down], block[across * down + 1]));
            }
            return;
        }
        if bits == 8 && planes == 1 && self.layout.kind == Kind::Unsigned && !self.layout.premultiplied {
            let source = &chunk[y * self.row + x * samples..(y + 1) * self.row];
            match (&self.colors, samples) {
                (ColorModel::Rgb, 3) => return convert_row(source, target, |&rgb: &[u8; 3]| rgb),
                (ColorModel::Rgb, 4) => return convert_row(source, target, |&[r, g, b, _]| [r, g, b]),
                (ColorModel::Gray { white_is_zero: false }, 1) => return convert_row(source, target, |&[l]| [l; 3]),
                _ => {}
            }
        }
        for (x, target) in (x..).zip(target.as_chunks_mut::<PIXEL>().0) {
            *target = opaque(self.pixel(|number| {
                let (plane, index) = if planes == 1 { (0, x * samples + number) } else { (number, x) };
                sample(&chunk[plane * self.plane + y * self.row..], index, bits)
            }));
        }
    }

    /// Converts a pixel whose samples are `at` their numbers.
    fn pixel(&self, at: impl Fn(usize) -> u32) -> [u8; 3] {
        match &self.colors {
            &ColorModel::Gray { white_is_zero } => {
                let level = self.gray(at(0));
                let level = if white_is_zero && self.layout.kind == Kind::Unsigned { 255 - level } else { level };
                let [level] = self.divided([level], || at(1));
                [level; 3]
            }
            ColorModel::Palette(colors) => colors[at(0) as usize & 255],
            ColorModel::Rgb if self.layout.kind == Kind::Float => {
                let alpha = if self.layout.premultiplied { f32::from_bits(at(3)) } else { 1.0 };
                [0, 1, 2].map(|number| {
                    let value = f32::from_bits(at(number));
                    // The cast makes NaN 0.
                    let value = if alpha > 0.0 { value / alpha } else { 0.0 };
                    (value.clamp(0.0, 1.0) * 255.0).round() as u8
                })
            }
            ColorModel::Rgb => self.divided([0, 1, 2].map(|number| self.scaled(at(number))), || at(3)),
            ColorModel::Cmyk => {
                let [c, m, y, k] = [0, 1, 2, 3].map(|number| self.scaled(at(number)));
                [c, m, y].map(|ink| {
                    let product = u32::from(ink) * u32::from(255 - k) + 128;
                    (255 - k) - ((product + (product >> 8)) >> 8) as u8 // round(product / 255), never above 255 − k
                })
            }
            ColorModel::YCbCr(tables) => tables.rgb(at(0) as u8, at(1) as u8, at(2) as u8),
        }
    }

    fn gray(&self, value: u32) -> u8 {
        let clipped = |value: i32| value.clamp(0, 255) as u8;
        match (self.layout.kind, self.layout.bits) {
            // The cast drops the fraction, and makes NaN 0.
            (Kind::Float, _) => f32::from_bits(value) as u8,
            // Pillow takes these bits as a signed number.
            (_, 32) => clipped(value as i32),
            (Kind::Signed, 16) => clipped((value as i16).into()),
            // Pillow takes signed bytes as unsigned ones.
            (Kind::Signed, _) => value as u8,
            (Kind::Unsigned, _) => self.scaled(value),
        }
    }

    fn scaled(&self, value: u32) -> u8 {
        match self.layout.bits {
            8 => value as u8,
            bits @ 9.. => (value >> (bits - 8)) as u8,
            bits => {
                let most = (1 << bits) - 1;
                ((value * 255 + most / 2) / most) as u8
            }
        }
    }

    /// Divides levels by alpha where they were multiplied by it, with Pillow's integers.
    fn divided<const N: usize>(&self, levels: [u8; N], alpha: impl Fn() -> u32) -> [u8; N] {
        if !self.layout.premultiplied {
            return levels;
        }
        match self.scaled(alpha()) {
            0 => [0; N],
            alpha => levels.map(|level| (u32::from(level) * 255 / u32::from(alpha)).min(255) as u8),
        }
    }
}

fn opaque([r, g, b]: [u8; 3]) -> [u8; PIXEL] {
    [r, g, b, 255]
}

/// Reads sample `index` of a row of samples of `bits` bits without gaps, the highest bit first.
fn sample(row: &[u8], index: usize, bits: u32) -> u32 {
    let byte = |at: usize| row.get(at).copied().map_or(0, u32::from);
    match bits {
        8 => byte(index),
        16 => byte(2 * index) << 8 | byte(2 * index + 1),
        32 => (0..4).fold(0, |value, n| value << 8 | byte(4 * index + n)),
        _ => {
            let bit = index * bits as usize;
            let three = (0..3).fold(0, |value, n| value << 8 | byte(bit / 8 + n));
            three >> (24 - bit as u32 % 8 - bits) & ((1 << bits) - 1)
        }
    }
}
