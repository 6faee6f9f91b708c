use super::arguments::check_fill;
use super::params::{Context, Numbers};
use super::resize::on;
use super::{CropSize, Effect, Interpolation, Op, Operator, PaddingMode, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// The level of gray that fills what the image leaves of the result, of 255: Ultralytics' `padding_value`.
const GRAY: f32 = 114.0;

/// Fits the whole image into `size` with its ratio kept, and fills the rest with a colour: Ultralytics' `LetterBox`, with which
/// YOLO's images are made.
///
/// Both sides are multiplied by `min(height / h, width / w)` and rounded, halves to the even number. What is missing goes to both
/// sides alike, and of an odd number of pixels one more to the right or below. It draws nothing. The image's boxes and keypoints
/// follow as they do after [`Resize`](super::Resize) and [`Pad`](super::Pad), which make the same pixels.
///
/// - The filter is [`Resize`](super::Resize)'s: bilinear with antialias. OpenCV's `INTER_LINEAR`, which Ultralytics takes, does not
///   antialias: `antialias(false)` resizes so.
/// - A side that would be rounded down to 0 pixels becomes 1, where OpenCV raises an error.
/// - Boxes are multiplied by the sides of the resized image over those before, which differ from Ultralytics' one ratio by the
///   rounding of a side.
/// - Ultralytics' `auto` and `scale_fill` are not there: results of several sizes fit no batch, and [`Resize`](super::Resize) to
///   `(height, width)` stretches.
///
/// ```
/// use gpufeed::transforms::Letterbox;
///
/// let yolo = Letterbox::new(640);
/// // The image is resized to 640 × 428 pixels; the borders are left, top, right, bottom.
/// assert_eq!(yolo.layout(500, 334), ((640, 428), [0, 106, 0, 106]));
/// assert_eq!(yolo.layout(375, 500), ((480, 640), [80, 0, 80, 0]));
/// let validation = Letterbox::new((320, 416)).scaleup(false); // height, width
/// assert_eq!(validation.layout(101, 50), ((101, 50), [157, 135, 158, 135]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letterbox {
    /// Height and width of the result, in pixels.
    pub size: CropSize,
    /// Enlarges images that are smaller; on by default. Off, they keep their size, which Ultralytics prefers for validation.
    #[serde(default = "on")]
    pub scaleup: bool,
    /// Puts the image into the middle; on by default. Off, it is in the left upper corner.
    #[serde(default = "on")]
    pub center: bool,
    /// The colour of the rest, in \[0, 1\], or of 8-bit numbers in 0 to 255. Default: the gray 114 of 255, in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<[f32; 3]>,
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
}

impl Letterbox {
    /// Fits images into a square (`640`) or into `(height, width)`, centred and on gray.
    pub fn new(size: impl Into<CropSize>) -> Self {
        let (interpolation, antialias) = (Interpolation::Bilinear, true);
        Letterbox { size: size.into(), scaleup: true, center: true, fill: None, interpolation, antialias }
    }

    /// Says whether smaller images are enlarged.
    pub fn scaleup(self, scaleup: bool) -> Self {
        Letterbox { scaleup, ..self }
    }

    /// Says whether the image is in the middle, or in the left upper corner.
    pub fn center(self, center: bool) -> Self {
        Letterbox { center, ..self }
    }

    /// Sets the colour of the rest.
    pub fn fill(self, fill: [f32; 3]) -> Self {
        Letterbox { fill: Some(fill), ..self }
    }

    resize_setters!();

    /// Returns the (width, height) to which an image of `width` × `height` is resized, and the borders (left, top, right, bottom)
    /// around it.
    pub fn layout(&self, width: u32, height: u32) -> ((u32, u32), [u32; 4]) {
        let [w, h] = [width, height].map(f64::from);
        let fit = f64::min(f64::from(self.size.height) / h, f64::from(self.size.width) / w);
        let ratio = if self.scaleup { fit } else { fit.min(1.0) };
        // One factor is exact, and rounding leaves the other side within the result.
        let side = |side: f64, most: u32| ((side * ratio).round_ties_even() as u32).clamp(1, most);
        let resized = (side(w, self.size.width), side(h, self.size.height));
        let [columns, rows] = [self.size.width - resized.0, self.size.height - resized.1];
        let [left, top] = if self.center { [columns / 2, rows / 2] } else { [0; 2] };
        (resized, [left, top, columns - left, rows - top])
    }

    fn color(&self, uint8: bool) -> [f32; 3] {
        self.fill.unwrap_or([if uint8 { GRAY } else { GRAY / 255.0 }; 3])
    }
}

impl Operator for Letterbox {
    const NAME: &'static str = "Letterbox";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("scaleup", "true and false work"), ("center", "true and false work")];

    fn validate(&self) -> Result<()> {
        self.size.validate()?;
        self.fill.map_or(Ok(()), check_fill)
    }

    fn slots(&self, slots: &mut Slots) {
        let Letterbox { interpolation, antialias, .. } = *self;
        // An op that no image needs is left out, so that more of the operators after it can be fused.
        let known = slots.size.map(|size| (size, self.layout(size.0, size.1)));
        let keeps_size = known.is_some_and(|(size, (resized, _))| size == resized);
        slots.push(Self::NAME, if keeps_size { Effect::Never } else { Effect::Resize { interpolation, antialias } });
        let fills = known.is_some_and(|(_, (_, border))| border == [0; 4]);
        let pad = Effect::Pad { mode: PaddingMode::Constant, fill: self.color(slots.is_uint8()) };
        slots.push(Self::NAME, if fills { Effect::Never } else { pad });
        slots.set_size(Some((self.size.width, self.size.height)));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let (resized, [left, top, right, bottom]) = self.layout(context.width, context.height);
        if resized != (context.width, context.height) {
            let ((width, height), Letterbox { interpolation, antialias, .. }) = (resized, self);
            context.emit(0, Op::Resize { height, width, interpolation: *interpolation, antialias: *antialias })?;
        }
        if [left, top, right, bottom] == [0; 4] {
            return Ok(());
        }
        let (mode, fill) = (PaddingMode::Constant, self.color(context.is_uint8(1)));
        context.emit(1, Op::Pad { left, top, right, bottom, mode, fill })
    }
}
