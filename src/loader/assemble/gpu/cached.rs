//! Samples in the GPU's cache: submitted when their batch is announced, without workers or slots.

use super::GpuRun;
use crate::error::Result;
use crate::gpu::cache_pages::Page;
use crate::gpu::encode::Item;
use crate::gpu::submission::CachedGroup;
use crate::loader::cache::CacheStore;
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::group::Group;
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
        let (pages, pipeline) = (self.pages(), self.pipeline);
        let Some(pending) = self.batches.get_mut(&number) else { return Ok(()) };
        let samples = std::mem::take(&mut pending.buffers.cached);
        let images = (samples.len() * pipeline.outputs) as u64;
        let _span = tracing::trace_span!("cached", images).entered();
        pending.remaining -= samples.len();
        let mut placed: Vec<(usize, InPage)> = Vec::with_capacity(samples.len());
        for (index, sample) in samples {
            let pixels = pending.add(index, sample);
            placed.push((index, pixels));
        }
        let is_complete = pending.remaining == 0;
        let Some(targets) = &pending.buffers.targets else { return Ok(()) };
        placed.sort_by_key(|(index, pixels)| (pixels.page, *index));
        let (GpuBuffers { gpu, kernels, .. }, times) = (self.executor, &pipeline.stats.gpu);
        let mut parts = placed.chunks(self.executor.slot_samples).peekable();
        while let Some(part) = parts.next() {
            if self.resources.cached_are_many() {
                self.clock.spent(Stage::Submit, 0);
                let resources = &mut *self.resources;
                self.clock.waited_for_gpu(|| resources.wait_for_cached(gpu))?;
            }
            let completes = is_complete && parts.peek().is_none();
            let of_group = |(number, (group, target))| CachedGroup {
                pages: items_by_page(part, &pages, group),
                target,
                complete: completes.then(|| pending.completion(pipeline, number)),
            };
            let groups = pipeline.groups.iter().zip(&**targets).enumerate().map(of_group).collect();
            let computing = self.resources.submit_cached(gpu, kernels, groups, times)?;
            self.clock.spent_with_gpu(Stage::Submit, (part.len() * pipeline.outputs) as u64, computing);
        }
        Ok(())
    }
}

/// The images that a group has of samples that are sorted by page, with the buffer of each page.
fn items_by_page<'a>(samples: &'a [(usize, InPage)], pages: &[Page], group: &Group) -> Vec<(Page, Vec<Item<'a>>)> {
    let mut by_page = Vec::new();
    for of_page in samples.chunk_by(|a, b| a.1.page == b.1.page) {
        let mut items = Vec::with_capacity(of_page.len() * group.outputs);
        for (index, InPage { views, .. }) in of_page {
            let images = (index * group.outputs..).zip(&views[group.staged()]);
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
