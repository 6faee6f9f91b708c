//! A device's compute pipelines, by the text of their shader, for as long as the device is there: compiling one takes a
//! driver 10 to 100 ms, and loaders, replays and later runs of one plan ask for the same texts.

use super::Gpu;
use crate::error::Result;
use crate::plan::wgsl;

impl Gpu {
    /// The bindings of every pass: source, parameters, statistics, target.
    pub(super) fn pass_layout(&self) -> &wgpu::BindGroupLayout {
        &self.layouts().0
    }

    fn layouts(&self) -> &(wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        self.pipelines().layout.get_or_init(|| {
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
            let layout = self.device().create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("gpufeed"),
                entries: &[entry(0, true), entry(1, true), entry(2, false), entry(3, false)],
            });
            let pipeline_layout = self.device().create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("gpufeed"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            (layout, pipeline_layout)
        })
    }

    /// The pipeline of the shader `text`; validates and compiles it where this device has none. `label` is for the
    /// driver's messages.
    ///
    /// # Errors
    /// naga's, with the line, if the text is not valid; [`ErrorKind::Device`](crate::ErrorKind::Device) if the driver
    /// refuses it. Neither is kept.
    pub(super) fn pipeline(&self, label: &str, text: String) -> Result<wgpu::ComputePipeline> {
        if let Some(pipeline) = self.pipelines().get(&text) {
            return Ok(pipeline);
        }
        wgsl::validate(&text)?;
        let pipeline = self.checked("compiling the shaders", || {
            let module = self.device().create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(text.as_str().into()),
            });
            self.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(label),
                layout: Some(&self.layouts().1),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })?;
        self.pipelines().keep(text, pipeline.clone());
        Ok(pipeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::pipeline_cache::MOST;

    const TEXT: &str = "@group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() { out[0] = 1u; }";

    /// The machine's adapters, opened; none is an error only with `GPUFEED_REQUIRE_GPU=1`.
    fn gpus() -> Vec<Gpu> {
        let adapters = Gpu::enumerate();
        let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required || !adapters.is_empty(), "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
        adapters.iter().map(|adapter| Gpu::open(adapter).unwrap()).collect()
    }

    #[test]
    fn a_text_is_compiled_once_and_what_is_refused_is_not_kept() {
        for gpu in gpus() {
            let first = gpu.pipeline("first", TEXT.to_owned()).unwrap();
            assert_eq!(first, gpu.pipeline("second", TEXT.to_owned()).unwrap(), "{gpu}");
            assert_ne!(first, gpu.pipeline("other", TEXT.replace("1u", "2u")).unwrap(), "{gpu}");
            // Valid, and not what the layout has.
            for _ in 0..2 {
                assert!(gpu.pipeline("refused", TEXT.replace("binding(2)", "binding(0)")).is_err(), "{gpu}");
            }
            assert_eq!(gpu.pipelines().compiled.lock().unwrap().len(), 2);
        }
    }

    #[test]
    fn old_texts_make_room() {
        for gpu in gpus() {
            let pipeline = gpu.pipeline("gpufeed", TEXT.to_owned()).unwrap();
            for number in 0..MOST + 3 {
                gpu.pipelines().keep(number.to_string(), pipeline.clone());
            }
            assert_eq!(gpu.pipelines().compiled.lock().unwrap().len(), 4, "{gpu}");
        }
    }
}
