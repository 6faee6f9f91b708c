use super::arguments::{MAX_SIDE, check_fill, check_probability, check_range};
use super::params::{Context, Numbers};
use super::{Effect, Op, Operator, PaddingMode, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Puts the image at a random place of a larger canvas, with probability `p`: torchvision's `RandomZoomOut`.
///
/// The canvas has the image's ratio of sides. Results differ in size, so a later transform has to fix it.
///
/// ```
/// use gpufeed::transforms::RandomZoomOut;
///
/// let gray = RandomZoomOut::new(0.5).fill([0.485, 0.456, 0.406]);
/// // Twice the sides: 100 columns are free, of which a quarter is on the left, and 80 rows, all below.
/// assert_eq!(gray.padding(100, 80, 2.0, [0.25, 0.0]), [25, 0, 75, 80]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomZoomOut {
    /// The border's colour in \[0, 1\]; black by default.
    pub fill: [f32; 3],
    /// Least and greatest side of the canvas in sides of the image, at least 1; (1, 4) by default.
    pub side_range: (f64, f64),
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl Default for RandomZoomOut {
    fn default() -> Self {
        RandomZoomOut::new(0.5)
    }
}

impl RandomZoomOut {
    /// Zooms out with probability `p`, on a black canvas of 1 to 4 times the sides.
    pub fn new(p: f64) -> Self {
        RandomZoomOut { fill: [0.0; 3], side_range: (1.0, 4.0), p }
    }

    /// Sets the border's colour.
    pub fn fill(self, fill: [f32; 3]) -> Self {
        RandomZoomOut { fill, ..self }
    }

    /// Sets the range of the canvas's sides, in sides of the image.
    pub fn side_range(self, least: f64, greatest: f64) -> Self {
        RandomZoomOut { side_range: (least, greatest), ..self }
    }

    /// Returns the border (left, top, right, bottom) of an image of `width` × `height` on a canvas of `side` times its
    /// sides; `position` is the share of the free columns on the left, and of the free rows above.
    pub fn padding(&self, width: u32, height: u32, side: f32, position: [f32; 2]) -> [u32; 4] {
        // In f32, as torchvision. Rounding can make a canvas a pixel smaller than a very large image.
        let free = |own: u32| ((own as f32 * side) as u32).saturating_sub(own);
        let [x, y] = [free(width), free(height)];
        let before = |free: u32, share: f32| ((free as f32 * share) as u32).min(free);
        let (left, top) = (before(x, position[0]), before(y, position[1]));
        [left, top, x - left, y - top]
    }
}

impl Operator for RandomZoomOut {
    const NAME: &'static str = "RandomZoomOut";
    const KEYS: &[(&str, &str)] = &[("side_range", "[least, greatest] with 1 <= least <= greatest works")];

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        check_range("side_range", self.side_range, 1.0, true)?;
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Pad { mode: PaddingMode::Constant, fill: self.fill });
        let widened = |(width, height): (u32, u32)| {
            let side = |side: u32| (f64::from(side) * self.side_range.1).ceil().min(f64::from(MAX_SIDE)) as u32;
            (side(width), side(height))
        };
        slots.set_size_or_most(None, slots.most.map(widened));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if !numbers.chance(self.p) {
            return Ok(());
        }
        let side = numbers.uniform_f32(self.side_range.0, self.side_range.1);
        let position = [numbers.unit_f32(), numbers.unit_f32()];
        let (width, height) = (context.width, context.height);
        let [left, top, right, bottom] = self.padding(width, height, side, position);
        let too_long = |own: u32, [before, after]: [u32; 2]| {
            u64::from(own) + u64::from(before) + u64::from(after) > u64::from(MAX_SIDE)
        };
        if too_long(width, [left, right]) || too_long(height, [top, bottom]) {
            let reason =
                format!("the canvas would have a side of more than {MAX_SIDE} pixels; set a smaller side_range");
            return Err(context.error(Self::NAME, reason));
        }
        if [left, top, right, bottom] == [0; 4] {
            return Ok(());
        }
        context.emit(0, Op::Pad { left, top, right, bottom, mode: PaddingMode::Constant, fill: self.fill })
    }
}
