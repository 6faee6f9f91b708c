//! One sample: read, probe, draw; then decode the region that its taps read.

use super::cache::{HostEntry, Known, Store};
use super::drafted::{Drafted, View, is_reduced};
use super::line::{Execution, Line};
use crate::dataset::{Dataset, Label, PixelFormat, SampleData};
use crate::decode::{self, seek};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Rect, Scale};
use crate::pixels::{PixelsRef, widen_bytes, widen_floats};
use crate::plan::program::Program;
use crate::sampler::Position;
use crate::transforms::{Key, Params};

/// A sample as it was read, or as it was kept.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) index: usize,
    pub(super) label: Label,
    data: Data<'a>,
}

#[derive(Debug)]
enum Data<'a> {
    Read(SampleData<'a>),
    Kept(&'a HostEntry),
}

impl Prepared<'_> {
    /// Bytes that the data set handed out.
    pub(super) fn bytes_read(&self) -> u64 {
        match self.data {
            Data::Read(data) => data.len() as u64,
            Data::Kept(_) => 0,
        }
    }

    /// Images of `views` that its decoding counts for.
    pub(super) fn decodes(&self, views: usize) -> usize {
        if self.is_kept() { 0 } else { views }
    }

    pub(super) fn is_kept(&self) -> bool {
        matches!(self.data, Data::Kept(_))
    }

    /// Whether the data set holds the pixels in memory.
    pub(super) fn is_held(&self, dataset: &dyn Dataset) -> bool {
        matches!(self.data, Data::Read(SampleData::Pixels(_))) && dataset.is_in_memory()
    }
}

impl Line {
    /// The candidate that stands in for the sample at `position` after `attempt` failures, and its key.
    pub(super) fn candidate(&self, epoch: u64, position: &Position, attempt: u64) -> (usize, Key) {
        let seed = self.seed;
        if attempt == 0 {
            let sample = self.dataset.id(position.index);
            return (position.index, Key { seed, epoch, sample, occurrence: position.occurrence, view: 0 });
        }
        // The chain depends on (seed, epoch, position) alone.
        let chain = Key { seed, epoch, sample: position.global, occurrence: u32::MAX, view: u32::MAX };
        let index = self.sampler.draw(&mut chain.numbers(attempt));
        // An occurrence of its own: the same sample at its own place draws other numbers.
        let occurrence = 1 << 31 | (position.global as u32 & (u32::MAX >> 1));
        (index, Key { seed, epoch, sample: self.dataset.id(index), occurrence, view: 0 })
    }

    /// Whether `prepare` takes the sample from the cache.
    pub(super) fn is_on_host(&self, index: usize) -> bool {
        matches!(&self.cache, Store::Host(cache) if cache.get(index).is_some())
    }

    /// Takes the sample from the cache, or reads it.
    pub(super) fn prepare<'a>(&'a self, index: usize, file: &'a mut Vec<u8>) -> Result<Prepared<'a>> {
        if let Store::Host(cache) = &self.cache
            && let Some(entry) = cache.get(index)
        {
            self.stats.kept(1);
            return Ok(Prepared { index, label: entry.known.label.clone(), data: Data::Kept(entry) });
        }
        let sample = self.dataset.read(index, file)?;
        Ok(Prepared { index, label: sample.label, data: Data::Read(sample.data) })
    }

    /// The numbers of every view, and its program, whatever is kept.
    pub(super) fn draw(&self, (width, height): (u32, u32), key: &Key) -> Result<Vec<(Params, Program)>> {
        let views = (0..self.views as u32).map(|view| {
            let params = self.plan.make_params(width, height, &Key { view, ..*key })?;
            let program = self.plan.undivided().program(&params)?;
            Ok((params, program))
        });
        views.collect()
    }

