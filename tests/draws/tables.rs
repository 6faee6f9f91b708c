//! The ops that transforms emit, through `Plan::compile` and `Plan::make_params`, follow torchvision's rules for sizes,
//! offsets and pads (`tests/golden/sizes.json`, `tables.json`).
//!
//! gpufeed differs on purpose in three cases, which are tested against gpufeed's own rules:
//! - a side that rounds to 0 (`resize_zero_side`, `rrc_fallback_zero_side`): torchvision fails, gpufeed keeps one
//!   pixel;
//! - `Resize(size=None, max_size=m)` (`resize_size_none`): gpufeed has no such form;
//! - `padding=[3]`, a list of one number: gpufeed has `3`.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, Key, Op, Pad, Padding, PaddingMode, RandomCrop, RandomResizedCrop, Resize, Transform,
};
use gpufeed::{Output, Plan};
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

#[derive(Deserialize)]
struct Size {
    w: u32,
    h: u32,
    size: u32,
    max_size: Option<u32>,
    out_h: u32,
    out_w: u32,
}

#[derive(Deserialize)]
struct Tables {
    resize_zero_side: Vec<Size>,
    center_crop: Vec<Center>,
    rrc_fallback: Vec<Fallback>,
    rrc_fallback_zero_side: Vec<Fallback>,
    random_crop_pad_if_needed: Vec<PadIfNeeded>,
    pad_argument: Vec<PadArgument>,
    color_jitter_argument: Vec<JitterArgument>,
}

#[derive(Deserialize)]
struct Center {
    w: u32,
    h: u32,
    crop_h: u32,
    crop_w: u32,
    pad: [u32; 4],
    top: u32,
    left: u32,
}

#[derive(Deserialize)]
struct Fallback {
    w: u32,
    h: u32,
    ratio: (f64, f64),
    top: u32,
    left: u32,
    height: u32,
    width: u32,
}

#[derive(Deserialize)]
struct PadIfNeeded {
    w: u32,
    h: u32,
    size_h: u32,
    size_w: u32,
    padding: Option<Padding>,
    pad: [u32; 4],
    max_top: u32,
    max_left: u32,
}

#[derive(Deserialize)]
struct PadArgument {
    padding: Value,
    pad: [u32; 4],
}

#[derive(Deserialize)]
struct JitterArgument {
    op: String,
    value: Value,
    range: Option<(f32, f32)>,
}

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/tables.json")).expect("tables.json is valid"));

fn draw(transform: impl Into<Transform>, width: u32, height: u32, sample: u64) -> Vec<Op> {
    let plan = Plan::compile(&[transform.into()], &Output::default()).expect("the arguments are fine");
    let params = plan.make_params(width, height, &Key { sample, ..Key::default() }).expect("the image is large enough");
    params.ops.into_iter().map(|params| params.op).collect()
}

fn black([left, top, right, bottom]: [u32; 4]) -> Option<Op> {
    let mode = PaddingMode::Constant;
    ([left, top, right, bottom] != [0; 4]).then_some(Op::Pad { left, top, right, bottom, mode, fill: [0.0; 3] })
}

/// Returns (width, height) by the operator's rule, and checks that the op that it emits has this size.
fn resized(size: &Size) -> (u32, u32) {
    let resize = Resize { max_size: size.max_size, ..Resize::new(size.size) };
    let rule = resize.output_size(size.w, size.h);
    let params = draw(resize, size.w, size.h, 0);
    assert!(
        matches!(params[..], [Op::Resize { height, width, .. }] if (width, height) == rule),
        "{params:?}, {rule:?}"
    );
    rule
}

#[test]
fn resize_gives_torchvisions_sizes() {
    let sizes: Vec<Size> = serde_json::from_str(include_str!("../golden/sizes.json")).expect("sizes.json is valid");
    assert!(sizes.len() > 1000);
    for size in &sizes {
        assert_eq!(
            resized(size),
            (size.out_w, size.out_h),
            "{}x{} to {}, {:?}",
            size.w,
            size.h,
            size.size,
            size.max_size
        );
    }
    // The comparison can fail: a rule that rounds instead of truncating gives other sizes.
    let rounding = |size: &Size| {
        let (short, long) = (f64::from(size.w.min(size.h)), f64::from(size.w.max(size.h)));
        (f64::from(size.size) * long / short).round() as u32
    };
    let differs = |size: &&Size| size.max_size.is_none() && rounding(size) != size.out_w.max(size.out_h);
    assert!(sizes.iter().filter(differs).count() > 50);
}

#[test]
fn a_side_that_rounds_to_zero_keeps_one_pixel() {
    for size in &TABLES.resize_zero_side {
        assert_eq!(size.out_w.min(size.out_h), 0);
        assert_eq!(resized(size), (size.out_w.max(1), size.out_h.max(1)));
    }
    for case in &TABLES.rrc_fallback_zero_side {
        let Op::Crop { height, width, .. } = fallback(case) else { panic!("no crop") };
        assert_eq!((case.width.max(1), case.height.max(1)), (width, height));
    }
}

