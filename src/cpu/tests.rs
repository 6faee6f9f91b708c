//! Tests of the executor against itself: pixels of every kind, with tables and without, in rows and in place. Also
//! compares the native code of the colour steps with the facts of their rows.

use super::*;
use crate::color::{ColorStep, Facts, Row, STEPS};
use crate::plan::Output;
use crate::transforms::*;
use gpufeed_testing::operators::{OPERATORS, UINT8_ALONE};

const SIZE: (u32, u32) = (37, 29);

/// Random pixels of `size` bytes each; alpha is noise, which no output may show.
fn bytes(size: usize) -> Vec<u8> {
    let value = |i: usize| ((i * 7919) >> 3) as u8;
    (0..(SIZE.0 * SIZE.1) as usize).flat_map(|i| (0..size).map(move |c| value(4 * i + c))).collect()
}

fn pixels(data: &[u8], size: usize) -> PixelsRef<'_> {
    PixelsRef::Bytes { data, stride: size * SIZE.0 as usize, size }
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

/// Checks that two forms of the same pixels give equal bits in images made by `list`. Each form is a slice of pixels
/// and the bytes per pixel.
fn assert_same(list: &[Transform], dtype: DType, ours: (&[u8], usize), theirs: (&[u8], usize)) {
    let mut scratch = CpuScratch::default();
    let plan = Plan::compile(list, &Output { dtype, ..Output::default() }).unwrap();
    let mut before = Vec::new();
    for sample in 0..16 {
        let params = plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() }).unwrap();
        let program = plan.program(&params).unwrap();
        let mut run = |(data, size)| {
            let mut out = vec![0; plan.image_bytes(program.size())];
            super::run(&plan, &program, pixels(data, size), WHOLE, &mut out, &mut scratch).unwrap();
            out
        };
        let out = run(ours);
        assert!(out == run(theirs), "{plan}{params:?}");
        assert!(out != before, "the comparison cannot fail");
        before = out;
    }
}

#[test]
fn three_and_four_bytes_a_pixel_give_the_same_bits() {
    let (rgb, rgba) = (bytes(3), bytes(4));
    lists().iter().for_each(|list| assert_same(list, DType::F32, (&rgb, 3), (&rgba, 4)));
}

#[test]
fn gray_pixels_are_three_equal_ones() {
    let gray = bytes(1);
    let rgb: Vec<u8> = gray.iter().flat_map(|&v| [v, v, v]).collect();
    for (list, dtype) in lists().iter().flat_map(|list| [(list, DType::F32), (list, DType::U8)]) {
        assert_same(list, dtype, (&gray, 1), (&rgb, 3));
    }
}

#[test]
fn small_images_are_the_same_where_the_batch_lies_and_in_rows() {
    // Equal numbers, as the lists serve one channel, too.
    let normalize = || Normalize::new([0.4; 3], [0.3; 3]).into();
    let lists: [Vec<Transform>; 4] = [
        vec![RandomCrop::new(20).padding(4).into(), RandomHorizontalFlip::new(0.5).into(), normalize()],
        vec![RandomCrop::new((20, 7)).into(), ColorJitter::new(0.4, 0.0, 0.4, 0.1).into(), normalize()],
        vec![RandomCrop::new(20).into(), RandomInvert::new(0.5).into(), RandomSolarize::new(0.4).into()],
        vec![RandomCrop::new(20).into()],
    ];
    for (list, channels) in lists.iter().flat_map(|list| [(list, 1), (list, 3)]) {
        let data = bytes(channels);
        let plan = Plan::compile_for(channels as u32, list, &Output::default()).unwrap();
        let (mut scratch, mut in_places, mut before) = (CpuScratch::default(), 0, Vec::new());
        for sample in 0..16 {
            let params = plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() }).unwrap();
            let program = plan.program(&params).unwrap();
            let len = plan.image_bytes(program.size());
            // Memory that is not aligned for floats is written row by row.
            let mut both = vec![0u32; len / 2 + 1];
            let both: &mut [u8] = bytemuck::cast_slice_mut(&mut both);
            let (aligned, rest) = both.split_at_mut(len);
            let odd = &mut rest[1..=len];
            let unscaled = Unscaled::new(&program.stages[0].sampling, pixels(&data, channels)).unwrap();
            in_places += usize::from(in_place(&plan, &program.stages[0], &unscaled, aligned).is_some());
            assert!(in_place(&plan, &program.stages[0], &unscaled, odd).is_none());
            for out in [&mut *aligned, &mut *odd] {
                super::run(&plan, &program, pixels(&data, channels), WHOLE, out, &mut scratch).unwrap();
            }
            assert!(aligned == odd, "{plan}{params:?}");
            assert!(aligned != &before[..], "the comparison cannot fail");
            before = aligned.to_vec();
        }
        assert!(in_places > 0, "{plan}");
    }
}

