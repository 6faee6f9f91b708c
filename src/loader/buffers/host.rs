//! Output buffers in host memory. Each is split into one chunk for each job, so that workers fill it in parallel, and
//! joined again.
//!
//! `bytes::BytesMut` splits one allocation into owned parts and joins neighbours without a copy: disjoint writes
//! without a lock and without `unsafe`.

use bytes::BytesMut;

/// Vector loads and `bytemuck` casts need aligned batches; a cache line is enough for all of them.
const ALIGNMENT: usize = 64;

/// A batch's memory: the images first, then the rest of the allocation.
#[derive(Debug)]
pub(in crate::loader) struct HostBuffer {
    batch: BytesMut,
    rest: BytesMut,
    bytes: usize,
}

impl HostBuffer {
    pub(in crate::loader) fn new(bytes: usize) -> Self {
        let mut whole = BytesMut::zeroed(bytes + ALIGNMENT);
        let skip = whole.as_ptr().align_offset(ALIGNMENT);
        let mut rest = whole.split_off(skip);
        rest.truncate(bytes);
        HostBuffer { batch: rest.split_to(0), rest, bytes }
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
    pub(in crate::loader) fn split(&mut self, bytes: impl Iterator<Item = usize>) -> Vec<BytesMut> {
        if self.batch.len() + self.rest.len() < self.bytes {
            *self = HostBuffer::new(self.bytes);
        }
        let batch = std::mem::take(&mut self.batch);
        let mut whole = std::mem::take(&mut self.rest);
        if !batch.is_empty() {
            let after = std::mem::replace(&mut whole, batch);
            whole.unsplit(after);
        }
        let chunks = bytes.map(|bytes| whole.split_to(bytes)).collect();
        self.rest = whole;
        chunks
    }

    /// Joins the chunks, in their order.
    pub(in crate::loader) fn join(&mut self, chunks: impl IntoIterator<Item = BytesMut>) {
        let mut chunks = chunks.into_iter();
        self.batch = chunks.next().unwrap_or_default();
        chunks.for_each(|chunk| self.batch.unsplit(chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_without_a_copy_and_the_memory_stays() {
        let mut buffer = HostBuffer::new(100);
        let address = buffer.rest.as_ptr();
        assert_eq!(address.align_offset(ALIGNMENT), 0);
        for images in [3, 10, 1] {
            let mut chunks = buffer.split(std::iter::repeat_n(10, images));
            (0..).zip(&mut chunks).for_each(|(i, chunk)| chunk.fill(i));
            buffer.join(chunks);
            assert_eq!(buffer.batch().len(), 10 * images);
            assert_eq!(buffer.batch().as_ptr(), address);
            assert!((0..images).all(|i| buffer.batch()[10 * i..10 * i + 10].iter().all(|b| *b == i as u8)));
        }
        let tens = || std::iter::repeat_n(10, 10);
        drop(buffer.split(tens()));
        assert_eq!(buffer.split(tens()).len(), 10, "lost chunks are replaced");
    }
}
