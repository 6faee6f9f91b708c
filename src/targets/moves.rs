//! All ops of an image, as moves of its boxes and keypoints.

use super::step::Step;
use crate::error::{Error, ErrorKind, Result};
use crate::objects::{BoxFormat, Clamping, Coordinate, ObjectOp, Objects, share_left};
use crate::transforms::{MAX_SIDE, Op, Params};

/// Where the ops of an image lead its boxes and keypoints.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Clamping, Moves};
/// use gpufeed::transforms::Op;
///
/// let crop = Op::Crop { top: 10, left: 20, height: 40, width: 40 };
/// let moves = Moves::new([&crop, &Op::HorizontalFlip], (80, 60)).unwrap();
/// let mut boxes = [[25.0f32, 15.0, 35.0, 45.0]];
/// moves.boxes(&mut boxes, BoxFormat::Xyxy, Clamping::Soft).unwrap();
/// assert_eq!(boxes, [[25.0, 5.0, 35.0, 35.0]]);
/// assert_eq!(moves.size(), (40, 40));
/// ```
///
/// The parameters of a batch have the ops of each image:
///
/// ```
/// use gpufeed::targets::Moves;
/// use gpufeed::transforms::{Key, RandomHorizontalFlip};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomHorizontalFlip::new(1.0).into()], &Output::default()).unwrap();
/// let params = plan.make_params(640, 480, &Key::default()).unwrap();
/// let mut points = [[0.0f32, 0.0]];
/// Moves::of(&params).unwrap().keypoints(&mut points).unwrap();
/// assert_eq!(points, [[639.0, 0.0]]);
/// ```
///
/// [`objects`](Self::objects) moves all that an image has:
///
/// ```
/// use gpufeed::targets::{BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{Key, RandomHorizontalFlip, SanitizeBoundingBoxes};
/// use gpufeed::{Output, Plan};
///
/// let list = [RandomHorizontalFlip::new(1.0).into(), SanitizeBoundingBoxes::new().into()];
/// let params = Plan::compile(&list, &Output::default())?.make_params(64, 48, &Key::default())?;
/// let boxes = vec![[0.0, 0.0, 10.0, 10.0], [5.0, 5.0, 5.5, 9.0]];
/// let mut objects = Objects::of_boxes(BoxFormat::Xyxy, boxes).with_labels(vec![1, 2])?;
/// Moves::of(&params)?.objects(&mut objects)?;
/// assert_eq!((objects.boxes(), objects.labels()), (&[[54.0, 0.0, 64.0, 10.0]][..], Some(&[1][..])));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Moves {
    /// Each op that concerns targets, with the image's size after it.
    steps: Vec<(Move, (u32, u32))>,
    size: (u32, u32),
}

#[derive(Clone, Debug)]
enum Move {
    /// Leads places elsewhere, with the image.
    Step(Step),
    /// Changes objects and leaves the image as it is.
    Objects(ObjectOp),
}

