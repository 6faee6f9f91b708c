//! Times the passes of the fixed plans and of the recipe on a GPU against a copy kernel.

use super::case::{Case, rows};
use super::plans::{Plans, make_params, one_work};
use super::reference::{OPERATIONS, arithmetic_kernel, copy_kernel};
use super::roofline::Roofs;
use super::timer::{Adapter, Kernel};
use super::turns::{Work, take_turns};
use crate::bench::setup::samples::Samples;
use crate::results::{Kernels, Rate, median};
use gpufeed::internals::{RecordedDispatch, Rig, Switches, Work as PassWork, on_device, work};
use gpufeed::wgpu;
use gpufeed::{Gpu, Identity, Plan};
use std::error::Error;
use std::time::Duration;

/// Returns the number of images in a batch: enough for the largest GPU, or few for a software adapter.
fn batch(gpu: &Gpu) -> u64 {
    if gpu.is_software() { 16 } else { 128 }
}

/// Measures the fixed plans and the recipe, whose batches are mixed or not.
pub(crate) fn measure(
    gpu: &Gpu,
    switches: &Switches,
    (recipe, mixes): (&Plan, bool),
    samples: &Samples,
    time: Duration,
    notes: &mut Vec<String>,
) -> Result<Kernels, Box<dyn Error>> {
    let adapter = open_again(gpu, switches)?;
    let bench = Bench::new(&adapter)?;
    let mut measured = bench.fixed()?;
    let recipe = &on_device(&adapter.gpu, recipe, mixes);
    let images = (batch(gpu) as usize).min(samples.params.len());
    let recipe_works = work(recipe, &samples.params[..images])?;
    let fixed = measured.cases.len();
    match Rig::new(&adapter.gpu, recipe, &samples.params[..images]) {
        Ok(rig) => bench.recipe(&rig, images as u64, recipe, &recipe_works, &mut measured)?,
        Err(error) => notes.push(format!("kernels: the recipe's own passes were not measured: {error}")),
    }
    let CaseKernels { cases, kernels } = measured;
    let by_timestamps = has_good_timestamps(&adapter, &kernels, notes)?;
    let mut works: Vec<Work<'_>> = Vec::new();
    for kernels in &kernels {
        let (adapter, kernels) = (&adapter, kernels.iter().collect::<Vec<_>>());
        works.push(Box::new(move |times| {
            let time = adapter.time(&kernels, times)?;
            Ok(if by_timestamps { time.device.unwrap_or(time.wall) } else { time.wall })
        }));
    }
    let seconds = take_turns(&mut works, time)?;
    let clock = if by_timestamps { "timestamps" } else { "wall" };
    let [copy, arithmetic] = [0, 1].map(|case| (&cases[case], median(&seconds[case])));
    let gb_per_second = copy.0.rate(copy.1);
    let roofs = Roofs { gb_per_second, gflop_per_second: arithmetic.0.gflop_rate(arithmetic.1) };
    let rows = rows(cases, &seconds, &roofs);
    let of_recipe: &[Rate] = &rows[fixed..];
    let seconds = (!of_recipe.is_empty()).then(|| of_recipe.iter().map(|row| row.seconds).sum());
    let roofline = Some(roofs.report(&recipe_works, images as u64, seconds));
    Ok(Kernels { clock: clock.to_owned(), rows, roofline })
}

/// Opens a second device of the same adapter, because the loader's device may lack timestamps.
fn open_again(gpu: &Gpu, switches: &Switches) -> Result<Adapter, Box<dyn Error>> {
    let info = gpu.info();
    let same = |adapter: &wgpu::Adapter| {
        let other = adapter.get_info();
        (&other.name, other.backend, other.device) == (&info.name, info.backend, info.device)
            && Identity::of(adapter) == *gpu.identity()
    };
    let adapter = Gpu::enumerate().into_iter().find(same).ok_or("the adapter is no longer there")?;
    Ok(Adapter::switched(&adapter, switches)?)
}

/// Runs all kernels once. Returns true if the device has timed every one, else notes the reason.
fn has_good_timestamps(
    adapter: &Adapter,
    kernels: &[Vec<Kernel>],
    notes: &mut Vec<String>,
) -> Result<bool, Box<dyn Error>> {
    if !adapter.has_timestamps() {
        notes.push("kernels: the adapter has no TIMESTAMP_QUERY, so times are the wall's".to_owned());
        return Ok(false);
    }
    let mut good = true;
    for kernels in kernels {
        good &= adapter.time(&kernels.iter().collect::<Vec<_>>(), 2)?.device.is_some();
    }
    if !good {
        notes.push("kernels: the device's timestamps are zero or out of order, so times are the wall's".to_owned());
    }
    Ok(good)
}

/// Builds kernels that share one buffer of statistics.
struct Bench<'a> {
    adapter: &'a Adapter,
    statistics: wgpu::Buffer,
}

/// The cases to measure, with their kernels.
struct CaseKernels {
    cases: Vec<Case>,
    /// The kernels of each case.
    kernels: Vec<Vec<Kernel>>,
}

