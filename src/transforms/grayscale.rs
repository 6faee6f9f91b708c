use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Converts to `0.2989 R + 0.587 G + 0.114 B`, in one channel (the default) or three: torchvision's `Grayscale`.
///
/// ```
/// use gpufeed::transforms::Grayscale;
///
/// assert_eq!(Grayscale::default().num_output_channels, 1);
/// let three = Grayscale::new(3);
/// # let _ = three;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grayscale {
    /// 1 or 3; 1 by default.
    pub num_output_channels: u32,
}

impl Grayscale {
    /// Takes the number of channels, 1 or 3.
    pub fn new(num_output_channels: u32) -> Self {
        Grayscale { num_output_channels }
    }
}

impl Default for Grayscale {
    fn default() -> Self {
        Grayscale { num_output_channels: 1 }
    }
}

impl Operator for Grayscale {
    const NAME: &'static str = "Grayscale";
    const FIXED: bool = true;
    const KEYS: &[(&str, &str)] = &[("num_output_channels", "1 and 3 work")];

    fn validate(&self) -> Result<()> {
        match self.num_output_channels {
            1 | 3 => Ok(()),
            n => Err(Error::argument("num_output_channels", format!("{n}; 1 or 3 work"))),
        }
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Channels(self.num_output_channels));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        context.emit(0, Op::Grayscale { channels: self.num_output_channels })
    }
}
