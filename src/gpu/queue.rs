//! The calls that every submission and every mapping of gpufeed goes through.

use super::Gpu;
use parking_lot::MutexGuard;

impl Gpu {
    /// Submits `commands`, as [`wgpu::Queue::submit`] does. Where batches are [exported](crate::Export), semaphores are bound
    /// to the next submission of the queue, whoever makes it: a program that submits to this device itself, from another
    /// thread than the one that takes the batches, does it by this call.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu};
    ///
    /// if let Backend::Gpu(gpu) = Backend::auto()? {
    ///     let encoder = gpu.device().create_command_encoder(&Default::default());
    ///     gpu.submit([encoder.finish()]);
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn submit(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        let _alone = self.submitting();
        self.submit_alone(commands)
    }

    /// Keeps other threads from submitting, on a device whose batches can be exported.
    pub(super) fn submitting(&self) -> Option<MutexGuard<'_, ()>> {
        self.exports().is_ok().then(|| self.submissions().lock())
    }

    /// Submits `commands`; the caller has [`submitting`](Self::submitting).
    pub(super) fn submit_alone(
        &self,
        commands: impl IntoIterator<Item = wgpu::CommandBuffer>,
    ) -> wgpu::SubmissionIndex {
        if let Some(mock) = self.mock() {
            mock.before_submission(self.device());
        }
        let submission = self.queue().submit(commands);
        if let Some(mock) = self.mock() {
            mock.after_submission(self.device());
        }
        submission
    }

    /// Asks for a mapping of `range`.
    pub(super) fn map(
        &self,
        range: wgpu::BufferSlice<'_>,
        mode: wgpu::MapMode,
        callback: impl FnOnce(Result<(), wgpu::BufferAsyncError>) + Send + 'static,
    ) {
        match self.mock().is_some_and(|mock| mock.refuses_map()) {
            true => callback(Err(wgpu::BufferAsyncError)),
            false => range.map_async(mode, callback),
        }
    }
}
