//! The effect of an [`Op`] (one operation on an image) that the planner has to know.

use super::Op;
use crate::color::opcode;
use crate::transforms::arguments::{Erased, Interpolation};
use crate::transforms::effect::{Effect, GatherClass};

impl Op {
    /// Returns the effect of this operation on an image, as far as the planner has to know it.
    pub(crate) fn effect(&self) -> Effect {
        match *self {
            Op::Crop { .. } => Effect::Crop,
            Op::Pad { mode, fill, .. } => Effect::Pad { mode, fill },
            Op::Resize { interpolation, antialias, .. } => Effect::Resize { interpolation, antialias },
            Op::HorizontalFlip | Op::VerticalFlip => Effect::Flip,
            Op::Custom { .. } => Effect::Custom,
            Op::GaussianNoise { .. } => Effect::Color(opcode::GAUSSIAN_NOISE),
            Op::Erase { value: Erased::Color(_), .. } => Effect::Color(opcode::ERASE),
            Op::Erase { value: Erased::Noise { .. }, .. } => Effect::Color(opcode::NOISE),
            Op::Grayscale { channels } => Effect::Channels(channels),
            Op::Affine { .. } | Op::Rotate { .. } | Op::Perspective { .. } => Effect::Gather(GatherClass::Warp),
            Op::GaussianBlur { kernel_size, .. } => Effect::Gather(GatherClass::Blur(kernel_size)),
            Op::Sharpness { .. } => Effect::Gather(GatherClass::Sharpen),
            Op::Autocontrast | Op::Equalize => Effect::Gather(GatherClass::Tables),
            Op::PillowAffine { interpolation, .. } => Effect::Gather(GatherClass::PillowAffine(interpolation)),
            Op::PillowBlur { .. } => Effect::Gather(GatherClass::PillowBlur),
            Op::Elastic { .. } | Op::Jpeg { .. } => Effect::Gather(GatherClass::Native),
            Op::Policy { interpolation: Interpolation::Bicubic, .. } => Effect::BicubicPolicy,
            Op::Policy { .. } => Effect::Policy,
            Op::Timm { .. } => Effect::Gather(GatherClass::Timm),
            Op::Mixture { .. } | Op::TimmMixture { .. } => Effect::Mixture,
            Op::HostCode { .. } => Effect::HostCode,
            Op::Objects(_) => Effect::Objects,
            Op::Normalize { .. } => Effect::Normalize,
            ref other => other.color(false).map_or(Effect::Never, |color| Effect::Color(color.opcode)),
        }
    }
}
