//! The plan in native code: for machines without a usable GPU, for software adapters, and for images that
//! `gpu/limits.rs` takes off the GPU.
//!
//! The same programs as `gpu/` runs, an image at a time: `resample` (or `unscaled`) turns source rows into output rows, `color` runs the
//! steps on them while they are in the first-level cache, `store` writes them in the output's layout and type.

mod color;
#[cfg(feature = "bench-internals")]
pub(crate) mod measure;
mod noise;
mod resample;
mod store;
mod unscaled;

use crate::decode::Rect;
use crate::plan::program::{Program, StageProgram, Step};
use crate::plan::{DType, Plan};
use crate::transforms::opcode;
use resample::Table;
use unscaled::Unscaled;

/// Source pixels in host memory, channels interleaved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pixels<'a> {
    /// RGBA8 (`size` 4 bytes) or RGB8 (3), rows `stride` bytes apart.
    Bytes { data: &'a [u8], stride: usize, size: usize },
    /// Four f32 a pixel, rows `stride` floats apart.
    Floats { data: &'a [f32], stride: usize },
}

/// A worker's memory for this executor; grows to the largest image and stays.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    x: Table,
    y: Table,
    /// One source row, filtered vertically.
    line: Vec<f32>,
    /// Output rows, each its three planes: one, or the whole image where a mean is needed.
    rows: Vec<f32>,
    /// One for each step; those of contrast steps are used.
    means: Vec<f32>,
    /// The stages' intermediates, four floats a pixel.
    intermediate: [Vec<f32>; 2],
}

impl Scratch {
    /// What each part has room for; the two intermediates take turns, so the larger counts.
    pub(crate) fn sizes(&self) -> [usize; 8] {
        let [[a, b], [c, d]] = [self.x.sizes(), self.y.sizes()];
        let [e, f] = [&self.line, &self.rows].map(Vec::capacity);
        [a, b, c, d, e, f, self.means.capacity(), self.intermediate.iter().map(Vec::capacity).max().unwrap_or(0)]
    }

    /// Makes room for `sizes`.
    pub(crate) fn reserve(&mut self, [a, b, c, d, e, f, g, h]: [usize; 8]) {
        self.x.reserve([a, b]);
        self.y.reserve([c, d]);
        let [ready, next] = &mut self.intermediate;
        for (vec, size) in [(&mut self.line, e), (&mut self.rows, f), (&mut self.means, g), (ready, h), (next, h)] {
            vec.reserve_exact(size.saturating_sub(vec.len()));
        }
    }
}

/// Runs `program` on the pixels of `region` (of the source image) and writes the whole output image to `out`.
///
/// `out` has exactly the output's bytes.
pub(crate) fn run(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    out: &mut [u8],
    scratch: &mut Scratch,
) {
    let (channels, output) = (plan.channels() as usize, plan.output());
    if let [stage] = &program.stages[..]
        && stage.steps.is_empty()
        && (output.dtype, channels) == (DType::U8, 3)
    {
        let sampling = stage.sampling.relative_to(region);
        if let Some(unscaled) = Unscaled::new(&sampling, pixels) {
            return unscaled.copy(output.layout, out);
        }
    }
    let mut writer = store::Writer::new(output, channels, program.size(), out);
    run_stages(plan, program, pixels, region, scratch, |y, planes| writer.row(y, planes));
}

/// As [`run`], to four f32 a pixel: what the GPU stores for an image that the CPU has reduced.
pub(crate) fn run_to_floats(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    out: &mut Vec<f32>,
    scratch: &mut Scratch,
) {
    let (width, height) = program.size();
    let width = width as usize;
    out.clear();
    out.resize(4 * width * height as usize, 1.0);
    run_stages(plan, program, pixels, region, scratch, |y, planes| {
        store::interleave(planes, &mut out[4 * width * y..][..4 * width])
    });
}

fn run_stages(
    plan: &Plan,
    program: &Program,
    pixels: Pixels<'_>,
    region: Rect,
    scratch: &mut Scratch,
    mut sink: impl FnMut(usize, &[f32]),
) {
    let last = program.stages.len() - 1;
    let mut buffers = std::mem::take(&mut scratch.intermediate);
    for (i, stage) in program.stages.iter().enumerate() {
        let (width, height) = stage.sampling.size();
        let (width, height) = (width as usize, height as usize);
        let [ready, next] = &mut buffers;
        let stride = 4 * program.stages[i.saturating_sub(1)].sampling.size().0 as usize;
        let source = if i == 0 { pixels } else { Pixels::Floats { data: ready, stride } };
        let region = if i == 0 { region } else { Rect { left: 0, top: 0, ..region } };
        if i == last {
            run_stage(plan, stage, source, region, scratch, &mut sink);
        } else {
            next.clear();
            next.resize(4 * width * height, 1.0);
            run_stage(plan, stage, source, region, scratch, &mut |y, planes| {
                store::interleave(planes, &mut next[4 * width * y..][..4 * width])
            });
        }
        buffers.swap(0, 1);
    }
    scratch.intermediate = buffers;
}

