//! Batches' samples that lie in GPU memory: submitted as they are announced, without workers or slots.

use super::Uploader;
use crate::error::Result;
use crate::gpu::kernel::Item;
use crate::gpu::pages::Page;
use crate::loader::assembly::KeptPlace;
use crate::loader::cache;
use crate::loader::stats::Stage;

impl Uploader<'_> {
    /// The buffers in which samples lie.
    pub(super) fn pages(&self) -> Vec<Page> {
        match &self.line.cache {
            cache::Store::Device(cache) => cache.all_pages(),
            _ => Vec::new(),
        }
    }

    /// Submits the samples of each batch that lie in GPU memory; `false` where an output buffer is missing.
    pub(super) fn submit_kept(&mut self) -> Result<bool> {
        if !matches!(self.line.cache, cache::Store::Device(_)) {
            return Ok(true);
        }
        let numbers: Vec<u64> = self.state.batches.keys().copied().collect();
        for number in numbers {
            if self.state.batches.get(&number).is_none_or(|batch| batch.announced.kept.is_empty()) {
                continue;
            }
            if !self.has_output(number)? {
                return Ok(false);
            }
            let assembly = self.state.batches.get_mut(&number);
            let kept = assembly.map(|assembly| std::mem::take(&mut assembly.announced.kept));
            self.submit_places(number, kept.unwrap_or_default())?;
        }
        Ok(true)
    }

    /// One submission for a batch's samples in GPU memory, and a dispatch for each page.
    fn submit_places(&mut self, number: u64, mut kept: Vec<KeptPlace>) -> Result<()> {
        let views = self.line.views;
        let images = (kept.len() * views) as u64;
        let _span = tracing::trace_span!("kept", images).entered();
        if self.resources.kept_are_many() {
            self.clock.spent(Stage::Submit, 0);
            let (resources, gpu) = (&mut *self.resources, self.kernels.gpu());
            self.clock.waited_for_gpu(|| resources.wait_for_kept(gpu))?;
        }
        let all = self.pages();
        let Some(assembly) = self.state.batches.get_mut(&number) else { return Ok(()) };
        let Some(target) = &assembly.target else { return Ok(()) };
        assembly.remaining -= kept.len();
        let elements = self.line.sample_elements() * assembly.announced.places as u64;
        let complete = (assembly.remaining == 0).then_some(elements);
        kept.sort_by_key(|kept| (kept.page, kept.place));
        let mut pages = Vec::new();
        for of_page in kept.chunk_by(|a, b| a.page == b.page) {
            let mut items = Vec::with_capacity(of_page.len() * views);
            for KeptPlace { place, source, programs, .. } in of_page {
                let of_place = (place * views..).zip(programs);
                items.extend(of_place.map(|(index, program)| Item { program, source: *source, index, keep: None }));
            }
            pages.push((all[of_page[0].page].clone(), items));
        }
        let computing = self.resources.submit_kept(self.kernels, pages, target, complete, &self.line.stats.gpu)?;
        for KeptPlace { place, facts, .. } in kept {
            assembly.set_facts(place, [facts], Vec::new());
        }
        self.clock.spent_with_gpu(Stage::Submit, images, computing);
        Ok(())
    }
}
