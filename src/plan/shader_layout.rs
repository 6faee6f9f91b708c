//! A stage's program in the layout that the shaders read: plain old data. A test compares the layout with naga's.

use super::gather::{Gather, GatherKind, blur_weights, negligible_weights};
use super::positions::Positions;
use super::program::StageProgram;
use super::resize_u8::WeightsU8;
use super::sampling::{Axis, Border, Sampling};
use crate::color::Step;
use crate::transforms::PaddingMode;
use crate::warp::{Map, WORDS};
use bytemuck::{Pod, Zeroable};

/// The location and the type of an image's pixels in a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PixelsAt {
    /// The start of the image in the source binding: in words in the first stage, in `vec4<f32>`s in later ones.
    pub(crate) offset: u32,
    /// Pixels from the start of one row to the start of the next.
    pub(crate) stride: u32,
    /// True if the pixels are stored as four f32; false for RGBA8.
    pub(crate) float: bool,
}

/// One image in one stage; the layout is that of `Image` in `shaders/prelude.wgsl`, where `steps` follows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Image {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) source_fill: [f32; 4],
    pub(crate) grid_fill: [f32; 4],
    pub(crate) source_border: u32,
    pub(crate) grid_border: u32,
    pub(crate) filter_mode: u32,
    /// 1 if the strip kernel runs this image; otherwise the per-output kernel does.
    pub(crate) strip: u32,
    pub(crate) source_offset: u32,
    pub(crate) source_stride: u32,
    /// 1 if the source has four f32 per pixel; 0 for RGBA8.
    pub(crate) source_float: u32,
    /// First element of the target: in elements of the batch as the stage writes it, or `vec4`s of an intermediate.
    pub(crate) target_offset: u32,
    /// The position after the last step.
    pub(crate) steps_len: u32,
    /// The image's number in the chunk, which locates its statistics.
    pub(crate) number: u32,
    /// Where the weights of a resize on 8-bit numbers begin, across and down, in words of the statistics; 0 without one.
    pub(crate) weights: [u32; 2],
}

/// The numbers of an operator that begins a stage; the layout is that of `Gather` in `shaders/gather/gather.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct GatherNumbers {
    pub(crate) kind: u32,
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) nearest: u32,
    pub(crate) filled: u32,
    pub(crate) table: u32,
    pub(crate) first: [f32; 4],
    pub(crate) second: [f32; 4],
    pub(crate) fill: [f32; 4],
    /// [`Map::words`] of a warp of 8-bit numbers.
    pub(crate) whole: [u32; WORDS],
}

/// The numbers of `BORDER_*` in `shaders/prelude.wgsl`.
fn border_mode(border: Option<Border>) -> u32 {
    match border.map(|border| border.mode) {
        None | Some(PaddingMode::Edge) => 0,
        Some(PaddingMode::Constant) => 1,
        Some(PaddingMode::Reflect) => 2,
        Some(PaddingMode::Symmetric) => 3,
    }
}

fn fill(border: Option<Border>) -> [f32; 4] {
    let [r, g, b] = border.map_or([0.0; 3], |border| border.fill);
    [r, g, b, 1.0]
}

impl Image {
    /// Lays out `program`, whose steps are at `positions`, which reads from `source` and writes at `target`.
    pub(crate) fn new(
        program: &StageProgram,
        positions: &Positions,
        source: PixelsAt,
        target: u32,
        number: u32,
    ) -> Self {
        let sampling = &program.sampling;
        Image {
            x: sampling.x,
            y: sampling.y,
            source_fill: fill(sampling.source_border),
            grid_fill: fill(sampling.grid_border),
            source_border: border_mode(sampling.source_border),
            grid_border: border_mode(sampling.grid_border),
            filter_mode: sampling.filter as u32,
            strip: u32::from(sampling.uses_strip_kernel()),
            source_offset: source.offset,
            source_stride: source.stride,
            source_float: u32::from(source.float),
            target_offset: target,
            steps_len: positions.end(&program.steps) as u32,
            number,
            weights: [0; 2],
        }
    }

    /// Bytes of an image of a stage that may begin with an operator, with room for `weights` weights of a blur.
    pub(crate) fn bytes_with_gather(steps: u32, weights: u32) -> usize {
        Image::bytes(steps) + size_of::<GatherNumbers>() + 4 * weights.max(4) as usize
    }

    /// Appends the image, its operator with room for `weights` weights, and its steps at `positions`. `table` is where
    /// its tables begin in the statistics.
    pub(crate) fn write_with_gather(
        &self,
        program: &StageProgram,
        positions: &Positions,
        table: u32,
        weights: u32,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(bytemuck::bytes_of(self));
        let gather = program.gather.as_ref();
        let mut numbers = gather.map(GatherNumbers::new).unwrap_or_default();
        numbers.table = table;
        out.extend_from_slice(bytemuck::bytes_of(&numbers));
        let end = out.len() + 4 * weights.max(4) as usize;
        if let Some(Gather { kind: GatherKind::Blur { kernel_size, sigma }, is_uint8, .. }) = gather {
            for (&size, &sigma) in kernel_size.iter().zip(sigma) {
                let mut weights = blur_weights(size, sigma);
                let (left_out, len) = (if *is_uint8 { negligible_weights(&weights) } else { 0 }, weights.len());
                weights[..left_out].fill(0.0);
                weights[len - left_out..].fill(0.0);
                out.extend_from_slice(bytemuck::cast_slice(&weights));
            }
        }
        out.resize(end, 0);
        write_steps(&program.steps, positions, out);
    }

