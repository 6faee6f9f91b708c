//! The parameters of one image, and the context in which transforms make them.

use super::arguments::MAX_SIDE;
use super::mix::Mix;
use super::op::Op;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Scale;
pub(crate) use crate::random::Numbers;
use crate::random::ahead::ImageAhead;
use crate::random::key::{Key, child};
use serde::{Deserialize, Serialize};

/// The parameters of one image: every operation with its numbers.
///
/// A batch has them for each image ([`Batch::params`](crate::Batch::params)), and
/// [`DataLoader::replay`](crate::DataLoader::replay) recomputes the image from them.
///
/// ```
/// use gpufeed::transforms::{Key, Op, RandomHorizontalFlip};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomHorizontalFlip::new(1.0).into()], &Output::default()).unwrap();
/// let params = plan.make_params(640, 480, &Key::default()).unwrap();
/// assert_eq!(params.ops[0].op, Op::HorizontalFlip);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Width of the source image, with EXIF orientation applied.
    pub width: u32,
    /// Height of the source image, with EXIF orientation applied.
    pub height: u32,
    /// The ops in order. Their numbers are for the full size, also at another scale.
    pub ops: Vec<ParamsOp>,
    /// The scale at which the image was decoded for the batch. The ops do not depend on it.
    #[serde(default, skip_serializing_if = "Scale::is_full")]
    pub scale: Scale,
    /// What the image was mixed with, if a [`BatchTransform`](super::BatchTransform) has mixed its batch. The ops do not
    /// depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Box<Mixed>>,
    /// The mosaic that the ops got as their image, if the loader has a [`Mosaic`](super::Mosaic): `width` and `height` are those
    /// of its canvas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mosaic: Option<Box<super::MosaicParams>>,
}

impl Params {
    /// Width and height of the image that the ops make.
    pub(crate) fn output_size(&self) -> (u32, u32) {
        self.ops.iter().fold((self.width, self.height), |size, each| each.op.size_after(size))
    }
}

/// How an image was mixed, and its partner: the other image.
///
/// ```
/// use gpufeed::transforms::Params;
///
/// let json = r#"{"width":2,"height":1,"ops":[],"mixed":{"mix":{"MixUp":{"lambda":0.25}},"index":7,"id":7,
///     "params":{"width":3,"height":4,"ops":[]}}}"#;
/// let params: Params = serde_json::from_str(json).unwrap();
/// assert_eq!(params.mixed.unwrap().index, 7);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixed {
    /// How the two were mixed.
    pub mix: Mix,
    /// Index of the partner's sample in the data set.
    pub index: usize,
    /// Id of the partner's sample ([`Dataset::id`](crate::Dataset::id)).
    pub id: u64,
    /// The partner's own parameters; they do not say with what the partner was mixed.
    pub params: Params,
}

/// An operation with its numbers, and its op slot in the plan.
///
/// ```
/// use gpufeed::transforms::{ParamsOp, Op};
///
/// let op = ParamsOp { slot: 0, op: Op::VerticalFlip };
/// assert_eq!(op.slot, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamsOp {
    /// Index of the op slot in the plan.
    pub slot: u16,
    /// The op with its numbers.
    pub op: Op,
}

/// The boxes of an image, which follow the ops that are emitted.
pub(crate) trait FollowBoxes {
    /// Moves them by an op on an image of (width, height).
    fn follow(&mut self, op: &Op, size: (u32, u32)) -> Result<()>;

    /// The left, top, right and bottom edge of each.
    fn edges(&self) -> Vec<[f64; 4]>;
}

/// The state in which the parameters of one image are made: its size so far, its ops so far, the operator's path.
pub(crate) struct Context<'a> {
    key: Key,
    path: u64,
    base: u16,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: u32,
    /// The number of the crop, below the `CROPS` of the transform that makes several.
    pub(crate) crop: u32,
    /// The first slot of the plan whose op gets floats.
    pub(crate) first_float_slot: usize,
    ahead: Option<ImageAhead<'a>>,
    ops: &'a mut Vec<ParamsOp>,
    /// Set for lists that look at boxes.
    boxes: Option<&'a mut (dyn FollowBoxes + 'static)>,
}

