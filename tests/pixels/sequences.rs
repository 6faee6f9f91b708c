//! Random lists of all operators, in floats and in 8-bit numbers, equal their ops one by one in the reference, fed with
//! the parameters that the plan made.
//!
//! `reference::bounds` follows, through all ops, between which numbers a value may lie where rounding decides: near the
//! ties and borders of warps, next to a level of 8 bits, at a threshold. Every value must lie there. Most bounds are
//! equal in 8-bit numbers, and 1e-4 apart at the most in floats; the share of others is asserted, and how few of these
//! differ from the reference.
//!
//! 300 lists run in CI, 10,000 with GPUFEED_FULL=1. A software adapter runs every fifteenth of them, or every fiftieth.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use gpufeed::transforms::{CenterCrop, Key, Op, Params, Resize, Transform};
use gpufeed::{Backend, ErrorKind, Output, Plan, Processor, Semantics};
use gpufeed_testing::adapters::{Place, places};
use gpufeed_testing::images::Source;
use gpufeed_testing::lists::Dice;
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::procedural;
use gpufeed_testing::reference::bounds::Bounds;
use gpufeed_testing::reference::{self, Picture};
use gpufeed_testing::sequences::{Sequence, sequence};
use std::sync::Mutex;

/// Held by the test that is on the adapters: wgpu gives up on OpenGL's context when another thread has it for a second.
static ADAPTERS: Mutex<()> = Mutex::new(());

fn lists() -> u64 {
    if is_full() { 10_000 } else { 300 }
}

/// Images of more pixels than this one, which zooms and expanding rotations make in turn, are left out.
const MOST_PIXELS: u64 = 200_000;

/// An image of a list, with its parameters and how many of their ops get 8-bit numbers.
struct Image {
    source: Source,
    params: Params,
    in_bytes: usize,
}

struct Case {
    sequence: Sequence,
    plan: Plan,
    images: Vec<Image>,
}

fn compile(semantics: Semantics, channels: u32, transforms: &[Transform]) -> Plan {
    let plan = Plan::compile_as(semantics, channels, transforms, &Output::default());
    plan.unwrap_or_else(|error| panic!("{error}: {transforms:?}"))
}

fn source(number: u32, dice: &mut Dice, channels: u32) -> Source {
    let mut side = |most: u32| match dice.between(0, 9) {
        0 | 1 => dice.between(1, 4),
        2 => dice.between(1, most),
        _ => dice.between(5, 70),
    };
    let (width, height) = (side(300), side(200));
    procedural::build((width, height, channels), |x, y, c| procedural::value(number, x, y, c))
}

impl Case {
    /// Makes list `number`, with its images; lists that end in one size if `sized`.
    fn new(number: u64, images: u64, sized: bool) -> Case {
        let mut dice = Dice(number);
        let semantics = if dice.chance(50) { Semantics::Uint8 } else { Semantics::Float };
        let mut sequence = sequence(&mut dice, semantics);
        if sized {
            let end: [Transform; 2] = [Resize::new((9, 11)).into(), CenterCrop::new((12, 10)).into()];
            let count = sequence.transforms.len();
            sequence.transforms.push(end[dice.between(0, 1) as usize].clone());
            // Without a conversion before it, the end gets 8-bit numbers, too.
            sequence.in_bytes += usize::from(semantics == Semantics::Uint8 && sequence.in_bytes == count);
        }
        let channels = if dice.chance(20) { 1 } else { 3 };
        sequence.transforms = for_channels(channels, sequence.transforms);
        let plan = compile(semantics, channels, &sequence.transforms);
        let in_bytes = compile(semantics, channels, &sequence.transforms[..sequence.in_bytes]);
        let mut case = Case { sequence, plan, images: Vec::new() };
        for sample in 0..images {
            let source = source((number * images + sample) as u32, &mut dice, channels);
            let key = Key { seed: number, sample, ..Key::default() };
            let make = |plan: &Plan| match plan.make_params(source.width, source.height, &key) {
                Ok(params) => Some(params),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Transform { .. }), "{error}");
                    None
                }
            };
            let Some((params, in_bytes)) = make(&case.plan).zip(make(&in_bytes)) else { continue };
            let in_bytes = in_bytes.ops.len();
            case.images.push(Image { source, params, in_bytes });
        }
        case
    }

    fn describe(&self, image: &Image) -> String {
        let json = serde_json::to_string(&self.sequence.transforms).expect("transforms are data");
        let (Source { width, height, channels, .. }, ops) = (&image.source, &image.params.ops);
        format!("{:?}, {json} on {width}x{height}x{channels}: {ops:?}", self.sequence.semantics)
    }
}