/// Returns lists of crops, flips and pads: some have a border around another border, and some show no pixel of the
/// source.
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
    let (mut x, mut y, mut filtered) = (AxisTaps::default(), AxisTaps::default(), Vec::new());
    let (mut differing, mut all) = (0, 0);
    for (list, size, layout) in unscaled_lists().iter().flat_map(|list| {
        [(list, 3, Layout::Nhwc), (list, 4, Layout::Nhwc), (list, 3, Layout::Nchw), (list, 4, Layout::Nchw)]
    }) {
        let data = bytes(size);
        let source = pixels(&data, size);
        let output = Output { layout, dtype: DType::U8 };
        let plan = Plan::compile(list, &output).unwrap();
        for sample in 0..16 {
            let params = plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() }).unwrap();
            let program = plan.program(&params).unwrap();
            let sampling = program.stages[0].sampling;
            let (width, height) = sampling.size();
            let unscaled = Unscaled::new(&sampling, source).unwrap();
            x.build(&sampling.x, &sampling).unwrap();
            y.build(&sampling.y, &sampling).unwrap();
            filtered.resize(x.row_len(), 0.0);
            let mut rows = [vec![0.0f32; 3 * width as usize], vec![0.0; 3 * width as usize]];
            let mut expected = vec![0; plan.image_bytes(sampling.size())];
            let mut writer = store::Writer::new(&plan, sampling.size(), &mut expected);
            for i in 0..height as usize {
                unscaled.rows(i, &mut rows[0]);
                resample::row(&sampling, &x, &y, i, source, &mut filtered, &mut rows[1]);
                let [ours, theirs] = rows.each_ref().map(|row| row.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
                assert_eq!(ours, theirs, "row {i} of {params:?}");
                writer.rows(i, &rows[1]);
                let other = height as usize - 1 - i;
                resample::row(&sampling, &x, &y, other, source, &mut filtered, &mut rows[1]);
                differing += usize::from(rows[0] != rows[1]);
                all += 1;
            }
            let mut out = vec![7; expected.len()];
            unscaled.copy(layout, &mut out);
            assert!(out == expected, "{plan}{params:?}");
            if program.stages.len() == 1 {
                out.fill(7);
                super::run(&plan, &program, source, WHOLE, &mut out, &mut CpuScratch::default()).unwrap();
                assert!(out == expected, "{plan}{params:?}");
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
        let params = plan.make_params(SIZE.0, SIZE.1, &Key::default()).unwrap();
        let sampling = plan.program(&params).unwrap().stages[0].sampling;
        assert!(Unscaled::new(&sampling, pixels(&data, 3)).is_none(), "{list:?}");
    }
}

/// The colour steps of every operator's examples on floats, of images no wider than a third of one plane below.
fn steps() -> Vec<Step> {
    let in_floats = OPERATORS.iter().filter(|operator| !UINT8_ALONE.contains(&operator.name));
    let recipes = in_floats.flat_map(|operator| operator.recipes());
    let mut steps = Vec::new();
    for text in recipes {
        let plan = Plan::compile(&crate::recipe::from_toml(&text).unwrap().transforms, &Output::default()).unwrap();
        let params = (0..20).filter_map(|sample| plan.make_params(20, 8, &Key { sample, ..Key::default() }).ok());
        let programs = params.map(|params| plan.program(&params).unwrap());
        steps.extend(programs.flat_map(|program| program.stages).flat_map(|stage| stage.steps));
    }
    steps
}

fn level(byte: u8) -> f32 {
    f32::from(byte) * (1.0 / 255.0)
}

/// The bits of the step's result for `pixels`.
fn result(step: &Step, row: Row, pixels: &[f32]) -> Vec<u32> {
    let mut planes = pixels.to_vec();
    (ColorStep::of(step.opcode).unwrap().native)(step, row, &mut planes);
    planes.into_iter().map(f32::to_bits).collect()
}

#[test]
fn the_facts_of_a_row_are_those_of_its_native_code() {
    let steps = steps();
    let pixels: Vec<f32> = (0..3 * 64).map(|i| level(((i * 7919) >> 3) as u8)).collect();
    let levels: Vec<u32> = (0..=255).map(|byte| level(byte).to_bits()).collect();
    for known in STEPS {
        let mut found = Facts { per_channel: true, keeps_levels: true, ..Facts::NONE };
        let examples: Vec<&Step> = steps.iter().filter(|step| step.opcode == known.opcode).collect();
        assert!(!examples.is_empty(), "no operator's examples have the step {}", known.name);
        for step in examples {
            let row = Row { y: 3, channels: 3, mean: 0.25 };
            let seen = result(step, row, &pixels);
            found.per_channel &= result(step, Row { channels: 1, ..row }, &pixels[..64]) == seen[..64];
            found.placed |= result(step, Row { y: 6, ..row }, &pixels) != seen;
            found.needs_mean |= result(step, Row { mean: 0.75, ..row }, &pixels) != seen;
            found.leaves_range |= seen.iter().any(|&bits| !(0.0..=1.0).contains(&f32::from_bits(bits)));
            found.keeps_levels &= seen.iter().all(|bits| levels.contains(bits));
        }
        // Results cannot reveal `slow`; only the running time would.
        assert_eq!(Facts { slow: known.facts.slow, ..found }, known.facts, "{}", known.name);
    }
}