impl<'a> Context<'a> {
    /// `ahead` holds random numbers that were made in advance.
    pub(crate) fn new(
        key: Key,
        crop: u32,
        (width, height): (u32, u32),
        channels: u32,
        ahead: Option<ImageAhead<'a>>,
        ops: &'a mut Vec<ParamsOp>,
    ) -> Self {
        Context { key, path: 0, base: 0, width, height, channels, crop, first_float_slot: 0, ahead, ops, boxes: None }
    }

    /// Adds the boxes of the image.
    pub(crate) fn with_boxes(self, boxes: Option<&'a mut (dyn FollowBoxes + 'static)>) -> Self {
        Context { boxes, ..self }
    }

    /// The left, top, right and bottom edge of each box, in the image so far; none where nobody has given them.
    pub(crate) fn boxes(&self) -> Vec<[f64; 4]> {
        self.boxes.as_ref().map_or_else(Vec::new, |boxes| boxes.edges())
    }

    /// Returns true if this transform's `slot`-th op gets 8-bit numbers.
    pub(crate) fn is_uint8(&self, slot: u16) -> bool {
        usize::from(self.base + slot) < self.first_float_slot
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let numbers = self.key.numbers(self.path);
        match self.ahead.and_then(|ahead| ahead.first(self.path)) {
            Some(first) => numbers.with_first(*first),
            None => numbers,
        }
    }

    /// Emits this transform's `slot`-th op, and updates the image's size.
    pub(crate) fn emit(&mut self, slot: u16, op: Op) -> Result<()> {
        if let Some(boxes) = &mut self.boxes {
            boxes.follow(&op, (self.width, self.height))?;
        }
        (self.width, self.height) = op.size_after((self.width, self.height));
        if self.width > MAX_SIDE || self.height > MAX_SIDE {
            return Err(self.error("Pad", format!("the result has a side of more than {MAX_SIDE} pixels")));
        }
        if let Op::Grayscale { channels } = op {
            self.channels = channels;
        }
        self.ops.push(ParamsOp { slot: self.base + slot, op });
        Ok(())
    }

    /// The key of the image's view.
    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// Makes the parameters of a list. The i-th transform has its own stream of random numbers, and its slots come
    /// after those of the transforms before it.
    pub(crate) fn make_params_of_list(&mut self, transforms: &[super::Transform], first_slots: &[u16]) -> Result<()> {
        self.make_params_of_rest(0, transforms, first_slots)
    }

    /// Makes the parameters of the rest of a list, of which `before` transforms stand before.
    pub(crate) fn make_params_of_rest(
        &mut self,
        before: usize,
        transforms: &[super::Transform],
        first_slots: &[u16],
    ) -> Result<()> {
        let (path, base) = (self.path, self.base);
        for (i, (transform, first)) in transforms.iter().zip(first_slots).enumerate() {
            self.path = child(path, before + i);
            self.base = base + first;
            transform.make_params(self)?;
        }
        (self.path, self.base) = (path, base);
        Ok(())
    }

    /// Makes the parameters of transform number `i` of a list, whose slots begin at `first`.
    pub(super) fn make_params_of(&mut self, i: usize, transform: &super::Transform, first: u16) -> Result<()> {
        let (path, base) = (self.path, self.base);
        (self.path, self.base) = (child(path, i), base + first);
        transform.make_params(self)?;
        (self.path, self.base) = (path, base);
        Ok(())
    }

    pub(crate) fn error(&self, transform: &'static str, reason: impl Into<String>) -> Error {
        ErrorKind::Transform { transform, width: self.width, height: self.height, reason: reason.into() }.into()
    }
}

/// Returns the first slot of each transform of a list, relative to the list's first slot.
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