fn picture(source: &Source, semantics: Semantics) -> Picture {
    let (width, height, channels) = (source.width as usize, source.height as usize, source.channels as usize);
    let planes: Vec<u8> = (0..channels)
        .flat_map(|c| (0..width * height).map(move |i| i * channels + c))
        .map(|i| source.bytes[i])
        .collect();
    let semantics = match semantics {
        Semantics::Float => reference::Semantics::Float,
        Semantics::Uint8 => reference::Semantics::Uint8,
    };
    Picture::from_planes((channels, height, width), &planes, semantics)
}

/// Applies the ops one by one, in floats from op `in_bytes` on; `None` if an image on the way is too large.
fn one_by_one<'a>(
    source: &Source,
    semantics: Semantics,
    ops: impl IntoIterator<Item = &'a Op>,
    in_bytes: usize,
) -> Option<Bounds> {
    let mut bounds = Bounds::new(picture(source, semantics));
    for (i, op) in ops.into_iter().enumerate() {
        if i == in_bytes && !bounds.is_float() {
            bounds = bounds.to_float();
        }
        bounds = bounds.apply(op);
        let (height, width) = bounds.size();
        if (height * width) as u64 > MOST_PIXELS {
            return None;
        }
    }
    Some(if bounds.is_float() { bounds } else { bounds.to_float() })
}

/// What the comparisons found.
#[derive(Default)]
struct Found {
    images: usize,
    values: usize,
    /// Values whose bounds are more than 1e-4 apart on either side.
    doubtful: usize,
    /// Values that differ from the reference's by more than 1e-4.
    differing: usize,
    /// The largest difference from the reference's value where it is not doubtful.
    worst: f64,
    failures: Vec<String>,
}

/// Returns the first value outside its bounds.
fn outside(bounds: &Bounds, values: &[f32]) -> Option<String> {
    let [low, middle, high] = [&bounds.low, &bounds.middle, &bounds.high].map(|picture| &picture.image.planes);
    if values.len() != middle.len() {
        return Some(format!("{} values, not {}", values.len(), middle.len()));
    }
    let wrong = values.iter().enumerate().find(|&(i, &value)| {
        let (value, margin) = (f64::from(value), 1e-6 * (1.0 + middle[i].abs()));
        !(value >= low[i] - margin && value <= high[i] + margin)
    });
    wrong.map(|(i, value)| format!("value {i} is {value}, not {} in {} to {}", middle[i], low[i], high[i]))
}

/// The factor by which Normalize enlarges a difference.
fn gain(ops: &[Op]) -> f64 {
    let of = |op: &Op| match op {
        Op::Normalize { std, .. } => std.iter().map(|s| f64::from(s.abs()).recip()).fold(1.0, f64::max),
        _ => 1.0,
    };
    ops.iter().map(of).product()
}

impl Found {
    fn add(&mut self, bounds: &Bounds, values: &[f32], gain: f64, name: impl Fn() -> String) {
        let [low, middle, high] = [&bounds.low, &bounds.middle, &bounds.high].map(|picture| &picture.image.planes);
        let mut doubtful = 0;
        for i in 0..middle.len() {
            let inside = low[i] <= middle[i] + 1e-9 && middle[i] <= high[i] + 1e-9;
            if !inside && self.failures.len() < 40 {
                let (low, high) = (low[i], high[i]);
                self.failures.push(format!("the reference's {} is not in {low} to {high}: {}", middle[i], name()));
            }
            let difference = values.get(i).map_or(0.0, |value| (f64::from(*value) - middle[i]).abs() / gain);
            self.differing += usize::from(difference > 1e-4);
            if (high[i] - middle[i]).max(middle[i] - low[i]) > 1e-4 * gain {
                doubtful += 1;
            } else {
                self.worst = self.worst.max(difference);
            }
        }
        self.images += 1;
        self.values += middle.len();
        self.doubtful += doubtful;
        if let Some(reason) = outside(bounds, values) {
            self.failures.push(format!("{reason}: {}", name()));
        }
    }

