use super::arguments::{Interpolation, check_side};
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::random::key::Key;
use serde::{Deserialize, Serialize};

/// The number of images in a mosaic.
pub(crate) const IMAGES: usize = 4;

/// The filter by which the images of a mosaic are resized, and whether it widens with the reduction.
pub(crate) const FILTER: (Interpolation, bool) = (Interpolation::Bilinear, true);

/// The view of the keys of mosaics: no image has it, nor has a batch.
const VIEW: u32 = u32::MAX - 2;

/// Ultralytics' range of the point in which the four images meet.
const CENTER: [f64; 2] = [0.5, 1.5];

/// The gray of 255 that fills what the images leave: Ultralytics' colour.
const GRAY: [u8; 3] = [114; 3];

/// Puts four images into one, before the list of transforms: Ultralytics' `Mosaic` of four, with which YOLO trains.
///
/// Each sample's image meets those of three other samples, drawn from the whole data set, in a random point of a canvas of twice
/// `size`. The longer side of each image becomes `size` pixels, the other one keeps the ratio, rounded up, and what leaves the canvas
/// is cut off. The list of transforms gets the canvas, and the objects of all four images in its places. A random crop or affine
/// transform usually comes next, to the size of the network.
///
/// - *Drawn* are, by the sample's key, the point, the same for every number of workers and ranks, and the three others.
///   [`Params::mosaic`](super::Params::mosaic) has them, and a replay makes the same image.
/// - *Decoded* is of each image what the list reads of the canvas, so a crop to a quarter of it decodes a quarter.
/// - *Resized* is by the bilinear filter with antialias on 8-bit numbers. OpenCV's `INTER_LINEAR`, which Ultralytics takes, does not
///   antialias.
/// - Boxes that the canvas cuts off wholly stay, empty, until [`SanitizeBoundingBoxes`](super::SanitizeBoundingBoxes) removes them.
/// - The loader has one list and one view, no cache, no [`BatchTransform`](super::BatchTransform), and samples without labels: a class
///   of one of four images is not that of the mosaic.
///
/// [`DataLoaderBuilder::mosaic`](crate::DataLoaderBuilder::mosaic) sets it.
///
/// ```
/// use gpufeed::transforms::Mosaic;
///
/// let yolo = Mosaic::new(640);
/// assert_eq!(yolo.canvas(), (1280, 1280));
/// assert_eq!(yolo.resized(500, 333), (640, 427));
/// let tight = Mosaic::new(320).center(0.9, 1.1).fill([0, 0, 0]);
/// # let _ = tight;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mosaic {
    /// The longer side of each image, in pixels.
    pub size: u32,
    /// The least and the greatest place, across and down, of the point in which the images meet, in sides of `size`: 0 to 2. Default: 0.5
    /// to 1.5.
    #[serde(default = "center")]
    pub center: [f64; 2],
    /// The colour that the images leave, 0 to 255. Default: the gray 114.
    #[serde(default = "gray")]
    pub fill: [u8; 3],
}

fn center() -> [f64; 2] {
    CENTER
}

fn gray() -> [u8; 3] {
    GRAY
}

/// The mosaic of one sample: where its images meet, and the three samples beside its own.
///
/// ```
/// use gpufeed::transforms::Params;
///
/// let json = r#"{"width":64,"height":64,"ops":[],"mosaic":{"center":[20,40],"others":[[7,7],[0,0],[3,3]]}}"#;
/// let params: Params = serde_json::from_str(json).unwrap();
/// assert_eq!(params.mosaic.unwrap().center, [20, 40]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MosaicParams {
    /// Column and row of the canvas in which the images meet.
    pub center: [u32; 2],
    /// Index and id of the samples to the right, below, and below to the right of the sample itself.
    pub others: [(usize, u64); IMAGES - 1],
}

/// Where an image lies on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tile {
    /// Width and height of the whole image once it is resized.
    pub(crate) resized: (u32, u32),
    /// The part of the canvas that shows it; `None` where nothing of it is on the canvas.
    pub(crate) shown: Option<Rect>,
    /// Column and row of the resized image at the left upper corner of that part.
    pub(crate) first: (u32, u32),
}

impl Mosaic {
    /// Makes mosaics of images of up to `size` pixels a side.
    pub fn new(size: u32) -> Self {
        Mosaic { size, center: CENTER, fill: GRAY }
    }

    /// Sets the least and the greatest place of the point in which the images meet, in sides of an image.
    pub fn center(self, least: f64, greatest: f64) -> Self {
        Mosaic { center: [least, greatest], ..self }
    }

    /// Sets the colour that the images leave.
    pub fn fill(self, fill: [u8; 3]) -> Self {
        Mosaic { fill, ..self }
    }

    /// Width and height of the canvas.
    pub fn canvas(&self) -> (u32, u32) {
        (2 * self.size, 2 * self.size)
    }

    /// Width and height to which an image of `width` × `height` is resized.
    pub fn resized(&self, width: u32, height: u32) -> (u32, u32) {
        let ratio = f64::from(self.size) / f64::from(width.max(height));
        let side = |side: u32| ((f64::from(side) * ratio).ceil() as u32).clamp(1, self.size);
        (side(width), side(height))
    }

