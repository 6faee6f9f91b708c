//! Samples in host memory.

use super::Known;
use super::table::Table;
use crate::pixels::PixelsRef;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug)]
pub(in crate::loader) struct HostCache {
    table: Table<HostEntry>,
    bytes: AtomicU64,
    budget: u64,
}

/// Bytes of a pixel.
const PIXEL: u64 = 3;

/// A kept sample.
#[derive(Debug)]
pub(in crate::loader) struct HostEntry {
    pub(in crate::loader) known: Known,
    pixels: Kept,
}

#[derive(Debug)]
enum Kept {
    Rgb(Box<[u8]>),
    Floats(Box<[f32]>),
}

/// The right to fill a sample's place, with its bytes set aside; given back where nothing is kept.
#[derive(Debug)]
pub(in crate::loader) struct HostClaim<'a> {
    cache: &'a HostCache,
    index: usize,
    bytes: u64,
    kept: bool,
}

impl HostEntry {
    /// Bytes of its pixels.
    pub(in crate::loader) fn bytes(&self) -> u64 {
        self.known.bytes(PIXEL)
    }

    /// The pixels of `known.region`.
    pub(in crate::loader) fn pixels(&self) -> PixelsRef<'_> {
        let width = self.known.region.width as usize;
        match &self.pixels {
            Kept::Rgb(data) => PixelsRef::Bytes { data, stride: 3 * width, size: 3 },
            Kept::Floats(data) => PixelsRef::Floats { data, stride: 4 * width },
        }
    }
}

impl HostCache {
    /// For `len` samples.
    pub(in crate::loader) fn new(len: usize, budget: u64) -> Self {
        HostCache { table: Table::new(len), bytes: AtomicU64::new(0), budget }
    }

    pub(in crate::loader) fn get(&self, index: usize) -> Option<&HostEntry> {
        self.table.get(index)
    }

    /// Whether the sample is neither kept nor about to be.
    pub(in crate::loader) fn is_free(&self, index: usize) -> bool {
        self.table.is_free(index)
    }

    /// `None` where the sample is kept or about to be, or has no room.
    pub(in crate::loader) fn claim(&self, index: usize, known: &Known) -> Option<HostClaim<'_>> {
        let bytes = known.bytes(PIXEL);
        let room = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.budget);
        if !self.table.claim(index) {
            return None;
        }
        if self.bytes.fetch_update(Relaxed, Relaxed, room).is_err() {
            self.table.unclaim(index);
            return None;
        }
        Some(HostClaim { cache: self, index, bytes, kept: false })
    }

    pub(in crate::loader) fn budget(&self) -> u64 {
        self.budget
    }

    pub(in crate::loader) fn kept(&self) -> (u64, u64) {
        (self.table.filled(), self.bytes.load(Relaxed))
    }
}

impl HostClaim<'_> {
    /// Keeps the pixels of `known.region`.
    pub(in crate::loader) fn keep(mut self, known: Known, pixels: PixelsRef<'_>) {
        let (width, height) = (known.region.width as usize, known.region.height as usize);
        let pixels = match pixels {
            PixelsRef::Bytes { data, stride, size } => {
                let mut rgb = Vec::with_capacity(3 * width * height);
                for row in data.chunks(stride).take(height) {
                    match size {
                        1 => rgb.extend(row[..width].iter().flat_map(|&gray| [gray; 3])),
                        3 => rgb.extend_from_slice(&row[..3 * width]),
                        _ => rgb.extend(row[..4 * width].as_chunks::<4>().0.iter().flat_map(|pixel| &pixel[..3])),
                    }
                }
                Kept::Rgb(rgb.into())
            }
            PixelsRef::Floats { data, stride } => {
                let mut floats = Vec::with_capacity(4 * width * height);
                data.chunks(stride).take(height).for_each(|row| floats.extend_from_slice(&row[..4 * width]));
                Kept::Floats(floats.into())
            }
        };
        self.cache.table.fill(self.index, HostEntry { known, pixels });
        self.kept = true;
    }
}

impl Drop for HostClaim<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.cache.bytes.fetch_sub(self.bytes, Relaxed);
            self.cache.table.unclaim(self.index);
        }
    }
}