    fn finish(self, title: &str) {
        let Found { images, values, doubtful, differing, worst, failures } = self;
        println!(
            "{title}: {images} images; of {values} values {doubtful} are doubtful, {differing} differ; else {worst:.1e}"
        );
        let shown = failures.iter().take(12).map(String::as_str).collect::<Vec<_>>().join("\n  ");
        assert!(failures.is_empty(), "{title}: {} of {images} images:\n  {shown}", failures.len());
        // Shears by tenths make ties in whole rows.
        assert!(5 * doubtful < values && 150 * differing < values, "{title}: too many are doubtful, or differ");
    }
}

fn stride(place: &Place) -> u64 {
    match &place.backend {
        Backend::Gpu(gpu) if gpu.is_software() => {
            if is_full() {
                50
            } else {
                15
            }
        }
        _ => 1,
    }
}

fn ops(params: &Params) -> Vec<Op> {
    params.ops.iter().map(|params| params.op.clone()).collect()
}

#[test]
fn sequences_equal_their_ops_one_by_one() {
    let _alone = ADAPTERS.lock();
    let mut found: Vec<[Found; 2]> = places().iter().map(|_| Default::default()).collect();
    let mut too_large = 0;
    for number in 0..lists() {
        let case = Case::new(number, 3, false);
        let semantics = case.sequence.semantics;
        let asked = places().iter().map(|place| number.is_multiple_of(stride(place)));
        let prepared: Vec<_> =
            places().iter().zip(asked).map(|(place, asked)| asked.then(|| place.prepare(&case.plan))).collect();
        for image in &case.images {
            let ops = ops(&image.params);
            let Some(bounds) = one_by_one(&image.source, semantics, &ops, image.in_bytes) else {
                too_large += 1;
                continue;
            };
            for (prepared, found) in prepared.iter().zip(&mut found) {
                let Some(prepared) = prepared else { continue };
                let values = prepared.floats(&image.source, &image.params);
                let found = &mut found[usize::from(semantics == Semantics::Uint8)];
                found.add(&bounds, &values, gain(&ops), || case.describe(image));
            }
        }
    }
    println!("{} lists, {too_large} images too large", lists());
    for (place, [float, uint8]) in places().iter().zip(found) {
        float.finish(&format!("{}, floats", place.name));
        uint8.finish(&format!("{}, 8-bit numbers", place.name));
    }
}

/// The twin: an op less is noticed, unless what follows hides it.
#[test]
fn an_op_left_out_is_noticed() {
    let (mut noticed, mut hidden) = (0, 0);
    for number in 0..100 {
        let case = Case::new(number, 2, false);
        let prepared = places()[0].prepare(&case.plan);
        for image in &case.images {
            let (ops, values) = (ops(&image.params), prepared.floats(&image.source, &image.params));
            if values.len() < 300 {
                continue;
            }
            for left_out in 0..ops.len() {
                let others = ops.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, op)| op);
                let size_stays = !matches!(
                    ops[left_out],
                    Op::Crop { .. } | Op::Pad { .. } | Op::Resize { .. } | Op::Grayscale { .. } | Op::Rotate { .. }
                );
                if !size_stays {
                    continue;
                }
                let in_bytes = image.in_bytes - usize::from(left_out < image.in_bytes);
                let Some(bounds) = one_by_one(&image.source, case.sequence.semantics, others, in_bytes) else {
                    continue;
                };
                match outside(&bounds, &values) {
                    Some(_) => noticed += 1,
                    None => hidden += 1,
                }
            }
        }
    }
    println!("{noticed} noticed, {hidden} hidden by what follows");
    assert!(noticed > 150 && 4 * hidden < noticed, "{noticed} noticed, {hidden} hidden");
}

/// The bits of an image are the same alone and in a batch with others, whatever these go through.
#[test]
fn an_image_does_not_depend_on_its_batch() {
    let _alone = ADAPTERS.lock();
    let mut images = 0;
    for number in 0..lists() / 3 {
        let case = Case::new(500_000 + number, 6, true);
        for place in places().iter().filter(|place| number.is_multiple_of(stride(place))) {
            let processor = Processor::new(&case.plan, &place.backend).unwrap();
            let batch: Vec<_> = case.images.iter().map(|image| (image.source.pixels(), &image.params)).collect();
            if batch.is_empty() {
                continue;
            }
            let together = processor.run(&batch).unwrap();
            for (i, image) in batch.iter().enumerate() {
                let alone = processor.run(&[*image]).unwrap();
                let bytes = &together[i * alone.len()..][..alone.len()];
                assert!(alone == bytes, "{}: image {i} of {}", place.name, case.describe(&case.images[i]));
                images += 1;
            }
        }
    }
    assert!(images as u64 > lists(), "{images}");
}
