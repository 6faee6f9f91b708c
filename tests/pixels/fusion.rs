//! A plan that fuses its operators is what they are one after the other, each compiled alone: bytes to the bit, floats to
//! a few units in the last place. On the CPU; `sequences.rs` compares every backend with a reference.

#![expect(clippy::print_stdout, reason = "tests print what they measured")]

use gpufeed::transforms::{Key, Op};
use gpufeed::{Backend, DType, Layout, Output, PixelFormat, Pixels, Plan, Processor, Result, Semantics};
use gpufeed_testing::lists::Dice;
use gpufeed_testing::one_channel::for_channels;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::procedural;
use gpufeed_testing::reference::affine::Rotation;
use gpufeed_testing::sequences::sequence;

/// An image between two operators.
struct Image {
    width: u32,
    height: u32,
    channels: u32,
    pixels: Vec<u8>,
    floats: bool,
}

impl Image {
    fn pixels(&self) -> Pixels<'_> {
        let format = match (self.floats, self.channels) {
            (true, channels) => PixelFormat::F32 { channels },
            (false, 1) => PixelFormat::R8,
            (false, _) => PixelFormat::Rgb8,
        };
        Pixels::new(self.width, self.height, format, &self.pixels).expect("the pixels fit the size")
    }

    /// Runs an operator alone.
    fn apply(&self, op: &Op, semantics: Semantics) -> Result<Image> {
        let floats = semantics == Semantics::Float;
        let output = Output { layout: Layout::Nhwc, dtype: if floats { DType::F32 } else { DType::U8 } };
        let plan = Plan::fixed_as(semantics, self.channels, std::slice::from_ref(op), &output)?;
        let params = plan.make_params(self.width, self.height, &Key::default())?;
        let pixels = Processor::new(&plan, &Backend::Cpu)?.run(&[(self.pixels(), &params)])?;
        let (width, height) = match *op {
            Op::Crop { height, width, .. } | Op::Resize { height, width, .. } => (width, height),
            Op::Pad { left, top, right, bottom, .. } => (self.width + left + right, self.height + top + bottom),
            // Quarters of a turn only move pixels.
            Op::Rotate { angle, expand: true, center: None, .. } if angle.rem_euclid(180.0) == 0.0 => {
                (self.width, self.height)
            }
            Op::Rotate { angle, expand: true, center: None, .. } if angle.rem_euclid(180.0) == 90.0 => {
                (self.height, self.width)
            }
            Op::Rotate { angle, expand, center, .. } => {
                let rotation = Rotation { angle, expand, center };
                let (height, width) = rotation.size((self.height as usize, self.width as usize));
                (width as u32, height as u32)
            }
            _ => (self.width, self.height),
        };
        let channels = if let Op::Grayscale { channels } = *op { channels } else { self.channels };
        let bytes = if floats { 4 } else { 1 };
        let (was, count) = ((self.width, self.height), bytes * (width * height * channels) as usize);
        assert_eq!(pixels.len(), count, "{width}x{height}x{channels} of {was:?}: {op:?}");
        Ok(Image { width, height, channels, pixels, floats })
    }

    fn values(&self) -> Vec<f32> {
        match self.floats {
            true => self.pixels.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect(),
            false => self.pixels.iter().map(|&byte| f32::from(byte) * (1.0 / 255.0)).collect(),
        }
    }
}

/// Of the lists of one kind: how many were compared, how many differ, and by how much at most.
#[derive(Debug, Default)]
struct Found {
    lists: usize,
    differing: usize,
    worst: f32,
}

/// Compares list `number` with its ops one after the other; `None` if a transform refuses the image.
fn difference(number: u64, semantics: Semantics) -> Option<f32> {
    let mut dice = Dice(number);
    let mut sequence = sequence(&mut dice, semantics);
    let channels = if dice.chance(20) { 1 } else { 3 };
    sequence.transforms = for_channels(channels, sequence.transforms);
    let (width, height) = (dice.between(5, 90), dice.between(5, 90));
    let source = procedural::build((width, height, channels), |x, y, c| procedural::value(number as u32, x, y, c));
    let output = Output { layout: Layout::Nhwc, dtype: DType::F32 };
    let plan = Plan::compile_as(semantics, channels, &sequence.transforms, &output).expect("the list compiles");
    let key = Key { seed: number, ..Key::default() };
    let params = plan.make_params(width, height, &key).ok()?;
    // Ops of the first transforms get 8-bit numbers.
    let head = Plan::compile_as(semantics, channels, &sequence.transforms[..sequence.in_bytes], &output).ok()?;
    let in_bytes = head.make_params(width, height, &key).ok()?.ops.len();
    let whole = Processor::new(&plan, &Backend::Cpu).unwrap().run(&[(source.pixels(), &params)]).unwrap();
    let whole: Vec<f32> = whole.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
    let mut image = Image { width, height, channels, pixels: source.bytes.clone(), floats: false };
    for (i, op) in params.ops.iter().enumerate() {
        let semantics = if i < in_bytes && semantics == Semantics::Uint8 { semantics } else { Semantics::Float };
        image = image.apply(&op.op, semantics).unwrap_or_else(|error| panic!("{error}: {op:?}"));
    }
    let values = image.values();
    assert_eq!(values.len(), whole.len(), "{number}: {:?}", params.ops);
    Some(values.iter().zip(&whole).map(|(one, all)| (one - all).abs() / all.abs().max(1.0)).fold(0.0, f32::max))
}

#[test]
fn fused_lists_are_their_operators_one_after_the_other() {
    let count = if is_full() { 10_000 } else { 1000 };
    for semantics in [Semantics::Float, Semantics::Uint8] {
        let mut found = Found::default();
        for difference in (0..count).filter_map(|number| difference(number, semantics)) {
            found.lists += 1;
            found.differing += usize::from(difference > 0.0);
            found.worst = found.worst.max(difference);
        }
        println!("{semantics:?}: {found:?}");
        assert!(found.lists as u64 > count / 2);
        // Of floats the last bits; no number of 8 bits, which would differ by 1/255.
        assert!(found.worst < 1e-5 && 20 * found.differing < found.lists, "{semantics:?}: {found:?}");
    }
}
