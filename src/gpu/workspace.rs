//! The buffers that every submission uses: parameters, statistics, intermediates. Made once; the order of the queue
//! makes it safe for the next submission to use them again.

use super::ALIGNMENT;
use super::Gpu;
use super::timing::Timing;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::plan::cpu_fallback::INTERMEDIATE_BYTES;
use crate::plan::shader_layout::Image;
use crate::plan::wgsl::PARTIALS;
use std::ops::Range;

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
    /// The timing of passes, which is off unless it is turned on.
    pub(super) timing: Timing,
}

impl Workspace {
    /// Bytes of GPU memory for submissions of up to `images` images, `in_flight` of them at a time: wgpu copies the
    /// parameters of each.
    pub(crate) fn bytes_for(plan: &Plan, images: usize, in_flight: u64) -> u64 {
        let (params, statistics, intermediates) = sizes(plan, images);
        params * (1 + in_flight) + statistics + intermediates * INTERMEDIATE_BYTES + ALIGNMENT + Timing::BYTES
    }

    /// A workspace for submissions of up to `images` images.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, images: usize) -> Result<Workspace> {
        let (params, statistics, intermediates) = sizes(plan, images);
        gpu.create_checked("gpufeed workspace", Self::bytes_for(plan, images, 0), || {
            let buffer = |label: &str, size: u64, usage: wgpu::BufferUsages| {
                gpu.buffer(label, size, usage | wgpu::BufferUsages::STORAGE, false)
            };
            let none = wgpu::BufferUsages::empty();
            Workspace {
                params: buffer("gpufeed parameters", params, wgpu::BufferUsages::COPY_DST),
                statistics: buffer("gpufeed statistics", statistics, none),
                intermediates: (0..intermediates)
                    .map(|_| buffer("gpufeed intermediate", INTERMEDIATE_BYTES, wgpu::BufferUsages::COPY_SRC))
                    .collect(),
                dummy: buffer("gpufeed unused binding", ALIGNMENT, none),
                bytes: Vec::with_capacity(params as usize),
                most_images: images,
                timing: Timing::default(),
            }
        })
    }

    /// Appends a stage's parameters at the next aligned offset and returns their range in the buffer.
    pub(crate) fn write_params(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Range<u64>> {
        let start = self.bytes.len().next_multiple_of(ALIGNMENT as usize);
        self.bytes.resize(start, 0);
        write(&mut self.bytes);
        let end = self.bytes.len() as u64;
        if end > self.params.size() {
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

/// Bytes of parameters, bytes of statistics, and the number of intermediates.
fn sizes(plan: &Plan, images: usize) -> (u64, u64, u64) {
    // Every chunk has at least one image, so the sum of aligned images bounds the sum of aligned chunks.
    let an_image: usize =
        plan.stages().iter().map(|stage| Image::bytes(stage.steps).next_multiple_of(ALIGNMENT as usize)).sum();
    let statistics = plan.stages().iter().map(|stage| stage.statistics).max().unwrap_or(0).max(1);
    let intermediates = (plan.stages().len() - 1).min(2);
    ((images * an_image) as u64, images as u64 * u64::from(statistics) * u64::from(PARTIALS) * 4, intermediates as u64)
}
