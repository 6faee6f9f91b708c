//! The buffers that every submission uses: parameters, statistics, intermediates. Made once; the order of the queue
//! makes it safe for the next submission to use them again.

use super::ALIGNMENT;
use super::Gpu;
use super::timing::Timing;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::plan::PlanStage;
use crate::plan::cpu_fallback::{INTERMEDIATE_BYTES, WEIGHT_WORDS};
use crate::plan::resize_u8::WeightsU8;
use crate::plan::shader_layout::Image;
use crate::plan::wgsl::PARTIALS;
use std::ops::Range;

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
    params: wgpu::Buffer,
    statistics: wgpu::Buffer,
    intermediates: Vec<wgpu::Buffer>,
    dummy: wgpu::Buffer,
    /// The parameters of the submission that is being recorded.
    bytes: Vec<u8>,
    most_images: usize,
    weights: Weights,
    /// The timing of passes, which is off unless it is turned on.
    pub(super) timing: Timing,
}

impl Workspace {
    /// Bytes of GPU memory for submissions of up to `images` images, `in_flight` of them at a time: wgpu copies the
    /// parameters of each.
    pub(crate) fn bytes_for(plan: &Plan, images: usize, in_flight: u64) -> u64 {
        let Sizes { params, statistics, tables, weights, intermediates } = sizes(plan, images);
        let written = (params + weights) * (1 + in_flight);
        written + statistics + tables + intermediates * INTERMEDIATE_BYTES + ALIGNMENT + Timing::BYTES
    }

    /// A workspace for submissions of up to `images` images.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, images: usize) -> Result<Workspace> {
        let Sizes { params, statistics, tables, weights, intermediates } = sizes(plan, images);
        gpu.create_checked("gpufeed workspace", Self::bytes_for(plan, images, 0), || {
            let buffer = |label: &str, size: u64, usage: wgpu::BufferUsages| {
                gpu.buffer(label, size, usage | wgpu::BufferUsages::STORAGE, false)
            };
            let none = wgpu::BufferUsages::empty();
            Workspace {
                params: buffer("gpufeed parameters", params, wgpu::BufferUsages::COPY_DST),
                statistics: buffer("gpufeed statistics", statistics + tables + weights, wgpu::BufferUsages::COPY_DST),
                intermediates: (0..intermediates)
                    .map(|_| buffer("gpufeed intermediate", INTERMEDIATE_BYTES, wgpu::BufferUsages::COPY_SRC))
                    .collect(),
                dummy: buffer("gpufeed unused binding", ALIGNMENT, none),
                bytes: Vec::with_capacity(params as usize),
                most_images: images,
                weights: Weights {
                    tables: (statistics / 4) as u32,
                    first: ((statistics + tables) / 4) as u32,
                    ..Weights::default()
                },
                timing: Timing::default(),
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
                setting: "batch_size",
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
        // Images are the third dimension of a dispatch, which every device limits to 65535 groups.
        images <= self.most_images.min(65_535)
    }

    pub(crate) fn intermediate_capacity(&self) -> u64 {
        INTERMEDIATE_BYTES
    }

    pub(crate) fn params(&self) -> &wgpu::Buffer {
        &self.params
    }

    pub(crate) fn statistics(&self) -> &wgpu::Buffer {
        &self.statistics
    }

    /// The buffer that stage `stage` writes and the next one reads; two buffers alternate.
    pub(crate) fn intermediate(&self, stage: usize) -> &wgpu::Buffer {
        &self.intermediates[stage % 2]
    }

    /// A buffer for bindings that a pass does not declare.
    pub(crate) fn dummy(&self) -> &wgpu::Buffer {
        &self.dummy
    }
}

/// Bytes of each part of a workspace, and the number of intermediates.
struct Sizes {
    params: u64,
    statistics: u64,
    tables: u64,
    weights: u64,
    intermediates: u64,
}

fn sizes(plan: &Plan, images: usize) -> Sizes {
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
    let an_image: usize = plan.stages().iter().enumerate().map(of_stage).sum();
    let statistics = plan.stages().iter().map(|stage| stage.statistics).max().unwrap_or(0).max(1);
    let has_tables = (0..plan.stages().len()).any(|stage| plan.has_tables(stage));
    let images = images as u64;
    Sizes {
        params: images * an_image as u64,
        statistics: images * u64::from(statistics) * u64::from(PARTIALS) * 4,
        tables: if has_tables { images * u64::from(TABLE_WORDS) * 4 } else { 0 },
        weights: if plan.resizes_uint8() { images * WEIGHT_WORDS * 4 } else { 0 },
        intermediates: (plan.stages().len() - 1).min(2) as u64,
    }
}
