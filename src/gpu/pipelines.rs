//! A device's compiled pipelines, by the text of their shader, cached for the life of the device: a driver takes 10 to
//! 100 ms to compile one, and loaders, replays and later runs of a plan need the same texts.

use crate::error::Result;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most cached pipelines: one more empties the cache. A plan has at most a dozen.
const MAX_CACHED: usize = 512;

/// The compiled pipelines of one device, and their shared layout.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    layouts: OnceLock<(wgpu::BindGroupLayout, wgpu::PipelineLayout)>,
    compiled: Mutex<HashMap<String, wgpu::ComputePipeline>>,
}

impl Pipelines {
    /// The bindings of every pass: source, parameters, statistics, target.
    pub(super) fn bind_group_layout(&self, device: &wgpu::Device) -> &wgpu::BindGroupLayout {
        &self.layouts(device).0
    }

    fn layouts(&self, device: &wgpu::Device) -> &(wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        self.layouts.get_or_init(|| {
            let entry = |binding: u32, read_only: bool| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            };
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("gpufeed"),
                entries: &[entry(0, true), entry(1, true), entry(2, false), entry(3, false)],
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("gpufeed"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            (layout, pipeline_layout)
        })
    }

    /// The pipeline of the shader `text`. If this device has none, `compile` makes it for the shared layout.
    pub(super) fn get(
        &self,
        device: &wgpu::Device,
        text: String,
        compile: impl FnOnce(&str, &wgpu::PipelineLayout) -> Result<wgpu::ComputePipeline>,
    ) -> Result<wgpu::ComputePipeline> {
        if let Some(pipeline) = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(&text) {
            return Ok(pipeline.clone());
        }
        let pipeline = compile(&text, &self.layouts(device).1)?;
        self.insert(text, pipeline.clone());
        Ok(pipeline)
    }

    fn insert(&self, text: String, pipeline: wgpu::ComputePipeline) {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if compiled.len() >= MAX_CACHED {
            compiled.clear();
        }
        compiled.insert(text, pipeline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;
    use crate::gpu::kernels::pipeline;

    const TEXT: &str = "@group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() { out[0] = 1u; }";

    /// Opens the machine's adapters; having none is an error only with `GPUFEED_REQUIRE_GPU=1`.
    fn gpus() -> Vec<Gpu> {
        let adapters = Gpu::enumerate();
        let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required || !adapters.is_empty(), "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
        adapters.iter().map(|adapter| Gpu::open(adapter).unwrap()).collect()
    }

    #[test]
    fn a_text_is_compiled_once_and_a_rejected_one_is_not_cached() {
        for gpu in gpus() {
            let first = pipeline(&gpu, "first", TEXT.to_owned()).unwrap();
            assert_eq!(first, pipeline(&gpu, "second", TEXT.to_owned()).unwrap(), "{gpu}");
            assert_ne!(first, pipeline(&gpu, "other", TEXT.replace("1u", "2u")).unwrap(), "{gpu}");
            // This shader is valid, but does not fit the pipeline's layout.
            for _ in 0..2 {
                assert!(pipeline(&gpu, "rejected", TEXT.replace("binding(2)", "binding(0)")).is_err(), "{gpu}");
            }
            assert_eq!(gpu.pipelines().compiled.lock().unwrap().len(), 2);
        }
    }

    #[test]
    fn old_texts_make_room() {
        for gpu in gpus() {
            let pipeline = pipeline(&gpu, "gpufeed", TEXT.to_owned()).unwrap();
            for number in 0..MAX_CACHED + 3 {
                gpu.pipelines().insert(number.to_string(), pipeline.clone());
            }
            assert_eq!(gpu.pipelines().compiled.lock().unwrap().len(), 4, "{gpu}");
        }
    }
}
