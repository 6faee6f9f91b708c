//! Output buffers in host memory. Each is split into one chunk for each job, so that workers fill it in parallel, and
//! joined again.
//!
//! `bytes::BytesMut` splits one allocation into owned parts and joins neighbours without a copy: disjoint writes
//! without a lock and without `unsafe`.

use crate::allocate::BATCH;
use crate::error::Result;
use bytes::{Bytes, BytesMut};
use std::sync::Arc;

/// Vector loads and `bytemuck` casts need aligned batches; a cache line is enough for all of them.
const ALIGNMENT: usize = 64;

/// A multiple of the pages of every system: 4 KiB on x86, 16 on Apple's processors, up to 64 on other 64-bit ARM.
const PAGES: usize = 64 << 10;

/// Learns of each buffer that a loader makes in host memory for its batches, and of the end of each, to page-lock it for
/// another device, for example. Set by [`DataLoaderBuilder::host_buffer_hook`](crate::DataLoaderBuilder::host_buffer_hook).
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, HostBufferHook, InMemory, Label, PixelFormat};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Default)]
/// struct Locked(AtomicUsize);
///
/// impl HostBufferHook for Locked {
///     fn made(&self, _address: usize, bytes: usize) {
///         self.0.fetch_add(bytes, Ordering::Relaxed);
///     }
///
///     fn freed(&self, _address: usize, bytes: usize) {
///         self.0.fetch_sub(bytes, Ordering::Relaxed);
///     }
/// }
///
/// let mut data = InMemory::new();
/// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::None)?;
/// let locked = Arc::new(Locked::default());
/// let loader = DataLoader::builder(data)
///     .transform(CenterCrop::new(2))
///     .page_aligned(true)
///     .host_buffer_hook(locked.clone())
///     .build(&Backend::Cpu)?;
/// assert!(locked.0.load(Ordering::Relaxed) > 0);
/// drop(loader);
/// assert_eq!(locked.0.load(Ordering::Relaxed), 0);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub trait HostBufferHook: Send + Sync {
    /// A buffer was made: `bytes` bytes from `address` on. Batches lie at its start. Called by the thread that builds
    /// the loader, or by one of its own when the ring grows.
    fn made(&self, address: usize, bytes: usize);

    /// The buffer is about to be freed: no batch uses it any more. Called by any thread, that of a last batch's drop
    /// among them.
    fn freed(&self, address: usize, bytes: usize);
}

/// How the buffers of a ring are made.
#[derive(Clone, Default)]
pub(in crate::loader) struct HostMemory {
    /// True if a buffer begins and ends at a page's border, so that no two share a page.
    pub(in crate::loader) page_aligned: bool,
    pub(in crate::loader) hook: Option<Arc<dyn HostBufferHook>>,
}

impl std::fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostMemory").field("page_aligned", &self.page_aligned).finish_non_exhaustive()
    }
}

/// A batch's memory: the images first, then the rest of the allocation.
#[derive(Debug)]
pub(in crate::loader) struct HostBuffer {
    batch: BytesMut,
    rest: BytesMut,
    /// The bytes before the first image. They keep the allocation until `drop` has called the hook, also when chunks are
    /// lost.
    before: BytesMut,
    bytes: usize,
    memory: HostMemory,
}

