use super::arguments::MAX_SIDE;
use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Blurs with a Gaussian kernel of a random standard deviation: torchvision's `GaussianBlur`.
///
/// ```
/// use gpufeed::transforms::{GaussianBlur, RandomApply};
///
/// // SimCLR: half of the images, at 224 pixels.
/// let blur = RandomApply::new(0.5, [GaussianBlur::new(23)]);
/// assert_eq!(GaussianBlur::new(23).sigma, [0.1, 2.0]);
/// # let _ = blur;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianBlur {
    /// Columns and rows of the kernel: odd.
    #[serde(deserialize_with = "one_or_two")]
    pub kernel_size: [u32; 2],
    /// The range of the standard deviation in pixels, the same across and down: 0.1 to 2 by default. A recipe may hold a
    /// number, which is that standard deviation for every image.
    #[serde(default = "default_sigma", deserialize_with = "one_or_two")]
    pub sigma: [f64; 2],
}

fn default_sigma() -> [f64; 2] {
    [0.1, 2.0]
}

/// Reads one number for two, or two: `[columns, rows]`, `[least, greatest]`.
fn one_or_two<'de, T: Deserialize<'de> + Copy, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<[T; 2], D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Repr<T> {
        One(T),
        Two([T; 2]),
    }
    Ok(match Repr::deserialize(deserializer)? {
        Repr::One(number) => [number; 2],
        Repr::Two(numbers) => numbers,
    })
}

impl GaussianBlur {
    /// Blurs with a square kernel of `kernel_size` pixels a side.
    pub fn new(kernel_size: u32) -> Self {
        GaussianBlur { kernel_size: [kernel_size; 2], sigma: default_sigma() }
    }

    /// Sets the range of the standard deviation.
    pub fn sigma(self, least: f64, greatest: f64) -> Self {
        GaussianBlur { sigma: [least, greatest], ..self }
    }
}

impl Operator for GaussianBlur {
    const NAME: &'static str = "GaussianBlur";

    fn validate(&self) -> Result<()> {
        if let Some(size) = self.kernel_size.iter().find(|size| *size % 2 == 0 || **size > MAX_SIDE) {
            return Err(Error::argument("kernel_size", format!("{size}; odd numbers of pixels work")));
        }
        let [least, greatest] = self.sigma;
        if least > 0.0 && least <= greatest && greatest.is_finite() {
            return Ok(());
        }
        Err(Error::argument("sigma", format!("[{least}, {greatest}]; 0 < least <= greatest works")))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Blur(self.kernel_size)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let sigma = numbers.uniform(self.sigma[0], self.sigma[1]);
        context.emit(0, Op::GaussianBlur { kernel_size: self.kernel_size, sigma: [sigma; 2] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_stands_for_two() {
        let read = |text: &str| toml::from_str::<GaussianBlur>(text).unwrap();
        assert_eq!(read("kernel_size = 5\nsigma = 1.5"), GaussianBlur::new(5).sigma(1.5, 1.5));
        assert_eq!(read("kernel_size = [5, 3]\nsigma = [1, 2]").sigma, [1.0, 2.0]);
        assert_eq!(read("kernel_size = 5\nsigma = 2").sigma, [2.0; 2]);
        assert!(toml::from_str::<GaussianBlur>("kernel_size = 5\nsigma = [1.0]").is_err());
    }
}
