//! Images of 8-bit numbers as RGBA8: how they are made of other pixels, and the colour steps of `Semantics::Uint8` on
//! them. The fourth byte is 255.

use super::color;
use crate::color::levels::{floor_bits, gray_level};
use crate::color::{Row, Step};
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use multiversion::multiversion;
use multiversion::target::{match_target, target_cfg_f};

/// A change of each number of a channel by itself.
#[derive(Clone, Debug)]
pub(super) struct ByteTable {
    numbers: [u8; 256],
    ramp: Option<Ramp>,
}

/// A table as arithmetic on 16 bits: with `d = k - low`, at least 0, `d · whole + floor(d · fraction / 2^16)`, at most
/// 255.
#[derive(Clone, Copy, Debug, Default)]
struct Ramp {
    low: u16,
    whole: u16,
    fraction: u16,
}

impl Ramp {
    #[inline(always)]
    fn of(self, k: u8) -> u8 {
        let d = u16::from(k).saturating_sub(self.low);
        let share = ((u32::from(d) * u32::from(self.fraction)) >> 16) as u16;
        (d * self.whole + share).min(255) as u8
    }
}

impl ByteTable {
    pub(super) fn new(number: impl Fn(u8) -> u8) -> ByteTable {
        ByteTable { numbers: std::array::from_fn(|k| number(k as u8)), ramp: None }
    }

    /// A table that may be `(k - low) · slope`, rounded down.
    pub(super) fn ramp(low: u8, slope: f64, number: impl Fn(u8) -> u8) -> ByteTable {
        let table = ByteTable::new(number);
        if holds_tables() { table } else { table.with_ramp(low, slope) }
    }

    /// Tries out whether the table is `(k - low) · slope`, rounded down.
    fn with_ramp(self, low: u8, slope: f64) -> ByteTable {
        let whole = slope.floor().clamp(0.0, 255.0);
        let fraction = ((slope - whole) * 65536.0).clamp(0.0, 65534.0);
        let ramps = [fraction.ceil(), fraction.floor()].map(|fraction| Ramp {
            low: low.into(),
            whole: whole as u16,
            fraction: fraction as u16,
        });
        let fits = |ramp: &Ramp| (0..=255).all(|k| ramp.of(k) == self.of(k));
        ByteTable { ramp: ramps.into_iter().find(fits), ..self }
    }

    pub(super) fn of(&self, number: u8) -> u8 {
        self.numbers[usize::from(number)]
    }

    /// Appends rows to `out`, red, green and blue changed by a table each; some rows together, as a call is not free, and
    /// while they are in the first-level cache.
    pub(super) fn look_up_rows<'a>(
        tables: [&ByteTable; 3],
        rows: impl Iterator<Item = &'a [[u8; 4]]>,
        out: &mut Vec<[u8; 4]>,
    ) {
        const TOGETHER: usize = 4096;
        let mut begin = out.len();
        for row in rows {
            out.extend_from_slice(row);
            if out.len() - begin >= TOGETHER {
                ByteTable::look_up(tables, &mut out[begin..]);
                begin = out.len();
            }
        }
        ByteTable::look_up(tables, &mut out[begin..]);
    }

    /// Changes red, green and blue, each by its table.
    pub(super) fn look_up(tables: [&ByteTable; 3], pixels: &mut [[u8; 4]]) {
        match tables.map(|table| table.ramp) {
            [Some(red), Some(green), Some(blue)] => {
                ramps([red, green, blue], pixels.as_flattened_mut());
            }
            _ => look_up(tables.map(|table| &table.numbers), pixels),
        }
    }
}

/// Bytes of a block, of four channels.
const BLOCK: usize = 32;

