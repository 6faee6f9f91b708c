//! Batches for the GPU executor: each sample is a job, except those in the GPU's cache. These need no worker: their
//! parameters are made here, and the batch is announced with them.

use super::Feeder;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::cache::{CacheStore, CachedSample, DeviceCache, DeviceEntry};
use crate::loader::executor_buffers::GpuBuffers;
use crate::loader::group::route;
use crate::loader::messages::{BatchStart, Finished, GpuMessage, InPage, SlotJob};
use crate::loader::pipeline::Pipeline;
use crate::loader::stats::Stage;
use crate::plan::route::Origin;
use crate::random::ahead::Ahead;
use crate::random::many_keys::KEYS;
use crate::sampler::Position;
use crate::transforms::Key;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The samples of a batch, each with its batch index.
struct Divided {
    cached: Vec<(usize, Finished<InPage>)>,
    /// The positions that need a worker.
    others: Vec<(usize, Position)>,
}

impl Feeder<'_, GpuMessage> {
    /// Announces a batch with its cached samples, and makes a job of every other sample; `None` once the run has ended.
    pub(in crate::loader) fn announce_positions(
        &mut self,
        executor: &GpuBuffers,
        start: BatchStart,
        positions: Vec<Position>,
    ) -> Result<Option<Vec<SlotJob>>> {
        let (batch, epoch) = (start.number, start.epoch);
        let positions = positions.into_iter().enumerate();
        let Divided { cached, others } = match &self.pipeline.cache {
            CacheStore::Device(cache) => self.divide(executor, cache, epoch, positions)?,
            CacheStore::Off | CacheStore::Host(_) => Divided { cached: Vec::new(), others: positions.collect() },
        };
        if !self.send(GpuMessage::Start(start, cached)) {
            return Ok(None);
        }
        let job = |(order, (index, position))| SlotJob { order, batch, epoch, index, position };
        let jobs: Vec<_> = (self.order..).zip(others).map(job).collect();
        self.order += jobs.len() as u64;
        Ok(Some(jobs))
    }

    /// Makes the parameters of the cached samples, many at once.
    fn divide(
        &mut self,
        executor: &GpuBuffers,
        cache: &DeviceCache,
        epoch: u64,
        positions: impl Iterator<Item = (usize, Position)>,
    ) -> Result<Divided> {
        let (pipeline, ahead) = (self.pipeline, &mut self.ahead);
        let (mut cached, mut others, mut found): (_, _, Vec<_>) = (Vec::new(), Vec::new(), Vec::new());
        for (index, position) in positions {
            match cache.get(position.index) {
                Some(entry) => found.push((index, position, entry)),
                None => others.push((index, position)),
            }
        }
        let most = pipeline.groups.iter().map(|group| group.outputs).max().unwrap_or(1);
        let at_once = (KEYS / most).max(1);
        let mut keys: Vec<Vec<Key>> = pipeline.groups.iter().map(|_| Vec::with_capacity(at_once * most)).collect();
        for some in found.chunks(at_once) {
            for ((group, keys), ahead) in pipeline.groups.iter().zip(&mut keys).zip(&mut *ahead) {
                keys.clear();
                for (_, position, _) in some {
                    let (_, key) = pipeline.candidate(epoch, position, 0);
                    keys.extend((0..group.outputs).map(|image| group.key(&key, image)));
                }
                ahead.draw(keys);
            }
            for (number, &(index, position, entry)) in some.iter().enumerate() {
                let drawn = Drawn { keys: &keys, ahead, number };
                // A panic comes from an operator, as in a worker.
                let sample = catch_unwind(AssertUnwindSafe(|| {
                    prepare_cached(pipeline, executor, position.index, entry, &drawn)
                }));
                let sample = sample.map_err(|payload| {
                    let source = Error::panic(Stage::Params.name(), payload.as_ref());
                    let name = pipeline.dataset.name(position.index);
                    ErrorKind::Sample { id: pipeline.dataset.id(position.index), name, source }
                })?;
                match sample {
                    Some(sample) => cached.push((index, sample)),
                    None => others.push((index, position)),
                }
            }
        }
        // Jobs are in the order of the batch, including those of cached samples that need a worker after all.
        others.sort_by_key(|(index, _)| *index);
        let images = cached.len() * pipeline.outputs;
        self.clock.spent(Stage::Params, images as u64);
        pipeline.stats.cache_hits(cached.len());
        pipeline.stats.images(images);
        Ok(Divided { cached, others })
    }
}

/// The random numbers of some samples, and which of these samples it is.
struct Drawn<'a> {
    /// For each group the keys of its images, sample by sample.
    keys: &'a [Vec<Key>],
    ahead: &'a [Ahead],
    number: usize,
}

/// A sample in the GPU's cache with its programs; `None` if it needs a worker.
fn prepare_cached(
    pipeline: &Pipeline,
    executor: &GpuBuffers,
    index: usize,
    entry: &DeviceEntry,
    drawn: &Drawn<'_>,
) -> Option<Finished<InPage>> {
    let sample = &entry.sample;
    // Boxes are looked at by a worker.
    if pipeline.groups.iter().any(|group| group.plan().looks_at_objects()) {
        return None;
    }
    let mut params = Vec::with_capacity(pipeline.outputs);
    for ((group, keys), ahead) in pipeline.groups.iter().zip(drawn.keys).zip(drawn.ahead) {
        let first = drawn.number * group.outputs;
        for (image, key) in (first..).zip(&keys[first..first + group.outputs]) {
            // On an error a worker takes the sample, and applies the usual replacement policy.
            params.push(group.plan().make_params_ahead(sample.size, key, ahead.of(image)).ok()?);
        }
    }
    // Samples of several sources are in no cache.
    let route = route(&pipeline.groups, 0, &params, Origin::Cache(sample.pixels)).ok()?.route;
    if route.views.iter().any(|view| view.cpu_fallback) {
        return None;
    }
    // Groups share the pixels of the source, so that the first group's stage is that of all.
    let at = entry.pixels_at(executor.kernels.first()?.cached_stage());
    let programs = route.views.into_iter().map(|view| (at, view.program.relative_to(view.region)));
    let pixels = InPage { page: entry.range.page, views: programs.collect() };
    let CachedSample { label, mut fields, .. } = sample.clone();
    let objects = match &pipeline.objects {
        Some(objects) => objects.moved(&pipeline.groups, &mut fields, &params).ok()?,
        None => Vec::new(),
    };
    let id = drawn.keys.first()?.get(drawn.number * pipeline.first().outputs)?.sample;
    Some(Finished { index, id, label, fields, params, objects, pixels })
}
