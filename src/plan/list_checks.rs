//! Checks of a list of transforms as a whole: its depth, its channels, the size of its outputs, what stands in it twice.

use super::Plan;
use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::transforms::{Effect, GatherClass, HOST_CODE_NAME, PaddingMode, Slot, Slots, Transform};

/// The depth of nested lists.
pub(super) fn depth(transforms: &[Transform]) -> usize {
    let nested = transforms.iter().map(|transform| match transform.nested() {
        [] => 0,
        nested => depth(nested),
    });
    1 + nested.max().unwrap_or(0)
}

/// Refuses code of the user's own inside the list of another transform.
pub(super) fn check_code(transforms: &[Transform]) -> Result<()> {
    fn holds(transform: &Transform) -> bool {
        transform.nested().iter().any(|inner| matches!(inner, Transform::HostCode(_)) || holds(inner))
    }
    match transforms.iter().find(|transform| holds(transform)) {
        None => Ok(()),
        Some(outer) => {
            let name = outer.name();
            let reason =
                format!("own code stands inside {name}; put it into the list itself, and let it draw whether it works");
            Err(Error::argument("transforms", reason))
        }
    }
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

impl Plan {
    /// The first transform that moves pixels where no box or keypoint follows, with the reason; `None` if there is none.
    pub(crate) fn without_moves(&self) -> Option<(&'static str, &'static str)> {
        if self.code().is_some() {
            return Some((HOST_CODE_NAME, "nobody knows whether your code moves pixels"));
        }
        if self.crops() > 1 {
            let name = self.transforms.iter().find(|transform| transform.crops() > 1).map_or("", Transform::name);
            return Some((name, "its crops share no box, in torchvision as well"));
        }
        let reason = |effect| match effect {
            Effect::Policy | Effect::BicubicPolicy | Effect::Mixture | Effect::Gather(GatherClass::Timm) => {
                Some("operations of a policy move pixels and no targets, in torchvision as well")
            }
            Effect::Pad { mode, .. } if mode != PaddingMode::Constant => {
                Some("its padding shows parts of the image again, which no box follows; PaddingMode::Constant works")
            }
            _ => None,
        };
        self.slots.iter().find_map(|slot| Some((slot.transform, reason(slot.effect)?)))
    }
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

/// Refuses three different numbers where images have one channel: it is not known which of them is meant. Three equal ones
/// count as one. `before` transforms stand before these.
pub(super) fn check_channels(input: u32, transforms: &[Transform], before: usize) -> Result<()> {
    let mut channels = input;
    for (number, transform) in (before + 1..).zip(transforms) {
        if channels == 1 {
            check_one_channel(transform, &format!("transform {number}"))?;
        }
        let mut slots = Slots::default();
        transform.slots(&mut slots);
        for slot in &slots.list {
            if let Effect::Channels(after) = slot.effect {
                channels = after;
            }
        }
    }
    Ok(())
}

/// Checks a transform of one-channel images, and those inside of it.
fn check_one_channel(transform: &Transform, place: &str) -> Result<()> {
    let name = transform.name();
    for (argument, numbers) in transform.per_channel() {
        check_equal(argument, numbers, || format!("{name} ({place})"))?;
    }
    let mut inner = (1..).zip(transform.nested());
    inner.try_for_each(|(number, inner)| check_one_channel(inner, &format!("{place}.{number}")))
}

fn check_equal(argument: &'static str, numbers: [f32; 3], whose: impl Fn() -> String) -> Result<()> {
    let [first, second, third] = numbers;
    if first == second && second == third {
        return Ok(());
    }
    let reason = format!(
        "{} has the {argument} {numbers:?}, but the images have one channel there; one number for it, or three equal ones, \
         work, or Grayscale with 3 channels before it",
        whose()
    );
    Err(Error::argument("transforms", reason))
}

/// The places of two `Normalize` that work on the same image: "transform 3", "transform 5.1" for the first of the list
/// inside transform 5.
pub fn normalized_twice(transforms: &[Transform]) -> Option<(String, String)> {
    let mut places = normalizes(transforms, "transform ").into_iter();
    places.next().zip(places.next())
}

/// The places of the most `Normalize` that work on one image.
fn normalizes(transforms: &[Transform], before: &str) -> Vec<String> {
    (1..)
        .zip(transforms)
        .flat_map(|(number, transform)| normalizes_of(transform, format!("{before}{number}")))
        .collect()
}

fn normalizes_of(transform: &Transform, place: String) -> Vec<String> {
    let before = format!("{place}.");
    match transform {
        Transform::Normalize(_) => vec![place],
        // One of a choice works on an image: the one with the most.
        Transform::RandomChoice(_) => {
            let each = (1..).zip(transform.nested());
            let each = each.map(|(number, inner): (usize, _)| normalizes_of(inner, format!("{before}{number}")));
            each.max_by_key(Vec::len).unwrap_or_default()
        }
        _ => normalizes(transform.nested(), &before),
    }
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
        let reason = Reason::new(format!("images of a batch must have one size, but {found}: {works}"));
        Error::argument("transforms", reason.advise(advice::VARYING_SIZES))
    }
}

fn changes_size(effect: Effect) -> bool {
    matches!(effect, Effect::Crop | Effect::Pad { .. } | Effect::Resize { .. } | Effect::Gather(_))
}
