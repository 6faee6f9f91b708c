//! An image together with what its values are: floats in [0, 1], or whole numbers in 0..=255.

use super::Image;

/// The arithmetic of an image's operators, as torchvision chooses it by the tensor's dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Semantics {
    /// `torch.float32`: values in [0, 1], no rounding.
    Float,
    /// `torch.uint8`: whole numbers in 0..=255; each operator rounds its result.
    Uint8,
}

impl Semantics {
    /// The largest value (`_max_value` in torchvision's `functional/_utils.py`).
    pub fn bound(self) -> f64 {
        match self {
            Semantics::Float => 1.0,
            Semantics::Uint8 => 255.0,
        }
    }
}

/// An image of 1 or 3 planes and the meaning of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub image: Image,
    pub semantics: Semantics,
}

impl Picture {
    /// Reads planes of bytes. In `Float` a byte `b` becomes f32(b) · f32(1/255), as in torchvision's `to_dtype`
    /// (`functional/_misc.py`).
    pub fn from_planes(shape: (usize, usize, usize), bytes: &[u8], semantics: Semantics) -> Picture {
        let (_, height, width) = shape;
        let image = Image::build(shape, |c, y, x| bytes[(c * height + y) * width + x].into());
        let bytes = Picture { image, semantics: Semantics::Uint8 };
        match semantics {
            Semantics::Float => bytes.to_float(),
            Semantics::Uint8 => bytes,
        }
    }

    pub fn shape(&self) -> (usize, usize, usize) {
        self.image.shape()
    }

    pub fn at(&self, c: usize, y: usize, x: usize) -> f64 {
        self.image.at(c, y, x)
    }

    /// The image of the same semantics whose values are `value(c, y, x)`.
    pub(super) fn build(&self, shape: (usize, usize, usize), value: impl Fn(usize, usize, usize) -> f64) -> Picture {
        Picture { image: Image::build(shape, value), semantics: self.semantics }
    }

    /// Like `build`, with the values clamped to 0..=bound; in `Uint8` they are also cut to whole numbers.
    pub(super) fn truncated(
        &self,
        shape: (usize, usize, usize),
        value: impl Fn(usize, usize, usize) -> f64,
    ) -> Picture {
        let clamped = |c, y, x| value(c, y, x).clamp(0.0, self.semantics.bound());
        match self.semantics {
            Semantics::Float => self.build(shape, clamped),
            Semantics::Uint8 => self.build(shape, |c, y, x| clamped(c, y, x).trunc()),
        }
    }

    /// Like `build`; in `Uint8` the values are rounded half to even.
    pub(super) fn rounded(&self, shape: (usize, usize, usize), value: impl Fn(usize, usize, usize) -> f64) -> Picture {
        match self.semantics {
            Semantics::Float => self.build(shape, value),
            Semantics::Uint8 => self.build(shape, |c, y, x| value(c, y, x).round_ties_even()),
        }
    }

    /// Returns each value changed by `change`.
    pub(super) fn map(&self, change: impl Fn(f64) -> f64) -> Picture {
        self.build(self.shape(), |c, y, x| change(self.at(c, y, x)))
    }

    pub(super) fn with_image(&self, image: Image) -> Picture {
        Picture { image, semantics: self.semantics }
    }

    /// Converts bytes to floats: f32(b) · f32(1/255) (`to_dtype_image` in torchvision's `functional/_misc.py`).
    pub fn to_float(&self) -> Picture {
        assert_eq!(self.semantics, Semantics::Uint8, "only bytes become floats");
        let float = |byte: f64| f64::from(byte as f32 * (1.0 / 255.0) as f32);
        Picture { semantics: Semantics::Float, ..self.map(float) }
    }

    /// (x - mean) / std for each channel (`normalize_image` in torchvision's `functional/_misc.py`).
    pub fn normalize(&self, mean: &[f64], std: &[f64]) -> Picture {
        assert_eq!(self.semantics, Semantics::Float, "torchvision normalizes floats alone");
        self.build(self.shape(), |c, y, x| (self.at(c, y, x) - channel(mean, c)) / channel(std, c))
    }
}

/// Returns the number of channel `c` in a list of one number for all channels, or of one for each.
pub(super) fn channel(numbers: &[f64], c: usize) -> f64 {
    if numbers.len() == 1 { numbers[0] } else { numbers[c] }
}

/// The byte of a float in [0, 1]: trunc(f32(v) · 255.999) (`to_dtype_image` in torchvision's `functional/_misc.py`,
/// which multiplies by 256 - 1e-3).
pub(super) fn to_byte(value: f64) -> f64 {
    f64::from((value as f32 * (256.0 - 1e-3) as f32).trunc())
}
