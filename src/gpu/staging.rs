//! A ring of mapped staging buffers, through which pixels reach the GPU.
//!
//! A buffer is mapped, filled, unmapped, read by one submission, and mapped again. `map_async` callbacks run only
//! inside `submit` and `poll`; they only send the buffer's number. A ring is used in place of `write_buffer`, which
//! allocates at each call: 1.2-2.2 GB/s against 9.2 GB/s, measured on lavapipe.

use super::Gpu;
use super::errors::CALLBACK_PATIENCE;
use super::mock::Mock;
use super::staging_memory::StagingMemory;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, RwLockReadGuard};

/// Staging slots of a loader: one is filled, one is read by the GPU, one is on its way back.
/// They count in `memory_budget`; `tests/pipeline/large_sample.rs` has a budget for just as many.
pub(crate) const SLOTS: usize = 3;

/// The number of a buffer, and the end of its mapping.
type Mapped = (usize, Result<(), wgpu::BufferAsyncError>);

/// The ring of staging buffers.
#[derive(Debug)]
pub(crate) struct Staging {
    gpu: Gpu,
    buffers: Vec<wgpu::Buffer>,
    /// Numbers of buffers that have not been mapped yet.
    fresh: VecDeque<usize>,
    /// Numbers of mapped buffers.
    free: VecDeque<usize>,
    /// Numbers of buffers that were mapped again. Unbounded, because a callback must not block; holds at most one entry
    /// for each buffer.
    mapped: (Sender<Mapped>, Receiver<Mapped>),
    /// Submissions that have not been waited for and whose buffers have not come back, oldest first.
    in_flight: VecDeque<wgpu::SubmissionIndex>,
    /// Buffers that are to be mapped and were not yet received from `mapped`. It can differ from the length of `in_flight`:
    /// any thread that polls the device may run a callback, so a buffer can come after this thread has waited for its
    /// submission.
    away: usize,
}

/// A range of a mapped buffer.
///
/// wgpu frees mapped memory when a lost device is polled, even while a worker writes to it (gfx-rs/wgpu#10256). So the
/// memory is borrowed only for the copy, not while a worker decodes.
#[derive(Debug)]
pub(crate) struct MappedRange {
    buffer: wgpu::Buffer,
    range: Range<u64>,
    mock: Option<Arc<Mock>>,
}

impl MappedRange {
    /// The range's memory.
    pub(crate) fn open(&self) -> Result<OpenRange<'_>> {
        let using = self.mock.as_deref().map(Mock::using_mapped);
        let view = self.buffer.get_mapped_range_mut(self.range.clone());
        let view = view.map_err(|error| device_error(format!("a slot is no longer there: {error}")))?;
        Ok(OpenRange { view, _using: using })
    }
}

/// Write-combined memory: written in order, never read.
pub(crate) struct OpenRange<'a> {
    view: wgpu::BufferViewMut,
    _using: Option<RwLockReadGuard<'a, ()>>,
}

impl OpenRange<'_> {
    /// Copies `bytes` to byte `offset` of the range.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.view.slice(offset..offset + bytes.len()).copy_from_slice(bytes);
    }
}

/// The name of this stage in errors.
const STAGE: &str = "submit";

fn device_error(reason: impl Into<String>) -> Error {
    ErrorKind::Device { stage: STAGE, reason: reason.into() }.into()
}

impl Staging {
    /// Makes `count` buffers of `bytes` bytes in this memory. Each is mapped when it is first taken, because wgpu then
    /// writes zeros to all of it: 15 ms for a slot of 64 MiB, which neither `build` nor the first batch has to wait for
    /// where one slot is enough.
    pub(crate) fn new(gpu: &Gpu, count: usize, bytes: u64, memory: StagingMemory) -> Result<Staging> {
        const WHAT: &str = "gpufeed staging";
        let usage = match memory {
            StagingMemory::InPlace => wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::STORAGE,
            StagingMemory::Copied | StagingMemory::Host => wgpu::BufferUsages::COPY_SRC,
        };
        let all_bytes = count as u64 * bytes;
        let buffers = gpu.create_checked(WHAT, all_bytes, || {
            let buffer = |_| match memory {
                StagingMemory::Host => gpu.host_staging_buffer(WHAT, bytes),
                _ => Some(gpu.buffer(WHAT, bytes, usage | wgpu::BufferUsages::MAP_WRITE, false)),
            };
            (0..count).map(buffer).collect::<Option<Vec<_>>>()
        })?;
        let buffers = buffers.ok_or(ErrorKind::OutOfMemory { what: WHAT, bytes: all_bytes })?;
        let (fresh, free, in_flight) = ((0..count).collect(), VecDeque::new(), VecDeque::new());
        Ok(Staging { gpu: gpu.clone(), buffers, fresh, free, mapped: unbounded(), in_flight, away: 0 })
    }