#[multiversion(targets("x86_64+avx2"))]
fn ramps([red, green, blue]: [Ramp; 3], bytes: &mut [u8]) {
    let channels = [red, green, blue, Ramp { whole: 1, ..Ramp::default() }];
    let ramps: [Ramp; BLOCK] = std::array::from_fn(|i| channels[i % 4]);
    let (low, whole, fraction) = (ramps.map(|ramp| ramp.low), ramps.map(|ramp| ramp.whole), ramps.map(|r| r.fraction));
    let (blocks, rest) = bytes.as_chunks_mut::<BLOCK>();
    for block in blocks {
        for i in 0..BLOCK {
            block[i] = Ramp { low: low[i], whole: whole[i], fraction: fraction[i] }.of(block[i]);
        }
    }
    rest.iter_mut().zip(ramps).for_each(|(byte, ramp)| *byte = ramp.of(*byte));
}

/// True if [`look_up`] is faster than arithmetic.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vbmi"))]
fn holds_tables() -> bool {
    target_cfg_f!(target_feature = "avx512vbmi")
}

/// Looks the channels up in tables: 64 bytes at a time where the processor has tables of that size in registers.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vbmi"))]
fn look_up(tables: [&[u8; 256]; 3], pixels: &mut [[u8; 4]]) {
    match_target! {
        "x86_64+avx512f+avx512bw+avx512vbmi" => {
            use std::arch::x86_64 as arch;
            let quarters = tables.map(|table| {
                let quarters = table.as_chunks::<64>().0;
                [0, 1, 2, 3].map(|i| bytemuck::cast::<[u8; 64], arch::__m512i>(quarters[i]))
            });
            let (blocks, rest) = pixels.as_chunks_mut::<16>();
            for block in blocks {
                let numbers: arch::__m512i = bytemuck::cast(*block);
                let upper = arch::_mm512_movepi8_mask(numbers);
                let mut changed = numbers;
                for (c, [a, b, x, y]) in quarters.into_iter().enumerate() {
                    let below = arch::_mm512_permutex2var_epi8(a, numbers, b);
                    let above = arch::_mm512_permutex2var_epi8(x, numbers, y);
                    let found = arch::_mm512_mask_blend_epi8(upper, below, above);
                    // Every fourth byte is of this channel.
                    changed = arch::_mm512_mask_blend_epi8(0x1111_1111_1111_1111 << c, changed, found);
                }
                *block = bytemuck::cast(changed);
            }
            look_up_each(tables, rest);
        }
        _ => look_up_each(tables, pixels),
    }
}

#[inline(always)]
fn look_up_each([red, green, blue]: [&[u8; 256]; 3], pixels: &mut [[u8; 4]]) {
    for pixel in pixels {
        let [r, g, b, a] = *pixel;
        *pixel = [red[usize::from(r)], green[usize::from(g)], blue[usize::from(b)], a];
    }
}

/// Runs colour steps that keep levels on a whole image. Steps of one channel become a table, runs of them one table;
/// others run on planes, as everywhere.
pub(super) fn steps(plan: &Plan, steps: &[Step], pixels: &mut [[u8; 4]]) {
    let mut table: Option<Box<[f32; 256]>> = None;
    for step in steps {
        let facts = step.facts();
        if facts.needs_mean || !facts.per_channel {
            flush(&mut table, pixels);
        }
        if !facts.per_channel {
            on_planes(plan, step, pixels);
            continue;
        }
        let mean = if facts.needs_mean { mean(pixels, step.integers[2] == 1) } else { 0.0 };
        let numbers = table.get_or_insert_with(|| Box::new(std::array::from_fn(|k| k as f32 * (1.0 / 255.0))));
        color::step(plan, step, Row { y: 0, channels: 1, mean }, &mut numbers[..]);
    }
    flush(&mut table, pixels);
}

/// Changes the pixels by a table of values, if there is one.
fn flush(table: &mut Option<Box<[f32; 256]>>, pixels: &mut [[u8; 4]]) {
    let Some(values) = table.take() else { return };
    let numbers = values.map(|value| (value * 255.0 + 0.5) as u8);
    look_up([&numbers; 3], pixels);
}

