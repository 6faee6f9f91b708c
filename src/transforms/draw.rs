//! Random numbers and the context in which transforms draw them.
//!
//! Every number is a function of (seed, epoch, sample, occurrence, view, operator's path), so workers, shards, queues
//! and restarts change nothing. The generator is ChaCha8 (`rand_chacha`): the first five make its 32-byte key, the path
//! its stream (`random/`).

use super::ahead::Ahead;
use super::op::Op;
use crate::decode::Scale;
use crate::error::{Error, ErrorKind, Result};
pub(crate) use crate::random::Numbers;
use serde::{Deserialize, Serialize};

/// What a sample's random numbers depend on.
///
/// ```
/// use gpufeed::transforms::Key;
///
/// let key = Key { seed: 42, epoch: 3, sample: 1234, ..Key::default() };
/// assert_eq!(key.occurrence, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The run's seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// The sample's id (`Dataset::id`).
    pub sample: u64,
    /// 0 when the sample comes for the first time in the epoch, 1 for the second, …
    pub occurrence: u32,
    /// Which of several outputs of one decode.
    pub view: u32,
}

impl Key {
    /// The 32 bytes that key the generator.
    pub(super) fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[0..8].copy_from_slice(&self.seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sample.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.occurrence.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.view.to_le_bytes());
        bytes
    }

    /// The generator of the operator at `path`.
    pub(crate) fn numbers(&self, path: u64) -> Numbers {
        Numbers::new(self.bytes(), path)
    }
}

/// The ops drawn for one image, readable from a batch and replayable on a single sample.
///
/// ```
/// use gpufeed::transforms::{Key, Op, RandomHorizontalFlip};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomHorizontalFlip::new(1.0).into()], &Output::default()).unwrap();
/// let drawn = plan.draw(640, 480, &Key::default()).unwrap();
/// assert_eq!(drawn.ops[0].op, Op::HorizontalFlip);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// The source image's width, EXIF orientation applied.
    pub width: u32,
    /// The source image's height, EXIF orientation applied.
    pub height: u32,
    /// The ops in the order in which they apply, at full size whatever the scale.
    pub ops: Vec<DrawnOp>,
    /// The size at which the image was decoded for the batch; no number that is drawn depends on it.
    #[serde(default, skip_serializing_if = "Scale::is_full")]
    pub scale: Scale,
}

/// An op and the place in the plan that it belongs to.
///
/// ```
/// use gpufeed::transforms::{DrawnOp, Op};
///
/// let op = DrawnOp { slot: 0, op: Op::VerticalFlip };
/// assert_eq!(op.slot, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnOp {
    /// Which of the plan's possible ops this is.
    pub slot: u16,
    /// The op with its numbers.
    pub op: Op,
}

/// Where a transform draws: the image's size so far, the list of ops, the operator's path.
pub(crate) struct Context<'a> {
    key: Key,
    path: u64,
    base: u16,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: u32,
    ahead: Option<(&'a Ahead, usize)>,
    ops: &'a mut Vec<DrawnOp>,
}

