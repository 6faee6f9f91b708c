//! Pillow's arithmetic on 8-bit images: its affine transform and its Gaussian blur, and the matrices that torchvision and
//! Pillow make of an angle. Facts are those of Pillow 13.0 (`src/libImaging/Geometry.c`, `BoxBlur.c`, `src/PIL/Image.py`)
//! and torchvision 0.29 (`transforms/v2/functional/_geometry.py`) on x86-64, where no sum and product are fused.
//!
//! `affine.rs` has the positions, `box_blur.rs` the weights, `matrix.rs` the matrices, `sines.rs` sines to the last
//! bit.

mod affine;
mod box_blur;
mod matrix;
mod sines;

pub(crate) use affine::{PillowAffine, PillowFilter};
pub(crate) use box_blur::{BoxBlur, reached};
pub(crate) use matrix::{affine_matrix, rotation_matrix};
