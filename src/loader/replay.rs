//! One sample again, by the parameters that were drawn for it.

use super::DataLoader;
use super::cache::round;
use super::line::Execution;
use crate::backend::Backend;
use crate::cpu;
use crate::dataset::{PixelFormat, Pixels, SampleData};
use crate::decode::{self, Rect, Scale};
use crate::error::{Error, Result};
use crate::plan::program::Program;
use crate::processor::{Processor, Source, program};
use crate::transforms::Drawn;

impl DataLoader {
    /// Applies given parameters to one sample, on this loader's executor: bit for bit the image that the batch had.
    ///
    /// Returns the image in the output's layout and type.
    ///
    /// # Errors
    /// What reading and decoding the sample gives; [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters
    /// do not belong to this plan or to this sample's size.
    pub fn replay(&self, index: usize, drawn: &Drawn) -> Result<Vec<u8>> {
        // As if nothing was kept, but what is kept in bytes.
        let line = &*self.line;
        let plan = if line.plan.rounds() { &line.plan } else { line.plan.undivided() };
        let mut file = Vec::new();
        let sample = line.dataset.read(index, &mut file)?;
        match sample.data {
            SampleData::Pixels(pixels) => self.finish(pixels, program(plan, drawn, (pixels.width(), pixels.height()))?),
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &line.decode)?;
                let program = program(plan, drawn, (probe.width, probe.height))?;
                if drawn.scale > program.scale() {
                    let reason = format!("{:?} is smaller than what the resize makes of it", drawn.scale);
                    return Err(Error::argument("drawn", reason));
                }
                let scaled = probe.scaled(drawn.scale);
                let (width, height) = scaled.size;
                let mut scratch = decode::Scratch::default();
                let whole = (Rect { left: 0, top: 0, width, height }, drawn.scale);
                let unused = (None, &mut decode::seek::Scratch::default());
                let (decoded, _) = decode::decode_indexed(bytes, &probe, whole, &line.decode, unused, &mut scratch)?;
                let row = 4 * width as usize;
                let rows = decoded.pixels.chunks(decoded.stride).take(height as usize);
                let packed: Vec<u8> = rows.flat_map(|r| &r[..row]).copied().collect();
                let program = if drawn.scale == Scale::Full { program } else { program.scaled_down(&scaled) };
                self.finish(Pixels::new(width, height, PixelFormat::Rgba8, &packed)?, program)
            }
        }
    }

    fn finish(&self, pixels: Pixels<'_>, program: Program) -> Result<Vec<u8>> {
        let plan = &self.line.plan;
        let backend = match (&self.line.execution, &self.backend) {
            (Execution::Gpu { .. }, backend) => backend,
            _ => &Backend::Cpu,
        };
        if !plan.rounds() {
            return Processor::new(plan.undivided(), backend)?.run_programs(&[(pixels, program)]);
        }
        let (head, rest) = program.divided(plan.first_stage());
        let region = head.stages[0].sampling.hull();
        let source = Source::new(pixels, region);
        let (mut floats, mut bytes) = (Vec::new(), Vec::new());
        round(plan, &head, (source.pixels(), region), (&mut floats, &mut bytes), &mut cpu::Scratch::default());
        let (width, height) = head.size();
        let pixels = Pixels::new(width, height, PixelFormat::Rgba8, &bytes)?;
        Processor::new(&plan.for_kernels(), backend)?.run_programs(&[(pixels, rest)])
    }
}