/// The mean of the gray numbers, or of the single channel's.
fn mean(pixels: &[[u8; 4]], one_channel: bool) -> f32 {
    // Sums of whole numbers, so that their order makes no difference.
    let sum: f64 = pixels.chunks(PIXELS).map(|pixels| f64::from(gray_sum(pixels, one_channel))).sum();
    (sum / pixels.len() as f64) as f32
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn gray_sum(pixels: &[[u8; 4]], one_channel: bool) -> u32 {
    let channel = |word: u32, shift: u32| (word >> shift & 255) as i32 as f32;
    let mut sum = 0;
    for &pixel in pixels {
        let word = u32::from_le_bytes(pixel);
        let (r, g, b) = (channel(word, 0), channel(word, 8), channel(word, 16));
        sum += if one_channel { word & 255 } else { floor_bits(gray_level(r, g, b)) };
    }
    sum
}

/// Pixels that go through planes at once.
const PIXELS: usize = 256;

fn on_planes(plan: &Plan, step: &Step, pixels: &mut [[u8; 4]]) {
    let mut planes = [0.0; 3 * PIXELS];
    for pixels in pixels.chunks_mut(PIXELS) {
        let planes = &mut planes[..3 * pixels.len()];
        split(pixels, planes);
        color::step(plan, step, Row { y: 0, channels: 3, mean: 0.0 }, planes);
        interleave_u8(planes, pixels.as_flattened_mut());
    }
}

/// Writes pixels to planes of floats.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn split(pixels: &[[u8; 4]], planes: &mut [f32]) {
    for (c, plane) in planes.chunks_exact_mut(pixels.len()).enumerate() {
        for (value, pixel) in plane.iter_mut().zip(pixels) {
            *value = (u32::from_le_bytes(*pixel) >> (8 * c) & 255) as i32 as f32 * (1.0 / 255.0);
        }
    }
}

/// Interleaves planes to RGBA8, rounded to the nearest byte; the fourth is 255.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn interleave_u8(planes: &[f32], out: &mut [u8]) {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at(width);
    let (green, blue) = rest.split_at(width);
    let level = |value: f32| floor_bits(value.clamp(0.0, 1.0) * 255.0 + 0.5);
    for (((pixel, r), g), b) in out.as_chunks_mut::<4>().0.iter_mut().zip(red).zip(green).zip(blue) {
        *pixel = (level(*r) | level(*g) << 8 | level(*b) << 16 | 0xff00_0000).to_le_bytes();
    }
}

/// Writes one channel of pixels to a plane of bytes: 64 at a time where the processor has tables of 128 bytes in
/// registers.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vbmi", "x86_64+avx2"))]
pub(super) fn channel(pixels: &[[u8; 4]], channel: usize, out: &mut [u8]) {
    match_target! {
        "x86_64+avx512f+avx512bw+avx512vbmi" => {
            use std::arch::x86_64 as arch;
            let from: [u8; 64] = std::array::from_fn(|i| (4 * i + channel) as u8);
            let from: arch::__m512i = bytemuck::cast(from);
            let (blocks, rest) = pixels.as_chunks::<64>();
            let (to, to_rest) = out.split_at_mut(64 * blocks.len());
            for (to, block) in to.as_chunks_mut::<64>().0.iter_mut().zip(blocks) {
                let [a, b, c, d]: [arch::__m512i; 4] = bytemuck::cast(*block);
                // The upper half of the places begins at 128 again, of which the lower bits count.
                let (first, second) = (arch::_mm512_permutex2var_epi8(a, from, b), arch::_mm512_permutex2var_epi8(c, from, d));
                *to = bytemuck::cast(arch::_mm512_mask_blend_epi8(0xffff_ffff_0000_0000, first, second));
            }
            channel_words(rest, channel, to_rest);
        }
        _ => channel_words(pixels, channel, out),
    }
}

