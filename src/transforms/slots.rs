//! The ops that a list of transforms may emit.

use super::custom_color::CustomColor;
use super::effect::Effect;

/// One op that a list of transforms may emit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) transform: &'static str,
    pub(crate) effect: Effect,
    /// True inside a `RandomApply`: the op may be absent.
    pub(crate) optional: bool,
    /// The user's colour step if the effect is [`Effect::Custom`].
    pub(crate) custom: Option<CustomColor>,
}

/// The slots of a list, and the image size if it is fixed.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) list: Vec<Slot>,
    /// (width, height) after the last slot, if it is the same for every image.
    pub(crate) size: Option<(u32, u32)>,
    pub(super) optional: bool,
}

impl Slots {
    pub(super) fn push(&mut self, transform: &'static str, effect: Effect) {
        self.list.push(Slot { transform, effect, optional: self.optional, custom: None });
    }

    pub(super) fn set_size(&mut self, size: Option<(u32, u32)>) {
        self.size = size;
    }
}
