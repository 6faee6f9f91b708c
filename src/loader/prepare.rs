//! One sample: read, probe, draw; then decode the region that its taps read.

use super::line::Line;
use crate::cpu;
use crate::dataset::Label;
use crate::dataset::{PixelFormat, SampleData};
use crate::decode::{self, Probe, Rect, seek};
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::limits::is_for_cpu;
use crate::plan::program::Program;
use crate::processor::{widen_bytes, widen_floats};
use crate::sampler::Slot;
use crate::transforms::{Drawn, Key};

/// Offsets in a slot: whole `vec4<f32>`s, and what mapped ranges need.
const ALIGNMENT: u64 = 16;

/// A worker's memory: grows to the largest sample and stays.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) file: Vec<u8>,
    decode: decode::Scratch,
    seek: seek::Scratch,
    bytes: Vec<u8>,
    floats: Vec<f32>,
    pub(super) cpu: cpu::Scratch,
    pub(super) reduced: Vec<f32>,
}

/// What is known of a sample before it is decoded.
#[derive(Debug)]
pub(super) struct Drafted {
    pub(super) views: Vec<View>,
    /// What all views together read.
    pub(super) region: Rect,
    /// The header, for encoded samples.
    probe: Option<Probe>,
}

/// One output of a sample.
#[derive(Debug)]
pub(super) struct View {
    pub(super) drawn: Drawn,
    pub(super) program: Program,
    pub(super) region: Rect,
    /// Four floats a pixel instead of four bytes.
    pub(super) float: bool,
}

impl View {
    fn region_bytes(&self) -> u64 {
        u64::from(self.region.width) * u64::from(self.region.height) * if self.float { 16 } else { 4 }
    }

    /// Whether the GPU gets the result instead of the region.
    pub(super) fn reduce(&self) -> bool {
        is_for_cpu(&self.program, self.region_bytes(), self.float)
    }

    /// Bytes that go into a slot, in whole `vec4<f32>`s.
    pub(super) fn slot_bytes(&self) -> u64 {
        let (width, height) = self.program.size();
        let bytes = if self.reduce() { 16 * u64::from(width) * u64::from(height) } else { self.region_bytes() };
        bytes.next_multiple_of(ALIGNMENT)
    }

    /// This view's pixels of those that were decoded for all views of `drafted`.
    pub(super) fn pixels<'a>(&self, drafted: &Drafted, pixels: cpu::Pixels<'a>) -> cpu::Pixels<'a> {
        let (left, top) = (self.region.left - drafted.region.left, self.region.top - drafted.region.top);
        let (left, top) = (left as usize, top as usize);
        match pixels {
            cpu::Pixels::Bytes { data, stride, size } => {
                cpu::Pixels::Bytes { data: &data[top * stride + left * size..], stride, size }
            }
            cpu::Pixels::Floats { data, stride } => {
                cpu::Pixels::Floats { data: &data[top * stride + 4 * left..], stride }
            }
        }
    }
}

impl Drafted {
    /// Bytes of the pixels that are decoded for all views.
    pub(super) fn decoded_bytes(&self) -> u64 {
        let pixel = if self.views.first().is_some_and(|view| view.float) { 16 } else { 4 };
        u64::from(self.region.width) * u64::from(self.region.height) * pixel
    }

    /// Bytes that go into a slot.
    pub(super) fn slot_bytes(&self) -> u64 {
        self.views.iter().map(View::slot_bytes).sum()
    }
}

/// The smallest rectangle around both.
fn hull(a: Rect, b: Rect) -> Rect {
    let (left, top) = (a.left.min(b.left), a.top.min(b.top));
    let (right, bottom) = ((a.left + a.width).max(b.left + b.width), (a.top + a.height).max(b.top + b.height));
    Rect { left, top, width: right - left, height: bottom - top }
}

impl Line {
    /// The candidate that stands in for the sample at `slot` after `attempt` failures, and its key.
    pub(super) fn candidate(&self, epoch: u64, slot: &Slot, attempt: u64) -> (usize, Key) {
        let seed = self.seed;
        if attempt == 0 {
            let sample = self.dataset.id(slot.index);
            return (slot.index, Key { seed, epoch, sample, occurrence: slot.occurrence, view: 0 });
        }
        // The chain depends on (seed, epoch, position) alone.
        let chain = Key { seed, epoch, sample: slot.position, occurrence: u32::MAX, view: u32::MAX };
        let index = chain.numbers(attempt).below(self.dataset.len() as u64) as usize;
        // An occurrence of its own: the same sample at its own place draws other numbers.
        let occurrence = 1 << 31 | (slot.position as u32 & (u32::MAX >> 1));
        (index, Key { seed, epoch, sample: self.dataset.id(index), occurrence, view: 0 })
    }

