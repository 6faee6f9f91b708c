//! What a loader keeps of its samples between epochs, so that each is read and decoded once.
//!
//! A sample is kept as the list's head leaves it (`plan/head.rs`): the source's pixels in bytes, or, behind a resize,
//! in f32 (in bytes where that is exact, or asked for: `../round.rs`). What does not fit streams as if there were no
//! cache, in the same batches.

mod device;
mod host;
mod table;

pub(super) use device::{DeviceCache, DeviceClaim, DeviceEntry};
pub(super) use host::{HostCache, HostClaim, HostEntry};

use crate::dataset::Label;
use crate::geometry::Rect;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether and where a loader keeps its samples once they are decoded; see
/// [`DataLoaderBuilder::cache`](crate::DataLoaderBuilder::cache).
///
/// ```
/// use gpufeed::Cache;
///
/// assert_eq!(Cache::default(), Cache::Off);
/// let half_of_the_memory = Cache::Host(16 << 30);
/// # let _ = half_of_the_memory;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Cache {
    /// Every epoch reads and decodes every sample.
    #[default]
    Off,
    /// In host memory, up to so many bytes.
    Host(u64),
    /// In GPU memory, up to so many bytes, in buffers of up to a binding's size: batches of kept samples are drawn and
    /// dispatched without workers. In host memory where the CPU executor augments.
    Device(u64),
}

/// A loader's cache.
#[derive(Debug)]
pub(super) enum Store {
    Off,
    Host(HostCache),
    Device(Arc<DeviceCache>),
}

impl Store {
    /// Where it is, and its budget in bytes.
    pub(super) fn place(&self) -> (&'static str, u64) {
        match self {
            Store::Off => ("nowhere", 0),
            Store::Host(cache) => ("in host memory", cache.budget()),
            Store::Device(cache) => ("in GPU memory", cache.budget()),
        }
    }

    /// Samples that are kept, and their bytes.
    pub(super) fn kept(&self) -> (u64, u64) {
        match self {
            Store::Off => (0, 0),
            Store::Host(cache) => cache.kept(),
            Store::Device(cache) => cache.kept(),
        }
    }
}

/// What is known of a kept sample beside its pixels.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The source's, for drawing.
    pub(super) size: (u32, u32),
    /// Which part of the source is kept, or all of the head's result.
    pub(super) region: Rect,
    /// Four floats a pixel.
    pub(super) float: bool,
    /// The source's pixels are floats.
    pub(super) from_floats: bool,
    pub(super) label: Label,
}

impl Known {
    /// Bytes of what is kept, at so many a pixel where that is not floats.
    fn bytes(&self, of_bytes: u64) -> u64 {
        u64::from(self.region.width) * u64::from(self.region.height) * if self.float { 16 } else { of_bytes }
    }
}
