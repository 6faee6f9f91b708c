//! The pipelines that a device has compiled, by the text of their shader.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Most texts that are kept; one more, and all are dropped. A plan has a dozen at the most.
pub(super) const MOST: usize = 512;

/// The compiled pipelines of one device, and the layout that they share.
#[derive(Debug, Default)]
pub(super) struct PipelineCache {
    pub(super) layout: OnceLock<(wgpu::BindGroupLayout, wgpu::PipelineLayout)>,
    pub(super) compiled: Mutex<HashMap<String, wgpu::ComputePipeline>>,
}

impl PipelineCache {
    pub(super) fn get(&self, text: &str) -> Option<wgpu::ComputePipeline> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    pub(super) fn keep(&self, text: String, pipeline: wgpu::ComputePipeline) {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= MOST {
            compiled.clear();
        }
        compiled.insert(text, pipeline);
    }
}
