//! The compute pipelines of a plan.

use super::Gpu;
use crate::error::Result;
use crate::plan::Plan;
use crate::plan::pass::Pass;
use crate::plan::wgsl;

/// A plan's pipelines.
#[derive(Debug)]
pub(crate) struct Kernels {
    gpu: Gpu,
    plan: Plan,
    /// The passes with their pipelines, in the order in which they run.
    pub(super) passes: Vec<(Pass, wgpu::ComputePipeline)>,
    /// The first stage that runs on cached pixels; the stages before it have computed these.
    cached_stage: usize,
}

impl Kernels {
    /// Generates the plan's shaders, and compiles those that this device has not compiled before. `cached_stage` is the
    /// first stage that runs on cached pixels: 0 if these are the source.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, cached_stage: usize) -> Result<Kernels> {
        gpu.healthy("compiling the shaders")?;
        let compile = |pass: &Pass| Ok((*pass, pipeline(gpu, &format!("gpufeed {pass:?}"), plan.shader(*pass))?));
        let passes = plan.pass_list().iter().map(compile).collect::<Result<_>>()?;
        Ok(Kernels { gpu: gpu.clone(), plan: plan.clone(), passes, cached_stage })
    }

    /// The first stage that runs on cached pixels.
    pub(crate) fn cached_stage(&self) -> usize {
        self.cached_stage
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The pipeline of the shader `text`; validates and compiles a text that this device has not compiled before. `label`
/// appears in the driver's messages.
///
/// # Errors
/// naga's error, with the line, if the text is not valid; [`ErrorKind::Device`](crate::ErrorKind::Device) if the driver
/// rejects it. Errors are not cached.
pub(super) fn pipeline(gpu: &Gpu, label: &str, text: String) -> Result<wgpu::ComputePipeline> {
    let device = gpu.device();
    gpu.pipelines().get(device, text, |text, layout| {
        wgsl::validate(text)?;
        gpu.checked("compiling the shaders", || {
            let source = wgpu::ShaderSource::Wgsl(text.into());
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(label),
                layout: Some(layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })
    })
}
