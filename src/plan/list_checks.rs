//! Checks of a list of transforms as a whole: its depth, its channels, the size of its outputs.

use super::Plan;
use crate::error::{Error, Result};
use crate::transforms::{Effect, Slot, Slots, Transform};

/// The depth of nested lists.
pub(super) fn depth(transforms: &[Transform]) -> usize {
    let nested = transforms.iter().map(|transform| match transform.nested() {
        [] => 0,
        nested => depth(nested),
    });
    1 + nested.max().unwrap_or(0)
}

/// The number of op slots of a list: each position of a random order has those of all its transforms, so that a few
/// nested orders have more than memory.
pub(super) fn slot_count(transforms: &[Transform]) -> u64 {
    let of = |transform: &Transform| match transform.nested() {
        [] => {
            let mut slots = Slots::default();
            transform.slots(&mut slots);
            slots.list.len() as u64
        }
        nested if matches!(transform, Transform::RandomOrder(_)) => {
            slot_count(nested).saturating_mul(nested.len() as u64)
        }
        nested => slot_count(nested),
    };
    transforms.iter().map(of).fold(0, u64::saturating_add)
}

/// The channels of the output; an error if they depend on chance.
pub(super) fn output_channels(input: u32, slots: &[Slot]) -> Result<u32> {
    let mut channels = input;
    for slot in slots {
        if let Effect::Channels(after) = slot.effect {
            if slot.optional && after != channels {
                return Err(Error::argument(
                    "transforms",
                    format!(
                        "{} inside RandomApply, RandomChoice or RandomOrder would give batches a random number of channels; use RandomGrayscale",
                        slot.transform
                    ),
                ));
            }
            channels = after;
        }
    }
    Ok(channels)
}

impl Plan {
    /// The error of a loader whose list does not fix the size of its outputs: it names the last transform that changes
    /// sizes, and what fixes them.
    pub(crate) fn sizes_differ(&self) -> Error {
        let mut slots = Slots::default();
        let mut last = None;
        for (number, transform) in (1..).zip(&self.transforms) {
            let before = slots.list.len();
            transform.slots(&mut slots);
            if slots.list[before..].iter().any(|slot| changes_size(slot.effect)) {
                last = Some((transform.name(), number));
            }
        }
        let found = match last {
            Some((name, number)) => format!("after {name} (transform {number}) they differ"),
            None => "no transform gives them one".to_owned(),
        };
        let works = "end with RandomResizedCrop, RandomCrop, CenterCrop, FiveCrop, TenCrop or Resize((height, width))";
        Error::argument("transforms", format!("images of a batch must have one size, but {found}: {works}"))
    }
}

fn changes_size(effect: Effect) -> bool {
    matches!(effect, Effect::Crop | Effect::Pad { .. } | Effect::Resize { .. } | Effect::Gather(_))
}
