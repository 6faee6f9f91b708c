use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, GatherClass, Operator, Slots};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The range of a JPEG's quality: `50.into()` is 50 alone, `(25, 75).into()` is 25 to 75.
///
/// ```
/// use gpufeed::transforms::Quality;
///
/// assert_eq!(Quality::from(50), Quality::from((50, 50)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "QualityRepr", into = "QualityRepr")]
pub struct Quality {
    /// The least, 1 to 100.
    pub least: u32,
    /// The greatest, which may be drawn, too; 1 to 100.
    pub greatest: u32,
}

/// As data: a number, or `[least, greatest]`; written in the shortest form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum QualityRepr {
    One(u32),
    Range([u32; 2]),
}

impl From<QualityRepr> for Quality {
    fn from(repr: QualityRepr) -> Self {
        match repr {
            QualityRepr::One(quality) => quality.into(),
            QualityRepr::Range([least, greatest]) => (least, greatest).into(),
        }
    }
}

impl From<Quality> for QualityRepr {
    fn from(Quality { least, greatest }: Quality) -> Self {
        if least == greatest { QualityRepr::One(least) } else { QualityRepr::Range([least, greatest]) }
    }
}

impl From<u32> for Quality {
    fn from(quality: u32) -> Self {
        Quality { least: quality, greatest: quality }
    }
}

impl From<(u32, u32)> for Quality {
    fn from((least, greatest): (u32, u32)) -> Self {
        Quality { least, greatest }
    }
}

/// Makes of the image what a JPEG of a random quality makes of it: torchvision's `JPEG`.
///
/// The pixels are those of libjpeg-turbo (and so Pillow's): colour at half the resolution, the standard tables. It
/// works on 8-bit numbers alone ([`Semantics::Uint8`](crate::Semantics::Uint8)), before
/// [`ToDtype`](super::ToDtype) and [`Normalize`](super::Normalize).
///
/// ```
/// use gpufeed::transforms::JPEG;
/// use gpufeed::{Output, Plan, Semantics};
///
/// let list = [JPEG::new((25, 75)).into()];
/// assert!(Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default()).is_ok());
/// assert!(Plan::compile(&list, &Output::default()).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JPEG {
    /// The quality, or its range, both ends included: 1 to 100.
    pub quality: Quality,
}

impl JPEG {
    /// Encodes with this quality, or with one of a range.
    pub fn new(quality: impl Into<Quality>) -> Self {
        JPEG { quality: quality.into() }
    }
}

impl Operator for JPEG {
    const NAME: &'static str = "JPEG";
    const KEYS: &[(&str, &str)] =
        &[("quality", "1 to 100 or [least, greatest] with 1 <= least <= greatest <= 100 works")];

    fn validate(&self) -> Result<()> {
        let Quality { least, greatest } = self.quality;
        if 1 <= least && least <= greatest && greatest <= 100 {
            return Ok(());
        }
        let works = "1 to 100 or [least, greatest] with 1 <= least <= greatest <= 100 works";
        Err(Error::argument("quality", format!("({least}, {greatest}); {works}")))
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::Gather(GatherClass::Native));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let Quality { least, greatest } = self.quality;
        let quality = least + numbers.below(u64::from(greatest - least) + 1) as u32;
        context.emit(0, Op::Jpeg { quality })
    }
}
