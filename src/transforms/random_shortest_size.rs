use super::arguments::check_side;
use super::params::{Context, Numbers};
use super::resize::{ComputedResize, on};
use super::{Effect, Interpolation, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize};

/// Resizes the shorter side to one of several sizes: torchvision's `RandomShortestSize`.
///
/// The longer side keeps the ratio and is at most `max_size`. As in torchvision, both sides are rounded down, so the
/// shorter one may lack one pixel of the size that was drawn. Results differ in size, so a later transform has to fix
/// it.
///
/// ```
/// use gpufeed::transforms::RandomShortestSize;
///
/// let detection = RandomShortestSize::new([480, 512, 544, 576, 608, 640]).max_size(1333);
/// assert_eq!(detection.output_size(640, 480, 512), (682, 512));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomShortestSize {
    /// The sizes, each equally likely; a file may also give a single number.
    #[serde(deserialize_with = "one_or_several")]
    pub min_size: Vec<u32>,
    /// Limit of the longer side. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u32>,
    /// The filter; bilinear by default.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Widens the filter with the reduction; on by default, ignored by the nearest modes.
    #[serde(default = "on")]
    pub antialias: bool,
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Sizes {
        One(u32),
        Several(Vec<u32>),
    }
    Ok(match Sizes::deserialize(deserializer)? {
        Sizes::One(size) => vec![size],
        Sizes::Several(sizes) => sizes,
    })
}

impl RandomShortestSize {
    /// Makes a bilinear, antialiased resize of the shorter side to one of these sizes.
    pub fn new(min_size: impl IntoIterator<Item = u32>) -> Self {
        RandomShortestSize {
            min_size: min_size.into_iter().collect(),
            max_size: None,
            interpolation: Interpolation::Bilinear,
            antialias: true,
        }
    }

    /// Limits the longer side.
    pub fn max_size(self, max_size: u32) -> Self {
        RandomShortestSize { max_size: Some(max_size), ..self }
    }

    resize_setters!();

    /// Returns the (width, height) of an image of `width` × `height` for which `min_size` was drawn.
    pub fn output_size(&self, width: u32, height: u32, min_size: u32) -> (u32, u32) {
        // As Python computes it: in f64, truncated. A side of 0 becomes one pixel; torch refuses it.
        let mut ratio = f64::from(min_size) / f64::from(width.min(height));
        if let Some(max_size) = self.max_size {
            ratio = ratio.min(f64::from(max_size) / f64::from(width.max(height)));
        }
        let side = |side: u32| ((f64::from(side) * ratio) as u32).max(1);
        (side(width), side(height))
    }
}

impl Operator for RandomShortestSize {
    const NAME: &'static str = "RandomShortestSize";

    fn validate(&self) -> Result<()> {
        if self.min_size.is_empty() {
            return Err(Error::argument("min_size", "no sizes; 1 or more work"));
        }
        self.min_size.iter().try_for_each(|&size| check_side("min_size", size))?;
        self.max_size.map_or(Ok(()), |size| check_side("max_size", size))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Resize { interpolation: self.interpolation, antialias: self.antialias });
        slots.set_size_or_most(None, self.max_size.map(|most| (most, most)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let drawn = self.min_size[numbers.below(self.min_size.len() as u64) as usize];
        let size = self.output_size(context.width, context.height, drawn);
        let RandomShortestSize { interpolation, antialias, .. } = *self;
        ComputedResize { transform: Self::NAME, advice: "set max_size", interpolation, antialias }.emit(context, size)
    }
}
