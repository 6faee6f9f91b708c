//! The arithmetic of a plan: floats, or torchvision's on 8-bit images.

use super::Plan;
use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::transforms::{Effect, GatherClass, Interpolation, JPEG_NAME, Slot, TIMM_MIX_NAME};
use serde::{Deserialize, Serialize};

/// The arithmetic in which operators compute.
///
/// torchvision's operators round differently on `uint8` tensors than on floats, and most published recipes run them on
/// `uint8`. [`ToDtype`](crate::transforms::ToDtype) says where 8-bit numbers end; without it they end before the first
/// [`Normalize`](crate::transforms::Normalize), or else at the output.
///
/// ```
/// use gpufeed::Semantics;
///
/// assert_eq!(Semantics::default(), Semantics::Float);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Semantics {
    /// Floats in \[0, 1\], as torchvision computes after `ToDtype(torch.float32, scale=True)`. Nothing is rounded.
    #[default]
    Float,
    /// Whole numbers from 0 to 255, as torchvision computes on `uint8` tensors: a resize rounds after each axis, and
    /// each colour operation truncates. `fill`, `threshold` and erased values are in 0 to 255.
    ///
    /// Every backend gives the same whole numbers. Hue, gamma, blurs and bilinear warps may be one off from torchvision's,
    /// which rounds or truncates floats there: where such a float is close to the border of two whole numbers, its last
    /// bit decides. Operators that follow may enlarge the difference.
    Uint8,
}

/// The most weights of a blur in a shader: those of kernels of 255 pixels a side.
const MOST_WEIGHTS: u32 = 512;

/// The first slot whose op gets floats.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a `ToDtype` that not every image reaches, and for operators
/// that have no arithmetic on 8-bit numbers.
pub(super) fn first_float_slot(semantics: Semantics, slots: &[Slot]) -> Result<usize> {
    if semantics == Semantics::Float {
        return Ok(0);
    }
    let converts = |slot: &Slot| slot.effect == Effect::ToFloat;
    if let Some(slot) = slots.iter().find(|slot| converts(slot) && slot.optional) {
        let reason = format!("{} inside RandomApply would leave some images in 8 bits; put it outside", slot.transform);
        return Err(Error::argument("transforms", reason));
    }
    let end = slots.iter().position(converts);
    let end = end.or_else(|| slots.iter().position(|slot| slot.effect == Effect::Normalize)).unwrap_or(slots.len());
    let floats_only = slots[..end].iter().find(|slot| slot.effect.is_float_only());
    match floats_only {
        None => Ok(end),
        Some(slot) => {
            let reason = format!("{} needs floats, but gets 8-bit numbers; put ToDtype before it", slot.transform);
            Err(Error::argument("transforms", reason))
        }
    }
}

/// Checks that operators which have no arithmetic on floats get 8-bit numbers.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a `JPEG` or an operator of Pillow or timm that gets floats.
pub(super) fn check_floats(slots: &[Slot], first_float_slot: usize) -> Result<()> {
    // Their effects are those of others, too.
    let is_known = |slot: &Slot| [JPEG_NAME, TIMM_MIX_NAME].contains(&slot.transform) && slot.effect != Effect::Never;
    let needs_uint8 = |slot: &&Slot| is_known(slot) || slot.effect.is_uint8_only();
    let Some(slot) = slots[first_float_slot..].iter().find(needs_uint8) else { return Ok(()) };
    let name = match slot.effect {
        Effect::BicubicPolicy | Effect::Gather(GatherClass::PillowAffine(Interpolation::Bicubic)) => {
            format!("{} with Bicubic, which is Pillow's,", slot.transform)
        }
        _ => slot.transform.to_owned(),
    };
    let reason =
        Reason::new(format!("{name} needs 8-bit numbers, but gets floats; put it before ToDtype and Normalize"));
    Err(Error::argument("transforms", reason.advise(advice::UINT8)))
}

impl Plan {
    /// The arithmetic of its operators.
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// True if the op in this slot gets 8-bit numbers.
    pub(super) fn is_uint8(&self, slot: usize) -> bool {
        slot < self.first_float_slot
    }

    /// The parts of the plan that only the CPU executor has; empty if the shaders have all of it.
    pub(crate) fn without_shaders(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        let is_native = |effect| match effect {
            Effect::Gather(GatherClass::Native | GatherClass::Timm) | Effect::Mixture | Effect::HostCode => true,
            Effect::Gather(GatherClass::Blur(sides)) => sides.iter().sum::<u32>() > MOST_WEIGHTS,
            _ => false,
        };
        for slot in self.slots.iter().filter(|slot| is_native(slot.effect)) {
            if !found.contains(&slot.transform) {
                found.push(slot.transform);
            }
        }
        found
    }
}