#[inline(always)]
fn channel_words(pixels: &[[u8; 4]], channel: usize, out: &mut [u8]) {
    let shift = 8 * channel;
    out.iter_mut().zip(pixels).for_each(|(out, pixel)| *out = (u32::from_le_bytes(*pixel) >> shift) as u8);
}

/// Writes one channel of pixels to a plane of floats, normalised by a mean and a deviation.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
pub(super) fn channel_to_floats(pixels: &[[u8; 4]], channel: usize, normalize: Option<(f32, f32)>, out: &mut [f32]) {
    let shift = 8 * channel;
    let float = |pixel: &[u8; 4]| (u32::from_le_bytes(*pixel) >> shift & 255) as i32 as f32 * (1.0 / 255.0);
    match normalize {
        None => out.iter_mut().zip(pixels).for_each(|(out, pixel)| *out = float(pixel)),
        Some((mean, deviation)) => {
            out.iter_mut().zip(pixels).for_each(|(out, pixel)| *out = (float(pixel) - mean) / deviation);
        }
    }
}

/// Writes `width` times `height` pixels as RGBA8 to `out`; floats are rounded to nearest, ties to even.
pub(super) fn widen(source: PixelsRef<'_>, (width, height): (usize, usize), out: &mut Vec<[u8; 4]>) {
    out.clear();
    match source {
        PixelsRef::Bytes { data, stride, size: 4 } => {
            data.chunks(stride).take(height).for_each(|row| out.extend_from_slice(&row.as_chunks().0[..width]));
        }
        PixelsRef::Bytes { data, stride, size: 3 } => {
            out.resize(width * height, [0; 4]);
            let rows = data.chunks(stride).zip(out.chunks_exact_mut(width.max(1)));
            rows.for_each(|(row, out)| widen_row(&row.as_chunks().0[..width], out));
        }
        PixelsRef::Bytes { data, stride, .. } => {
            let gray = |&gray: &u8| [gray, gray, gray, 255];
            data.chunks(stride).take(height).for_each(|row| out.extend(row[..width].iter().map(gray)));
        }
        PixelsRef::Floats { data, stride } => data.chunks(stride).take(height).for_each(|row| {
            let byte = |value: f32| (value * 255.0).round_ties_even() as u8;
            out.extend(row.as_chunks::<4>().0[..width].iter().map(|pixel| pixel.map(byte)));
        }),
    }
}

/// Writes pixels as RGBA8: 16 at a time where the processor has tables of 64 bytes in registers, else four, whose
/// bytes are three words.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vbmi", "x86_64+avx2"))]
pub(super) fn widen_row(pixels: &[[u8; 3]], out: &mut [[u8; 4]]) {
    match_target! {
        "x86_64+avx512f+avx512bw+avx512vbmi" => {
            use std::arch::x86_64 as arch;
            let from: [u8; 64] = std::array::from_fn(|i| (i / 4 * 3 + i % 4) as u8);
            let (from, opaque) = (bytemuck::cast::<_, arch::__m512i>(from), arch::_mm512_set1_epi32(0xff << 24));
            let (bytes, mut done) = (pixels.as_flattened(), 0);
            for out in out.as_chunks_mut::<16>().0 {
                // 64 bytes are read for 48 of them: the last pixels have too few behind them.
                let Some(block) = bytes[3 * done..].first_chunk::<64>() else { break };
                let wide = arch::_mm512_permutexvar_epi8(from, bytemuck::cast(*block));
                *out = bytemuck::cast(arch::_mm512_or_si512(wide, opaque));
                done += 16;
            }
            widen_words(&pixels[done..], &mut out[done..]);
        }
        _ => widen_words(pixels, out),
    }
}

