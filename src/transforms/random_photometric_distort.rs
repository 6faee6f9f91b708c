use super::arguments::{check_probability, check_range};
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use crate::color::opcode;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Changes brightness, contrast, saturation and hue, and permutes the channels, each with probability `p`:
/// torchvision's `RandomPhotometricDistort`.
///
/// The order is brightness, saturation, hue, permutation. The contrast comes before the saturation or after the hue,
/// each with probability 1/2. A single channel has neither saturation nor hue, and only one order of channels.
///
/// ```
/// use gpufeed::transforms::RandomPhotometricDistort;
///
/// let ssd = RandomPhotometricDistort::default();
/// assert_eq!((ssd.brightness, ssd.contrast, ssd.p), ((0.875, 1.125), (0.5, 1.5), 0.5));
/// let often = RandomPhotometricDistort::new(0.8).hue(-0.02, 0.02);
/// # let _ = often;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomPhotometricDistort {
    /// Least and greatest factor, ≥ 0; (0.875, 1.125) by default.
    pub brightness: (f64, f64),
    /// Least and greatest factor, ≥ 0; (0.5, 1.5) by default.
    pub contrast: (f64, f64),
    /// Least and greatest factor, ≥ 0; (0.5, 1.5) by default.
    pub saturation: (f64, f64),
    /// Least and greatest turn, in \[-0.5, 0.5\]; (-0.05, 0.05) by default.
    pub hue: (f64, f64),
    /// Probability of each change, in \[0, 1\]; 0.5 by default.
    pub p: f64,
}

impl Default for RandomPhotometricDistort {
    fn default() -> Self {
        RandomPhotometricDistort::new(0.5)
    }
}

impl RandomPhotometricDistort {
    /// Makes each change with probability `p`, in torchvision's ranges.
    pub fn new(p: f64) -> Self {
        let (brightness, factor, hue) = ((0.875, 1.125), (0.5, 1.5), (-0.05, 0.05));
        RandomPhotometricDistort { brightness, contrast: factor, saturation: factor, hue, p }
    }

    /// Sets the range of the brightness.
    pub fn brightness(self, least: f64, greatest: f64) -> Self {
        RandomPhotometricDistort { brightness: (least, greatest), ..self }
    }

    /// Sets the range of the contrast.
    pub fn contrast(self, least: f64, greatest: f64) -> Self {
        RandomPhotometricDistort { contrast: (least, greatest), ..self }
    }

    /// Sets the range of the saturation.
    pub fn saturation(self, least: f64, greatest: f64) -> Self {
        RandomPhotometricDistort { saturation: (least, greatest), ..self }
    }

    /// Sets the range of the hue.
    pub fn hue(self, least: f64, greatest: f64) -> Self {
        RandomPhotometricDistort { hue: (least, greatest), ..self }
    }
}

impl Operator for RandomPhotometricDistort {
    const NAME: &'static str = "RandomPhotometricDistort";

    fn validate(&self) -> Result<()> {
        check_range("brightness", self.brightness, 0.0, true)?;
        check_range("contrast", self.contrast, 0.0, true)?;
        check_range("saturation", self.saturation, 0.0, true)?;
        let (low, high) = self.hue;
        if !(-0.5 <= low && low <= high && high <= 0.5) {
            return Err(Error::argument("hue", format!("({low}, {high}); -0.5 <= least <= greatest <= 0.5 works")));
        }
        check_probability(self.p)
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Color(opcode::BRIGHTNESS));
        // An image has its contrast in one of two places: here, or after the hue.
        slots.push(Self::NAME, Effect::Color(opcode::CONTRAST));
        slots.push(Self::NAME, Effect::Color(opcode::SATURATION));
        slots.push(Self::NAME, Effect::Color(opcode::HUE));
        slots.push(Self::NAME, Effect::Color(opcode::CONTRAST));
        slots.push(Self::NAME, Effect::Color(opcode::PERMUTE_CHANNELS));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        // The draws are in torchvision's order, which is not that of the ops.
        let [brightness, contrast, saturation, hue] = [self.brightness, self.contrast, self.saturation, self.hue]
            .map(|(low, high)| numbers.chance(self.p).then(|| numbers.uniform(low, high) as f32));
        let before = numbers.chance(0.5);
        let permutation = numbers.chance(self.p).then(|| numbers.permutation::<3>());
        if let Some(factor) = brightness {
            context.emit(0, Op::Brightness { factor })?;
        }
        if let Some(factor) = contrast.filter(|_| before) {
            context.emit(1, Op::Contrast { factor })?;
        }
        let three = context.channels != 1;
        if let Some(factor) = saturation.filter(|_| three) {
            context.emit(2, Op::Saturation { factor })?;
        }
        if let Some(factor) = hue.filter(|_| three) {
            context.emit(3, Op::Hue { factor })?;
        }
        if let Some(factor) = contrast.filter(|_| !before) {
            context.emit(4, Op::Contrast { factor })?;
        }
        if let Some(permutation) = permutation.filter(|_| three) {
            context.emit(5, Op::PermuteChannels { permutation: permutation.map(|channel| channel as u32) })?;
        }
        Ok(())
    }
}
