//! gpufeed feeds any GPU with augmented image batches.

pub mod decode;
mod error;

pub use error::{Error, ErrorKind, Result};
