//! One sample again, by the parameters that were drawn for it.

use super::DataLoader;
use super::drafted::Drafted;
use super::line::Execution;
use super::round::round;
use crate::backend::Backend;
use crate::cpu;
use crate::dataset::{PixelFormat, Pixels, SampleData};
use crate::decode;
use crate::decode::seek::{self, Saver};
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::plan::program::Program;
use crate::processor::{Part, Processor, program};
use crate::transforms::Params;

impl DataLoader {
    /// Applies given parameters to one sample, on this loader's executor: bit for bit the image that the batch had, also
    /// where the file is damaged or cut. Like a worker it decodes the part of the file that the parameters need.
    ///
    /// Returns the image in the output's layout and type.
    ///
    /// # Errors
    /// What reading and decoding the sample gives; [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters
    /// do not belong to this plan or to this sample's size.
    pub fn replay(&self, index: usize, params: &Params) -> Result<Vec<u8>> {
        // As if nothing was kept, but what is kept in bytes.
        let line = &*self.line;
        let plan = if line.plan.rounds() { &line.plan } else { line.plan.undivided() };
        let mut file = Vec::new();
        let sample = line.dataset.read(index, &mut file)?;
        match sample.data {
            SampleData::Pixels(pixels) => {
                let program = program(plan, params, (pixels.width(), pixels.height()))?;
                self.finish(Part::whole(pixels), program)
            }
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &line.decode)?;
                let program = program(plan, params, (probe.width, probe.height))?;
                if params.scale > program.scale() {
                    let reason = format!("{:?} is smaller than what the resize makes of it", params.scale);
                    return Err(Error::argument("params", reason));
                }
                let drafted = if line.plan.rounds() {
                    line.draft_behind(vec![params.clone()], Some(probe), false)?
                } else {
                    Drafted::new(vec![(params.clone(), program.clone())], Some(probe), params.scale, false)
                };
                let program = match drafted.views.first() {
                    Some(view) if !line.plan.rounds() => view.program.clone(),
                    _ => program,
                };
                let (mut scratch, mut found) = (decode::Scratch::default(), seek::Scratch::default());
                let (wanted, indexes) =
                    ((drafted.region, drafted.scale), (line.seek.as_ref().map(Saver::store), &mut found));
                let (decoded, _) = decode::decode_indexed(bytes, &probe, wanted, &line.decode, indexes, &mut scratch)?;
                let Rect { left, top, width, height } = drafted.region;
                let row = 4 * width as usize;
                let rows = decoded.pixels.chunks(decoded.stride).take(height as usize);
                let packed: Vec<u8> = rows.flat_map(|r| &r[..row]).copied().collect();
                let pixels = Pixels::new(width, height, PixelFormat::Rgba8, &packed)?;
                self.finish(Part { pixels, left, top }, program)
            }
        }
    }

    fn finish(&self, part: Part<'_>, program: Program) -> Result<Vec<u8>> {
        let plan = &self.line.plan;
        let backend = match (&self.line.execution, &self.backend) {
            (Execution::Gpu { .. }, backend) => backend,
            _ => &Backend::Cpu,
        };
        if !plan.rounds() {
            return Processor::new(plan.undivided(), backend)?.run_programs(&[(part, program)]);
        }
        let (head, rest) = program.divided(plan.first_stage());
        let region = head.stages[0].sampling.hull();
        let source = part.source(region);
        let (mut floats, mut bytes) = (Vec::new(), Vec::new());
        round(plan, &head, (source.pixels(), region), (&mut floats, &mut bytes), &mut cpu::Scratch::default());
        let (width, height) = head.size();
        let pixels = Pixels::new(width, height, PixelFormat::Rgba8, &bytes)?;
        Processor::new(&plan.for_kernels(), backend)?.run_programs(&[(Part::whole(pixels), rest)])
    }
}
