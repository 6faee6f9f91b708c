//! Samples in the GPU's cache: submitted when their batch is announced, without workers or slots.

use super::GpuRun;
use crate::error::Result;
use crate::gpu::cache_pages::Page;
use crate::gpu::encode::Item;
use crate::loader::cache::CacheStore;
use crate::loader::messages::InPage;
use crate::loader::stats::Stage;

impl GpuRun<'_> {
    /// The buffers of the cache.
    pub(super) fn pages(&self) -> Vec<Page> {
        match &self.pipeline.cache {
            CacheStore::Device(cache) => cache.all_pages(),
            CacheStore::Off | CacheStore::Host(_) => Vec::new(),
        }
    }

    /// Submits the cached samples of each batch; `false` where an output buffer is missing.
    pub(super) fn submit_cached(&mut self) -> Result<bool> {
        if !matches!(self.pipeline.cache, CacheStore::Device(_)) {
            return Ok(true);
        }
        let numbers: Vec<u64> = self.batches.keys().copied().collect();
        for number in numbers {
            if self.batches.get(&number).is_none_or(|batch| batch.buffers.cached.is_empty()) {
                continue;
            }
            if !self.take_output(number)? {
                return Ok(false);
            }
            self.submit_cached_of(number)?;
        }
        Ok(true)
    }

    /// Makes one submission of a batch's cached samples, with a dispatch for each page; several where one has no room
    /// for the parameters of all.
    fn submit_cached_of(&mut self, number: u64) -> Result<()> {
        let (pages, views) = (self.pages(), self.pipeline.outputs);
        let Some(pending) = self.batches.get_mut(&number) else { return Ok(()) };
        let samples = std::mem::take(&mut pending.buffers.cached);
        let images = (samples.len() * views) as u64;
        let _span = tracing::trace_span!("cached", images).entered();
        pending.remaining -= samples.len();
        let mut placed: Vec<(usize, InPage)> = Vec::with_capacity(samples.len());
        for (index, sample) in samples {
            let pixels = pending.add(index, sample);
            placed.push((index, pixels));
        }
        let complete = (pending.remaining == 0).then(|| pending.completion(self.pipeline));
        let Some(target) = &pending.buffers.target else { return Ok(()) };
        placed.sort_by_key(|(index, pixels)| (pixels.page, *index));
        let (kernels, times) = (&self.executor.kernels, &self.pipeline.stats.gpu);
        let mut parts = placed.chunks(self.executor.slot_samples).peekable();
        while let Some(part) = parts.next() {
            if self.resources.cached_are_many() {
                self.clock.spent(Stage::Submit, 0);
                let resources = &mut *self.resources;
                self.clock.waited_for_gpu(|| resources.wait_for_cached(kernels.gpu()))?;
            }
            let items_by_page = items_by_page(part, &pages, views);
            let complete = complete.filter(|_| parts.peek().is_none());
            let computing = self.resources.submit_cached(kernels, items_by_page, target, complete, times)?;
            self.clock.spent_with_gpu(Stage::Submit, (part.len() * views) as u64, computing);
        }
        Ok(())
    }
}

/// The images of samples that are sorted by page, with the buffer of each page.
fn items_by_page<'a>(samples: &'a [(usize, InPage)], pages: &[Page], views: usize) -> Vec<(Page, Vec<Item<'a>>)> {
    let mut by_page = Vec::new();
    for of_page in samples.chunk_by(|a, b| a.1.page == b.1.page) {
        let mut items = Vec::with_capacity(of_page.len() * views);
        for (index, InPage { views: programs, .. }) in of_page {
            let images = (index * views..).zip(programs);
            items.extend(images.map(|(index, (pixels, program))| Item {
                program,
                pixels: *pixels,
                index,
                to_cache: None,
            }));
        }
        by_page.push((pages[of_page[0].1.page].clone(), items));
    }
    by_page
}
