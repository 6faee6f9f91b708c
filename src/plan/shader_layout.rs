//! A stage's program in the layout that the shaders read: plain old data. A test compares the layout with naga's.

use super::program::StageProgram;
use super::sampling::{Axis, Border};
use crate::color::Step;
use crate::transforms::PaddingMode;
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
    /// First element of the target: in f32s of the output, or `vec4`s of an intermediate.
    pub(crate) target_offset: u32,
    pub(crate) steps_len: u32,
    /// The image's number in the chunk, which locates its statistics.
    pub(crate) number: u32,
    pub(crate) padding: [u32; 2],
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
    /// Lays out `program`, which reads from `source` and writes at `target`.
    pub(crate) fn new(program: &StageProgram, source: PixelsAt, target: u32, number: u32) -> Self {
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
            steps_len: program.steps.len() as u32,
            number,
            padding: [0; 2],
        }
    }

    /// Bytes of an image with room for `steps` steps: WGSL arrays have at least one element.
    pub(crate) fn bytes(steps: u32) -> usize {
        size_of::<Image>() + size_of::<Step>() * steps.max(1) as usize
    }

    /// Appends the image and its steps, padded to `max_steps`.
    pub(crate) fn write(&self, steps: &[Step], max_steps: u32, out: &mut Vec<u8>) {
        let end = out.len() + Image::bytes(max_steps);
        out.extend_from_slice(bytemuck::bytes_of(self));
        out.extend_from_slice(bytemuck::cast_slice(steps));
        out.resize(end, 0);
    }
}
