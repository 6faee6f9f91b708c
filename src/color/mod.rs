//! The colour steps: a table with one row for each step. The file of a step's name has its native code, and
//! `shaders/color/` its shader.
//!
//! Transforms name a step by its opcode. `plan/` reads in the table how a step is fused, cached and written into a
//! shader, and `cpu/` how it runs. This folder knows neither of them, nor images: a step changes rows of pixels.
//!
//! Steps with `_u8` work on 8-bit numbers; their native code is in the file of the step on floats, and `levels.rs` has
//! the arithmetic of these numbers. `luma.rs` is gray, `noise.rs` has the normal numbers of all noise, and
//! `rectangle.rs` the part of a row that lies in a step's rectangle.

mod adjust_gamma;
mod brightness;
mod contrast;
mod divide;
mod erase;
pub(crate) mod gaussian_noise;
mod grayscale;
mod hue;
mod invert;
pub(crate) mod levels;
mod luma;
mod noise;
mod permute_channels;
mod posterize;
mod rectangle;
mod saturation;
mod solarize;
mod subtract;

use bytemuck::{Pod, Zeroable};
pub(crate) use luma::luma;
pub(crate) use noise::{normals, philox};

/// One row of the table of colour steps.
#[derive(Debug)]
pub struct ColorStep {
    /// The number of the step in programs and shaders.
    pub opcode: u32,
    /// The name of its two functions and of its shader's file.
    pub name: &'static str,
    /// The text of its file in `shaders/color/`.
    pub wgsl: &'static str,
    /// The native code, with the operations of the WGSL function in the same order.
    pub(crate) native: NativeFn,
    pub(crate) facts: Facts,
}

/// The facts that a plan and an executor must know of a step. A test in `cpu/tests.rs` compares them with the native
/// code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Each channel's result depends on that channel alone, so the step may run on one plane.
    pub(crate) per_channel: bool,
    /// The step must know the position of its pixel: the WGSL function takes `x` and `y`, the native function gets a
    /// single row, and a later operation that moves pixels opens a stage.
    pub(crate) placed: bool,
    /// The step must know the mean of the image, which a pass of its own computes; `shaders/reduce/` has that pass only
    /// for contrast.
    pub(crate) needs_mean: bool,
    /// The step's result may have values below 0 or above 1 although its input has none, so a cache cannot round it to
    /// bytes.
    pub(crate) leaves_range: bool,
    /// The step's result has exact byte levels if its input has only such levels.
    pub(crate) keeps_levels: bool,
    /// The step's native code takes longer than storing a row and reading it again.
    pub(crate) slow: bool,
}

/// A step with its numbers, as programs hold it; the layout is that of `Step` in `shaders/prelude.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Step {
    /// The step's number from the module [`opcode`].
    pub(crate) opcode: u32,
    /// The step's integer parameters. Contrast has the index of its statistic within the stage, 0, and 1 if the image
    /// has one channel; most other steps have 0 in place of the index. Noise and gaussian noise have their random key in
    /// the first two; erase has the bits of the colour's three floats.
    pub(crate) integers: [u32; 3],
    /// The step's float parameters. Erase and noise have the left, top, right and bottom edge of their rectangle,
    /// gaussian noise its mean, its standard deviation and 1 if it clips.
    pub(crate) value: [f32; 4],
}

/// The facts about a row that its pixels do not contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The number of the row; of the first one if there are several.
    pub(crate) y: usize,
    /// Number of planes: 3, or 1 if every step of the stage is `per_channel`.
    pub(crate) channels: usize,
    /// The mean of the image, for a step that needs it.
    pub(crate) mean: f32,
}

/// Changes the planes of the channels, one after the other: of one row, or of several if no step of the stage is
/// placed.
pub(crate) type NativeFn = fn(&Step, Row, &mut [f32]);

macro_rules! color_steps {
    (
        {$($OPCODE:ident = $opcode:literal, $step:ident: [$($fact:ident),*];)+}
        {$($UINT8:ident = $uint8_opcode:literal, $twin:ident::$uint8:ident: [$($uint8_fact:ident),*];)+}
    ) => {
        /// The opcodes of the steps.
        pub(crate) mod opcode {
            $(pub(crate) const $OPCODE: u32 = $opcode;)+
            $(pub(crate) const $UINT8: u32 = $uint8_opcode;)+
            /// The first opcode of users' own steps; their slot's number is added.
            pub(crate) const CUSTOM: u32 = 1000;
        }

        /// Every step on floats, in the order of the opcodes.
        pub static STEPS: &[ColorStep] = &[$(ColorStep {
            opcode: opcode::$OPCODE,
            name: stringify!($step),
            wgsl: include_str!(concat!("../../shaders/color/", stringify!($step), ".wgsl")),
            native: $step::$step,
            facts: Facts { $($fact: true,)* ..Facts::NONE },
        }),+];

        /// Every step on 8-bit numbers, in the order of the opcodes.
        pub static UINT8_STEPS: &[ColorStep] = &[$(ColorStep {
            opcode: opcode::$UINT8,
            name: stringify!($uint8),
            wgsl: include_str!(concat!("../../shaders/color/", stringify!($uint8), ".wgsl")),
            native: $twin::$uint8,
            facts: Facts { $($uint8_fact: true,)* ..Facts::NONE },
        }),+];
    };
}

