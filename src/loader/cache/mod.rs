//! The samples that a loader caches between epochs, so that each is read and decoded once.
//!
//! A sample is stored as `plan/split.rs` says: the pixels of the source, or the result of the plan's prefix. A sample for
//! which there is no room is streamed as if there were no cache, in the same batches.

mod device;
mod host;
mod table;

pub(super) use device::{DeviceCache, DeviceEntry, DeviceReservation};
pub(super) use host::{HostCache, HostEntry, HostReservation};

use crate::dataset::Label;
use crate::plan::route::CachedPixels;
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
    /// In GPU memory, up to so many bytes, in buffers of up to a binding's size: batches of cached samples are dispatched
    /// without workers. In host memory where the CPU executor augments.
    Device(u64),
}

/// A loader's cache.
#[derive(Debug)]
pub(super) enum CacheStore {
    Off,
    Host(HostCache),
    Device(Arc<DeviceCache>),
}

/// A cached sample without its pixels.
#[derive(Clone, Debug)]
pub(super) struct CachedSample {
    /// Width and height of the source: the parameters depend on them.
    pub(super) size: (u32, u32),
    pub(super) pixels: CachedPixels,
    pub(super) label: Label,
}

/// Room for a sample in the cache, and the right to insert it. Dropping it gives the room back.
#[derive(Debug)]
pub(super) enum Reservation<'a> {
    Host(HostReservation<'a>),
    Device(DeviceReservation),
}

impl CacheStore {
    /// True if the sample is neither cached nor about to be.
    pub(super) fn lacks(&self, index: usize) -> bool {
        match self {
            CacheStore::Off => false,
            CacheStore::Host(cache) => cache.lacks(index),
            CacheStore::Device(cache) => cache.lacks(index),
        }
    }

    /// The sample, if it is in a cache in host memory.
    pub(super) fn in_host_memory(&self, index: usize) -> Option<&HostEntry> {
        match self {
            CacheStore::Host(cache) => cache.get(index),
            CacheStore::Off | CacheStore::Device(_) => None,
        }
    }

    /// `None` where the sample is cached or about to be, or where there is no room.
    pub(super) fn reserve(&self, index: usize, sample: CachedSample) -> Option<Reservation<'_>> {
        match self {
            CacheStore::Off => None,
            CacheStore::Host(cache) => cache.reserve(index, sample).map(Reservation::Host),
            CacheStore::Device(cache) => cache.reserve(index, sample).map(Reservation::Device),
        }
    }

    /// The memory that it is in, for people, and its budget in bytes.
    pub(super) fn memory(&self) -> (&'static str, u64) {
        match self {
            CacheStore::Off => ("nowhere", 0),
            CacheStore::Host(cache) => ("in host memory", cache.budget()),
            CacheStore::Device(cache) => ("in GPU memory", cache.budget()),
        }
    }

    /// Cached samples, and their bytes.
    pub(super) fn usage(&self) -> (u64, u64) {
        match self {
            CacheStore::Off => (0, 0),
            CacheStore::Host(cache) => cache.usage(),
            CacheStore::Device(cache) => cache.usage(),
        }
    }
}

impl CachedSample {
    /// Bytes of its pixels: 16 a pixel where these are floats, else `byte_pixel`.
    fn bytes(&self, byte_pixel: u64) -> u64 {
        let CachedPixels { region, float, .. } = self.pixels;
        u64::from(region.width) * u64::from(region.height) * if float { 16 } else { byte_pixel }
    }
}
