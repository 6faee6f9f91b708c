use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Range of a random change: a value `v` or an explicit range.
///
/// A value means factors in `[max(0, 1 - v), 1 + v]`; for the hue, turns in `[-v, v]`.
///
/// ```
/// use gpufeed::transforms::{ColorJitter, Jitter};
///
/// let jitter = ColorJitter::new(0.4, (0.5, 1.5), 0.0, 0.1);
/// assert_eq!(jitter.contrast, Jitter::Range(0.5, 1.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Jitter {
    /// A spread around the neutral factor.
    Value(f64),
    /// The least and the greatest value.
    Range(f64, f64),
}

impl Default for Jitter {
    fn default() -> Self {
        Jitter::Value(0.0)
    }
}

impl From<f64> for Jitter {
    fn from(value: f64) -> Self {
        Jitter::Value(value)
    }
}

impl From<(f64, f64)> for Jitter {
    fn from((least, greatest): (f64, f64)) -> Self {
        Jitter::Range(least, greatest)
    }
}

impl Jitter {
    /// Returns the range, or `None` if it contains only the neutral value.
    fn range(self, neutral: f64) -> Option<(f64, f64)> {
        let (low, high) = match self {
            Jitter::Value(v) if neutral == 1.0 => ((1.0 - v).max(0.0), 1.0 + v),
            Jitter::Value(v) => (-v, v),
            Jitter::Range(low, high) => (low, high),
        };
        (low != neutral || high != neutral).then_some((low, high))
    }

    fn validate(self, name: &'static str, neutral: f64) -> Result<()> {
        let (least, greatest) = if neutral == 1.0 { (0.0, f64::MAX) } else { (-0.5, 0.5) };
        let fine = match self {
            Jitter::Value(v) => (0.0..=greatest).contains(&v),
            Jitter::Range(low, high) => least <= low && low <= high && high <= greatest,
        };
        if fine {
            return Ok(());
        }
        let works = if neutral == 1.0 {
            "a value >= 0 or a range 0 <= least <= greatest"
        } else {
            "a value in [0, 0.5] or a range in [-0.5, 0.5]"
        };
        let value = match self {
            Jitter::Value(value) => value.to_string(),
            Jitter::Range(low, high) => format!("({low}, {high})"),
        };
        Err(Error::argument(name, format!("{value}; {works} works")))
    }
}

/// Changes brightness, contrast, saturation and hue by random factors, in random order: torchvision's `ColorJitter`.
///
/// Every image has its own random factors, and its own random order of the four changes.
///
/// ```
/// use gpufeed::transforms::ColorJitter;
///
/// let jitter = ColorJitter::new(0.4, 0.4, 0.4, 0.1);
/// let darker = ColorJitter { brightness: (0.5, 1.0).into(), ..ColorJitter::default() };
/// # let _ = (jitter, darker);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColorJitter {
    /// Range of the factor, ≥ 0. Default: no change.
    pub brightness: Jitter,
    /// Range of the factor, ≥ 0. Default: no change.
    pub contrast: Jitter,
    /// Range of the factor, ≥ 0. Default: no change.
    pub saturation: Jitter,
    /// Range of the turns, in \[-0.5, 0.5\]. Default: no change.
    pub hue: Jitter,
}

impl ColorJitter {
    /// Takes brightness, contrast, saturation and hue, each a value or a `(least, greatest)` range.
    pub fn new(
        brightness: impl Into<Jitter>,
        contrast: impl Into<Jitter>,
        saturation: impl Into<Jitter>,
        hue: impl Into<Jitter>,
    ) -> Self {
        ColorJitter {
            brightness: brightness.into(),
            contrast: contrast.into(),
            saturation: saturation.into(),
            hue: hue.into(),
        }
    }

    fn ranges(&self) -> [Option<(f64, f64)>; 4] {
        [self.brightness.range(1.0), self.contrast.range(1.0), self.saturation.range(1.0), self.hue.range(0.0)]
    }
}

impl Operator for ColorJitter {
    const NAME: &'static str = "ColorJitter";

    fn validate(&self) -> Result<()> {
        self.brightness.validate("brightness", 1.0)?;
        self.contrast.validate("contrast", 1.0)?;
        self.saturation.validate("saturation", 1.0)?;
        self.hue.validate("hue", 0.0)
    }

    fn slots(&self, slots: &mut Slots) {
        let opcodes = [opcode::BRIGHTNESS, opcode::CONTRAST, opcode::SATURATION, opcode::HUE];
        for (range, opcode) in self.ranges().iter().zip(opcodes) {
            slots.push(Self::NAME, if range.is_some() { Effect::Color(opcode) } else { Effect::Never });
        }
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        // Like torchvision: the order of the four, then the factors in fixed order.
        let order = numbers.permutation::<4>();
        let factors = self.ranges().map(|range| range.map(|(low, high)| numbers.uniform(low, high) as f32));
        for which in order {
            let Some(factor) = factors[which] else { continue };
            let op = match which {
                0 => Op::Brightness { factor },
                1 => Op::Contrast { factor },
                // One channel has neither saturation nor hue; torchvision returns it unchanged.
                _ if context.channels == 1 => continue,
                2 => Op::Saturation { factor },
                _ => Op::Hue { factor },
            };
            context.emit(which as u16, op)?;
        }
        Ok(())
    }
}
