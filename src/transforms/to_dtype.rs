use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Converts 8-bit numbers to floats in \[0, 1\]: torchvision's `ToDtype(torch.float32, scale=True)`.
///
/// With [`Semantics::Uint8`](crate::Semantics::Uint8) the operators before it compute in whole numbers from 0 to 255,
/// those after it in floats: `x · (1 / 255)`. With [`Semantics::Float`](crate::Semantics::Float) images are floats
/// anyway, and it changes nothing. [`Output`](crate::Output) chooses the type of a batch's elements.
///
/// ```
/// use gpufeed::transforms::{Normalize, RandomErasing, ToDtype, Transform};
///
/// // The end of torchvision's reference recipe: erasing works on floats.
/// let end: [Transform; 3] = [ToDtype::new().into(), Normalize::IMAGENET.into(), RandomErasing::new(0.1).into()];
/// # let _ = end;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToDtype {
    /// The type of the result.
    #[serde(default)]
    pub dtype: FloatType,
    /// True, the default: 255 becomes 1. torchvision's `scale=False`, which leaves 255, is refused.
    #[serde(default = "yes")]
    pub scale: bool,
}

/// The type to which [`ToDtype`] converts.
///
/// ```
/// assert_eq!(gpufeed::transforms::ToDtype::new().dtype, gpufeed::transforms::FloatType::F32);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FloatType {
    /// Floats of 32 bits.
    #[default]
    F32,
}

fn yes() -> bool {
    true
}

impl Default for ToDtype {
    fn default() -> Self {
        ToDtype::new()
    }
}

impl ToDtype {
    /// Converts to 32-bit floats in \[0, 1\].
    pub fn new() -> Self {
        ToDtype { dtype: FloatType::F32, scale: true }
    }
}

impl Operator for ToDtype {
    const NAME: &'static str = "ToDtype";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("dtype", "F32 works"), ("scale", "true works: floats are in [0, 1]")];

    fn validate(&self) -> Result<()> {
        if self.scale { Ok(()) } else { Err(Error::argument("scale", "false; true works: floats are in [0, 1]")) }
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::ToFloat);
    }

    fn make_params(&self, _: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        Ok(())
    }
}