#[inline(always)]
fn widen_words(pixels: &[[u8; 3]], out: &mut [[u8; 4]]) {
    let (fours, rest) = pixels.as_chunks::<4>();
    let (to, to_rest) = out.split_at_mut(4 * fours.len());
    for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
        let words = four.as_flattened().as_chunks::<4>().0;
        let [a, b, c] = [words[0], words[1], words[2]].map(u32::from_le_bytes);
        let words = [a, a >> 24 | b << 8, b >> 16 | c << 16, c >> 8];
        *to = words.map(|word| (word | 0xff00_0000).to_le_bytes());
    }
    to_rest.iter_mut().zip(rest).for_each(|(to, &[r, g, b])| *to = [r, g, b, 255]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Autocontrast's number of `k` where the least is `low` and the greatest `high`.
    fn stretched(k: u8, low: u8, high: u8) -> u8 {
        let scale = f32::from(high - low) * (1.0 / 255.0);
        (f32::from(k.saturating_sub(low)) / scale).clamp(0.0, 255.0) as u8
    }

    #[test]
    fn a_ramp_is_its_table() {
        let (mut all, mut fitting) = (0, 0);
        for low in 0..255 {
            for high in low + 1..=255 {
                let slope = 255.0 / f64::from(high - low);
                let table = ByteTable::new(|k| stretched(k, low, high)).with_ramp(low, slope);
                let mut pixels: Vec<[u8; 4]> = (0..=255).map(|k| [k, k, k, 255]).collect();
                match table.ramp {
                    Some(ramp) => ramps([ramp; 3], pixels.as_flattened_mut()),
                    None => ByteTable::look_up([&table; 3], &mut pixels),
                }
                for (k, pixel) in (0..=255).zip(pixels) {
                    let expected = stretched(k, low, high);
                    assert_eq!(pixel, [expected, expected, expected, 255], "{k} of {low} to {high}");
                }
                (all, fitting) = (all + 1, fitting + i32::from(table.ramp.is_some()));
            }
        }
        assert!(10 * fitting > 7 * all, "{fitting} of {all} tables are ramps");
        assert!(ByteTable::new(|k| k ^ 1).with_ramp(0, 1.0).ramp.is_none());
    }

    #[test]
    fn tables_are_looked_up_at_every_length() {
        let tables: [[u8; 256]; 3] =
            std::array::from_fn(|c| std::array::from_fn(|k| (k as u8).wrapping_mul(3 + 2 * c as u8) ^ 0x5a));
        for len in 0..70u32 {
            let pixels: Vec<[u8; 4]> = (0..len).map(|i| [i * 7, i * 50, 255 - i, 255].map(|k| k as u8)).collect();
            let (mut found, mut expected) = (pixels.clone(), pixels);
            look_up(tables.each_ref(), &mut found);
            look_up_each(tables.each_ref(), &mut expected);
            assert_eq!(found, expected, "{len}");
        }
    }

    #[test]
    fn channels_are_written_at_every_length() {
        for len in (0..70).chain(120..200) {
            let pixels: Vec<[u8; 4]> = (0..len).map(|i| [i, i + 20, 255 - i, i ^ 85].map(|k| k as u8)).collect();
            for c in 0..4 {
                let mut plane = vec![0; pixels.len()];
                channel(&pixels, c, &mut plane);
                assert!(plane.iter().zip(&pixels).all(|(&byte, pixel)| byte == pixel[c]), "{c} of {len}");
            }
        }
    }

    #[test]
    fn pixels_of_three_bytes_are_widened_at_every_length() {
        for len in 0..70 {
            let pixels: Vec<[u8; 3]> = (0..len).map(|i| [i, i + 80, i + 160]).collect();
            let mut wide = vec![[0; 4]; usize::from(len)];
            widen_row(&pixels, &mut wide);
            assert!(wide.iter().zip(&pixels).all(|(&[r, g, b, a], pixel)| ([r, g, b], a) == (*pixel, 255)), "{len}");
        }
    }
}