    /// Probes and draws.
    pub(super) fn draft(&self, prepared: &Prepared<'_>, key: &Key) -> Result<Drafted> {
        let (size, probe, float, channels) = match &prepared.data {
            Data::Kept(HostEntry { known, .. }) => return self.draft_kept(self.draw(known.size, key)?, known),
            Data::Read(SampleData::Encoded(bytes)) => {
                let probe = decode::probe(bytes, &self.decode)?;
                ((probe.width, probe.height), Some(probe), false, 3)
            }
            Data::Read(SampleData::Pixels(pixels)) => {
                let float = matches!(pixels.format(), PixelFormat::F32 { .. });
                ((pixels.width(), pixels.height()), None, float, pixels.format().channels())
            }
        };
        if self.plan.input_channels() == 1 && channels != 1 {
            let reason = format!("{channels} channels where the data set promises 1 (Dataset::channels)");
            return Err(Error::argument("channels", reason));
        }
        let views = self.draw(size, key)?;
        if self.plan.rounds() {
            return self.draft_behind(views.into_iter().map(|(params, _)| params).collect(), probe, float);
        }
        let scale = match (&prepared.data, &probe) {
            (Data::Read(SampleData::Encoded(bytes)), Some(probe)) if self.scaled_decode => {
                let scale = views.iter().map(|(_, program)| program.scale()).min().unwrap_or_default();
                let can = scale != Scale::Full && decode::can_scale(bytes, probe, &self.decode);
                if can { scale } else { Scale::Full }
            }
            _ => Scale::Full,
        };
        if let Data::Read(SampleData::Pixels(pixels)) = &prepared.data
            && matches!(pixels.format(), PixelFormat::R8 | PixelFormat::Rgb8)
            && self.augments_on_cpu()
        {
            // The CPU executor reads where the pixels lie.
            let region = Rect { left: 0, top: 0, width: size.0, height: size.1 };
            let view = |(params, program)| View::new(params, program, region, float);
            let views = views.into_iter().map(view).collect();
            return Ok(Drafted { views, region, float, head: None, probe, scale, may_be_kept: true, claimed: false });
        }
        Ok(Drafted::new(views, probe, scale, float))
    }

    /// Of a sample whose pixels are kept.
    fn draft_kept(&self, views: Vec<(Params, Program)>, known: &Known) -> Result<Drafted> {
        let on_gpu = matches!(self.execution, Execution::Gpu { .. });
        let view = |(params, program): (Params, Program)| {
            // By what is run without a cache: the executors differ in last bits.
            let reduced = (on_gpu && self.plan.keeps_exact()).then(|| is_reduced(&program, known.from_floats));
            let program = self.rest(&params, program)?;
            // The CPU executor reads where the pixels lie; a slot gets no more of them than the GPU reads.
            let region = if on_gpu { program.stages[0].sampling.hull() } else { known.region };
            Ok(View { reduced, ..View::new(params, program, region, known.float) })
        };
        let views = views.into_iter().map(view).collect::<Result<_>>()?;
        let (region, scale) = (known.region, Scale::Full);
        let (float, head) = (known.float, None);
        Ok(Drafted { views, region, float, head, probe: None, scale, may_be_kept: false, claimed: false })
    }

    /// The same sample at full size: what the decoder declines at a smaller one is decoded as if that had not been tried.
    pub(super) fn at_full_size(&self, drafted: Drafted) -> Result<Drafted> {
        let Drafted { views, probe, float, .. } = drafted;
        let views = views.into_iter().map(|view| {
            let program = self.plan.undivided().program(&view.params)?;
            Ok((view.params, program))
        });
        Ok(Drafted::new(views.collect::<Result<_>>()?, probe, Scale::Full, float))
    }

    /// Decodes (or gathers) the drafted region.
    pub(super) fn pixels<'a>(
        &self,
        prepared: &Prepared<'a>,
        drafted: &Drafted,
        (decode, found): (&'a mut decode::Scratch, &mut seek::Scratch),
        (bytes, floats): (&'a mut Vec<u8>, &'a mut Vec<f32>),
    ) -> Result<PixelsRef<'a>> {
        let stride = 4 * drafted.region.width as usize;
        // Room for the whole image, whatever the region: the next one of this image may be larger.
        let float = drafted.float;
        let whole =
            drafted.views.first().map_or(0, |view| 4 * view.params.width as usize * view.params.height as usize);
        match (&prepared.data, &drafted.probe) {
            (Data::Kept(entry), _) => Ok(entry.pixels()),
            (Data::Read(SampleData::Encoded(file)), Some(probe)) => {
                let seek = (self.seek.as_ref().map(seek::Saver::store), found);
                let wanted = (drafted.region, drafted.scale);
                let (decoded, way) = decode::decode_indexed(file, probe, wanted, &self.decode, seek, decode)?;
                self.stats.decoded(way);
                Ok(PixelsRef::Bytes { data: decoded.pixels, stride: decoded.stride, size: 4 })
            }
            (Data::Read(SampleData::Pixels(pixels)), _) if float => {
                floats.clear();
                floats.reserve_exact(whole);
                widen_floats(*pixels, drafted.region, floats);
                Ok(PixelsRef::Floats { data: floats, stride })
            }
            (Data::Read(SampleData::Pixels(pixels)), _)
                if pixels.format() == PixelFormat::Rgb8
                    || (pixels.format() == PixelFormat::R8 && self.augments_on_cpu()) =>
            {
                Ok(pixels.in_place(drafted.region))
            }
            (Data::Read(SampleData::Pixels(pixels)), _) => {
                bytes.clear();
                bytes.reserve_exact(whole);
                widen_bytes(*pixels, drafted.region, bytes);
                Ok(PixelsRef::Bytes { data: bytes, stride, size: 4 })
            }
            (Data::Read(SampleData::Encoded(_)), None) => {
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
    pub(super) params: Vec<Params>,
}
