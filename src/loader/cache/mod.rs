//! The samples that a loader caches between epochs, so that each is read and decoded once.
//!
//! A sample is stored as `plan/split.rs` says: the pixels of the source, or the result of the plan's prefix. A sample
//! for which there is no room is streamed as if there were no cache, in the same batches.
//!
//! `table.rs` has an entry for each sample; `host.rs` and `device.rs` have the memory.

mod device;
mod host;
mod table;

pub(super) use device::{DeviceCache, DeviceEntry, DeviceReservation};
pub(super) use host::{HostCache, HostEntry, HostReservation};

use crate::dataset::{FieldValue, Label};
use crate::plan::route::CachedPixels;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The storage of decoded samples between epochs; [`DataLoaderBuilder::cache`](crate::DataLoaderBuilder::cache) has the
/// details.
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
    /// In host memory, up to this number of bytes.
    Host(u64),
    /// In GPU memory, up to this number of bytes, in buffers of up to a binding's size: cached samples are dispatched
    /// without workers. In host memory if the CPU executor augments. The values of fields are in host memory, up to this
    /// number of bytes.
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
    pub(super) fields: Vec<FieldValue<'static>>,
}

/// Room for a sample in the cache, and the right to insert it. Dropping it returns the room.
#[derive(Debug)]
pub(super) enum Reservation<'a> {
    Host(HostReservation<'a>),
    Device(DeviceReservation),
}

impl CacheStore {
    /// True if the sample is neither cached nor reserved.
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

    /// Reserves room for a sample; `None` if the sample is cached or reserved, or if there is no room.
    pub(super) fn reserve(&self, index: usize, sample: CachedSample) -> Option<Reservation<'_>> {
        match self {
            CacheStore::Off => None,
            CacheStore::Host(cache) => cache.reserve(index, sample).map(Reservation::Host),
            CacheStore::Device(cache) => cache.reserve(index, sample).map(Reservation::Device),
        }
    }

    /// The memory of the cache, for people, and its budget in bytes.
    pub(super) fn memory(&self) -> (&'static str, u64) {
        match self {
            CacheStore::Off => ("nowhere", 0),
            CacheStore::Host(cache) => ("in host memory", cache.budget()),
            CacheStore::Device(cache) => ("in GPU memory", cache.budget()),
        }
    }

    /// The number of cached samples, and their bytes.
    pub(super) fn usage(&self) -> (u64, u64) {
        match self {
            CacheStore::Off => (0, 0),
            CacheStore::Host(cache) => cache.usage(),
            CacheStore::Device(cache) => cache.usage(),
        }
    }
}

impl CachedSample {
    /// Bytes of the sample's pixels, 16 a pixel for floats, else `byte_pixel`, and of the values of its fields.
    fn bytes(&self, byte_pixel: u64) -> u64 {
        self.pixel_bytes(byte_pixel) + self.field_bytes()
    }

    /// Bytes of the sample's pixels, 16 a pixel for floats, else `byte_pixel`.
    fn pixel_bytes(&self, byte_pixel: u64) -> u64 {
        let CachedPixels { region, float, .. } = self.pixels;
        u64::from(region.width) * u64::from(region.height) * if float { 16 } else { byte_pixel }
    }

    /// Bytes of the values of the sample's fields.
    fn field_bytes(&self) -> u64 {
        self.fields.iter().map(FieldValue::bytes).sum()
    }
}
