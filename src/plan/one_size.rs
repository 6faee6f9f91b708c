//! The error of a list that does not give all images one size.

use super::Plan;
use crate::error::Error;
use crate::transforms::{Effect, Slots};

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
        let works = "end with RandomResizedCrop, RandomCrop, CenterCrop or Resize((height, width))";
        Error::argument("transforms", format!("images of a batch must have one size, but {found}: {works}"))
    }
}

fn changes_size(effect: Effect) -> bool {
    matches!(effect, Effect::Crop | Effect::Pad { .. } | Effect::Resize { .. })
}