impl Moves {
    /// Makes the moves of ops on an image of (width, height).
    ///
    /// # Errors
    /// [`ErrorKind::Transform`] for an op that has no numbers for this size, and for one that cannot move targets: operations of
    /// policies, padding that repeats the image, a rotation with `expand` about a center of its own, and code of a user.
    pub fn new<'a>(ops: impl IntoIterator<Item = &'a Op>, size: (u32, u32)) -> Result<Moves> {
        let mut moves = Moves { steps: Vec::new(), size };
        if [size.0, size.1].iter().any(|side| !(1..=MAX_SIDE).contains(side)) {
            return Err(refused(size, format!("no image has this size; sides of 1 to {MAX_SIDE} work")));
        }
        for op in ops {
            op.check(moves.size).map_err(|reason| refused(moves.size, format!("{op} {reason}")))?;
            let step = Step::of(op, moves.size).map_err(|reason| refused(moves.size, format!("{op}: {reason}")))?;
            moves.size = op.size_after(moves.size);
            let each = match op {
                Op::Objects(op) => Some(Move::Objects(op.clone())),
                _ => step.map(Move::Step),
            };
            moves.steps.extend(each.map(|each| (each, moves.size)));
        }
        Ok(moves)
    }

    /// Makes the moves of an image's parameters.
    ///
    /// Places are in pixels of the image that the loader reads: after its EXIF orientation, and of the size that a pack has stored.
    /// Annotations of another size are multiplied by `params.width` and `params.height` over theirs before.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and [`ErrorKind::Transform`] for an image that is mixed with another one, which it shows too.
    pub fn of(params: &Params) -> Result<Moves> {
        let size = (params.width, params.height);
        if params.mixed.is_some() {
            let reason = "MixUp and CutMix show a second image, whose boxes belong to it as well; leave them out";
            return Err(refused(size, reason.to_owned()));
        }
        Moves::new(params.ops.iter().map(|each| &each.op), size)
    }

    /// Returns (width, height) of the image after all ops.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Moves the objects of an image, with what the ops for objects alone do to them.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], in an elastic deformation; some objects have moved then and some have not.
    pub fn objects(&self, objects: &mut Objects) -> Result<()> {
        let asks = |(each, _): &(Move, _)| matches!(each, Move::Objects(ObjectOp::SanitizeVisibility { .. }));
        let begins = self.steps.iter().any(asks) && objects.begin_shares();
        for (each, size) in &self.steps {
            match each {
                Move::Objects(op) => op.apply(objects, *size),
                Move::Step(step) => {
                    let (format, cut_to) = (objects.format(), cut_to(objects.clamping(), *size));
                    for (each, share) in objects.boxes_and_shares() {
                        let before = *each;
                        *each = step.bounding_box(before, format, cut_to)?;
                        if let Some(share) = share {
                            *share *= share_left(&step.bounding_box(before, format, None)?, each, format);
                        }
                    }
                    for (point, _) in objects.keypoints_mut().filter(|(_, visibility)| *visibility > 0) {
                        *point = step.keypoint(*point)?;
                    }
                }
            }
        }
        objects.set_size(self.size);
        if begins {
            objects.end_shares();
        }
        Ok(())
    }

    /// Moves boxes. Those that a warp turns become the boxes around their four corners.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], in an elastic deformation; some boxes have moved then and some have not.
    /// [`ErrorKind::Argument`] for ops for objects alone, which [`objects`](Self::objects) applies.
    pub fn boxes<C: Coordinate>(&self, boxes: &mut [[C; 4]], format: BoxFormat, clamping: Clamping) -> Result<()> {
        for (step, size) in self.places()? {
            for each in &mut *boxes {
                *each = step.bounding_box(*each, format, cut_to(clamping, size))?;
            }
        }
        Ok(())
    }

    /// Moves keypoints, \[column, row\] each. None is clamped.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], in an elastic deformation; some keypoints have moved then and some have not.
    /// [`ErrorKind::Argument`] for ops for objects alone, which [`objects`](Self::objects) applies.
    pub fn keypoints<C: Coordinate>(&self, points: &mut [[C; 2]]) -> Result<()> {
        for (step, _) in self.places()? {
            for each in &mut *points {
                *each = step.keypoint(*each)?;
            }
        }
        Ok(())
    }

    /// The steps that move places, if there are no others.
    fn places(&self) -> Result<Vec<(&Step, (u32, u32))>> {
        let mut places = Vec::with_capacity(self.steps.len());
        for (each, size) in &self.steps {
            match each {
                Move::Step(step) => places.push((step, *size)),
                Move::Objects(op) => {
                    let reason = format!("{} works on objects: move them with `Moves::objects`", op.name());
                    return Err(Error::argument("transforms", reason));
                }
            }
        }
        Ok(places)
    }
}

fn cut_to(clamping: Clamping, size: (u32, u32)) -> Option<(u32, u32)> {
    (clamping == Clamping::Soft).then_some(size)
}

fn refused((width, height): (u32, u32), reason: String) -> Error {
    ErrorKind::Transform { transform: "targets", width, height, reason }.into()
}
