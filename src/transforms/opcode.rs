//! The numbers of the colour steps: which step of the shaders (`shaders/color/`) and of `cpu/color.rs` an op takes.
//!
//! They stand here because transforms say which they may emit, so that a plan's shaders hold those and no others.

pub(crate) const BRIGHTNESS: u32 = 1;
pub(crate) const CONTRAST: u32 = 2;
pub(crate) const SATURATION: u32 = 3;
pub(crate) const HUE: u32 = 4;
pub(crate) const GRAYSCALE: u32 = 5;
pub(crate) const SUBTRACT: u32 = 6;
pub(crate) const DIVIDE: u32 = 7;
pub(crate) const INVERT: u32 = 8;
pub(crate) const SOLARIZE: u32 = 9;
pub(crate) const POSTERIZE: u32 = 10;
pub(crate) const PERMUTE_CHANNELS: u32 = 11;
pub(crate) const ERASE: u32 = 12;
pub(crate) const NOISE: u32 = 13;
/// Custom steps: this and their slot's number.
pub(crate) const CUSTOM: u32 = 1000;