    /// Checks every argument of the mosaic.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and the values that work.
    pub fn validate(&self) -> Result<()> {
        check_side("size", self.size)?;
        check_side("size", self.size.saturating_mul(2))?;
        let [least, greatest] = self.center;
        if !(0.0..=2.0).contains(&least) || !(least..=2.0).contains(&greatest) {
            let reason = format!("{:?}; [least, greatest] with 0 <= least <= greatest <= 2 works", self.center);
            return Err(Error::argument("center", reason));
        }
        Ok(())
    }

    /// Draws the mosaic of a sample of a data set with so many samples, whose ids `id` returns.
    pub(crate) fn make_params(&self, key: &Key, samples: usize, id: impl Fn(usize) -> u64) -> MosaicParams {
        let mut numbers = Key { view: VIEW, ..*key }.numbers(0);
        let [least, greatest] = self.center;
        let mut place = || (numbers.uniform(least, greatest) * f64::from(self.size)) as u32;
        let (down, across) = (place(), place());
        let others = std::array::from_fn(|_| {
            let index = numbers.below(samples as u64) as usize;
            (index, id(index))
        });
        MosaicParams { center: [across, down], others }
    }

    /// Where image `number` of a mosaic lies, which has this size: 0 is to the left above its center, 1 to the right, 2 below, 3 below to
    /// the right.
    pub(crate) fn tile(&self, [across, down]: [u32; 2], number: usize, (width, height): (u32, u32)) -> Tile {
        let resized = self.resized(width, height);
        // Returns first place, length and first pixel along an axis.
        let axis = |center: u32, side: u32, is_before: bool| {
            if is_before {
                let length = center.min(side);
                (center - length, length, side - length)
            } else {
                (center, side.min((2 * self.size).saturating_sub(center)), 0)
            }
        };
        let (left, width, first_column) = axis(across, resized.0, number.is_multiple_of(2));
        let (top, height, first_row) = axis(down, resized.1, number < 2);
        let shown = (width > 0 && height > 0).then_some(Rect { left, top, width, height });
        Tile { resized, shown, first: (first_column, first_row) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ultralytics' own arithmetic, `_mosaic4` of `ultralytics/data/augment.py`, written down again: the place on the canvas, and that in
    /// the image.
    fn theirs(s: i64, (xc, yc): (i64, i64), number: usize, (w, h): (i64, i64)) -> ([i64; 4], [i64; 2]) {
        match number {
            0 => {
                let [x1, y1] = [(xc - w).max(0), (yc - h).max(0)];
                ([x1, y1, xc, yc], [w - (xc - x1), h - (yc - y1)])
            }
            1 => {
                let [y1, x2] = [(yc - h).max(0), (xc + w).min(s * 2)];
                ([xc, y1, x2, yc], [0, h - (yc - y1)])
            }
            2 => {
                let [x1, y2] = [(xc - w).max(0), (s * 2).min(yc + h)];
                ([x1, yc, xc, y2], [w - (xc - x1), 0])
            }
            _ => ([xc, yc, (xc + w).min(s * 2), (s * 2).min(yc + h)], [0, 0]),
        }
    }

    #[test]
    fn images_lie_where_ultralytics_has_them() {
        let mosaic = Mosaic::new(64).center(0.0, 2.0);
        let mut hidden = 0;
        for sample in 0..500 {
            let params = mosaic.make_params(&Key { sample, ..Key::default() }, 9, |index| index as u64);
            let size = (1 + sample as u32 * 7 % 90, 1 + sample as u32 * 11 % 70);
            for number in 0..IMAGES {
                let Tile { resized, shown, first } = mosaic.tile(params.center, number, size);
                let [across, down] = params.center.map(i64::from);
                let sides = (i64::from(resized.0), i64::from(resized.1));
                let ([x1, y1, x2, y2], [column, row]) = theirs(64, (across, down), number, sides);
                match shown {
                    Some(Rect { left, top, width, height }) => {
                        let edges = [left, top, left + width, top + height].map(i64::from);
                        assert_eq!(edges, [x1, y1, x2, y2], "{sample}, image {number}");
                        assert_eq!((i64::from(first.0), i64::from(first.1)), (column, row));
                    }
                    None => {
                        assert!(x1 >= x2 || y1 >= y2, "{sample}, image {number}");
                        hidden += 1;
                    }
                }
            }
        }
        assert!(hidden > 0, "no image lies beyond the canvas");
    }

    #[test]
    fn others_are_drawn_from_the_whole_set() {
        let mosaic = Mosaic::new(640);
        let mut seen = [0; 5];
        for sample in 0..2000 {
            let params = mosaic.make_params(&Key { sample, ..Key::default() }, 5, |index| index as u64 + 100);
            assert!(params.center.iter().all(|place| (320..960).contains(place)), "{params:?}");
            for (index, id) in params.others {
                assert_eq!(id, index as u64 + 100);
                seen[index] += 1;
            }
        }
        assert!(seen.iter().all(|count| (1100..1300).contains(count)), "{seen:?}");
    }

    #[test]
    fn arguments_are_checked() {
        for mosaic in [
            Mosaic::new(0),
            Mosaic::new(u32::MAX),
            Mosaic::new(8).center(1.0, 0.5),
            Mosaic::new(8).center(f64::NAN, 1.0),
        ] {
            assert!(mosaic.validate().is_err(), "{mosaic:?}");
        }
        assert!(Mosaic::new(8).center(0.0, 2.0).validate().is_ok());
    }
}