    /// Bytes of an image with room for `steps` steps: WGSL arrays have at least one element.
    pub(crate) fn bytes(steps: u32) -> usize {
        size_of::<Image>() + size_of::<Step>() * steps.max(1) as usize
    }

    /// Appends the image and its steps at their positions.
    pub(crate) fn write(&self, steps: &[Step], positions: &Positions, out: &mut Vec<u8>) {
        out.extend_from_slice(bytemuck::bytes_of(self));
        write_steps(steps, positions, out);
    }
}

/// Appends room for a step at each position, and writes `steps` there.
fn write_steps(steps: &[Step], positions: &Positions, out: &mut Vec<u8>) {
    let first = out.len();
    out.resize(first + size_of::<Step>() * positions.len().max(1), 0);
    for (step, position) in steps.iter().zip(positions.of(steps)) {
        let Some(position) = position else { continue };
        let at = first + size_of::<Step>() * position;
        out[at..at + size_of::<Step>()].copy_from_slice(bytemuck::bytes_of(step));
    }
}

impl GatherNumbers {
    fn new(gather: &Gather) -> GatherNumbers {
        let (mut numbers, mut warped, mut whole) = ([0.0; 8], (false, None), [0; WORDS]);
        let kind = match &gather.kind {
            GatherKind::Warp(warp) => {
                warped = (warp.nearest, warp.fill);
                if gather.is_uint8 {
                    whole = warp.map.words();
                }
                match warp.map {
                    Map::Affine(entries) => {
                        numbers[..6].copy_from_slice(&entries);
                        1
                    }
                    Map::Perspective(coefficients) => {
                        numbers = coefficients;
                        2
                    }
                    Map::WholePerspective(_) => 2,
                }
            }
            GatherKind::Blur { kernel_size, .. } => {
                numbers[..2].copy_from_slice(&kernel_size.map(f64::from));
                3
            }
            GatherKind::Sharpen { ratio } => {
                numbers[0] = 1.0 - ratio;
                4
            }
            GatherKind::Autocontrast => 5,
            GatherKind::Equalize => 6,
            GatherKind::PillowAffine(affine) => {
                whole = affine.words();
                7
            }
            GatherKind::PillowBlur(boxes) => {
                // Shaders have one at a time.
                let is_down = boxes[0].is_none();
                if let Some(one) = boxes.iter().flatten().next() {
                    whole[..4].copy_from_slice(&[one.radius, one.weight, one.end_weight, is_down.into()]);
                }
                8
            }
            // Only the CPU executor has them.
            GatherKind::Elastic(_) | GatherKind::Jpeg { .. } => 0,
            GatherKind::Table(_) | GatherKind::PillowAutocontrast | GatherKind::Enhance(..) => 0,
        };
        let [a, b, c, d, e, f, g, h] = numbers.map(|number| number as f32);
        let (nearest, fill) = warped;
        let scale = if gather.is_uint8 { 255.0 } else { 1.0 };
        // A colour of 8-bit numbers that nothing blends is one of them.
        let in_units =
            |value: f32| if nearest && gather.is_uint8 { (value * scale).round_ties_even() } else { value * scale };
        let [red, green, blue] = fill.unwrap_or_default().map(in_units);
        GatherNumbers {
            kind,
            width: gather.source.0 as i32,
            height: gather.source.1 as i32,
            left: gather.origin.0 as i32,
            top: gather.origin.1 as i32,
            nearest: nearest.into(),
            filled: fill.is_some().into(),
            table: 0,
            first: [a, b, c, d],
            second: [e, f, g, h],
            fill: [red, green, blue, 1.0],
            whole,
        }
    }
}

/// Appends the weights of a resize on 8-bit numbers in the layout that `shaders/sample/resize_u8.wgsl` reads. `words`
/// begins at word `first` of the statistics; the result says where each axis begins.
pub(crate) fn write_weights(
    sampling: &Sampling,
    scratch: &mut WeightsU8,
    first: u32,
    words: &mut Vec<u32>,
) -> [u32; 2] {
    let Some(whole) = sampling.resized_u8 else { return [0; 2] };
    [(&sampling.x, whole[0]), (&sampling.y, whole[1])].map(|(axis, outputs)| {
        let begin = first + words.len() as u32;
        scratch.build(axis.view_len as u32, outputs, sampling.filter);
        words.extend([scratch.taps as u32, scratch.bits]);
        for i in 0..axis.len {
            match axis.grid(i, sampling.grid_border) {
                Some(grid) => {
                    words.push(scratch.first[grid as usize]);
                    words.extend(scratch.of(grid as usize).iter().map(|&weight| i32::from(weight) as u32));
                }
                None => words.extend(std::iter::repeat_n(u32::MAX, 1 + scratch.taps)),
            }
        }
        begin
    })
}
