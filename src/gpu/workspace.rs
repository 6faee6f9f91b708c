//! The buffers that every submission uses: parameters, statistics, intermediates. Made once; the order of the queue
//! makes it safe for the next submission to use them again.

use super::ALIGNMENT;
use super::Gpu;
use super::caps::Caps;
use super::timing::Timing;
use crate::advice::Setting;
use crate::allocate::Use;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::plan::PlanStage;
use crate::plan::cpu_fallback::{INTERMEDIATE_BYTES, WEIGHT_WORDS};
use crate::plan::resize_u8::WeightsU8;
use crate::plan::shader_layout::Image;
use crate::plan::wgsl::PARTIALS;
use std::ops::Range;

/// The parameters of a submission in host memory.
const PARAMETERS: Use = Use { what: "the parameters of a batch", settings: &[Setting::BatchSize, Setting::Views] };

/// Words of an image's tables of autocontrast or equalize: one for each number of each channel.
pub(super) const TABLE_WORDS: u32 = 3 * 256;

/// The weights of a submission's resizes on 8-bit numbers, and where they stand in the statistics.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// The word of the statistics at which the tables begin.
    pub(super) tables: u32,
    /// The word at which the weights begin.
    pub(super) first: u32,
    pub(super) words: Vec<u32>,
    pub(super) scratch: WeightsU8,
}

/// The buffers that every submission of a run uses.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) params: wgpu::Buffer,
    pub(crate) statistics: wgpu::Buffer,
    intermediates: Vec<wgpu::Buffer>,
    pub(crate) dummy: wgpu::Buffer,
    /// The parameters of the submission that is being recorded.
    bytes: Vec<u8>,
    most_images: usize,
    weights: Weights,
}

impl Workspace {
    /// Bytes of GPU memory for submissions of up to `images` images, `in_flight` of them at a time: wgpu copies the
    /// parameters of each.
    pub(crate) fn bytes_for(plan: &Plan, images: usize, in_flight: u64) -> u64 {
        let Sizes { params, statistics, tables, weights } = Sizes::of_an_image(plan).times(images);
        let written = params.saturating_add(weights).saturating_mul(1 + in_flight);
        let others = intermediates(plan) * INTERMEDIATE_BYTES + ALIGNMENT + Timing::BYTES;
        [written, statistics, tables, others].into_iter().fold(0, u64::saturating_add)
    }

    /// The most images of a submission: a shader reads their parameters, and their statistics, in one binding each.
    pub(crate) fn most_images(caps: &Caps, plan: &Plan) -> usize {
        let an_image = Sizes::of_an_image(plan);
        (caps.max_binding_bytes / an_image.params.max(an_image.of_statistics())) as usize
    }

