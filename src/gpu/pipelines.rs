//! A device's compiled pipelines, by the text of their shader, cached for the life of the device: a driver takes 10 to
//! 100 ms to compile one, and loaders, replays and later runs of a plan need the same texts.

use super::caps::Caps;
use super::pipeline_cache::PipelineCache;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most cached pipelines: one more empties the cache. A plan has at most a dozen.
const MAX_CACHED: usize = 512;

/// The compiled pipelines of one device, and their shared layout.
#[derive(Debug)]
pub(super) struct Pipelines {
    /// The driver's own cache, which outlives the process.
    cache: Option<PipelineCache>,
    layouts: OnceLock<(wgpu::BindGroupLayout, wgpu::PipelineLayout)>,
    compiled: Mutex<HashMap<String, wgpu::ComputePipeline>>,
}

impl Pipelines {
    pub(super) fn new(device: &wgpu::Device, info: &wgpu::AdapterInfo, caps: &Caps) -> Pipelines {
        let cache = if caps.pipeline_cache { PipelineCache::open(device, info) } else { None };
        Pipelines { cache, layouts: OnceLock::new(), compiled: Mutex::default() }
    }

    pub(super) fn cache(&self) -> Option<&wgpu::PipelineCache> {
        self.cache.as_ref().map(PipelineCache::raw)
    }

    /// Writes the driver's cache to its file.
    pub(super) fn save(&self) {
        if let Some(cache) = &self.cache {
            cache.save();
        }
    }

    pub(super) fn layout(&self, device: &wgpu::Device) -> &wgpu::PipelineLayout {
        &self.layouts(device).1
    }

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

    /// The pipeline of the shader `text`, if this device has compiled it.
    pub(super) fn get(&self, text: &str) -> Option<wgpu::ComputePipeline> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    pub(super) fn insert(&self, text: String, pipeline: wgpu::ComputePipeline) {
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
    use crate::error::Result;
    use crate::gpu::Gpu;
    use crate::gpu::compile;
    use gpufeed_testing::device;

    const TEXT: &str = "@group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() { out[0] = 1u; }";

    /// Opens the machine's adapters, of which there are those that `GPUFEED_REQUIRE_GPU` requires.
    fn gpus() -> Vec<Gpu> {
        let adapters = Gpu::enumerate();
        device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
        adapters.iter().map(|adapter| Gpu::open(adapter).unwrap()).collect()
    }

    fn pipeline(gpu: &Gpu, label: &str, text: String) -> Result<wgpu::ComputePipeline> {
        Ok(compile::pipelines(gpu, &[(label.to_owned(), text)])?.0.remove(0))
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
    fn texts_are_compiled_side_by_side_and_counted() {
        for gpu in gpus() {
            let number = |n: u32| (format!("number {n}"), TEXT.replace("1u", &format!("{n}u")));
            let (first, compile) = compile::pipelines(&gpu, &[number(3), number(4), number(3)]).unwrap();
            assert_eq!((compile.compiled, compile.kept), (2, 1), "{gpu}");
            assert!(first[0] == first[2] && first[0] != first[1] && !compile.time.is_zero(), "{gpu}");
            let (again, compile) = compile::pipelines(&gpu, &[number(4), number(3)]).unwrap();
            assert_eq!((compile.compiled, compile.kept, compile.time), (0, 2, std::time::Duration::ZERO), "{gpu}");
            assert!(again[0] == first[1] && again[1] == first[0], "{gpu}");
            // One of several is rejected: the error is that one's.
            let broken = ("broken".to_owned(), "fn main() { let x: u32 = 1.5; }".to_owned());
            let error = compile::pipelines(&gpu, &[number(5), broken, number(6)]).unwrap_err().to_string();
            assert!(error.contains("wgsl:1"), "{gpu}: {error}");
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