fn run_stage(
    plan: &Plan,
    stage: &StageProgram,
    source: Pixels<'_>,
    region: Rect,
    scratch: &mut Scratch,
    sink: &mut dyn FnMut(usize, &[f32]),
) {
    let sampling = stage.sampling.relative_to(region);
    let (width, height) = sampling.size();
    let (width, height) = (width as usize, height as usize);
    let Scratch { x, y, line, rows, means, .. } = scratch;
    let unscaled = Unscaled::new(&sampling, source);
    if unscaled.is_none() {
        x.build(&sampling.x, &sampling);
        y.build(&sampling.y, &sampling);
    }
    let steps = &stage.steps;
    means.clear();
    means.resize(steps.len(), 0.0);
    let keep = stage.needs_mean() && !(unscaled.is_some() && cheap_to_repeat(steps));
    let row_len = 3 * width;
    rows.resize(row_len * if keep { height } else { 1 }, 0.0);
    // Kept rows have been through the steps before this one; others begin anew in every pass.
    let mut done = None;
    let mut pass = |until: usize, means: &[f32], work: &mut dyn FnMut(usize, &[f32])| {
        for i in 0..height {
            let planes = if keep { &mut rows[row_len * i..][..row_len] } else { &mut rows[..] };
            if done.is_none() {
                match &unscaled {
                    Some(unscaled) => unscaled.row(i, planes),
                    None => resample::row(&sampling, x, y, i, source, line, planes),
                }
            }
            (done.unwrap_or(0)..until).for_each(|step| color::step(plan, &steps[step], means[step], i, planes));
            work(i, planes);
        }
        done = keep.then_some(until);
    };
    for (i, contrast) in steps.iter().enumerate().filter(|(_, step)| step.opcode == opcode::CONTRAST) {
        // Sums of rows, in f64: the mean of a large image keeps its last bits, in the same order every time.
        let mut sum = 0.0f64;
        pass(i, means, &mut |_, planes| sum += f64::from(color::gray_sum(planes, contrast.integers[2] == 1)));
        means[i] = (sum / (width * height) as f64) as f32;
    }
    pass(steps.len(), means, sink);
}

