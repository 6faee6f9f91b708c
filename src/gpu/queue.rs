//! The calls that every submission and every mapping of gpufeed goes through.

use super::Gpu;

impl Gpu {
    /// Submits `commands`.
    pub(super) fn submit(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
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
