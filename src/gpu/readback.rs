//! GPU buffers to host memory: for `Batch::to_host`, single samples and tests; never on the training path.

use super::Gpu;
use super::errors::CALLBACK_PATIENCE;
use crate::allocate::COPY;
use crate::error::{ErrorKind, Result};
use std::ops::Range;

/// Copies `range` of `buffer` (usage COPY_SRC) to the host; offsets are in bytes, without alignment.
pub(crate) fn read(gpu: &Gpu, buffer: &wgpu::Buffer, range: Range<u64>) -> Result<Vec<u8>> {
    const STAGE: &str = "reading back";
    let fail = |reason: String| ErrorKind::Device { stage: STAGE, reason };
    let start = range.start / 4 * 4;
    let end = range.end.next_multiple_of(4).min(buffer.size());
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let staging = gpu.create_checked("gpufeed readback", end - start, || {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = gpu.buffer("gpufeed readback", end - start, usage, false);
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, start, &staging, 0, Some(end - start));
        gpu.submit([encoder.finish()]);
        gpu.map(staging.slice(..), wgpu::MapMode::Read, move |result| {
            // The receiver is below; it is dropped early only if this function has returned an error.
            let _ = sender.send(result);
        });
        staging
    })?;
    // A lost device refuses the mapping at once.
    let mut mapped = receiver.try_recv().ok();
    while mapped.is_none() {
        gpu.wait(None)?;
        // A poll can return before the work is done (`Gpu::wait`), and another thread may be about to run the callback.
        mapped = receiver.recv_timeout(CALLBACK_PATIENCE).ok();
        if mapped.is_none() {
            // A lost device may have dropped the callback.
            gpu.alive(STAGE)?;
        }
    }
    if !matches!(mapped, Some(Ok(()))) {
        return Err(gpu.mapping_error(STAGE));
    }
    let _using = gpu.mock().map(|mock| mock.using_mapped());
    let view = staging.get_mapped_range(..).map_err(|error| fail(error.to_string()))?;
    let skip = (range.start - start) as usize;
    let mut bytes = Vec::new();
    COPY.reserve(&mut bytes, (range.end - range.start) as usize)?;
    bytes.extend_from_slice(&view[skip..skip + (range.end - range.start) as usize]);
    Ok(bytes)
}