/// Whether a stage without a resize samples its rows again after the one mean that it needs, and repeats the steps before
/// it: that stays in the first-level cache, where an image of rows does not. Hue and noise take longer than keeping them,
/// and what a custom step takes is not known.
fn cheap_to_repeat(steps: &[Step]) -> bool {
    let mut contrasts = (0..steps.len()).filter(|&i| steps[i].opcode == opcode::CONTRAST);
    let first = contrasts.next().unwrap_or(0);
    contrasts.next().is_none()
        && steps[..first].iter().all(|step| !matches!(step.opcode, opcode::HUE | opcode::NOISE | opcode::CUSTOM..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Layout, Output};
    use crate::transforms::*;

    const SIZE: (u32, u32) = (37, 29);

    /// `size` bytes a pixel; alpha is noise, which nothing may show.
    fn bytes(size: usize) -> Vec<u8> {
        let value = |i: usize| ((i * 7919) >> 3) as u8;
        (0..(SIZE.0 * SIZE.1) as usize).flat_map(|i| (0..size).map(move |c| value(4 * i + c))).collect()
    }

    fn pixels(data: &[u8], size: usize) -> Pixels<'_> {
        Pixels::Bytes { data, stride: size * SIZE.0 as usize, size }
    }

    const WHOLE: Rect = Rect { left: 0, top: 0, width: SIZE.0, height: SIZE.1 };

    fn lists() -> Vec<Vec<Transform>> {
        let flips = || [RandomHorizontalFlip::new(0.5).into(), RandomVerticalFlip::new(0.5).into()];
        let jitter = || ColorJitter::new(0.4, 0.4, 0.4, 0.1).into();
        let crop = || RandomCrop::new(16).into();
        vec![
            [crop()].into_iter().chain(flips()).collect(),
            [crop()].into_iter().chain(flips()).chain([jitter()]).collect(),
            [crop(), jitter(), jitter()].into_iter().chain(flips()).collect(),
            [RandomResizedCrop::new(16).into()].into_iter().chain(flips()).chain([jitter()]).collect(),
            vec![RandomCrop::new(40).padding(9).into(), jitter()],
        ]
    }

    #[test]
    fn three_and_four_bytes_a_pixel_give_the_same_bits() {
        let (rgb, rgba) = (bytes(3), bytes(4));
        let mut scratch = Scratch::default();
        for list in lists() {
            let plan = Plan::compile(&list, &Output::default()).unwrap();
            let mut before = Vec::new();
            for sample in 0..16 {
                let drawn = plan.draw(SIZE.0, SIZE.1, &Key { sample, ..Key::default() }).unwrap();
                let program = plan.program(&drawn).unwrap();
                let mut run = |data, size| {
                    let mut out = vec![0; plan.image_bytes(program.size())];
                    super::run(&plan, &program, pixels(data, size), WHOLE, &mut out, &mut scratch);
                    out
                };
                let out = run(&rgb, 3);
                assert!(out == run(&rgba, 4), "{plan}{drawn:?}");
                assert!(out != before, "the comparison cannot fail");
                before = out;
            }
        }
    }

    /// Crops, flips and padding: with fill colours around fill colours, and without any source in sight.
    fn unscaled_lists() -> Vec<Vec<Transform>> {
        let flips = || [RandomHorizontalFlip::new(0.5).into(), RandomVerticalFlip::new(0.5).into()];
        let gray = |left: u32| Pad::new([left, 3, 5, 2]).fill([0.25, 0.5, 1.0]);
        vec![
            [RandomCrop::new(16).into()].into_iter().chain(flips()).collect(),
            [RandomCrop::new(32).padding(4).into()].into_iter().chain(flips()).collect(),
            [CenterCrop::new(48).into()].into_iter().chain(flips()).collect(),
            [gray(7).into(), RandomCrop::new((20, 44)).padding(6).into()].into_iter().chain(flips()).collect(),
            vec![gray(200).into(), RandomHorizontalFlip::new(0.5).into(), RandomCrop::new(8).into()],
        ]
    }

    #[test]
    fn what_is_not_resized_has_the_bits_of_the_tables() {
        let (mut x, mut y, mut line) = (Table::default(), Table::default(), Vec::new());
        let (mut differing, mut all) = (0, 0);
        for (list, size, layout) in unscaled_lists().iter().flat_map(|list| {
            [(list, 3, Layout::Nhwc), (list, 4, Layout::Nhwc), (list, 3, Layout::Nchw), (list, 4, Layout::Nchw)]
        }) {
            let data = bytes(size);
            let source = pixels(&data, size);
            let output = Output { layout, dtype: DType::U8 };
            let plan = Plan::compile(list, &output).unwrap();
            for sample in 0..16 {
                let drawn = plan.draw(SIZE.0, SIZE.1, &Key { sample, ..Key::default() }).unwrap();
                let program = plan.program(&drawn).unwrap();
                let sampling = program.stages[0].sampling;
                let (width, height) = sampling.size();
                let unscaled = Unscaled::new(&sampling, source).unwrap();
                x.build(&sampling.x, &sampling);
                y.build(&sampling.y, &sampling);
                let mut rows = [vec![0.0f32; 3 * width as usize], vec![0.0; 3 * width as usize]];
                let mut expected = vec![0; plan.image_bytes(sampling.size())];
                let mut writer = store::Writer::new(output, 3, sampling.size(), &mut expected);
                for i in 0..height as usize {
                    unscaled.row(i, &mut rows[0]);
                    resample::row(&sampling, &x, &y, i, source, &mut line, &mut rows[1]);
                    let [ours, theirs] = rows.each_ref().map(|row| row.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
                    assert_eq!(ours, theirs, "row {i} of {drawn:?}");
                    writer.row(i, &rows[1]);
                    let other = height as usize - 1 - i;
                    resample::row(&sampling, &x, &y, other, source, &mut line, &mut rows[1]);
                    differing += usize::from(rows[0] != rows[1]);
                    all += 1;
                }
                let mut out = vec![7; expected.len()];
                unscaled.copy(layout, &mut out);
                assert!(out == expected, "{plan}{drawn:?}");
                if program.stages.len() == 1 {
                    out.fill(7);
                    super::run(&plan, &program, source, WHOLE, &mut out, &mut Scratch::default());
                    assert!(out == expected, "{plan}{drawn:?}");
                }
            }
        }
        assert!(2 * differing > all, "another row must differ, as a rule: {differing} of {all}");
    }

    #[test]
    fn what_is_mixed_or_repeated_needs_the_tables() {
        let data = bytes(3);
        let lists: [Vec<Transform>; 4] = [
            vec![RandomResizedCrop::new(16).into()],
            vec![Pad::new(2).padding_mode(PaddingMode::Reflect).into()],
            vec![Pad::new([0, 0, 1, 0]).padding_mode(PaddingMode::Symmetric).into()],
            vec![Pad::new([0, 0, 1, 0]).padding_mode(PaddingMode::Edge).into()],
        ];
        for list in lists {
            let plan = Plan::compile(&list, &Output::default()).unwrap();
            let drawn = plan.draw(SIZE.0, SIZE.1, &Key::default()).unwrap();
            let sampling = plan.program(&drawn).unwrap().stages[0].sampling;
            assert!(Unscaled::new(&sampling, pixels(&data, 3)).is_none(), "{list:?}");
        }
    }
}
