//! The memory that the CPU executor takes for an image, by its program alone: before any of it is allocated.
//!
//! It counts each buffer of [`CpuScratch`](super::CpuScratch) at the largest that a stage asks for. A test compares it
//! with what images really take.

use crate::cpu::stage::TOGETHER;
use crate::geometry::Rect;
use crate::plan::cpu_fallback::taps;
use crate::plan::gather::{Gather, GatherKind};
use crate::plan::program::{Program, StageProgram};
use crate::plan::resize_u8::most_taps;
use crate::plan::route::{Prefix, Route};
use crate::plan::sampling::{Axis, Sampling};
use crate::plan::{Plan, Semantics};

/// The memory for an image, and the largest image between its stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) bytes: u64,
    /// Width and height.
    pub(crate) largest: (u32, u32),
    /// The number of the plan's stage that makes it, where the program has all of them.
    pub(crate) stage: Option<usize>,
}

/// Returns the memory for all images of a route, which a worker makes one after the other. `executor` is true if the
/// CPU executor runs every view, and false if it runs those that the GPU does not.
pub(crate) fn by_route(plan: &Plan, route: &Route, executor: bool) -> Needed {
    let prefix = |prefix: &Prefix| {
        let Rect { width, height, .. } = prefix.result();
        let floats = 16 * area((width, height));
        let needed = by_program(plan, &prefix.program, route.read);
        Needed { bytes: needed.bytes.saturating_add(floats + if prefix.float { 0 } else { floats / 4 }), ..needed }
    };
    let inserted = route.to_cache.as_ref().and_then(|insertion| insertion.prefix.as_ref());
    let prefixes = route.on_worker.iter().chain(inserted).map(prefix);
    let views = route.views.iter().filter(|view| executor || view.cpu_fallback).map(|view| {
        let needed = by_program(plan, &view.program, view.region);
        let finished = if executor { 0 } else { 16 * area(view.program.size()) };
        Needed { bytes: needed.bytes.saturating_add(finished), ..needed }
    });
    prefixes.chain(views).max_by_key(|needed| needed.bytes).unwrap_or_default()
}

/// Returns the memory for an image of which `region` is read.
pub(crate) fn by_program(plan: &Plan, program: &Program, region: Rect) -> Needed {
    let (mut buffers, mut largest, mut at) = (Buffers::default(), (0, 0), 0);
    let bytes = buffers.of_program(plan, program, region, program.stages.len() > 2);
    for (number, stage) in program.stages.iter().enumerate() {
        // The last result is the output, or a part of a batch.
        let result = (number + 1 < program.stages.len()).then(|| stage.sampling.size());
        let gathered = stage.gather.iter().flat_map(|gather| [gather.source, gather.size()]);
        for size in result.into_iter().chain(gathered).chain(stage.mixture.iter().map(|mixture| mixture.size)) {
            if area(size) > area(largest) {
                (largest, at) = (size, number);
            }
        }
    }
    if largest == (0, 0) {
        largest = program.size();
    }
    // What the user's code gets, and what it returns as the transforms after it read it. What they take more depends on its
    // size, which nobody knows yet.
    let code = if program.code_key().is_some() { (12 + 16) * area(program.size()) } else { 0 };
    let bytes = bytes.saturating_add(code);
    Needed { bytes, largest, stage: (program.stages.len() == plan.stages().len()).then_some(at) }
}

/// Bytes of the buffers of `CpuScratch`.
#[derive(Debug, Default)]
struct Buffers {
    tables: [u64; 2],
    filtered: u64,
    rows: u64,
    resize_u8: u64,
    /// Rows that a resize on 8-bit numbers has resized across.
    resized_rows: u64,
    /// Those of the operators that begin a stage, as bytes and as floats.
    bytes: u64,
    floats: u64,
    result: u64,
    blurred: u64,
    others: u64,
    intermediate: u64,
    intermediate_u8: u64,
    gathered: u64,
    mixture: u64,
}

