use super::params::{Context, Numbers};
use super::resize::on;
use super::{CropSize, Effect, Interpolation, Op, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Crops a random rectangle that holds all boxes: Albumentations' `BBoxSafeRandomCrop`, and with a `size`, to which the crop is
/// resized, its `RandomSizedBBoxSafeCrop`.
///
/// In an image of (w, h) let x0, y0, x1 and y1 be the edges of the smallest rectangle around all boxes, cut to the image. Where
/// there are two boxes or more, it is made smaller about its middle first, to 1 - `erosion_rate` times its sides. With four numbers
/// r uniform in \[0, 1), in this order, the crop's edges are
///
/// ```text
/// left = floor(r x0)    top = floor(r y0)    right = floor(x1 + r (w - x1))    bottom = floor(y1 + r (h - y1))
/// ```
///
/// Right and bottom are at least x1 and y1 rounded up, where Albumentations cuts off the fraction of a pixel of a box. A crop has a
/// pixel at least. Without boxes, with an `erosion_rate` of 1, and where the rectangle is less than a millionth of the image wide or
/// high, the crop has a height uniform in floor((1 - `erosion_rate`) h) to h, the image's ratio, its width rounded down, and a
/// uniform place, whose row is drawn before its column.
///
/// It looks at the objects of the image: a loader needs a [field of them](crate::FieldKind::Objects). With an `erosion_rate` of more
/// than 0, boxes may be cut or become empty; [`SanitizeBoundingBoxes`](super::SanitizeBoundingBoxes) removes these.
///
/// ```
/// use gpufeed::targets::{self, BoxFormat, Moves, Objects};
/// use gpufeed::transforms::{BBoxSafeRandomCrop, Key};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[BBoxSafeRandomCrop::new().size((48, 64)).into()], &Output::default())?;
/// let given = Objects::of_boxes(BoxFormat::Xyxy, vec![[20.0, 20.0, 60.0, 60.0], [50.0, 10.0, 70.0, 30.0]]);
/// for seed in 0..100 {
///     let params = targets::make_params(&plan, (100, 80), &Key { seed, ..Key::default() }, &given)?;
///     let (mut cut, mut whole) = (given.clone(), given.clone().with_clamping(targets::Clamping::None));
///     Moves::of(&params)?.objects(&mut cut)?;
///     Moves::of(&params)?.objects(&mut whole)?;
///     assert_eq!(cut.boxes(), whole.boxes());
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BBoxSafeRandomCrop {
    /// The share of the boxes' rectangle that the crop may miss, 0 to 1; 0 by default.
    pub erosion_rate: f64,
    /// Height and width to which the crop is resized. Default: none; results differ in size then, so a later transform has to fix
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<CropSize>,
    /// The filter; bilinear by default.
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes. OpenCV, which Albumentations takes, does
    /// not.
    pub antialias: bool,
}

impl Default for BBoxSafeRandomCrop {
    fn default() -> Self {
        BBoxSafeRandomCrop::new()
    }
}

impl BBoxSafeRandomCrop {
    /// Crops around all boxes, and resizes nothing.
    pub fn new() -> Self {
        BBoxSafeRandomCrop { erosion_rate: 0.0, size: None, interpolation: Interpolation::Bilinear, antialias: on() }
    }

    /// Sets the share of the boxes' rectangle that the crop may miss.
    pub fn erosion_rate(self, erosion_rate: f64) -> Self {
        BBoxSafeRandomCrop { erosion_rate, ..self }
    }

    /// Resizes the crop to a square (`224`) or to `(height, width)`.
    pub fn size(self, size: impl Into<CropSize>) -> Self {
        BBoxSafeRandomCrop { size: Some(size.into()), ..self }
    }

    resize_setters!();

    /// The edges of the rectangle that the crop holds, cut to an image of (w, h); `None` where there is none.
    fn held(&self, [w, h]: [f64; 2], boxes: &[[f64; 4]]) -> Option<[f64; 4]> {
        let mut boxes = boxes.iter().filter(|each| each.iter().all(|edge| edge.is_finite()));
        let mut around = *boxes.next().filter(|_| self.erosion_rate < 1.0)?;
        let mut several = false;
        for each in boxes {
            let [left, top, right, bottom] = around;
            around = [left.min(each[0]), top.min(each[1]), right.max(each[2]), bottom.max(each[3])];
            several = true;
        }
        if several {
            let [x, y] = [0, 1].map(|axis| 0.5 * self.erosion_rate * (around[axis + 2] - around[axis]));
            around = [around[0] + x, around[1] + y, around[2] - x, around[3] - y];
            let is_thin = |axis: usize, side: f64| (around[axis + 2] - around[axis]).abs() < 1e-6 * side;
            if is_thin(0, w) || is_thin(1, h) {
                return None;
            }
        }
        let (left, top) = (around[0].clamp(0.0, w), around[1].clamp(0.0, h));
        Some([left, top, around[2].clamp(left, w), around[3].clamp(top, h)])
    }

    /// Returns the (left, top, width, height) of a crop that holds a rectangle of an image of (width, height).
    fn around(held: [f64; 4], (width, height): (u32, u32), numbers: &mut Numbers) -> [u32; 4] {
        let mut begin = |edge: f64, side: u32| ((edge * numbers.unit()) as u32).min(side - 1);
        let (left, top) = (begin(held[0], width), begin(held[1], height));
        let mut end = |edge: f64, begin: u32, side: u32| {
            let drawn = (edge + (f64::from(side) - edge) * numbers.unit()) as u32;
            drawn.max(edge.ceil() as u32).clamp(begin + 1, side)
        };
        let (right, bottom) = (end(held[2], left, width), end(held[3], top, height));
        [left, top, right - left, bottom - top]
    }

    /// Returns the (left, top, width, height) of a crop anywhere in an image of (width, height).
    fn anywhere(&self, (width, height): (u32, u32), numbers: &mut Numbers) -> [u32; 4] {
        let least = (f64::from(height) * (1.0 - self.erosion_rate)) as u32;
        let free = u64::from(height.saturating_sub(least));
        // Where there is one height alone, none is drawn.
        let h = if free == 0 { height } else { least + numbers.below(free + 1) as u32 };
        let w = (u64::from(h) * u64::from(width) / u64::from(height)) as u32;
        let (w, h) = (w.clamp(1, width), h.clamp(1, height));
        let mut begin = |room: u32| ((f64::from(room + 1) * numbers.unit()) as u32).min(room);
        let (top, left) = (begin(height - h), begin(width - w));
        [left, top, w, h]
    }
}

impl Operator for BBoxSafeRandomCrop {
    const NAME: &'static str = "BBoxSafeRandomCrop";
    const LOOKS_AT_OBJECTS: bool = true;
    const KEYS: &[(&str, &str)] = &[("erosion_rate", "0 to 1 work")];

    fn validate(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.erosion_rate) {
            return Err(Error::argument("erosion_rate", format!("{}; 0 to 1 work", self.erosion_rate)));
        }
        self.size.map_or(Ok(()), CropSize::validate)
    }

    fn slots(&self, slots: &mut Slots) {
        let BBoxSafeRandomCrop { interpolation, antialias, .. } = *self;
        slots.push(Self::NAME, Effect::Crop);
        if self.size.is_some() {
            slots.push(Self::NAME, Effect::Resize { interpolation, antialias });
        }
        slots.set_size_or_most(self.size.map(|size| (size.width, size.height)), slots.most);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let size = (context.width, context.height);
        let [left, top, width, height] = match self.held([size.0, size.1].map(f64::from), &context.boxes()) {
            Some(held) => Self::around(held, size, numbers),
            None => self.anywhere(size, numbers),
        };
        context.emit(0, Op::Crop { top, left, height, width })?;
        let Some(CropSize { height, width }) = self.size else { return Ok(()) };
        let BBoxSafeRandomCrop { interpolation, antialias, .. } = *self;
        context.emit(1, Op::Resize { height, width, interpolation, antialias })
    }
}
