//! Samples in host memory.

use super::CachedSample;
use super::table::CacheTable;
use crate::advice::Setting;
use crate::allocate::{Use, product};
use crate::error::Result;
use crate::pixels::PixelsRef;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub(in crate::loader) struct HostCache {
    table: CacheTable<HostEntry>,
    bytes: AtomicU64,
    budget: u64,
}

/// The pixels of a sample in the cache.
const CACHED: Use = Use { what: "a sample in the cache", settings: &[Setting::CacheBytes] };

/// Bytes of a pixel.
const PIXEL: u64 = 3;

/// A cached sample.
#[derive(Debug)]
pub(in crate::loader) struct HostEntry {
    pub(in crate::loader) sample: CachedSample,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Rgb(Box<[u8]>),
    Floats(Box<[f32]>),
}

/// The right to insert a sample, with its bytes reserved. Dropping it returns them.
#[derive(Debug)]
pub(in crate::loader) struct HostReservation<'a> {
    cache: &'a HostCache,
    index: usize,
    /// `None` once the sample is inserted.
    sample: Option<CachedSample>,
}

impl HostEntry {
    /// Bytes of the sample's pixels.
    pub(in crate::loader) fn bytes(&self) -> u64 {
        self.sample.bytes(PIXEL)
    }

    /// The cached pixels.
    pub(in crate::loader) fn pixels(&self) -> PixelsRef<'_> {
        let width = self.sample.pixels.region.width as usize;
        match &self.data {
            Data::Rgb(data) => PixelsRef::Bytes { data, stride: 3 * width, size: 3 },
            Data::Floats(data) => PixelsRef::Floats { data, stride: 4 * width },
        }
    }
}

impl HostCache {
    /// A cache for `len` samples.
    pub(in crate::loader) fn new(len: usize, budget: u64) -> Self {
        HostCache { table: CacheTable::new(len), bytes: AtomicU64::new(0), budget }
    }

    pub(in crate::loader) fn get(&self, index: usize) -> Option<&HostEntry> {
        self.table.get(index)
    }

    pub(super) fn lacks(&self, index: usize) -> bool {
        self.table.lacks(index)
    }

    pub(super) fn reserve(&self, index: usize, sample: CachedSample) -> Option<HostReservation<'_>> {
        let bytes = sample.bytes(PIXEL);
        let room = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.budget);
        if !self.table.reserve(index) {
            return None;
        }
        if self.bytes.fetch_update(Relaxed, Relaxed, room).is_err() {
            self.table.release(index);
            return None;
        }
        Some(HostReservation { cache: self, index, sample: Some(sample) })
    }

    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    pub(super) fn usage(&self) -> (u64, u64) {
        (self.table.inserted(), self.bytes.load(Relaxed))
    }
}

impl HostReservation<'_> {
    /// Inserts the sample with its pixels.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has less memory than the cache may
    /// take; the sample's bytes are then free again.
    pub(in crate::loader) fn insert(mut self, pixels: PixelsRef<'_>) -> Result<()> {
        let Some(sample) = &self.sample else { return Ok(()) };
        let (width, height) = (sample.pixels.region.width as usize, sample.pixels.region.height as usize);
        let data = match pixels {
            PixelsRef::Bytes { data, stride, size } => {
                let mut rgb = Vec::new();
                CACHED.reserve(&mut rgb, product(3 * width, height))?;
                for row in data.chunks(stride).take(height) {
                    match size {
                        1 => rgb.extend(row[..width].iter().flat_map(|&gray| [gray; 3])),
                        3 => rgb.extend_from_slice(&row[..3 * width]),
                        _ => rgb.extend(row[..4 * width].as_chunks::<4>().0.iter().flat_map(|pixel| &pixel[..3])),
                    }
                }
                Data::Rgb(rgb.into())
            }
            PixelsRef::Floats { data, stride } => {
                let mut floats = Vec::new();
                CACHED.reserve(&mut floats, product(4 * width, height))?;
                data.chunks(stride).take(height).for_each(|row| floats.extend_from_slice(&row[..4 * width]));
                Data::Floats(floats.into())
            }
        };
        if let Some(sample) = self.sample.take() {
            self.cache.table.insert(self.index, HostEntry { sample, data });
        }
        Ok(())
    }
}

impl Drop for HostReservation<'_> {
    fn drop(&mut self) {
        if let Some(sample) = &self.sample {
            self.cache.bytes.fetch_sub(sample.bytes(PIXEL), Relaxed);
            self.cache.table.release(self.index);
        }
    }
}
