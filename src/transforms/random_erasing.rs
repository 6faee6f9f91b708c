use super::arguments::{check_probability, check_range};
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slots};
use super::{Erased, Op};
use crate::color::{normals, opcode};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The values that [`RandomErasing`] writes: a number, one per channel, a random colour, or noise. As data: `0.5`,
/// `[0.5, 0.25, 0.0]`, `"random_color"`, `"random"`.
///
/// ```
/// use gpufeed::transforms::ErasingValue;
///
/// assert_eq!(ErasingValue::default(), ErasingValue::All(0.0));
/// assert_eq!(ErasingValue::from([0.5, 0.25, 0.0]), ErasingValue::Channels([0.5, 0.25, 0.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ErasingValue {
    /// Standard normal numbers, different for every pixel and channel, from gpufeed's own generator
    /// ([`Erased::Noise`]).
    #[serde(rename = "random")]
    Random,
    /// A standard normal number for each channel, the same in the whole rectangle: timm's `mode="rand"`. They are those of
    /// [`ErasingValue::Random`] in the upper left corner. 8-bit images cannot hold them.
    #[serde(rename = "random_color")]
    RandomColor,
    /// One number in every channel.
    #[serde(untagged)]
    All(f32),
    /// One number for each channel. On one channel three different ones are an error, when a plan is made.
    #[serde(untagged)]
    Channels([f32; 3]),
}

impl Default for ErasingValue {
    fn default() -> Self {
        ErasingValue::All(0.0)
    }
}

impl From<f32> for ErasingValue {
    fn from(value: f32) -> Self {
        ErasingValue::All(value)
    }
}

impl From<[f32; 3]> for ErasingValue {
    fn from(values: [f32; 3]) -> Self {
        ErasingValue::Channels(values)
    }
}

/// Overwrites a random rectangle with probability `p`: torchvision's `RandomErasing`; several as timm's.
///
/// The rectangle has a random share of the image's area and a random height / width, and is smaller than the image in
/// both dimensions. If ten tries find none, nothing is erased. With a `count` of several each has the random share
/// divided by their number, tries of its own, and a colour of its own; they may overlap. The values are written without conversion, so after
/// [`Normalize`](super::Normalize) they are in its units; they may be outside \[0, 1\].
///
/// ```
/// use gpufeed::transforms::{ErasingValue, RandomErasing};
///
/// let black = RandomErasing::new(0.25);
/// let noise = RandomErasing::new(0.25).scale(0.02, 0.2).value(ErasingValue::Random);
/// let mean_color = RandomErasing::default().value([0.485, 0.456, 0.406]);
/// let three_colors = RandomErasing::new(0.25).value(ErasingValue::RandomColor).count(1, 3);
/// # let _ = (black, noise, mean_color, three_colors);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomErasing {
    /// Probability in \[0, 1\]; 0.5 by default.
    pub p: f64,
    /// Least and greatest share of the image's area, in \[0, 1\]; (0.02, 0.33) by default.
    pub scale: (f64, f64),
    /// Least and greatest height / width, before rounding to pixels; (0.3, 3.3) by default.
    pub ratio: (f64, f64),
    /// The values; 0 by default.
    pub value: ErasingValue,
    /// Least and greatest number of rectangles, 1 to 100; (1, 1) by default.
    #[serde(skip_serializing_if = "is_one")]
    pub count: (u32, u32),
}

/// The most rectangles of an image: more than anyone has asked for, and few enough for the steps of a plan.
const MOST: u32 = 100;

fn is_one(count: &(u32, u32)) -> bool {
    *count == (1, 1)
}

impl RandomErasing {
    /// Erases with probability `p`, writing 0.
    pub fn new(p: f64) -> Self {
        RandomErasing { p, scale: (0.02, 0.33), ratio: (0.3, 3.3), value: ErasingValue::default(), count: (1, 1) }
    }

    /// Sets the range of the area's share.
    pub fn scale(self, least: f64, greatest: f64) -> Self {
        RandomErasing { scale: (least, greatest), ..self }
    }

    /// Sets the range of height / width.
    pub fn ratio(self, least: f64, greatest: f64) -> Self {
        RandomErasing { ratio: (least, greatest), ..self }
    }

    /// Sets the values to write.
    pub fn value(self, value: impl Into<ErasingValue>) -> Self {
        RandomErasing { value: value.into(), ..self }
    }

    /// Sets the range of the number of rectangles.
    pub fn count(self, least: u32, greatest: u32) -> Self {
        RandomErasing { count: (least, greatest), ..self }
    }