impl<'a> Context<'a> {
    /// `ahead`: numbers that are there already, and the image's place among those that they are for.
    pub(crate) fn new(
        key: Key,
        (width, height): (u32, u32),
        channels: u32,
        ahead: Option<(&'a Ahead, usize)>,
        ops: &'a mut Vec<DrawnOp>,
    ) -> Self {
        Context { key, path: 0, base: 0, width, height, channels, ahead, ops }
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let numbers = self.key.numbers(self.path);
        match self.ahead.and_then(|(ahead, image)| ahead.first(self.path, image)) {
            Some(first) => numbers.with_first(*first),
            None => numbers,
        }
    }

    /// Emits this transform's `slot`-th op and follows the image's size.
    pub(crate) fn emit(&mut self, slot: u16, op: Op) -> Result<()> {
        (self.width, self.height) = op.size_after((self.width, self.height));
        if self.width > MAX_SIDE || self.height > MAX_SIDE {
            return Err(self.error("Pad", format!("the result has a side of more than {MAX_SIDE} pixels")));
        }
        if let Op::Grayscale { channels } = op {
            self.channels = channels;
        }
        self.ops.push(DrawnOp { slot: self.base + slot, op });
        Ok(())
    }

    /// Draws each of `transforms`: the i-th gets its own stream, and slots after those of the ones before.
    pub(crate) fn draw_list(&mut self, transforms: &[super::Transform], first_slots: &[u16]) -> Result<()> {
        let (path, base) = (self.path, self.base);
        for (i, (transform, first)) in transforms.iter().zip(first_slots).enumerate() {
            self.path = child(path, i);
            self.base = base + first;
            transform.draw(self)?;
        }
        (self.path, self.base) = (path, base);
        Ok(())
    }

    pub(crate) fn error(&self, transform: &'static str, reason: impl Into<String>) -> Error {
        ErrorKind::Transform { transform, width: self.width, height: self.height, reason: reason.into() }.into()
    }
}

/// The path of the `i`-th operator of the list of the operator at `path`; 0 is the plan's own list.
///
/// Base 256 digits, each ≥ 1: distinct paths have distinct streams (Plan::compile checks width and depth).
pub(super) fn child(path: u64, i: usize) -> u64 {
    path * 256 + i as u64 + 1
}

/// The first slot of each transform of a list, relative to the list's first.
pub(crate) fn first_slots(transforms: &[super::Transform]) -> Vec<u16> {
    let mut slots = super::Slots::default();
    transforms
        .iter()
        .map(|transform| {
            let first = slots.list.len() as u16;
            transform.slots(&mut slots);
            first
        })
        .collect()
}

/// Longest side of an image between two transforms: coordinates stay exact in f32 (2^24) with room for half pixels.
pub(crate) const MAX_SIDE: u32 = 1 << 22;

pub(crate) fn check_side(setting: &'static str, side: u32) -> Result<()> {
    if side == 0 || side > MAX_SIDE {
        return Err(Error::argument(setting, format!("{side} pixels; 1 to {MAX_SIDE} work")));
    }
    Ok(())
}

pub(crate) fn check_probability(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(Error::argument("p", format!("{p} is no probability; 0 to 1 work")))
    }
}

pub(crate) fn check_fill(fill: [f32; 3]) -> Result<()> {
    if fill.iter().all(|f| f.is_finite()) {
        Ok(())
    } else {
        Err(Error::argument("fill", format!("{fill:?}; finite numbers work, usually in [0, 1]")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by a second implementation of ChaCha8, in Python, that gives the published vector of `random/`, too.
    #[test]
    fn numbers_are_the_same_on_every_platform() {
        let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
        let mut numbers = key.numbers(6);
        let bounds = [1 << 32, 1000, 6, 3 << 62];
        assert_eq!(bounds.map(|bound| numbers.below(bound)), [2_047_385_422, 884, 3, 13_790_978_348_347_344_860]);
        assert_eq!(numbers.unit(), 0.531_157_647_882_215_1);
        assert_eq!(numbers.uniform(-2.0, 3.0), 0.531_497_598_552_317_4);
        let chances: [bool; 11] = std::array::from_fn(|_| numbers.chance(0.5));
        assert_eq!(chances, [true, false, true, false, false, false, true, false, false, false, true]);
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
        let first = |key: Key, path| key.numbers(path).unit();
        let others = [
            first(Key { seed: 9, ..key }, 6),
            first(Key { epoch: 9, ..key }, 6),
            first(Key { sample: 9, ..key }, 6),
            first(Key { occurrence: 9, ..key }, 6),
            first(Key { view: 9, ..key }, 6),
            first(key, 9),
        ];
        assert!(others.iter().all(|&other| other != first(key, 6)));
    }
}