impl Buffers {
    fn sum(&self) -> u64 {
        let Buffers { tables: [x, y], filtered, rows, resize_u8, bytes, floats, result, blurred, others, .. } = *self;
        let Buffers { resized_rows, intermediate, intermediate_u8, gathered, mixture, .. } = *self;
        let all = [x, y, filtered, rows, resize_u8, bytes, floats, result, blurred, others];
        let all = all.into_iter().chain([resized_rows, intermediate, intermediate_u8, gathered, mixture]);
        all.fold(0, u64::saturating_add)
    }

    /// `both` is true if the image before may leave the two alternating buffers in the other order.
    fn of_program(&mut self, plan: &Plan, program: &Program, region: Rect, both: bool) -> u64 {
        let is_uint8 = plan.semantics() == Semantics::Uint8;
        let runs = |number: usize, stage: &StageProgram| number == 0 || !stage.is_unchanged();
        let stages = || program.stages.iter().enumerate().filter(|(number, stage)| runs(*number, stage));
        let last = stages().map(|(number, _)| number).next_back().unwrap_or(0);
        let mut source = region;
        // The largest results of each kind, and how many there are: two buffers alternate.
        let (mut floats, mut bytes) = ((0, 0), (0, 0));
        for (number, stage) in stages() {
            self.of_stage(plan, stage, source);
            let size = stage.sampling.size();
            let in_bytes = stage.begins_in_bytes();
            if in_bytes || (stage.is_uint8 && number < last) {
                bytes = (area(size).max(bytes.0), bytes.1 + 1);
            }
            if number < last && !stage.is_uint8 {
                floats = (area(size).max(floats.0), floats.1 + 1);
            }
            if in_bytes && stage.is_uint8 {
                most(&mut self.gathered, 4 * area(size));
            }
            source = Rect { left: 0, top: 0, width: size.0, height: size.1 };
        }
        let count = |results: u64| if both { 2 } else { results.min(2) };
        most(&mut self.intermediate, 16 * floats.0 * count(floats.1));
        most(&mut self.intermediate_u8, 4 * bytes.0 * count(bytes.1));
        if (program.stages.len() > 1 || program.stages[0].gather.is_some()) && plan.has_gathers() {
            self.of_any_operator(program, region, is_uint8);
        }
        self.sum()
    }

    /// The bytes that `CpuScratch::reserve` asks for.
    fn of_any_operator(&mut self, program: &Program, region: Rect, is_uint8: bool) {
        let before = |stage: &StageProgram| stage.gather.as_ref().map_or(0, |gather| area(gather.size()));
        let sizes = program.stages.iter().map(|stage| area(stage.sampling.size()).max(before(stage)));
        let decoded = program.stages[0].gather.as_ref().map_or(0, |_| area((region.width, region.height)));
        let pixels = sizes.max().unwrap_or(0).max(decoded);
        most(&mut self.rows, 12 * pixels);
        if is_uint8 {
            let height = |stage: &StageProgram| {
                let before = stage.gather.as_ref().map_or(0, |gather| u64::from(gather.size().1));
                before.max(len_of(stage.sampling.y.source_len))
            };
            let highest = program.stages.iter().map(height).max().unwrap_or(0);
            for stage in program.stages.iter().filter(|stage| stage.sampling.resized_u8.is_some()) {
                most(&mut self.resized_rows, 4 * len(&stage.sampling.x) * highest);
            }
            most(&mut self.bytes, 4 * pixels);
            most(&mut self.intermediate_u8, 8 * pixels);
            most(&mut self.gathered, 4 * pixels);
        } else {
            most(&mut self.floats, 16 * pixels);
            most(&mut self.result, 16 * pixels);
            most(&mut self.intermediate, 32 * pixels);
        }
    }

