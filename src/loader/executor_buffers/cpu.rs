//! The CPU executor: the workers augment into host memory.

use super::{ExecutorBuffers, handed_over};
use crate::error::Result;
use crate::gpu::staging::Staging;
use crate::gpu::staging_memory::StagingMemory;
use crate::gpu::target::Target;
use crate::gpu::{Export, Gpu};
use crate::loader::buffers::{BufferRing, HostBuffer, HostMemory, Lease, RunShares};
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Staging buffers for finished batches: one is filled while the GPU reads the other.
pub(in crate::loader) const COPY_SLOTS: usize = 2;

/// The buffers of the CPU executor.
#[derive(Debug)]
pub(in crate::loader) struct CpuBuffers {
    /// The memory that the workers fill.
    pub(in crate::loader) host: Arc<BufferRing<HostBuffer>>,
    /// How that ring's buffers are made.
    pub(in crate::loader) memory: HostMemory,
    /// Set where batches are copied to a GPU.
    pub(in crate::loader) copy_up: Option<CopyUp>,
}

/// The buffers through which finished batches reach a GPU.
#[derive(Debug)]
pub(in crate::loader) struct CopyUp {
    pub(in crate::loader) gpu: Gpu,
    /// The buffers of each batch: one for each group.
    pub(in crate::loader) outputs: Arc<BufferRing<Vec<Target>>>,
    /// Bytes of a batch's images in each group.
    pub(in crate::loader) group_bytes: Vec<u64>,
    pub(in crate::loader) export: Export,
    /// Staging buffers between runs.
    pub(in crate::loader) staging: (Sender<Staging>, Receiver<Staging>),
}

impl ExecutorBuffers for CpuBuffers {
    fn gpu(&self) -> Option<&Gpu> {
        self.copy_up.as_ref().map(|up| &up.gpu)
    }

    fn enter(&self) -> Result<()> {
        if let Some(up) = &self.copy_up {
            up.outputs.enter()?;
        }
        self.host.enter().inspect_err(|_| {
            if let Some(up) = &self.copy_up {
                up.outputs.leave();
            }
        })
    }

    fn leave(&self) {
        self.host.leave();
        if let Some(up) = &self.copy_up {
            up.outputs.leave();
        }
    }

    fn allocate(&self, batch_bytes: u64) -> Result<()> {
        let Some(up) = &self.copy_up else { return Ok(()) };
        let staging = up.take_staging(batch_bytes)?;
        up.outputs.fill(|| up.targets())?;
        up.return_staging(staging);
        Ok(())
    }

    fn describe(&self) -> String {
        match self.gpu() {
            None => "CPU executor in the workers, batches in host memory".to_owned(),
            Some(gpu) => {
                let handed_over = handed_over(gpu, self.copy_up.as_ref().map_or(Export::Off, |up| up.export));
                format!("CPU executor in the workers, batches copied to {gpu}{handed_over}")
            }
        }
    }
}

impl CpuBuffers {
    /// Memory for a batch; `None` once the run has ended.
    pub(in crate::loader) fn take_buffer(
        &self,
        batch_bytes: u64,
        shares: &RunShares,
        stop: &AtomicBool,
    ) -> Result<Option<Lease<HostBuffer>>> {
        // Batches that are copied up never reach the caller in host memory.
        let share = if self.copy_up.is_some() { &shares.host } else { &shares.outputs };
        self.host.take(share, stop, || HostBuffer::new(batch_bytes as usize, &self.memory))
    }
}

impl CopyUp {
    /// Buffers for a batch, for each group.
    pub(in crate::loader) fn targets(&self) -> Result<Vec<Target>> {
        self.group_bytes.iter().map(|&bytes| Target::plain(&self.gpu, bytes, self.export)).collect()
    }

    /// Staging buffers of an earlier run, or new ones.
    pub(in crate::loader) fn take_staging(&self, batch_bytes: u64) -> Result<Staging> {
        match self.staging.1.try_recv() {
            Ok(staging) => Ok(staging),
            Err(_) => Staging::new(&self.gpu, COPY_SLOTS, batch_bytes.next_multiple_of(4), StagingMemory::Copied),
        }
    }

    pub(in crate::loader) fn return_staging(&self, staging: Staging) {
        let _ = self.staging.0.try_send(staging);
    }
}
