//! A worker's memory between samples and between runs.

use crate::cpu;
use crate::decode::{self, seek};

/// A worker's memory: grows to the largest sample and stays.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    file: Vec<u8>,
    decode: decode::Scratch,
    seek: seek::Scratch,
    bytes: Vec<u8>,
    floats: Vec<f32>,
    cpu: cpu::Scratch,
    /// What the CPU executor makes of a sample for the GPU, or for a cache.
    reduced: Vec<f32>,
    /// The same in bytes.
    rounded: Vec<u8>,
    /// What is kept in bytes of a sample whose views read others.
    kept: Vec<u8>,
}

impl Scratch {
    /// Brings each to the size of the largest. Which worker meets the largest image is chance: without this, a later run
    /// would still allocate.
    pub(super) fn level(all: &mut [Scratch]) {
        fn most<const N: usize>(sizes: impl Iterator<Item = [usize; N]>) -> [usize; N] {
            sizes.fold([0; N], |a, b| std::array::from_fn(|i| a[i].max(b[i])))
        }
        let ours = most(all.iter().map(|scratch| {
            let Scratch { file, bytes, floats, reduced, rounded, kept, .. } = scratch;
            let [file, bytes, rounded, kept] = [file, bytes, rounded, kept].map(Vec::capacity);
            [file, bytes, floats.capacity(), reduced.capacity(), rounded, kept]
        }));
        let decoder = most(all.iter().map(|scratch| scratch.decode.sizes()));
        let seek = most(all.iter().map(|scratch| scratch.seek.sizes()));
        let executor = most(all.iter().map(|scratch| scratch.cpu.sizes()));
        for scratch in all {
            scratch.file.reserve_exact(ours[0].saturating_sub(scratch.file.len()));
            scratch.bytes.reserve_exact(ours[1].saturating_sub(scratch.bytes.len()));
            scratch.floats.reserve_exact(ours[2].saturating_sub(scratch.floats.len()));
            scratch.reduced.reserve_exact(ours[3].saturating_sub(scratch.reduced.len()));
            scratch.rounded.reserve_exact(ours[4].saturating_sub(scratch.rounded.len()));
            scratch.kept.reserve_exact(ours[5].saturating_sub(scratch.kept.len()));
            scratch.decode.reserve(decoder);
            scratch.seek.reserve(seek);
            scratch.cpu.reserve(executor);
        }
    }

    /// Splits the borrow: what reading fills, and the rest.
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, Parts<'_>) {
        let Scratch { file, decode, seek, bytes, floats, cpu, reduced, rounded, kept } = self;
        (file, Parts { decode, seek, bytes, floats, cpu, reduced, rounded, kept })
    }
}

/// See [`Scratch::parts`].
pub(super) struct Parts<'a> {
    pub(super) decode: &'a mut decode::Scratch,
    pub(super) seek: &'a mut seek::Scratch,
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) floats: &'a mut Vec<f32>,
    pub(super) cpu: &'a mut cpu::Scratch,
    pub(super) reduced: &'a mut Vec<f32>,
    pub(super) rounded: &'a mut Vec<u8>,
    pub(super) kept: &'a mut Vec<u8>,
}

#[cfg(test)]
mod tests {
    use crate::dataset::{InMemory, Label, PixelFormat};
    use crate::{Backend, DataLoader};

    #[test]
    fn every_worker_of_the_next_run_finds_memory() {
        let mut data = InMemory::new();
        data.push_pixels(64, 64, PixelFormat::Rgb8, vec![7; 64 * 64 * 3], Label::Class(0)).unwrap();
        let loader =
            DataLoader::builder(data).batch_size(1).workers(3).transform(crate::transforms::Resize::new((64, 64)));
        let loader = loader.build(&Backend::Cpu).unwrap();
        loader.epoch(0).unwrap().for_each(|batch| drop(batch.unwrap()));
        // As when a worker begins so late that another's is back.
        drop(loader.line.take_scratch());
        loader.line.level_scratch();
        assert_eq!(loader.line.scratch.1.len(), 3);
    }
}
