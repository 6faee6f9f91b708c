//! The buffers to which a batch is written.

use super::exported::Exported;
use super::kernels::{Kernels, MixSizes};
use super::{Export, Gpu};
use crate::advice::Setting;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;

/// The buffers of a batch.
#[derive(Debug)]
pub(crate) struct Target {
    /// The batch in its own type.
    pub(crate) output: wgpu::Buffer,
    /// The batch in f32, if a pass packs a complete batch from here into another type.
    pub(crate) floats: Option<wgpu::Buffer>,
    /// The output's memory, if another API can import it.
    pub(crate) exported: Option<Exported>,
    /// The objects that mixing the batch takes; `None` for kernels that mix nothing.
    pub(super) mix: Option<MixBuffers>,
}

/// The buffers for mixing a batch.
#[derive(Debug)]
pub(super) struct MixBuffers {
    /// The parameters of each dispatch.
    pub(super) parameters: wgpu::Buffer,
    /// The batch's last sample, if mixing takes several dispatches.
    pub(super) saved: Option<wgpu::Buffer>,
}

impl MixBuffers {
    fn new(gpu: &Gpu, sizes: MixSizes) -> Result<MixBuffers> {
        let MixSizes { parameters, saved } = sizes;
        Ok(MixBuffers {
            parameters: gpu.storage("gpufeed parameters of mixing", parameters)?,
            saved: (saved > 0).then(|| gpu.storage("gpufeed last sample", saved)).transpose()?,
        })
    }
}

impl Target {
    /// Buffers for a batch of `bytes` bytes.
    pub(crate) fn new(kernels: &Kernels, bytes: u64, export: Export) -> Result<Target> {
        let gpu = kernels.gpu();
        let floats = float_scratch_bytes(kernels.plan(), bytes);
        let (output, exported) = output(gpu, bytes, export)?;
        Ok(Target {
            output,
            exported,
            floats: (floats > 0).then(|| gpu.storage("gpufeed batch in f32", floats)).transpose()?,
            mix: kernels.mixer().map(|mixer| MixBuffers::new(gpu, mixer.sizes)).transpose()?,
        })
    }

    /// A target without the f32 buffer, for batches that arrive in their own type.
    pub(crate) fn plain(gpu: &Gpu, bytes: u64, export: Export) -> Result<Target> {
        let (output, exported) = output(gpu, bytes, export)?;
        Ok(Target { output, exported, floats: None, mix: None })
    }

    /// Bytes of GPU memory of a target, without those of mixing.
    pub(crate) fn bytes_for(plan: &Plan, bytes: u64) -> u64 {
        bytes.next_multiple_of(4) + float_scratch_bytes(plan, bytes)
    }
}

/// The buffer of a batch of `bytes` bytes.
fn output(gpu: &Gpu, bytes: u64, export: Export) -> Result<(wgpu::Buffer, Option<Exported>)> {
    let (label, size) = ("gpufeed batch", bytes.next_multiple_of(4));
    match export {
        Export::Off => Ok((gpu.storage(label, size)?, None)),
        Export::Auto => {
            let exported = gpu.exported(label, size)?;
            Ok((exported.buffer().clone(), Some(exported)))
        }
    }
}

/// Bytes of the f32 version of a batch of `bytes` bytes; 0 if the last stage writes the batch itself.
fn float_scratch_bytes(plan: &Plan, bytes: u64) -> u64 {
    if plan.packs() { bytes / plan.output().dtype.bytes() as u64 * 4 } else { 0 }
}

/// An error if a batch of `bytes` bytes that shaders make, or its f32 version, exceeds the adapter's largest buffer.
pub(crate) fn check_made_batch(gpu: &Gpu, plan: &Plan, bytes: u64) -> Result<()> {
    check_batch(gpu, float_scratch_bytes(plan, bytes).max(bytes))
}

/// An error if a batch of `bytes` bytes exceeds the adapter's largest buffer.
pub(crate) fn check_batch(gpu: &Gpu, bytes: u64) -> Result<()> {
    let limit = gpu.caps().max_buffer_bytes;
    if bytes > limit {
        let error: Error = ErrorKind::DoesNotFit {
            what: "a batch",
            needed: bytes,
            limit,
            whose: "the largest buffer of this adapter",
            settings: &[Setting::BatchSize, Setting::OutputSize],
        }
        .into();
        return Err(error);
    }
    Ok(())
}