impl<'a> Bench<'a> {
    fn new(adapter: &'a Adapter) -> gpufeed::Result<Bench<'a>> {
        Ok(Bench { adapter, statistics: adapter.storage(1 << 20) })
    }

    fn kernel(&self, dispatch: &RecordedDispatch, read: &wgpu::Buffer, write: &wgpu::Buffer) -> Kernel {
        self.adapter.kernel(dispatch, [read, &self.statistics, write])
    }

    /// Makes a buffer of pixels without a pattern, so that GPUs that compress memory gain nothing.
    fn source(&self, bytes: u64) -> wgpu::Buffer {
        let pixels: Vec<u8> = (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        self.adapter.filled(&pixels)
    }

    /// Makes the cases of the fixed plans.
    fn fixed(&self) -> Result<CaseKernels, Box<dyn Error>> {
        let (gpu, adapter) = (&self.adapter.gpu, self.adapter);
        let images = batch(gpu);
        let Plans { train, half, contrast } = Plans::compile()?;
        let [train, half, contrast] = [&train, &half, &contrast].map(|plan| on_device(gpu, plan, false));
        let rig = |plan: &Plan| Rig::new(gpu, plan, &make_params(plan, images)?);
        let works = |plan: &Plan| work(plan, &make_params(plan, images)?);
        let [works_train, works_half, works_contrast] = [works(&train)?, works(&half)?, works(&contrast)?];
        let [rig, rig_half, rig_contrast] = [rig(&train)?, rig(&half)?, rig(&contrast)?];
        let (slot, elements) = (rig.slot_bytes(), rig.elements());
        let source = self.source(slot);
        let (output, packed) = (adapter.storage(4 * elements), adapter.storage(2 * elements));
        let moved = slot + 4 * elements;
        let copied = (moved / 2).next_multiple_of(16);
        let [from, to] = [(); 2].map(|()| adapter.storage(copied));

        let groups = if gpu.is_software() { 16 } else { 4096 };
        let invocations = 256 * u64::from(groups);
        let sums = adapter.storage(16 * invocations);
        let arithmetic = one_work(16 * invocations, (OPERATIONS * invocations) as f64);

        let [stage] = &rig.dispatches()[..] else { return Err("a crop takes one pass".into()) };
        // Where shaders store f16, there is no packing.
        let passes_half = rig_half.dispatches();
        let (name_half, moved_half) = match passes_half.len() {
            1 => ("strip, f16", slot + 2 * elements),
            _ => ("strip and packing, f16", slot + 10 * elements),
        };
        let read_and_written = [(&source, &output), (&output, &packed)];
        let kernels_half = passes_half
            .iter()
            .zip(read_and_written)
            .map(|(pass, (read, write))| self.kernel(pass, read, write))
            .collect();
        let [mean, finish] = &rig_contrast.dispatches()[..] else { return Err("contrast takes two passes".into()) };
        let [mean_work, stage_work] = &works_contrast[..] else { return Err("contrast takes two passes".into()) };
        let case = |name: &str, images, bytes, works: &[PassWork]| {
            let (name, works) = (name.to_owned(), works.to_vec());
            Case { name, images, bytes, works }
        };
        let cases = vec![
            case("copy kernel", 0, 2 * copied, &one_work(2 * copied, 0.0)),
            case("arithmetic kernel", 0, 16 * invocations, &arithmetic),
            case("strip, f32", images, moved, &works_train),
            case(name_half, images, moved_half, &works_half),
            case("contrast: its mean", images, slot, std::slice::from_ref(mean_work)),
            case("contrast: the stage after it", images, moved, std::slice::from_ref(stage_work)),
        ];
        let kernels = vec![
            vec![self.kernel(&copy_kernel(copied), &from, &to)],
            vec![self.kernel(&arithmetic_kernel(groups), &from, &sums)],
            vec![self.kernel(stage, &source, &output)],
            kernels_half,
            vec![self.kernel(mean, &source, &output)],
            vec![self.kernel(finish, &source, &output)],
        ];
        Ok(CaseKernels { cases, kernels })
    }

    /// Adds a case for each pass of the recipe, with regions of the run's own data.
    fn recipe(
        &self,
        rig: &Rig,
        images: u64,
        recipe: &Plan,
        works: &[PassWork],
        measured: &mut CaseKernels,
    ) -> Result<(), Box<dyn Error>> {
        let (slot, elements) = (rig.slot_bytes(), rig.elements());
        let source = self.source(slot);
        let [output, packed] = [(); 2].map(|()| self.adapter.storage(4 * elements));
        let packed_bytes = recipe.output().dtype.bytes() as u64;
        let packs = rig.dispatches().iter().any(|dispatch| dispatch.name == "Pack");
        let stored = if packs { 4 } else { packed_bytes };
        for (number, (dispatch, work)) in rig.dispatches().iter().zip(works).enumerate() {
            let (bytes, read, write) = match dispatch.name {
                "Statistic" => (slot, &source, &output),
                "Pack" => ((4 + packed_bytes) * elements, &output, &packed),
                _ => (slot + stored * elements, &source, &output),
            };
            let name = format!("the recipe: {number}, {}", dispatch.name.to_lowercase());
            measured.cases.push(Case { name, images, bytes, works: vec![work.clone()] });
            measured.kernels.push(vec![self.kernel(dispatch, read, write)]);
        }
        Ok(())
    }
}
