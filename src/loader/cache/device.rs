//! Samples in GPU memory.

use super::Known;
use super::table::Table;
use crate::gpu::Gpu;
use crate::gpu::pages::{Page, Pages, Place};
use crate::plan::params::Source;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug)]
pub(in crate::loader) struct DeviceCache {
    table: Table<DeviceEntry>,
    pages: Mutex<Pages>,
}

/// A kept sample.
#[derive(Debug)]
pub(in crate::loader) struct DeviceEntry {
    pub(in crate::loader) known: Known,
    pub(in crate::loader) place: Place,
}

/// The right to fill a sample's place, with a range of a page set aside; given back where nothing is kept.
#[derive(Debug)]
pub(in crate::loader) struct DeviceClaim {
    cache: Arc<DeviceCache>,
    index: usize,
    known: Known,
    place: Place,
    kept: bool,
}

impl DeviceEntry {
    /// As the shaders find it: the first stage counts words, later ones floats by fours.
    pub(in crate::loader) fn source(&self, first_stage: usize) -> Source {
        let Known { region, float, .. } = self.known;
        let unit = if first_stage == 0 { 4 } else { 16 };
        Source { offset: (self.place.offset / unit) as u32, stride: region.width, float }
    }
}

impl DeviceCache {
    /// For `len` samples.
    pub(in crate::loader) fn new(gpu: &Gpu, len: usize, budget: u64) -> Arc<Self> {
        Arc::new(DeviceCache { table: Table::new(len), pages: Mutex::new(Pages::new(gpu, len, budget)) })
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // Nothing is left half-done while the lock is held.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::loader) fn get(&self, index: usize) -> Option<&DeviceEntry> {
        self.table.get(index)
    }

    /// Whether the sample is neither kept nor about to be.
    pub(in crate::loader) fn is_free(&self, index: usize) -> bool {
        self.table.is_free(index)
    }

    /// `None` where the sample is kept or about to be, or has no room.
    pub(in crate::loader) fn claim(self: &Arc<Self>, index: usize, known: Known) -> Option<DeviceClaim> {
        if !self.table.claim(index) {
            return None;
        }
        let Some(place) = self.pages().take(known.bytes(4)) else {
            self.table.unclaim(index);
            return None;
        };
        Some(DeviceClaim { cache: Arc::clone(self), index, known, place, kept: false })
    }

    /// The pages, by their numbers.
    pub(in crate::loader) fn all_pages(&self) -> Vec<Page> {
        self.pages().all().to_vec()
    }

    pub(in crate::loader) fn budget(&self) -> u64 {
        self.pages().budget()
    }

    pub(in crate::loader) fn kept(&self) -> (u64, u64) {
        (self.table.filled(), self.pages().bytes())
    }
}

impl DeviceClaim {
    pub(in crate::loader) fn place(&self) -> &Place {
        &self.place
    }

    /// The pixels are on their way: whatever is submitted from now on finds them.
    pub(in crate::loader) fn keep(mut self) {
        let entry = DeviceEntry { known: self.known.clone(), place: self.place.clone() };
        self.cache.table.fill(self.index, entry);
        self.kept = true;
    }
}

impl Drop for DeviceClaim {
    fn drop(&mut self) {
        if !self.kept {
            self.cache.pages().give_back(self.place.clone());
            self.cache.table.unclaim(self.index);
        }
    }
}
