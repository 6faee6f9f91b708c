//! The effects of ops, by which the planner distributes them over stages.

use super::arguments::{Interpolation, PaddingMode};
use crate::color::opcode;
use serde::Serialize;

/// The effect of one op on the image, as far as the planner must know it before it sees an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) enum Effect {
    /// Known never to be emitted here; it preserves the numbers of the operator's other slots.
    Never,
    /// Crops to a rectangle.
    Crop,
    /// Adds a border.
    Pad { mode: PaddingMode, fill: [f32; 3] },
    /// Resamples.
    Resize { interpolation: Interpolation, antialias: bool },
    /// Mirrors an axis.
    Flip,
    /// Changes colours by the step with this [`opcode`].
    Color(u32),
    /// Changes colours by the user's own function, the slot's `custom`.
    Custom,
    /// Changes the number of channels.
    Channels(u32),
    /// Subtracts and divides.
    Normalize,
    /// Computes each pixel from several ones: an operator of `plan/gather.rs`.
    Gather(GatherClass),
    /// Applies any operation of an augmentation policy.
    Policy,
    /// The same with bicubic warps, which are Pillow's.
    BicubicPolicy,
    /// Adds up what several chains of such operations make of the image.
    Mixture,
    /// Calls a function of the user's with the whole image: no op of the same plan comes after it.
    HostCode,
    /// Changes the image's objects, and leaves its pixels alone.
    Objects,
    /// Ends the part of the list that computes on 8-bit numbers; changes nothing else.
    ToFloat,
}

/// The operators of [`Effect::Gather`] by what their shaders need.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) enum GatherClass {
    /// Each pixel shows another place.
    Warp,
    /// A mean of neighbours with a kernel of these sides.
    Blur([u32; 2]),
    /// The eight neighbours.
    Sharpen,
    /// A table for each channel, made of all its pixels.
    Tables,
    /// Pillow's affine transform with this interpolation: each pixel shows another place.
    PillowAffine(Interpolation),
    /// Pillow's blur of rows or of columns.
    PillowBlur,
    /// An operation of timm's policies, which only the CPU executor has.
    Timm,
    /// An operator that only the CPU executor has.
    Native,
}

impl GatherClass {
    /// The class of a warp whose bicubic interpolation is Pillow's.
    pub(crate) fn of_warp(interpolation: Interpolation) -> GatherClass {
        match interpolation {
            Interpolation::Bicubic => GatherClass::PillowAffine(interpolation),
            _ => GatherClass::Warp,
        }
    }
}

impl Effect {
    /// Returns the opcodes of its colour steps, in order; [`opcode::CUSTOM`] stands for a user's own step.
    pub(crate) fn opcodes(self) -> impl Iterator<Item = u32> {
        let (first, second) = match self {
            Effect::Color(opcode) => (Some(opcode), None),
            Effect::Custom => (Some(opcode::CUSTOM), None),
            Effect::Channels(_) => (Some(opcode::GRAYSCALE), None),
            Effect::Normalize => (Some(opcode::SUBTRACT), Some(opcode::DIVIDE)),
            Effect::Never
            | Effect::Crop
            | Effect::Pad { .. }
            | Effect::Resize { .. }
            | Effect::Flip
            | Effect::Gather(_)
            | Effect::Policy
            | Effect::BicubicPolicy
            | Effect::Mixture
            | Effect::HostCode
            | Effect::Objects
            | Effect::ToFloat => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// True for any operation of an augmentation policy.
    pub(crate) fn is_policy(self) -> bool {
        matches!(self, Effect::Policy | Effect::BicubicPolicy)
    }

    /// True for an op that has no arithmetic on floats, where its effect tells.
    pub(crate) fn is_uint8_only(self) -> bool {
        use GatherClass::{PillowAffine, PillowBlur, Timm};
        matches!(self, Effect::BicubicPolicy | Effect::Gather(PillowAffine(_) | PillowBlur | Timm))
    }

    /// True for an op that has no arithmetic on 8-bit numbers.
    pub(crate) fn is_float_only(self) -> bool {
        matches!(self, Effect::Custom | Effect::Normalize | Effect::Color(opcode::NOISE))
    }
}