#[test]
fn center_crop_pads_and_offsets() {
    for case in &TABLES.center_crop {
        let &Center { w, h, crop_h: height, crop_w: width, pad, top, left } = case;
        let mut expected: Vec<Op> = black(pad).into_iter().collect();
        expected.push(Op::Crop { top, left, height, width });
        assert_eq!(draw(CenterCrop::new((height, width)), w, h, 0), expected, "{width}x{height} of {w}x{h}");
    }
}

/// Returns the crop of a `RandomResizedCrop` none of whose ten tries fits, because it asks for four times the image's
/// area.
fn fallback(case: &Fallback) -> Op {
    let (least, greatest) = case.ratio;
    let crop = RandomResizedCrop::new(8).scale(4.0, 4.0).ratio(least, greatest);
    draw(crop, case.w, case.h, 0).swap_remove(0)
}

#[test]
fn random_resized_crop_falls_back_to_the_centre() {
    let zero = |case: &&Fallback| case.height == 0 || case.width == 0;
    for case in TABLES.rrc_fallback.iter().filter(|case| !zero(case)) {
        let &Fallback { w, h, ratio, top, left, height, width } = case;
        assert_eq!(fallback(case), Op::Crop { top, left, height, width }, "{ratio:?} of {w}x{h}");
    }
}

#[test]
fn random_crop_pads_where_needed() {
    for case in &TABLES.random_crop_pad_if_needed {
        let crop = RandomCrop::new((case.size_h, case.size_w)).pad_if_needed(true);
        let crop = RandomCrop { padding: case.padding, ..crop };
        let title = format!("{crop:?} of {}x{}", case.w, case.h);
        let (mut seen_top, mut seen_left, mut seen) = (0, 0, [0u32; 4]);
        for sample in 0..300 {
            let mut ops = draw(crop.clone(), case.w, case.h, sample);
            let Some(Op::Crop { top, left, height, width }) = ops.pop() else { panic!("{title}: no crop") };
            assert_eq!((height, width), (case.size_h, case.size_w), "{title}");
            (seen_top, seen_left) = (seen_top.max(top), seen_left.max(left));
            // There are up to two pads: the given padding, then what is missing.
            let mut sum = [0; 4];
            for op in ops {
                let Op::Pad { left, top, right, bottom, .. } = op else { panic!("{title}: {op:?}") };
                sum.iter_mut().zip([left, top, right, bottom]).for_each(|(sum, side)| *sum += side);
            }
            seen = sum;
        }
        assert_eq!(seen, case.pad, "{title}");
        // With up to 40 positions, 300 draws miss the last one with probability 0.0005; the seeds are fixed.
        assert_eq!((seen_top, seen_left), (case.max_top, case.max_left), "{title}");
    }
}

#[test]
fn paddings_have_torchvisions_forms() {
    let one_number = |argument: &&PadArgument| argument.padding.as_array().is_some_and(|list| list.len() == 1);
    for argument in TABLES.pad_argument.iter().filter(|argument| !one_number(argument)) {
        let padding: Padding = serde_json::from_value(argument.padding.clone()).expect("a form of Padding");
        assert_eq!(padding.sides(), argument.pad);
        assert_eq!(draw(Pad::new(padding), 9, 7, 0), Vec::from_iter(black(argument.pad)));
    }
    for argument in TABLES.pad_argument.iter().filter(one_number) {
        assert!(serde_json::from_value::<Padding>(argument.padding.clone()).is_err());
    }
}

#[test]
fn color_jitter_takes_torchvisions_ranges() {
    for argument in &TABLES.color_jitter_argument {
        let mut fields = serde_json::Map::new();
        if !argument.value.is_null() {
            fields.insert(argument.op.clone(), argument.value.clone());
        }
        let jitter: ColorJitter = serde_json::from_value(fields.into()).expect("a form of Jitter");
        let factors = (0..400).flat_map(|sample| draw(jitter.clone(), 3, 3, sample)).map(|op| match op {
            Op::Brightness { factor } | Op::Hue { factor } => factor,
            other => panic!("{other:?}"),
        });
        let factors: Vec<f32> = factors.collect();
        let Some((low, high)) = argument.range else {
            assert!(factors.is_empty(), "{} {} draws", argument.op, argument.value);
            continue;
        };
        assert_eq!(factors.len(), 400);
        let (least, greatest) = factors.iter().fold((f32::MAX, f32::MIN), |(a, b), &f| (a.min(f), b.max(f)));
        // All factors are inside the range, and some near both ends: 400 draws miss a tenth of the range with
        // probability 5e-19.
        let slack = (high - low) * 0.1;
        assert!(low <= least && least <= low + slack, "{} {}: {least}", argument.op, argument.value);
        assert!(high - slack <= greatest && greatest <= high, "{} {}: {greatest}", argument.op, argument.value);
    }
}
