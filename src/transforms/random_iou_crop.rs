use super::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use crate::objects::{ObjectOp, intersection_over_union};
use serde::{Deserialize, Serialize};

/// Crops a random rectangle that shows enough of a box: torchvision's `RandomIoUCrop`, the crop of SSD.
///
/// It chooses one of `sampler_options`. 1 or more leaves the image as it is; another number is the least intersection over union
/// that the crop has to have with one of the boxes whose middle lies in it. After `trials` rectangles without such a box it chooses
/// again. Boxes whose middle lies outside the crop become empty, as in torchvision, and
/// [`SanitizeBoundingBoxes`](super::SanitizeBoundingBoxes) removes them.
///
/// It looks at the objects of the image: a loader needs a [field of them](crate::FieldKind::Objects). An image without boxes stays as
/// it is.
///
/// ```
/// use gpufeed::targets::{self, BoxFormat, Objects};
/// use gpufeed::transforms::{Key, Op, RandomIoUCrop};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomIoUCrop::new().into()], &Output::default())?;
/// let objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[20.0, 20.0, 60.0, 60.0]]);
/// let drawn = (0..100).map(|seed| targets::make_params(&plan, (100, 80), &Key { seed, ..Key::default() }, &objects));
/// let crops = drawn.filter(|params| params.as_ref().is_ok_and(|params| !params.ops.is_empty())).count();
/// assert!((70..100).contains(&crops));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomIoUCrop {
    /// The least share of each side of the image; greater than 0.
    pub min_scale: f64,
    /// The greatest share of each side of the image; at most 1.
    pub max_scale: f64,
    /// The least width / height of the crop.
    pub min_aspect_ratio: f64,
    /// The greatest width / height of the crop.
    pub max_aspect_ratio: f64,
    /// The least intersections over union, of which one is chosen; one of them is 1 or more.
    pub sampler_options: Vec<f64>,
    /// The number of rectangles for each choice, 1 to 10,000.
    pub trials: u32,
}

impl Default for RandomIoUCrop {
    fn default() -> Self {
        RandomIoUCrop::new()
    }
}

impl RandomIoUCrop {
    /// Crops as SSD does, with torchvision's defaults.
    pub fn new() -> Self {
        RandomIoUCrop {
            min_scale: 0.3,
            max_scale: 1.0,
            min_aspect_ratio: 0.5,
            max_aspect_ratio: 2.0,
            sampler_options: vec![0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0],
            trials: 40,
        }
    }

    /// Returns a rectangle (left, top, width, height) in an image of (width, height) with these boxes; `None` leaves the image as it
    /// is.
    fn rectangle(&self, (width, height): (u32, u32), boxes: &[[f64; 4]], numbers: &mut Numbers) -> Option<[u32; 4]> {
        // Only the choice of 1 or more ends the search for a box.
        if boxes.is_empty() {
            return None;
        }
        loop {
            let least = self.sampler_options[numbers.below(self.sampler_options.len() as u64) as usize];
            if least >= 1.0 {
                return None;
            }
            for _ in 0..self.trials {
                let mut side = |full: u32| (f64::from(full) * numbers.uniform(self.min_scale, self.max_scale)) as u32;
                let (w, h) = (side(width).min(width), side(height).min(height));
                if w == 0 || h == 0 {
                    continue;
                }
                let aspect = f64::from(w) / f64::from(h);
                if !(self.min_aspect_ratio..=self.max_aspect_ratio).contains(&aspect) {
                    continue;
                }
                let mut begin = |room: u32| (f64::from(room) * numbers.unit()) as u32;
                let (left, top) = (begin(width - w), begin(height - h));
                let crop = [left, top, left + w, top + h].map(f64::from);
                let inside = boxes.iter().filter(|each| has_middle_of(&crop, each));
                let best = inside.map(|each| intersection_over_union(each, &crop)).reduce(f64::max);
                if best.is_some_and(|best| best >= least) {
                    return Some([left, top, w, h]);
                }
            }
        }
    }
}

/// Returns true if the middle of a box lies in a rectangle.
fn has_middle_of(&[left, top, right, bottom]: &[f64; 4], each: &[f64; 4]) -> bool {
    let (x, y) = (0.5 * (each[0] + each[2]), 0.5 * (each[1] + each[3]));
    left < x && x < right && top < y && y < bottom
}

impl Operator for RandomIoUCrop {
    const NAME: &'static str = "RandomIoUCrop";
    const LOOKS_AT_OBJECTS: bool = true;
    const KEYS: &[(&str, &str)] = &[
        ("min_scale", "0 < min_scale <= max_scale <= 1 works"),
        ("max_scale", "0 < min_scale <= max_scale <= 1 works"),
        ("min_aspect_ratio", "0 < min_aspect_ratio <= max_aspect_ratio works"),
        ("max_aspect_ratio", "0 < min_aspect_ratio <= max_aspect_ratio works"),
        ("sampler_options", "numbers >= 0 work, one of them 1 or more"),
        ("trials", "1 to 10000 work"),
    ];

    fn validate(&self) -> Result<()> {
        let refuse = |name, given: String| {
            let works = Self::KEYS.iter().find(|(key, _)| *key == name).map_or("", |(_, works)| works);
            Err(Error::argument(name, format!("{given}; {works}")))
        };
        if !(0.0 < self.min_scale && self.min_scale <= self.max_scale && self.max_scale <= 1.0) {
            return refuse("min_scale", format!("{} to {}", self.min_scale, self.max_scale));
        }
        let (least, greatest) = (self.min_aspect_ratio, self.max_aspect_ratio);
        if !(0.0 < least && least <= greatest && greatest.is_finite()) {
            return refuse("min_aspect_ratio", format!("{least} to {greatest}"));
        }
        let options = &self.sampler_options;
        if options.iter().any(|option| option.is_nan() || *option < 0.0) || !options.iter().any(|option| *option >= 1.0)
        {
            return refuse("sampler_options", format!("{options:?}"));
        }
        if !(1..=10_000).contains(&self.trials) {
            return refuse("trials", self.trials.to_string());
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Objects);
        slots.push(Self::NAME, Effect::Crop);
        slots.set_size_or_most(None, slots.most);
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let boxes = context.boxes();
        let Some([left, top, width, height]) = self.rectangle((context.width, context.height), &boxes, numbers) else {
            return Ok(());
        };
        context.emit(0, Op::Objects(ObjectOp::EmptyOutside { left, top, width, height }))?;
        context.emit(1, Op::Crop { top, left, height, width })
    }
}