// Opcodes count from 1 without gaps. A new step takes the next one: the shaders of the others stay as they are.
color_steps! {
{
    // opcode               step               facts that are true
    BRIGHTNESS = 1,         brightness:        [per_channel];
    CONTRAST = 2,           contrast:          [per_channel, needs_mean];
    SATURATION = 3,         saturation:        [];
    HUE = 4,                hue:               [slow];
    GRAYSCALE = 5,          grayscale:         [];
    SUBTRACT = 6,           subtract:          [per_channel, leaves_range];
    DIVIDE = 7,             divide:            [per_channel, leaves_range];
    INVERT = 8,             invert:            [per_channel];
    SOLARIZE = 9,           solarize:          [per_channel];
    POSTERIZE = 10,         posterize:         [per_channel];
    PERMUTE_CHANNELS = 11,  permute_channels:  [keeps_levels];
    ERASE = 12,             erase:             [placed, leaves_range];
    NOISE = 13,             noise:             [placed, leaves_range, slow];
    ADJUST_GAMMA = 14,      adjust_gamma:      [per_channel, slow];
    GAUSSIAN_NOISE = 15,    gaussian_noise:    [placed, leaves_range, slow];
}
// Steps on 8-bit numbers: named as the step on floats, in whose file they are, with `_u8`.
{
    BRIGHTNESS_U8 = 501,      brightness::brightness_u8:            [per_channel, keeps_levels];
    CONTRAST_U8 = 502,        contrast::contrast_u8:                [per_channel, keeps_levels, needs_mean];
    SATURATION_U8 = 503,      saturation::saturation_u8:            [keeps_levels];
    HUE_U8 = 504,             hue::hue_u8:                          [keeps_levels, slow];
    GRAYSCALE_U8 = 505,       grayscale::grayscale_u8:              [keeps_levels];
    INVERT_U8 = 506,          invert::invert_u8:                    [per_channel, keeps_levels];
    SOLARIZE_U8 = 507,        solarize::solarize_u8:                [per_channel, keeps_levels];
    POSTERIZE_U8 = 508,       posterize::posterize_u8:              [per_channel, keeps_levels];
    ADJUST_GAMMA_U8 = 509,    adjust_gamma::adjust_gamma_u8:        [per_channel, keeps_levels, slow];
    GAUSSIAN_NOISE_U8 = 510,  gaussian_noise::gaussian_noise_u8:    [placed, keeps_levels, slow];
}
}

/// The first opcode of the steps on 8-bit numbers.
const FIRST_UINT8: u32 = 501;

impl Facts {
    pub(crate) const NONE: Facts = Facts {
        per_channel: false,
        placed: false,
        needs_mean: false,
        leaves_range: false,
        keeps_levels: false,
        slow: false,
    };
    /// A user's own step may do anything with the three channels of a pixel, which are its only input.
    const CUSTOM: Facts = Facts { leaves_range: true, slow: true, ..Facts::NONE };

    /// The facts of the step with this opcode, users' own steps included.
    pub(crate) fn of(opcode: u32) -> Facts {
        ColorStep::of(opcode).map_or(Facts::CUSTOM, |step| step.facts)
    }
}

impl ColorStep {
    /// The row of `opcode`; `None` for a user's own step.
    pub(crate) fn of(opcode: u32) -> Option<&'static ColorStep> {
        let (steps, first) = if opcode < FIRST_UINT8 { (STEPS, 1) } else { (UINT8_STEPS, FIRST_UINT8) };
        steps.get((opcode as usize).wrapping_sub(first as usize))
    }

    /// The opcode of the same step on 8-bit numbers; the opcode itself for steps that only move or overwrite numbers.
    pub(crate) fn on_uint8(opcode: u32) -> u32 {
        let twin =
            |step: &ColorStep| UINT8_STEPS.iter().find(|other| other.name.strip_suffix("_u8") == Some(step.name));
        ColorStep::of(opcode).and_then(twin).map_or(opcode, |twin| twin.opcode)
    }
}

impl Step {
    /// True if the step computes on 8-bit numbers alone.
    pub(crate) fn is_uint8(&self) -> bool {
        (FIRST_UINT8..opcode::CUSTOM).contains(&self.opcode)
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts::of(self.opcode)
    }
}

/// The red, green and blue planes.
fn split(planes: &mut [f32]) -> (&mut [f32], &mut [f32], &mut [f32]) {
    let width = planes.len() / 3;
    let (red, rest) = planes.split_at_mut(width);
    let (green, blue) = rest.split_at_mut(width);
    (red, &mut green[..width], &mut blue[..width])
}

#[inline(always)]
fn clamp(value: f32) -> f32 {
    value.clamp(0.0, 1.0)
}

/// Selects without a branch: from branches the compiler makes masked stores, which took three times as long.
#[inline(always)]
fn select(condition: bool, yes: f32, no: f32) -> f32 {
    let mask = u32::from(condition).wrapping_neg();
    f32::from_bits((yes.to_bits() & mask) | (no.to_bits() & !mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_where_its_opcode_says() {
        for (number, step) in (1..).zip(STEPS) {
            assert_eq!(step.opcode, number, "{}", step.name);
            assert_eq!(ColorStep::of(number).unwrap().name, step.name);
        }
        for (number, step) in (FIRST_UINT8..).zip(UINT8_STEPS) {
            assert_eq!((step.opcode, ColorStep::of(number).unwrap().name), (number, step.name));
        }
        assert!([0, STEPS.len() as u32 + 1, opcode::CUSTOM].iter().all(|&other| ColorStep::of(other).is_none()));
        assert_eq!(Facts::of(opcode::CUSTOM + 7), Facts::CUSTOM);
    }
}
