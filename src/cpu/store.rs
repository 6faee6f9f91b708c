//! Writes rows of planes in the output's layout and type.

use super::bytes;
use crate::color::{Step, opcode};
use crate::plan::{DType, Layout, Output, Plan};
use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// Writes one image, a few rows at a time.
pub(super) struct Writer<'a> {
    output: Output,
    channels: usize,
    width: usize,
    /// Pixels from the beginning of a row to that of the next one: more than a row has where the image is padded.
    pitch: usize,
    /// Pixels of a plane.
    plane: usize,
    out: &'a mut [u8],
}

impl<'a> Writer<'a> {
    /// Writes an image of a plan, of this width and height.
    pub(super) fn new(plan: &Plan, size: (u32, u32), out: &'a mut [u8]) -> Self {
        let (pitch, rows) = plan.spacing(size);
        let (pitch, plane) = (pitch as usize, pitch as usize * rows as usize);
        Writer { output: plan.output(), channels: plan.channels() as usize, width: size.0 as usize, pitch, plane, out }
    }

    /// Writes rows from `y` on: all their reds, all greens, all blues.
    pub(super) fn rows(&mut self, y: usize, planes: &[f32]) {
        let len = planes.len() / 3;
        // Without padding the rows are one line.
        let line = if self.width == self.pitch { len } else { self.width };
        for (row, first) in (0..len).step_by(line.max(1)).enumerate() {
            self.row((y + row) * self.pitch, [0, 1, 2].map(|c| &planes[c * len + first..][..line]));
        }
    }

    /// Writes the channels of a line of pixels from pixel `first` of each plane on.
    fn row(&mut self, first: usize, values: [&[f32]; 3]) {
        let Writer { output, channels, plane, .. } = *self;
        match output.layout {
            Layout::Nchw => {
                for (c, values) in values.into_iter().take(channels).enumerate() {
                    self.write(c * plane + first, values);
                }
            }
            Layout::Nhwc if channels == 1 => self.write(first, values[0]),
            Layout::Nhwc => {
                // A few pixels at a time, so that the copy stays in the first-level cache.
                const PIXELS: usize = 64;
                let mut block = [0.0f32; 3 * PIXELS];
                let len = values[0].len();
                for x in (0..len).step_by(PIXELS) {
                    let n = PIXELS.min(len - x);
                    for i in 0..n {
                        for c in 0..3 {
                            block[3 * i + c] = values[c][x + i];
                        }
                    }
                    self.write((first + x) * 3, &block[..3 * n]);
                }
            }
        }
    }

    /// Writes the whole image from RGBA8 if there is a shorter way than by rows: to bytes without further steps, or to
    /// planes of f32 with at most a Normalize. Returns whether it has.
    pub(super) fn pixels(&mut self, pixels: &[[u8; 4]], steps: &[Step]) -> bool {
        // Without padding the whole image is one line.
        let line = if self.width == self.pitch { pixels.len() } else { self.width };
        let mut lines = pixels.chunks(line.max(1)).enumerate();
        lines.all(|(y, pixels)| self.line(y * self.pitch, pixels, steps))
    }

    /// Writes pixels from pixel `first` of each plane on, if there is a shorter way than by rows.
    fn line(&mut self, first: usize, pixels: &[[u8; 4]], steps: &[Step]) -> bool {
        // A few pixels at a time: all channels read them from the first-level cache.
        const PIXELS: usize = 2048;
        let Writer { output, channels, .. } = *self;
        let plane = self.plane.max(1);
        match (output.dtype, output.layout) {
            (DType::U8, Layout::Nhwc) if channels == 3 && steps.is_empty() => {
                let out = &mut self.out.as_chunks_mut::<3>().0[first..];
                out.iter_mut().zip(pixels).for_each(|(out, &[r, g, b, _])| *out = [r, g, b]);
            }
            (DType::U8, _) if steps.is_empty() => {
                for (i, pixels) in pixels.chunks(PIXELS).enumerate() {
                    for (c, plane) in self.out.chunks_exact_mut(plane).take(channels).enumerate() {
                        bytes::channel(pixels, c, &mut plane[first + i * PIXELS..][..pixels.len()]);
                    }
                }
            }
            (DType::F32, Layout::Nchw) => {
                let normalize = match steps {
                    [] => None,
                    [mean, deviation] if (mean.opcode, deviation.opcode) == (opcode::SUBTRACT, opcode::DIVIDE) => {
                        Some((mean.value, deviation.value))
                    }
                    _ => return false,
                };
                let Ok(out) = bytemuck::try_cast_slice_mut::<u8, f32>(self.out) else { return false };
                for (i, pixels) in pixels.chunks(PIXELS).enumerate() {
                    for (c, plane) in out.chunks_exact_mut(plane).take(channels).enumerate() {
                        let plane = &mut plane[first + i * PIXELS..][..pixels.len()];
                        bytes::channel_to_floats(pixels, c, normalize.map(|(m, d)| (m[c], d[c])), plane);
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// Converts `values` and writes them from element `first` on.
    fn write(&mut self, first: usize, values: &[f32]) {
        let size = self.output.dtype.bytes();
        let out = &mut self.out[first * size..][..values.len() * size];
        match self.output.dtype {
            DType::F32 => out.copy_from_slice(bytemuck::cast_slice(values)),
            DType::F16 => halves::<f16>(values, out),
            DType::BF16 => halves::<bf16>(values, out),
            DType::U8 => {
                out.iter_mut().zip(values).for_each(|(out, value)| *out = byte(*value));
            }
        }
    }
}

/// Writes `values` in a type of 16 bits, rounded to nearest, ties to even. `out` may begin at any byte.
fn halves<H: Pod>(values: &[f32], out: &mut [u8])
where
    [H]: HalfFloatSliceExt,
{
    let mut block = [H::zeroed(); 64];
    for (out, values) in out.chunks_mut(128).zip(values.chunks(64)) {
        block[..values.len()].convert_from_f32_slice(values);
        out.copy_from_slice(bytemuck::cast_slice(&block[..values.len()]));
    }
}

/// A byte by torchvision's `ToDtype(uint8, scale=True)`.
pub(super) fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * (256.0 - 0.001)) as u8
}

/// Interleaves planes to four floats a pixel; the fourth is not written.
pub(super) fn interleave(planes: &[f32], out: &mut [f32]) {
    let width = planes.len() / 3;
    for (i, pixel) in out.chunks_exact_mut(4).enumerate() {
        for (c, value) in pixel[..3].iter_mut().enumerate() {
            *value = planes[c * width + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integers of `shaders/store/bfloat_bits.wgsl`.
    fn formula(bits: u32) -> u16 {
        let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
        let rounded = bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1) >> 16;
        if is_nan { (bits >> 16 | 0x40) as u16 } else { rounded as u16 }
    }

    /// Every upper half, with the lower halves that decide about it.
    #[test]
    fn bfloats_have_the_bits_of_the_shaders() {
        let lower = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        let all: Vec<u32> = (0..=0xffffu32).flat_map(|upper| lower.map(|lower| upper << 16 | lower)).collect();
        let values: Vec<f32> = all.iter().copied().map(f32::from_bits).collect();
        // At an odd address, as the bytes of an image may begin at any.
        let mut out = vec![0; 1 + 2 * values.len()];
        halves::<bf16>(&values, &mut out[1..]);
        let seen = out[1..].as_chunks().0.iter().map(|bytes| u16::from_ne_bytes(*bytes));
        let wrong = seen.zip(all).find(|(seen, bits)| *seen != formula(*bits));
        assert_eq!(wrong, None);
    }
}
