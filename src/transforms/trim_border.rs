use super::Op;
use super::arguments::MAX_SIDE;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Cuts `border_size` pixels off each side: timm's `TrimBorder`.
///
/// An image of which nothing would be left is an error of its sample.
///
/// ```
/// use gpufeed::transforms::TrimBorder;
///
/// assert_eq!(TrimBorder::new(4).border_size, 4);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrimBorder {
    /// Pixels of each side, 0 to 2,097,151.
    pub border_size: u32,
}

impl TrimBorder {
    /// Cuts so many pixels off each side.
    pub fn new(border_size: u32) -> Self {
        TrimBorder { border_size }
    }
}

impl Operator for TrimBorder {
    const NAME: &'static str = "TrimBorder";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("border_size", "0 to 2097151 pixels work")];

    fn validate(&self) -> Result<()> {
        if self.border_size < MAX_SIDE / 2 {
            return Ok(());
        }
        Err(Error::argument("border_size", format!("{}; 0 to {} pixels work", self.border_size, MAX_SIDE / 2 - 1)))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Crop);
        let both = 2 * self.border_size;
        let trimmed = |(width, height): (u32, u32)| (width.saturating_sub(both), height.saturating_sub(both));
        slots.set_size_or_most(slots.size.map(trimmed), slots.most.map(trimmed));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let (border, both) = (self.border_size, 2 * self.border_size);
        let (width, height) = (context.width.saturating_sub(both), context.height.saturating_sub(both));
        if width == 0 || height == 0 {
            let reason = format!("nothing is left within a border of {border} pixels; set a smaller border_size");
            return Err(context.error(Self::NAME, reason));
        }
        context.emit(0, Op::Crop { top: border, left: border, height, width })
    }
}
