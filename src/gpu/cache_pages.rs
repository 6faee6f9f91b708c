//! GPU memory for cached samples: buffers of a binding's size, filled from front to back.

use super::ALIGNMENT;
use super::Gpu;

/// The smallest page. If the GPU refuses a page, one of half its size is tried, down to this size.
const SMALLEST: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Pages {
    gpu: Gpu,
    pages: Vec<Page>,
    /// Bytes of the last page that ranges occupy.
    used: u64,
    /// Samples that have no range yet, and the number and bytes of all ranges taken so far.
    samples: u64,
    taken: (u64, u64),
    /// Bytes of all pages.
    bytes: u64,
    budget: u64,
    /// Ranges that were returned.
    free: Vec<PageRange>,
    /// True once the GPU has refused a page of the smallest size, and would refuse again.
    full: bool,
}

/// A buffer with cached samples.
#[derive(Clone, Debug)]
pub(crate) struct Page(pub(super) wgpu::Buffer);

/// A range of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageRange {
    /// The page's number.
    pub(crate) page: usize,
    /// Offset in bytes, a multiple of 16.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Pages {
    /// Pages for up to `samples` samples.
    pub(crate) fn new(gpu: &Gpu, samples: usize, budget: u64) -> Self {
        let (gpu, samples) = (gpu.clone(), samples as u64);
        Pages {
            gpu,
            pages: Vec::new(),
            used: 0,
            samples,
            taken: (0, 0),
            bytes: 0,
            budget,
            free: Vec::new(),
            full: false,
        }
    }

    /// A range, or `None` where the budget or the GPU has no room for it.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<PageRange> {
        if let Some(free) = self.free.iter().position(|range| range.bytes == bytes) {
            // Reuses the range of the same sample, or of one of the same size.
            return Some(self.free.swap_remove(free));
        }
        let taken = bytes.next_multiple_of(16);
        if self.pages.last().is_none_or(|Page(buffer)| self.used + taken > buffer.size()) {
            self.add(taken)?;
        }
        let range = PageRange { page: self.pages.len() - 1, offset: self.used, bytes };
        self.used += taken;
        self.taken = (self.taken.0 + 1, self.taken.1 + taken);
        Some(range)
    }

    /// Makes a page with room for `bytes`.
    fn add(&mut self, bytes: u64) -> Option<()> {
        let most = self.gpu.caps().max_binding_bytes;
        // Sized for the samples still expected, at their mean size so far, within the budget.
        let left = (self.samples.saturating_sub(self.taken.0)).max(1);
        let a_sample = (self.taken.1 / self.taken.0.max(1)).max(bytes);
        let left = left.saturating_mul(a_sample).next_multiple_of(ALIGNMENT);
        let mut size = most.min(left).min(self.budget - self.bytes) / ALIGNMENT * ALIGNMENT;
        if self.full || bytes > size {
            return None;
        }
        loop {
            let half = size / 2 / ALIGNMENT * ALIGNMENT;
            match self.gpu.storage("gpufeed cached samples", size) {
                Ok(buffer) => {
                    self.pages.push(Page(buffer));
                    self.bytes += size;
                    self.used = 0;
                    return Some(());
                }
                Err(_) if half >= SMALLEST.max(bytes) => size = half,
                Err(error) => {
                    tracing::warn!(%error, cached_bytes = self.bytes, "the GPU has no memory left for the cache; further samples are not cached; lower the bytes of the cache");
                    self.full = true;
                    return None;
                }
            }
        }
    }

    /// Gives back a range that is not needed any more.
    pub(crate) fn give_back(&mut self, range: PageRange) {
        self.free.push(range);
    }

    pub(crate) fn all(&self) -> &[Page] {
        &self.pages
    }

    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes of all pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