    /// A workspace for submissions of up to `images` images.
    ///
    /// # Errors
    /// `ErrorKind::DoesNotFit` if `images` are more than [`most_images`](Self::most_images).
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, images: usize) -> Result<Workspace> {
        let all = Sizes::of_an_image(plan).times(images);
        let (binding, largest) = (gpu.caps().max_binding_bytes, all.params.max(all.of_statistics()));
        if largest > binding {
            return Err(ErrorKind::DoesNotFit {
                what: "the parameters of the images of a submission",
                needed: largest,
                limit: binding,
                whose: "a binding of this adapter",
                settings: &[Setting::ImagesAtOnce],
            }
            .into());
        }
        let Sizes { params, statistics, tables, weights } = all;
        // A multiple of a pixel's bytes.
        let intermediate_bytes = INTERMEDIATE_BYTES.min(binding / ALIGNMENT * ALIGNMENT);
        let mut bytes = Vec::new();
        PARAMETERS.reserve(&mut bytes, params as usize)?;
        gpu.create_checked("gpufeed workspace", Self::bytes_for(plan, images, 0), || {
            let buffer = |label: &str, size: u64, usage: wgpu::BufferUsages| {
                gpu.buffer(label, size, usage | wgpu::BufferUsages::STORAGE, false)
            };
            let none = wgpu::BufferUsages::empty();
            Workspace {
                params: buffer("gpufeed parameters", params, wgpu::BufferUsages::COPY_DST),
                statistics: buffer("gpufeed statistics", statistics + tables + weights, wgpu::BufferUsages::COPY_DST),
                intermediates: (0..intermediates(plan))
                    .map(|_| buffer("gpufeed intermediate", intermediate_bytes, wgpu::BufferUsages::COPY_SRC))
                    .collect(),
                dummy: buffer("gpufeed unused binding", ALIGNMENT, none),
                bytes,
                // Images are the third dimension of a dispatch.
                most_images: images.min(gpu.caps().max_workgroups as usize),
                weights: Weights {
                    tables: (statistics / 4) as u32,
                    first: ((statistics + tables) / 4) as u32,
                    ..Weights::default()
                },
            }
        })
    }

    /// Appends a stage's parameters at the next aligned offset and returns their range in the buffer.
    pub(super) fn write_params(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Weights)) -> Result<Range<u64>> {
        let start = self.bytes.len().next_multiple_of(ALIGNMENT as usize);
        self.bytes.resize(start, 0);
        write(&mut self.bytes, &mut self.weights);
        let end = self.bytes.len() as u64;
        let words = u64::from(self.weights.first) + self.weights.words.len() as u64;
        if end > self.params.size() || 4 * words > self.statistics.size() {
            return Err(ErrorKind::DoesNotFit {
                what: "the parameters of a submission",
                needed: end,
                limit: self.params.size(),
                whose: "the workspace",
                settings: &[Setting::BatchSize],
            }
            .into());
        }
        Ok(start as u64..end)
    }

    /// Hands the parameters to the queue, ahead of the submission that reads them.
    pub(crate) fn flush_params(&mut self, gpu: &Gpu) {
        gpu.queue().write_buffer(&self.params, 0, &self.bytes);
        self.bytes.clear();
        let Weights { first, words, .. } = &mut self.weights;
        if !words.is_empty() {
            gpu.queue().write_buffer(&self.statistics, 4 * u64::from(*first), bytemuck::cast_slice(words));
            words.clear();
        }
    }

    pub(crate) fn has_room(&self, images: usize) -> bool {
        images <= self.most_images
    }

    pub(crate) fn intermediate_capacity(&self) -> u64 {
        self.intermediates.first().map_or(0, wgpu::Buffer::size)
    }

    /// The buffer that stage `stage` writes and the next one reads; two buffers alternate.
    pub(crate) fn intermediate(&self, stage: usize) -> &wgpu::Buffer {
        &self.intermediates[stage % 2]
    }
}

/// The number of intermediates.
fn intermediates(plan: &Plan) -> u64 {
    (plan.stages().len() - 1).min(2) as u64
}

/// Bytes of each part of a workspace.
struct Sizes {
    params: u64,
    statistics: u64,
    tables: u64,
    weights: u64,
}

impl Sizes {
    fn of_an_image(plan: &Plan) -> Sizes {
        // Every chunk has at least one image, so the sum of aligned images bounds the sum of aligned chunks. In a stage
        // that may begin with an operator an image has parameters for its kernel, for a mean and for its tables.
        let of_stage = |(number, stage): (usize, &PlanStage)| {
            let (bytes, passes) = if stage.gathers {
                let means = usize::from(stage.statistics);
                (Image::bytes_with_gather(stage.steps, plan.blur_weights(number)), 2 + means)
            } else {
                (Image::bytes(stage.steps), 1)
            };
            bytes.next_multiple_of(ALIGNMENT as usize) * passes
        };
        let params: usize = plan.stages().iter().enumerate().map(of_stage).sum();
        let statistics = plan.stages().iter().map(|stage| stage.statistics).max().unwrap_or(0).max(1);
        let has_tables = (0..plan.stages().len()).any(|stage| plan.has_tables(stage));
        Sizes {
            params: params as u64,
            statistics: u64::from(statistics) * u64::from(PARTIALS) * 4,
            tables: if has_tables { u64::from(TABLE_WORDS) * 4 } else { 0 },
            weights: if plan.resizes_uint8() { WEIGHT_WORDS * 4 } else { 0 },
        }
    }

    fn times(&self, images: usize) -> Sizes {
        let times = |bytes: u64| bytes.saturating_mul(images as u64);
        let Sizes { params, statistics, tables, weights } = *self;
        let [params, statistics, tables, weights] = [params, statistics, tables, weights].map(times);
        Sizes { params, statistics, tables, weights }
    }

    /// Bytes of the buffer of statistics, in which the tables and the weights stand as well.
    fn of_statistics(&self) -> u64 {
        self.statistics.saturating_add(self.tables).saturating_add(self.weights)
    }
}