    /// Probes and draws.
    pub(super) fn draft(&self, data: &SampleData<'_>, key: &Key) -> Result<Drafted> {
        let (size, probe, float) = match data {
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &self.decode)?;
                ((probe.width, probe.height), Some(probe), false)
            }
            SampleData::Pixels(pixels) => {
                let float = matches!(pixels.format(), PixelFormat::F32 { .. });
                ((pixels.width(), pixels.height()), None, float)
            }
        };
        let channels = match data {
            SampleData::Encoded(_) => 3,
            SampleData::Pixels(pixels) => pixels.format().channels(),
        };
        if self.plan.input_channels() == 1 && channels != 1 {
            let reason = format!("{channels} channels where the data set promises 1 (Dataset::channels)");
            return Err(Error::argument("channels", reason));
        }
        let mut views = Vec::with_capacity(self.views);
        for view in 0..self.views as u32 {
            let drawn = self.plan.draw(size.0, size.1, &Key { view, ..*key })?;
            let program = self.plan.program(&drawn)?;
            let region = program.stages[0].sampling.hull();
            views.push(View { drawn, program, region, float });
        }
        let region =
            views.iter().map(|view| view.region).reduce(hull).unwrap_or(Rect { left: 0, top: 0, width: 1, height: 1 });
        Ok(Drafted { views, region, probe })
    }

    /// Decodes (or gathers) the drafted region.
    pub(super) fn pixels<'a>(
        &self,
        data: &SampleData<'a>,
        drafted: &Drafted,
        (decode, found): (&'a mut decode::Scratch, &mut seek::Scratch),
        (bytes, floats): (&'a mut Vec<u8>, &'a mut Vec<f32>),
    ) -> Result<cpu::Pixels<'a>> {
        let stride = 4 * drafted.region.width as usize;
        // Room for the whole image, whatever the region: the next one of this image may be larger.
        let (whole, float) = drafted
            .views
            .first()
            .map_or((0, false), |view| (4 * view.drawn.width as usize * view.drawn.height as usize, view.float));
        match (data, &drafted.probe) {
            (SampleData::Encoded(file), Some(probe)) => {
                let seek = (self.seek.as_deref(), found);
                let (decoded, way) = decode::decode_indexed(file, probe, drafted.region, &self.decode, seek, decode)?;
                self.stats.decoded(way);
                Ok(cpu::Pixels::Bytes { data: decoded.pixels, stride: decoded.stride, size: 4 })
            }
            (SampleData::Pixels(pixels), _) if float => {
                floats.clear();
                floats.reserve_exact(whole);
                widen_floats(*pixels, drafted.region, floats);
                Ok(cpu::Pixels::Floats { data: floats, stride })
            }
            (SampleData::Pixels(pixels), _) if pixels.format() == PixelFormat::Rgb8 => {
                // Where they lie.
                let Rect { left, top, .. } = drafted.region;
                let stride = 3 * pixels.width() as usize;
                let data = &pixels.bytes()[top as usize * stride + 3 * left as usize..];
                Ok(cpu::Pixels::Bytes { data, stride, size: 3 })
            }
            (SampleData::Pixels(pixels), _) => {
                bytes.clear();
                bytes.reserve_exact(whole);
                widen_bytes(*pixels, drafted.region, bytes);
                Ok(cpu::Pixels::Bytes { data: bytes, stride, size: 4 })
            }
            (SampleData::Encoded(_), None) => {
                Err(ErrorKind::Decode { format: "image", reason: "not probed".to_owned() }.into())
            }
        }
    }
}

/// What a finished sample brings to its batch.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) id: u64,
    pub(super) label: Label,
    /// Of each view.
    pub(super) drawn: Vec<Drawn>,
}

impl Scratch {
    /// Brings each to the size of the largest. Which worker meets the largest image is chance: without this, a later run
    /// would still allocate.
    pub(super) fn level(all: &mut [Scratch]) {
        fn most<const N: usize>(sizes: impl Iterator<Item = [usize; N]>) -> [usize; N] {
            sizes.fold([0; N], |a, b| std::array::from_fn(|i| a[i].max(b[i])))
        }
        let ours = most(all.iter().map(|scratch| {
            let Scratch { file, bytes, floats, reduced, .. } = scratch;
            [file.capacity(), bytes.capacity(), floats.capacity(), reduced.capacity()]
        }));
        let decoder = most(all.iter().map(|scratch| scratch.decode.sizes()));
        let seek = most(all.iter().map(|scratch| scratch.seek.sizes()));
        let executor = most(all.iter().map(|scratch| scratch.cpu.sizes()));
        for scratch in all {
            scratch.file.reserve_exact(ours[0].saturating_sub(scratch.file.len()));
            scratch.bytes.reserve_exact(ours[1].saturating_sub(scratch.bytes.len()));
            scratch.floats.reserve_exact(ours[2].saturating_sub(scratch.floats.len()));
            scratch.reduced.reserve_exact(ours[3].saturating_sub(scratch.reduced.len()));
            scratch.decode.reserve(decoder);
            scratch.seek.reserve(seek);
            scratch.cpu.reserve(executor);
        }
    }

    /// Splits the borrow: what decoding writes, and what it does not touch.
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, Parts<'_>) {
        let Scratch { file, decode, seek, bytes, floats, cpu, reduced } = self;
        (file, Parts { decode: (decode, seek), bytes, floats, cpu, reduced })
    }
}

/// See [`Scratch::parts`].
pub(super) struct Parts<'a> {
    pub(super) decode: (&'a mut decode::Scratch, &'a mut seek::Scratch),
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) floats: &'a mut Vec<f32>,
    pub(super) cpu: &'a mut cpu::Scratch,
    pub(super) reduced: &'a mut Vec<f32>,
}