    pub(crate) fn buffer(&self, number: usize) -> &wgpu::Buffer {
        &self.buffers[number]
    }

    /// A mapped buffer, if one is available now.
    pub(crate) fn try_take(&mut self) -> Result<Option<usize>> {
        self.receive_all()?;
        if self.free.is_empty()
            && let Some(number) = self.fresh.pop_front()
        {
            self.map(number);
            self.poll_mapped()?;
            self.receive_all()?;
        }
        Ok(self.free.pop_front())
    }

    fn receive_all(&mut self) -> Result<()> {
        while let Ok(mapped) = self.mapped.1.try_recv() {
            self.receive(mapped)?;
        }
        Ok(())
    }

    fn receive(&mut self, (number, result): Mapped) -> Result<()> {
        result.map_err(|_| self.gpu.mapping_error(STAGE))?;
        self.away -= 1;
        self.free.push_back(number);
        // Submissions end in order, so the oldest have ended.
        let over = self.in_flight.len().saturating_sub(self.away);
        self.in_flight.drain(..over);
        Ok(())
    }

    /// True if there is a buffer, or if waiting for the GPU can return one.
    pub(crate) fn has_buffers(&self) -> bool {
        self.away > 0 || !self.free.is_empty() || !self.fresh.is_empty()
    }

    /// True if the device has done all that it was given of these buffers.
    pub(crate) fn is_idle(&mut self) -> Result<bool> {
        self.poll_mapped()?;
        self.receive_all()?;
        Ok(self.away == 0)
    }

    /// Waits until a buffer is mapped again, if one is on its way.
    pub(crate) fn wait_oldest(&mut self) -> Result<()> {
        while self.away > 0 {
            if let Ok(mapped) = self.mapped.1.try_recv() {
                return self.receive(mapped);
            }
            self.gpu.wait(self.in_flight.front().cloned())?;
            // A poll can return before the work is done, and another thread may be about to run the callback.
            if let Ok(mapped) = self.mapped.1.recv_timeout(CALLBACK_PATIENCE) {
                return self.receive(mapped);
            }
            // A lost device may have dropped the callback.
            self.gpu.alive(STAGE)?;
        }
        Ok(())
    }

    /// A mapped buffer; waits for the GPU if none is available.
    pub(crate) fn take(&mut self) -> Result<usize> {
        loop {
            if let Some(number) = self.try_take()? {
                return Ok(number);
            }
            if !self.has_buffers() {
                return Err(device_error("no staging buffer is on its way back"));
            }
            self.wait_oldest()?;
        }
    }

    /// A writable range of a mapped buffer.
    pub(crate) fn range(&self, number: usize, offset: u64, bytes: u64) -> MappedRange {
        let (buffer, range) = (self.buffers[number].clone(), offset..offset + bytes);
        MappedRange { buffer, range, mock: self.gpu.mock().cloned() }
    }

    /// Copies `bytes`, a whole batch, into `target` through a mapped buffer.
    pub(crate) fn copy_to(&mut self, number: usize, bytes: &[u8], target: &Target) -> Result<()> {
        let whole = bytes.len().next_multiple_of(4) as u64;
        self.range(number, 0, whole).open()?.write(0, bytes);
        let gpu = self.gpu.clone();
        gpu.checked(STAGE, || {
            self.unmap(number);
            let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(&self.buffers[number], 0, &target.output, 0, Some(whole));
            let submission = match &target.exported {
                None => gpu.submit([encoder.finish()]),
                Some(exported) => gpu.submit_exported(encoder.finish(), [exported], &[exported]),
            };
            self.submitted(number, submission)
        })?
    }

    /// Ends the mapping, so that a submission can read the buffer.
    pub(crate) fn unmap(&self, number: usize) {
        self.buffers[number].unmap();
    }

    /// Asks for the buffer to be mapped again once `submission` has read it.
    pub(crate) fn submitted(&mut self, number: usize, submission: wgpu::SubmissionIndex) -> Result<()> {
        self.map(number);
        self.in_flight.push_back(submission);
        self.poll_mapped()
    }

    fn poll_mapped(&mut self) -> Result<()> {
        // A lost device has refused the mapping at once. So it is not polled while workers write to its memory.
        self.receive_all()?;
        self.gpu.poll_finished(STAGE)
    }

    fn map(&mut self, number: usize) {
        let sender = self.mapped.0.clone();
        self.gpu.map(self.buffers[number].slice(..), wgpu::MapMode::Write, move |result| {
            // The ring may have been dropped by then, and its buffers with it.
            let _ = sender.send((number, result));
        });
        self.away += 1;
    }

    /// Returns a buffer that is still mapped.
    pub(crate) fn give_back(&mut self, number: usize) {
        self.free.push_back(number);
    }
}
