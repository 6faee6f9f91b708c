//! Samples in GPU memory. The values of their fields stay in the host's memory, which has the same budget.

use super::CachedSample;
use super::table::CacheTable;
use crate::gpu::Gpu;
use crate::gpu::cache_pages::{Page, PageRange, Pages};
use crate::plan::route::CachedPixels;
use crate::plan::shader_layout::PixelsAt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(in crate::loader) struct DeviceCache {
    table: CacheTable<DeviceEntry>,
    pages: Mutex<Pages>,
    /// Bytes of the values of fields.
    field_bytes: AtomicU64,
}

/// A cached sample, and the range of a page with its pixels.
#[derive(Debug)]
pub(in crate::loader) struct DeviceEntry {
    pub(in crate::loader) sample: CachedSample,
    pub(in crate::loader) range: PageRange,
}

/// The right to insert a sample, with a range of a page reserved for it. Dropping it returns the range.
#[derive(Debug)]
pub(in crate::loader) struct DeviceReservation {
    cache: Arc<DeviceCache>,
    index: usize,
    sample: CachedSample,
    range: PageRange,
    inserted: bool,
}

impl DeviceEntry {
    /// The location of the pixels for the shaders of a stage: stage 0 counts words, later stages count units of four
    /// floats.
    pub(in crate::loader) fn pixels_at(&self, stage: usize) -> PixelsAt {
        let CachedPixels { region, float, .. } = self.sample.pixels;
        let unit = if stage == 0 { 4 } else { 16 };
        PixelsAt { offset: (self.range.offset / unit) as u32, stride: region.width, float }
    }
}

impl DeviceCache {
    /// A cache for `len` samples.
    pub(in crate::loader) fn new(gpu: &Gpu, len: usize, budget: u64) -> Arc<Self> {
        let pages = Mutex::new(Pages::new(gpu, len, budget));
        Arc::new(DeviceCache { table: CacheTable::new(len), pages, field_bytes: AtomicU64::new(0) })
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // No panic can leave the pages half changed, so a poisoned lock is used on.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::loader) fn get(&self, index: usize) -> Option<&DeviceEntry> {
        self.table.get(index)
    }

    pub(super) fn lacks(&self, index: usize) -> bool {
        self.table.lacks(index)
    }

    pub(super) fn reserve(self: &Arc<Self>, index: usize, sample: CachedSample) -> Option<DeviceReservation> {
        if !self.table.reserve(index) {
            return None;
        }
        let (fields, budget) = (sample.field_bytes(), self.budget());
        let room = |used: u64| used.checked_add(fields).filter(|used| *used <= budget);
        if self.field_bytes.fetch_update(Relaxed, Relaxed, room).is_err() {
            self.table.release(index);
            return None;
        }
        let Some(range) = self.pages().take(sample.pixel_bytes(4)) else {
            self.field_bytes.fetch_sub(fields, Relaxed);
            self.table.release(index);
            return None;
        };
        Some(DeviceReservation { cache: Arc::clone(self), index, sample, range, inserted: false })
    }

    /// The pages, in the order of their numbers.
    pub(in crate::loader) fn all_pages(&self) -> Vec<Page> {
        self.pages().all().to_vec()
    }

    pub(super) fn budget(&self) -> u64 {
        self.pages().budget()
    }

    pub(super) fn usage(&self) -> (u64, u64) {
        (self.table.inserted(), self.pages().bytes())
    }
}

impl DeviceReservation {
    pub(in crate::loader) fn range(&self) -> &PageRange {
        &self.range
    }

    /// Inserts the sample once the copy of its pixels is submitted, so that later submissions find the pixels.
    pub(in crate::loader) fn insert(mut self) {
        let entry = DeviceEntry { sample: self.sample.clone(), range: self.range.clone() };
        self.cache.table.insert(self.index, entry);
        self.inserted = true;
    }
}

impl Drop for DeviceReservation {
    fn drop(&mut self) {
        if !self.inserted {
            self.cache.pages().give_back(self.range.clone());
            self.cache.field_bytes.fetch_sub(self.sample.field_bytes(), Relaxed);
            self.cache.table.release(self.index);
        }
    }
}
