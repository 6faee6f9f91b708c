//! The ways in which a batch transform mixes two images.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How an image is mixed with its partner.
///
/// ```
/// use gpufeed::transforms::Mix;
///
/// let mix: Mix = serde_json::from_str(r#"{"MixUp":{"lambda":0.75}}"#).unwrap();
/// assert_eq!(mix.lambda(), 0.75);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Mix {
    /// Every element is `partner * (1 - lambda) + own * lambda`, in f32. A lambda of 1 changes nothing.
    MixUp {
        /// The share of the image's own pixels and label.
        lambda: f64,
    },
    /// A rectangle shows the partner.
    CutMix {
        /// The first row.
        top: u32,
        /// The first column.
        left: u32,
        /// Rows; may be 0.
        height: u32,
        /// Columns; may be 0.
        width: u32,
        /// The share of the pixels that stay the image's own, and of its label.
        lambda: f64,
    },
}

impl Mix {
    /// Leaves an image as it is.
    pub(crate) const NONE: Mix = Mix::MixUp { lambda: 1.0 };

    /// Returns the share of an image's own label; the partner's is 1 less this.
    pub fn lambda(&self) -> f64 {
        match *self {
            Mix::MixUp { lambda } | Mix::CutMix { lambda, .. } => lambda,
        }
    }

    /// Checks numbers that come from outside, for images of this size.
    pub(crate) fn check(&self, (columns, rows): (u32, u32)) -> Result<()> {
        let lambda = self.lambda();
        if !(0.0..=1.0).contains(&lambda) {
            return Err(Error::argument("params", format!("mixed with lambda = {lambda}; 0 to 1 work")));
        }
        let Mix::CutMix { top, left, height, width, .. } = *self else { return Ok(()) };
        let fits = |first: u32, len: u32, side: u32| u64::from(first) + u64::from(len) <= u64::from(side);
        if fits(left, width, columns) && fits(top, height, rows) {
            return Ok(());
        }
        let reason =
            format!("the rectangle of {width}x{height} pixels at ({left}, {top}) leaves the image, {columns}x{rows}");
        Err(Error::argument("params", reason))
    }
}
