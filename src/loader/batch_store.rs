//! Where a batch's images are: in buffers of a GPU, or in host memory.

use super::buffers::{Buffer, HostBuffer, Lease};
use crate::gpu::Gpu;
use crate::gpu::exported::{ComesBack, Exported};
use crate::gpu::target::Target;

/// Access to a batch's images, on the GPU or in host memory.
///
/// ```no_run
/// # fn show(batch: &gpufeed::Batch) {
/// use gpufeed::Images;
///
/// match batch.images() {
///     Images::Gpu { buffer, offset } => println!("{} bytes on the GPU from byte {offset}", buffer.size()),
///     Images::Host(bytes) => println!("{} bytes in memory", bytes.len()),
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Images<'a> {
    /// In a storage buffer (usages STORAGE, COPY_SRC, COPY_DST) from byte `offset` on.
    Gpu {
        /// The buffer; it may be longer than the batch.
        buffer: &'a wgpu::Buffer,
        /// The first byte.
        offset: u64,
    },
    /// In host memory, aligned to 64 bytes.
    Host(&'a [u8]),
}

#[derive(Debug)]
pub(super) enum BatchStore {
    /// A buffer for each group.
    Gpu { gpu: Gpu, targets: Lease<Vec<Target>> },
    /// One buffer for all groups.
    Host(Lease<HostBuffer>),
}

impl Buffer for HostBuffer {}

/// The buffers of a batch return together.
impl Buffer for Vec<Target> {
    fn comes_back(&self) -> ComesBack {
        // Each is asked, as each notes that its turn has ended. The worst answer counts for all.
        let exported = self.iter().filter_map(|target| target.exported.as_ref());
        exported.map(Exported::comes_back).max().unwrap_or(ComesBack::Free)
    }
}
