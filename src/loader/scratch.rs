//! A worker's memory between samples and between runs.

use crate::allocate::reserve_like;
use crate::cpu;
use crate::cpu::prefix::PrefixBuffers;
use crate::decode::DecoderScratch;
use crate::transforms::IMAGES;

/// A worker's memory: grows to the largest sample and is reused.
#[derive(Debug, Default)]
pub(super) struct WorkerScratch {
    /// The encoded sample.
    pub(super) file: Vec<u8>,
    /// Those of the other samples of a mosaic.
    pub(super) others: [Vec<u8>; IMAGES - 1],
    pub(super) pixels: PixelScratch,
}

/// The part of a worker's memory that is used after the sample has been read into `file`.
#[derive(Debug, Default)]
pub(super) struct PixelScratch {
    pub(super) decoder: DecoderScratch,
    /// Pixels that the data set holds in memory, converted for the executors.
    pub(super) gathered: Gathered,
    pub(super) between: Intermediates,
}

/// The images between the stages of the plan.
#[derive(Debug, Default)]
pub(super) struct Intermediates {
    /// The result of a prefix at which the views begin.
    pub(super) prefix: PrefixBuffers,
    /// The result of a prefix that only the cache needs.
    pub(super) insertion: PrefixBuffers,
    /// The result of the CPU executor for an image that the GPU cannot run.
    pub(super) fallback: Vec<f32>,
    pub(super) cpu: cpu::CpuScratch,
}

/// Pixels that were gathered into four channels.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) bytes: Vec<u8>,
    pub(super) floats: Vec<f32>,
    /// Set in loaders that make mosaics.
    pub(super) canvas: Option<Box<CanvasScratch>>,
}

/// A worker's memory for the images of a mosaic.
#[derive(Debug, Default)]
pub(super) struct CanvasScratch {
    pub(super) gathered: Gathered,
    pub(super) cpu: cpu::CpuScratch,
    /// Three bytes a pixel of an image's part.
    pub(super) part: Vec<u8>,
}

impl WorkerScratch {
    /// Makes the memory of every worker as large as that of the largest one.
    pub(super) fn level(all: &mut [WorkerScratch]) {
        let Some((largest, others)) = all.split_first_mut() else { return };
        // With a single worker, this makes its two alternating buffers equally large.
        largest.pixels.between.cpu.reserve_like(&cpu::CpuScratch::default());
        others.iter().for_each(|other| largest.reserve_like(other));
        others.iter_mut().for_each(|other| other.reserve_like(largest));
    }

    fn reserve_like(&mut self, other: &WorkerScratch) {
        let WorkerScratch { file, others, pixels } = self;
        others.iter_mut().zip(&other.others).for_each(|(own, other)| reserve_like(own, other));
        let PixelScratch { decoder, gathered, between } = pixels;
        let Intermediates { prefix, insertion, fallback, cpu } = between;
        reserve_like(file, &other.file);
        decoder.reserve_like(&other.pixels.decoder);
        gathered.reserve_like(&other.pixels.gathered);
        let other = &other.pixels.between;
        prefix.reserve_like(&other.prefix);
        insertion.reserve_like(&other.insertion);
        reserve_like(fallback, &other.fallback);
        cpu.reserve_like(&other.cpu);
    }
}

impl Gathered {
    fn reserve_like(&mut self, other: &Gathered) {
        reserve_like(&mut self.bytes, &other.bytes);
        reserve_like(&mut self.floats, &other.floats);
        let Some(other) = &other.canvas else { return };
        let CanvasScratch { gathered, cpu, part } = &mut **self.canvas.get_or_insert_default();
        gathered.reserve_like(&other.gathered);
        cpu.reserve_like(&other.cpu);
        reserve_like(part, &other.part);
    }
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
        // Simulates a worker that began so late that it took over the memory of a worker that had ended.
        drop(loader.pipeline.take_scratch());
        loader.pipeline.level_scratch();
        assert_eq!(loader.pipeline.scratch.1.len(), 3);
    }
}