    /// Returns (left, top, width, height) of one of `count` rectangles, or `None` if no try fits.
    fn rectangle(&self, count: u32, (width, height): (u32, u32), numbers: &mut Numbers) -> Option<[u32; 4]> {
        let (w, h) = (f64::from(width), f64::from(height));
        let (log_low, log_high) = (libm::log(self.ratio.0), libm::log(self.ratio.1));
        for _ in 0..10 {
            let area = w * h * numbers.uniform(self.scale.0, self.scale.1) / f64::from(count);
            let ratio = libm::exp(numbers.uniform(log_low, log_high));
            // Like Python's round, halves go to the even number. Unlike in RandomResizedCrop, the ratio multiplies the
            // height.
            let erased_h = libm::sqrt(area * ratio).round_ties_even();
            let erased_w = libm::sqrt(area / ratio).round_ties_even();
            if erased_h < h && erased_w < w {
                let (erased_w, erased_h) = (erased_w as u32, erased_h as u32);
                // Like torchvision, the row comes before the column.
                let top = numbers.below(u64::from(height - erased_h) + 1) as u32;
                let left = numbers.below(u64::from(width - erased_w) + 1) as u32;
                return Some([left, top, erased_w, erased_h]);
            }
        }
        None
    }
}

impl Default for RandomErasing {
    fn default() -> Self {
        RandomErasing::new(0.5)
    }
}

impl Operator for RandomErasing {
    const NAME: &'static str = "RandomErasing";
    const KEYS: &[(&str, &str)] = &[
        ("scale", "[least, greatest] with 0 <= least <= greatest <= 1 works"),
        ("value", "a finite number, three of them, \"random\" or \"random_color\" works"),
        ("count", "[least, greatest] with 1 <= least <= greatest <= 100 works"),
    ];

    fn validate(&self) -> Result<()> {
        check_probability(self.p)?;
        let (low, high) = self.scale;
        if !(low >= 0.0 && low <= high && high <= 1.0) {
            return Err(Error::argument("scale", format!("({low}, {high}); 0 <= least <= greatest <= 1 works")));
        }
        check_range("ratio", self.ratio, 0.0, false)?;
        let (least, greatest) = self.count;
        if !(1 <= least && least <= greatest && greatest <= MOST) {
            let reason = format!("({least}, {greatest}); 1 <= least <= greatest <= {MOST} works");
            return Err(Error::argument("count", reason));
        }
        let finite = match self.value {
            ErasingValue::Random | ErasingValue::RandomColor => true,
            ErasingValue::All(value) => value.is_finite(),
            ErasingValue::Channels(values) => values.iter().all(|value| value.is_finite()),
        };
        if finite { Ok(()) } else { Err(Error::argument("value", format!("{:?}; finite numbers work", self.value))) }
    }

    fn validate_uint8(&self) -> Result<()> {
        if self.value == ErasingValue::RandomColor {
            let reason = "\"random_color\" needs floats, but gets 8-bit numbers; put ToDtype before it";
            return Err(Error::argument("value", reason));
        }
        Ok(())
    }

    fn slots(&self, slots: &mut Slots) {
        let opcode = if self.value == ErasingValue::Random { opcode::NOISE } else { opcode::ERASE };
        for _ in 0..self.count.1 {
            slots.push(Self::NAME, Effect::Color(opcode));
        }
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        if !numbers.chance(self.p) {
            return Ok(());
        }
        let (least, greatest) = self.count;
        // A number that is given takes no draw: lists without `count` draw what they always drew.
        let more = if greatest > least { numbers.below(u64::from(greatest - least) + 1) } else { 0 };
        let several = least + more as u32;
        for slot in 0..several {
            let Some([left, top, width, height]) = self.rectangle(several, (context.width, context.height), numbers)
            else {
                continue;
            };
            // A side that rounds to 0 erases nothing.
            if width == 0 || height == 0 {
                continue;
            }
            let value = match self.value {
                ErasingValue::All(value) => Erased::Color([value; 3]),
                ErasingValue::Channels(values) => Erased::Color(values),
                ErasingValue::Random => Erased::Noise { key: numbers.key() },
                ErasingValue::RandomColor => {
                    let [first, second, third] = normals([0, 0], numbers.key());
                    Erased::Color(if context.channels == 1 { [first; 3] } else { [first, second, third] })
                }
            };
            context.emit(slot as u16, Op::Erase { top, left, height, width, value })?;
        }
        Ok(())
    }
}
