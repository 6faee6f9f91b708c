//! gpufeed feeds any GPU with augmented image batches.

mod error;

pub use error::{Error, ErrorKind, Result};