    fn of_stage(&mut self, plan: &Plan, stage: &StageProgram, source: Rect) {
        if let Some(gather) = &stage.gather {
            self.of_gather(gather, stage, source);
        }
        if let Some(mixture) = &stage.mixture {
            let window = stage.sampling.read_region();
            let shown = area((window.width, window.height));
            let mut chain = Buffers::default();
            for (_, _, program) in &mixture.parts {
                chain.of_program(plan, program, source, true);
            }
            let pixel = if mixture.is_uint8 { 4 } else { 16 };
            let own = (12 * area(mixture.size)).saturating_add(pixel * shown);
            most(&mut self.mixture, chain.sum().saturating_add(own));
        }
        let sampling = &stage.sampling;
        let (width, height) = sampling.size();
        if let Some(whole) = sampling.resized_u8 {
            self.of_resize_u8(sampling, whole, stage, source);
        } else {
            for (bytes, axis) in self.tables.iter_mut().zip([&sampling.x, &sampling.y]) {
                let each = taps(axis, sampling.filter);
                // An entry, its end, its taps, its weights.
                most(bytes, len(axis).saturating_mul(40 + each * (2 * 12 + 4) + 8));
            }
            most(&mut self.filtered, 16 * (len_of(sampling.x.source_len) + taps(&sampling.x, sampling.filter) + 2));
        }
        let row = 12 * u64::from(width);
        let rows = if stage.needs_mean() { row * u64::from(height) } else { row.max(4 * TOGETHER as u64) };
        most(&mut self.rows, rows);
    }

    fn of_resize_u8(&mut self, sampling: &Sampling, whole: [u32; 2], stage: &StageProgram, source: Rect) {
        let (x, y) = (&sampling.x, &sampling.y);
        let highest = stage.gather.as_ref().map_or(0, |gather| gather.size().1);
        let rows = u64::from(highest).max(len_of(y.source_len)).max(source.height.into());
        let axis = |axis: &Axis, outputs: u32| {
            let taps = most_taps(axis.view_len.max(0) as u32, outputs, sampling.filter);
            (taps, u64::from(outputs).saturating_mul(8 + 10 * taps))
        };
        let ((taps, across), (_, down)) = (axis(x, whole[0]), axis(y, whole[1]));
        let columns = len_of(x.view_len);
        let row = 4 * columns + 16 * (columns + taps) + len(x).saturating_mul(16 + 4 + 2 * taps);
        most(&mut self.resized_rows, 4 * len(x) * rows);
        most(&mut self.resize_u8, across.saturating_add(down).saturating_add(row));
    }

    fn of_gather(&mut self, gather: &Gather, stage: &StageProgram, source: Rect) {
        let (read, all) = (area((source.width, source.height)), area(gather.source));
        let identity = stage.sampling == Sampling::identity(gather.size());
        let window = if identity { stage.whole() } else { stage.sampling.read_region() };
        let shown = area((window.width, window.height));
        let floats = if gather.is_uint8 {
            most(&mut self.bytes, 4 * read);
            most(&mut self.gathered, if identity { 0 } else { 4 * shown });
            3
        } else {
            most(&mut self.floats, 16 * read);
            most(&mut self.result, 16 * shown);
            4
        };
        let columns = u64::from(window.width);
        match &gather.kind {
            GatherKind::Blur { kernel_size: [x, y], .. } => {
                let row = 4 * floats * (columns + u64::from(*x));
                most(&mut self.blurred, 4 * floats * all + row + 16 * u64::from(*y));
            }
            GatherKind::Jpeg { .. } => {
                let side = |side: u32| u64::from(side).next_multiple_of(16);
                let (stride, rows) = (side(source.width), side(source.height));
                most(&mut self.others, 3 * stride * rows / 2 + 4 * stride + 5 * (columns + 16));
            }
            GatherKind::Elastic(elastic) => {
                // No radius is greater than a side.
                let radius =
                    |axis: usize, side: u32| (elastic.sigma[axis].max(0.0) * 4.0 + 2.0).min(f64::from(side)) as u64;
                let (width, height) = gather.source;
                let (x, y) = (radius(0, width).max(radius(1, width)), radius(0, height).max(radius(1, height)));
                let (stride, rows) = (columns.next_multiple_of(32), (2 * y + 1).min(height.into()));
                let numbers = 8 * (columns + 2 * x + 2);
                let across = 8 * rows * stride + 8 * stride + 4 * (stride + 2 * x.max(y));
                most(&mut self.others, numbers + across + 16 * (x.max(y) + 1));
            }
            GatherKind::PillowBlur(_) => most(&mut self.others, 8 * read + 16 * u64::from(source.width)),
            GatherKind::Warp(_) | GatherKind::PillowAffine(_) | GatherKind::Sharpen { .. } => {}
            GatherKind::Autocontrast | GatherKind::Equalize => {}
            GatherKind::Table(_) | GatherKind::PillowAutocontrast | GatherKind::Enhance(..) => {}
        }
    }
}