impl HostBuffer {
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory).
    pub(in crate::loader) fn new(bytes: usize, memory: &HostMemory) -> Result<Self> {
        let alignment = if memory.page_aligned { PAGES } else { ALIGNMENT };
        let whole = bytes.checked_next_multiple_of(alignment).and_then(|bytes| bytes.checked_add(alignment));
        // A `Vec` becomes `Bytes`, and these what can be written, without a copy.
        let mut before = BytesMut::from(Bytes::from(BATCH.zeroed(whole.unwrap_or(usize::MAX))?));
        let skip = before.as_ptr().align_offset(alignment);
        let mut rest = before.split_off(skip);
        rest.truncate(bytes);
        let buffer = HostBuffer { batch: rest.split_to(0), rest, before, bytes, memory: memory.clone() };
        if let Some(hook) = &memory.hook {
            hook.made(buffer.address(), buffer.size());
        }
        Ok(buffer)
    }

    /// The address of the first image.
    fn address(&self) -> usize {
        self.before.as_ptr() as usize + self.before.len()
    }

    /// Bytes from the first image to the end of the last page.
    fn size(&self) -> usize {
        self.bytes.next_multiple_of(if self.memory.page_aligned { PAGES } else { ALIGNMENT })
    }

    /// The images.
    pub(in crate::loader) fn batch(&self) -> &[u8] {
        &self.batch
    }

    /// The images, to change them.
    pub(in crate::loader) fn batch_mut(&mut self) -> &mut [u8] {
        &mut self.batch
    }

    /// Splits chunks of the given sizes off. `join` puts them back.
    ///
    /// A run that was stopped within a batch has lost its chunks; the memory is then allocated again.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub(in crate::loader) fn split(&mut self, bytes: impl Iterator<Item = usize>) -> Result<Vec<BytesMut>> {
        if self.batch.len() + self.rest.len() < self.bytes {
            *self = HostBuffer::new(self.bytes, &self.memory.clone())?;
        }
        let batch = std::mem::take(&mut self.batch);
        let mut whole = std::mem::take(&mut self.rest);
        if !batch.is_empty() {
            let after = std::mem::replace(&mut whole, batch);
            whole.unsplit(after);
        }
        let chunks = bytes.map(|bytes| whole.split_to(bytes)).collect();
        self.rest = whole;
        Ok(chunks)
    }

    /// Joins the chunks, in their order.
    pub(in crate::loader) fn join(&mut self, chunks: impl IntoIterator<Item = BytesMut>) {
        let mut chunks = chunks.into_iter();
        self.batch = chunks.next().unwrap_or_default();
        chunks.for_each(|chunk| self.batch.unsplit(chunk));
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if let Some(hook) = &self.memory.hook {
            hook.freed(self.address(), self.size());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// The buffers that exist, by address and size, and how many were made.
    #[derive(Default)]
    struct Counted(Mutex<(Vec<(usize, usize)>, usize)>);

    impl HostBufferHook for Counted {
        fn made(&self, address: usize, bytes: usize) {
            let mut counted = self.0.lock().unwrap();
            counted.0.push((address, bytes));
            counted.1 += 1;
        }

        fn freed(&self, address: usize, bytes: usize) {
            let mut counted = self.0.lock().unwrap();
            let at = counted.0.iter().position(|made| *made == (address, bytes)).expect("it was made");
            counted.0.swap_remove(at);
        }
    }

    #[test]
    fn the_hook_hears_of_each_buffer_and_of_its_end() {
        let counted = Arc::new(Counted::default());
        for page_aligned in [false, true] {
            *counted.0.lock().unwrap() = Default::default();
            let memory = HostMemory { page_aligned, hook: Some(counted.clone()) };
            let mut buffers: Vec<HostBuffer> = (1..9).map(|n| HostBuffer::new(n * 10_000, &memory).unwrap()).collect();
            let chunks = buffers[0].split([4_000, 6_000].into_iter()).unwrap();
            buffers[0].join(chunks);
            let address = buffers[0].batch().as_ptr() as usize;
            {
                let counted = counted.0.lock().unwrap();
                assert_eq!(counted.1, 8);
                assert_eq!(counted.0[0].0, address);
                let alignment = if page_aligned { PAGES } else { ALIGNMENT };
                for (n, (address, bytes)) in (1..).zip(&counted.0) {
                    assert_eq!((address % alignment, bytes % alignment), (0, 0));
                    assert!((n * 10_000..n * 10_000 + alignment).contains(bytes), "{bytes} for {n}");
                }
                let mut ranges = counted.0.clone();
                ranges.sort_unstable();
                assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{ranges:?}");
            }
            // A run that was stopped loses chunks: another buffer replaces this one.
            drop(buffers[1].split([1].into_iter()).unwrap());
            drop(buffers[1].split([1].into_iter()).unwrap());
            assert_eq!(counted.0.lock().unwrap().1, 9);
            drop(buffers);
            assert!(counted.0.lock().unwrap().0.is_empty());
        }
    }

    #[test]
    fn pieces_join_without_a_copy_and_the_memory_stays() {
        let mut buffer = HostBuffer::new(100, &HostMemory::default()).unwrap();
        let address = buffer.rest.as_ptr();
        assert_eq!(address.align_offset(ALIGNMENT), 0);
        for images in [3, 10, 1] {
            let mut chunks = buffer.split(std::iter::repeat_n(10, images)).unwrap();
            (0..).zip(&mut chunks).for_each(|(i, chunk)| chunk.fill(i));
            buffer.join(chunks);
            assert_eq!(buffer.batch().len(), 10 * images);
            assert_eq!(buffer.batch().as_ptr(), address);
            assert!((0..images).all(|i| buffer.batch()[10 * i..10 * i + 10].iter().all(|b| *b == i as u8)));
        }
        let tens = || std::iter::repeat_n(10, 10);
        drop(buffer.split(tens()).unwrap());
        assert_eq!(buffer.split(tens()).unwrap().len(), 10, "lost chunks are replaced");
    }
}
