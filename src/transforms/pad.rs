use super::arguments::{MAX_SIDE, check_fill};
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use super::{Op, PaddingMode};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Border widths in torchvision's three forms: `4`, `[left and right, top and bottom]`, `[left, top, right, bottom]`.
///
/// ```
/// use gpufeed::transforms::Padding;
///
/// assert_eq!(Padding::from(4).sides(), [4, 4, 4, 4]);
/// assert_eq!(Padding::from([1, 2]).sides(), [1, 2, 1, 2]);
/// assert_eq!(Padding::from([1, 2, 3, 4]).sides(), [1, 2, 3, 4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Padding {
    /// One width for every side.
    All(u32),
    /// Left and right, top and bottom.
    Pair([u32; 2]),
    /// Left, top, right, bottom.
    Sides([u32; 4]),
}

impl Padding {
    /// Returns the widths: left, top, right, bottom.
    pub fn sides(self) -> [u32; 4] {
        match self {
            Padding::All(all) => [all; 4],
            Padding::Pair([horizontal, vertical]) => [horizontal, vertical, horizontal, vertical],
            Padding::Sides(sides) => sides,
        }
    }

    pub(super) fn validate(self) -> Result<()> {
        match self.sides().into_iter().max() {
            Some(most) if most > MAX_SIDE => {
                Err(Error::argument("padding", format!("{most} pixels; up to {MAX_SIDE} work")))
            }
            _ => Ok(()),
        }
    }
}

impl From<u32> for Padding {
    fn from(all: u32) -> Self {
        Padding::All(all)
    }
}

impl From<[u32; 2]> for Padding {
    fn from(pair: [u32; 2]) -> Self {
        Padding::Pair(pair)
    }
}

impl From<[u32; 4]> for Padding {
    fn from(sides: [u32; 4]) -> Self {
        Padding::Sides(sides)
    }
}

/// Adds a border: torchvision's `Pad`.
///
/// ```
/// use gpufeed::transforms::{Pad, PaddingMode};
///
/// let black = Pad::new(4);
/// let gray = Pad::new([8, 0]).fill([0.5; 3]);
/// let mirrored = Pad::new([1, 2, 3, 4]).padding_mode(PaddingMode::Reflect);
/// # let _ = (black, gray, mirrored);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    /// Border widths in pixels.
    pub padding: Padding,
    /// The border's colour in \[0, 1\], for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl Pad {
    /// Makes a black border.
    pub fn new(padding: impl Into<Padding>) -> Self {
        Pad { padding: padding.into(), fill: [0.0; 3], padding_mode: PaddingMode::Constant }
    }

    /// Sets the colour of a constant border.
    pub fn fill(self, fill: [f32; 3]) -> Self {
        Pad { fill, ..self }
    }

    /// Sets the pixels of the border.
    pub fn padding_mode(self, padding_mode: PaddingMode) -> Self {
        Pad { padding_mode, ..self }
    }
}

impl Operator for Pad {
    const NAME: &'static str = "Pad";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        self.padding.validate()?;
        check_fill(self.fill)
    }

    fn slots(&self, slots: &mut Slots) {
        let [left, top, right, bottom] = self.padding.sides();
        slots.push(Self::NAME, Effect::Pad { mode: self.padding_mode, fill: self.fill });
        let padded = |(width, height): (u32, u32)| (width + left + right, height + top + bottom);
        slots.set_size_or_most(slots.size.map(padded), slots.most.map(padded));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let [left, top, right, bottom] = self.padding.sides();
        context.emit(0, Op::Pad { left, top, right, bottom, mode: self.padding_mode, fill: self.fill })
    }
}