fn most(bytes: &mut u64, other: u64) {
    *bytes = other.max(*bytes);
}

fn area((width, height): (u32, u32)) -> u64 {
    // Sides are below 2^22: a product with the bytes of a pixel has 64 bits.
    u64::from(width) * u64::from(height)
}

fn len(axis: &Axis) -> u64 {
    len_of(axis.len)
}

fn len_of(pixels: i32) -> u64 {
    u64::try_from(pixels).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CpuScratch, run};
    use crate::pixels::PixelsRef;
    use crate::plan::Output;
    use crate::transforms::*;

    fn lists() -> Vec<Vec<Transform>> {
        let end = || Resize::new((9, 11)).into();
        let chain: Vec<Transform> = vec![
            GaussianBlur::new(9).into(),
            RandomRotation::new(30.0).expand(true).into(),
            ElasticTransform::new(50.0, 5.0).into(),
            RandomEqualize::new(1.0).into(),
            RandomAutocontrast::new(1.0).into(),
            RandomAdjustSharpness::new(2.0).p(1.0).into(),
            TrivialAugmentWide::new().into(),
            RandAugment::new(2, 9).into(),
            AugMix::new().into(),
            ColorJitter::new(0.3, 0.3, 0.3, 0.1).into(),
            Resize::new((700, 500)).into(),
            RandomZoomOut::new(1.0).into(),
            Pad::new(40).into(),
            JPEG::new((40, 80)).into(),
            PillowGaussianBlur::new(1.0, 4.0).into(),
            RandomRotation::new(30.0).interpolation(Interpolation::Bicubic).into(),
            TimmRandAugment::new([TimmOp::Rotate, TimmOp::ContrastIncreasing].map(TimmAugmentOp::new)).into(),
            TimmAugMix::new([TimmOp::Sharpness, TimmOp::AutoContrast].map(TimmAugmentOp::new)).into(),
            RandomResizedCrop::new(300).into(),
        ];
        let two = |first: &Transform, second: &Transform| vec![first.clone(), second.clone(), end()];
        let pairs = chain.iter().flat_map(|first| chain.iter().map(move |second| two(first, second)));
        chain.iter().map(|one| vec![one.clone()]).chain(pairs).chain([vec![end()]]).collect()
    }

    /// The computed memory is at least the memory taken, and not much more.
    #[test]
    fn what_an_image_takes_is_known_from_its_program() {
        let (size, data) = ((240, 170), vec![90; 240 * 170 * 3]);
        let (mut compared, mut close) = (0, 0);
        for semantics in [Semantics::Float, Semantics::Uint8] {
            for (number, list) in lists().iter().enumerate() {
                let Ok(plan) = Plan::compile_as(semantics, 3, list, &Output::default()) else { continue };
                let key = Key { sample: number as u64, ..Key::default() };
                let program = plan.program(&plan.make_params(size.0, size.1, &key).unwrap()).unwrap();
                let region = program.region();
                let source = PixelsRef::Bytes { data: &data, stride: 3 * 240, size: 3 };
                let source = source.region(Rect { left: 0, top: 0, width: size.0, height: size.1 }, region);
                let (mut scratch, mut out) = (CpuScratch::default(), vec![0; plan.image_bytes(program.size())]);
                run(&plan, &program, source, region, &mut out, &mut scratch).unwrap();
                let (needed, taken) = (by_program(&plan, &program, region).bytes, scratch.bytes() as u64);
                // A small buffer grows by as much as it has.
                assert!(taken <= needed + (1 << 20), "{semantics:?} {list:?}: {taken} bytes, but {needed} are known");
                compared += 1;
                close += usize::from(needed < taken + taken / 2 + (128 << 10));
            }
        }
        assert!(compared > 300 && close * 10 > compared * 9, "{close} of {compared} are close");
    }
}
