//! All ops of an image, as moves of its boxes and keypoints.

use super::box_format::BoxFormat;
use super::clamp::Clamping;
use super::coordinate::Coordinate;
use super::step::Step;
use crate::error::{Error, ErrorKind, Result};
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
#[derive(Clone, Debug)]
pub struct Moves {
    /// Each op that moves places, with the image's size after it.
    steps: Vec<(Step, (u32, u32))>,
    size: (u32, u32),
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
            moves.steps.extend(step.map(|step| (step, moves.size)));
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

    /// Moves boxes. Those that a warp turns become the boxes around their four corners.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], in an elastic deformation; some boxes have moved then and some have not.
    pub fn boxes<C: Coordinate>(&self, boxes: &mut [[C; 4]], format: BoxFormat, clamping: Clamping) -> Result<()> {
        for (step, size) in &self.steps {
            let cut_to = (clamping == Clamping::Soft).then_some(*size);
            for each in &mut *boxes {
                *each = step.bounding_box(*each, format, cut_to)?;
            }
        }
        Ok(())
    }

    /// Moves keypoints, \[column, row\] each. None is clamped.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`], in an elastic deformation; some keypoints have moved then and some have not.
    pub fn keypoints<C: Coordinate>(&self, points: &mut [[C; 2]]) -> Result<()> {
        for (step, _) in &self.steps {
            for each in &mut *points {
                *each = step.keypoint(*each)?;
            }
        }
        Ok(())
    }
}

fn refused((width, height): (u32, u32), reason: String) -> Error {
    ErrorKind::Transform { transform: "targets", width, height, reason }.into()
}
