//! The compute pipelines of a plan.

use super::compile;
use super::mix_dispatches::{dispatches, samples_in_binding, saved_samples};
use super::{ALIGNMENT, Compile, Gpu};
use crate::error::Result;
use crate::plan::mixing::{Blend, Mixing, Region};
use crate::plan::pass::Pass;
use crate::plan::variant::Variant;
use crate::plan::{DType, Plan};
use crate::transforms::Partner;

/// A plan's pipelines.
#[derive(Debug)]
pub(crate) struct Kernels {
    gpu: Gpu,
    plan: Plan,
    /// The passes with their pipelines, in the order in which they run.
    pub(super) passes: Vec<(Pass, wgpu::ComputePipeline)>,
    /// The first stage that runs on cached pixels; the stages before it have computed these.
    cached_stage: usize,
    mixer: Option<Mixer>,
    compile: Compile,
    /// The number of its first pass among those of all groups of a loader.
    pub(super) first_pass: usize,
}

/// The pipeline that mixes finished batches.
#[derive(Debug)]
pub(super) struct Mixer {
    pub(super) pipeline: wgpu::ComputePipeline,
    /// The most samples in a binding.
    pub(super) most_samples: usize,
    pub(super) sizes: MixSizes,
}

/// Bytes of the buffers that mixing adds to each target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MixSizes {
    pub(crate) parameters: u64,
    /// The last sample, 0 if a batch fits one binding; more where samples are mixed each in its own way.
    pub(crate) saved: u64,
}

impl MixSizes {
    /// The sizes for batches of up to `samples` samples of `views` images, each of `image` elements. `each`: samples may be
    /// mixed each in its own way.
    ///
    /// # Errors
    /// `ErrorKind::DoesNotFit` if two samples exceed a binding; `ErrorKind::Argument` if one exceeds a dispatch.
    pub(crate) fn new(gpu: &Gpu, samples: usize, views: usize, image: usize, each: bool) -> Result<MixSizes> {
        gpu.caps().check_elements((views * image) as u64, "mixing a sample")?;
        let sample = 4 * (views * image) as u64;
        let most = samples_in_binding(sample, gpu.caps().max_binding_bytes)?;
        let region = Region { first: 0, run: image, runs: 1, pitch: image, planes: 1, plane: image };
        // A smaller batch takes no more dispatches.
        let count =
            |partner| dispatches(&Mixing { blend: Blend::Partner, partner, samples, views, image, region }, most).len();
        let count = count(Partner::Previous).max(count(Partner::Reversed));
        let last = if count > 1 { sample } else { 0 };
        Ok(if each {
            let saved = last.max(saved_samples(samples) as u64 * sample);
            MixSizes { parameters: count.max(samples) as u64 * ALIGNMENT, saved }
        } else {
            MixSizes { parameters: count as u64 * ALIGNMENT, saved: last }
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.parameters + self.saved
    }
}

impl Kernels {
    /// Generates the plan's shaders, and compiles those that this device has not compiled before. `cached_stage` is the
    /// first stage that runs on cached pixels: 0 if these are the source.
    pub(crate) fn new(gpu: &Gpu, plan: &Plan, cached_stage: usize) -> Result<Kernels> {
        gpu.caps().suffice()?;
        gpu.healthy("compiling the shaders")?;
        let passes = plan.pass_list();
        let shaders: Vec<_> = passes.iter().map(|pass| (format!("gpufeed {pass:?}"), plan.shader(*pass))).collect();
        let (pipelines, compile) = compile::pipelines(gpu, &shaders)?;
        let passes = passes.into_iter().zip(pipelines).collect();
        Ok(Kernels { gpu: gpu.clone(), plan: plan.clone(), passes, cached_stage, mixer: None, compile, first_pass: 0 })
    }

    /// Numbers the passes from `first_pass` on: the passes of the loader's earlier groups have the numbers before.
    pub(crate) fn numbered_from(self, first_pass: usize) -> Kernels {
        Kernels { first_pass, ..self }
    }

    /// Adds the pipeline that mixes batches whose samples have `sample_elements` elements. `blends_bytes`: 8-bit outputs may
    /// be blended.
    pub(crate) fn with_mixer(mut self, sizes: MixSizes, sample_elements: u64, blends_bytes: bool) -> Result<Kernels> {
        let most_samples = samples_in_binding(4 * sample_elements, self.gpu.caps().max_binding_bytes)?;
        let rounds = blends_bytes && self.plan.output().dtype == DType::U8;
        let variant = if rounds { Variant::MixBytes } else { Variant::Mix };
        let shader = ("gpufeed mix".to_owned(), variant.text());
        let (mut pipelines, compile) = compile::pipelines(&self.gpu, &[shader])?;
        self.compile.add(compile);
        let pipeline = pipelines.remove(0);
        Ok(Kernels { mixer: Some(Mixer { pipeline, most_samples, sizes }), ..self })
    }

    /// Has a software driver compile to machine code what this device has not run before, while the workers begin to
    /// decode.
    pub(crate) fn warm_up(&self) {
        if self.compile.compiled > 0 {
            let mixer = self.mixer.iter().map(|mixer| &mixer.pipeline);
            compile::warm_up(&self.gpu, self.passes.iter().map(|(_, pipeline)| pipeline).chain(mixer));
        }
    }

    /// The time and the number of pipelines that compiling these kernels took.
    pub(crate) fn compile(&self) -> Compile {
        self.compile
    }

    /// True if batches can be mixed.
    pub(crate) fn mixes(&self) -> bool {
        self.mixer.is_some()
    }

    pub(super) fn mixer(&self) -> Option<&Mixer> {
        self.mixer.as_ref()
    }

    /// The names of the passes, in the order of their numbers in the timing.
    pub(crate) fn pass_names(&self) -> Vec<String> {
        let mix = self.mixer.iter().map(|_| Variant::MIX.to_owned());
        self.passes.iter().map(|(pass, _)| pass.to_string()).chain(mix).collect()
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
