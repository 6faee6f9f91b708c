//! An image, its mask and its boxes stay together: the white rectangle of `objects.rs` is also given as a mask, whose group follows
//! the image's through the random lists. White pixels of the mask lie on those of the image, but along the outline, and in the box.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use super::objects::{OUTLINE, holds, lists, outline, transform, white};
use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::targets::{BoxFormat, Objects};
use gpufeed::transforms::CenterCrop;
use gpufeed::{
    Backend, Batch, DataLoader, Dataset, ErrorKind, Label, OnError, PixelFormat, Pixels, Sample, SampleData, Semantics,
    Views,
};
use gpufeed_testing::lists::Dice;

/// The side of the images in pixels, at the end of each list.
const SIDE: u32 = 64;

/// One image with a white rectangle, the same image as its mask, and the rectangle's box.
struct Painted {
    fields: [Field; 2],
    size: (u32, u32),
    pixels: Vec<u8>,
    edges: [f32; 4],
}

impl Painted {
    fn new(dice: &mut Dice) -> Painted {
        let (width, height) = (dice.between(30, 90), dice.between(30, 90));
        let (left, top) = (dice.between(0, width - 12), dice.between(0, height - 12));
        let (right, bottom) = (dice.between(left + 8, width), dice.between(top + 8, height));
        let is_white = |x, y| (left..right).contains(&x) && (top..bottom).contains(&y);
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| if is_white(x, y) { 255 } else { 0 })).collect();
        let fields = [Field::new("mask").kind(FieldKind::Image), Field::new("objects").kind(FieldKind::Objects)];
        Painted { fields, size: (width, height), pixels, edges: [left, top, right, bottom].map(|edge| edge as f32) }
    }
}

impl Dataset for Painted {
    fn len(&self) -> usize {
        1
    }

    fn read<'a>(&'a self, _: usize, _: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let pixels = SampleData::Pixels(Pixels::new(self.size.0, self.size.1, PixelFormat::R8, &self.pixels)?);
        let objects = FieldValue::from(Objects::of_boxes(BoxFormat::Xyxy, vec![self.edges]));
        Ok(Sample::new(pixels, Label::None).with_fields(vec![FieldValue::Image(pixels), objects]))
    }

    fn name(&self, _: usize) -> String {
        "painted".to_owned()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// The batch of a random list; `None` where the list has no parameters for the image.
fn batch(number: u64) -> Option<Batch> {
    let mut dice = Dice(number);
    let semantics = if dice.chance(50) { Semantics::Float } else { Semantics::Uint8 };
    let list = (0..dice.between(1, 4)).fold(Views::new(1), |list, _| list.transform(transform(&mut dice)));
    let loader = DataLoader::builder(Painted::new(&mut dice))
        .group("image", list.transform(CenterCrop::new(SIDE)).semantics(semantics))
        .group("mask", Views::new(1).source("mask").follows("image"))
        .batch_size(1)
        .workers(1)
        .seed(number)
        .on_error(OnError::Fail)
        .build(&Backend::Cpu)
        .expect("the list is fine");
    let made = loader.epoch(0).expect("the first epoch").next().expect("a batch");
    match made {
        Ok(batch) => Some(batch),
        Err(error) => {
            assert!(!matches!(error.kind(), ErrorKind::Argument { .. }), "{error}");
            None
        }
    }
}

/// The first channel of the only image.
fn values(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().take((SIDE * SIDE) as usize).collect()
}

/// The pixels that are white in one image and have none within `radius` pixels in the other, where a quarter is enough: filters
/// round corners, at which two edges of a half meet.
fn lonely(of: &[f32], other: &[f32], radius: i64) -> Vec<(i64, i64)> {
    let side = i64::from(SIDE);
    let at = |values: &[f32], x: i64, y: i64| values[(y * side + x) as usize];
    let near = |at: i64| (at - radius).max(0)..=(at + radius).min(side - 1);
    let all = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let is_lonely =
        |&(x, y): &(i64, i64)| at(of, x, y) > 0.5 && !near(y).any(|v| near(x).any(|u| at(other, u, v) > 0.2));
    all.filter(is_lonely).collect()
}

#[test]
fn a_mask_lies_on_its_image() {
    let (mut checked, mut skipped, mut noticed) = (0, 0, 0);
    for number in 0..lists() {
        let Some(batch) = batch(number) else { continue };
        let params = &batch.params()[0];
        let (off, parallel) = outline(params, true);
        if off > 2.0 * OUTLINE {
            skipped += 1;
            continue;
        }
        let image = values(batch.to_host_f32().expect("on the host"));
        let mask = values(batch.group("mask").expect("a group").to_host_f32().expect("on the host"));
        let found = batch.targets(0).expect("objects").boxes()[0];
        let name = || format!("list {number}, the box is {found:?}: {:?}", params.ops);
        let of_mask = match (white(&image, SIDE as usize), white(&mask, SIDE as usize)) {
            (Some(_), Some(of_mask)) => of_mask,
            (None, None) => continue,
            // A rectangle of a pixel may lie between those that the nearest mode takes.
            (Some([left, top, right, bottom]), None) | (None, Some([left, top, right, bottom])) => {
                assert!((right - left).min(bottom - top) <= 1.0 + off, "one of the two shows none: {}", name());
                continue;
            }
        };
        assert!(holds(found, of_mask, off + OUTLINE / 2.0), "the box does not hold the mask, {of_mask:?}: {}", name());
        let radius = off.max(OUTLINE).ceil() as i64;
        for (what, of, other) in [("mask", &mask, &image), ("image", &image, &mask)] {
            let found = lonely(of, other, radius);
            // Where a crop cuts off a slanted outline, a pixel across may be several along the crop's edge.
            let most = if parallel { 0 } else { SIDE as usize / 2 };
            assert!(found.len() <= most, "{found:?} are white in the {what} alone: {}", name());
        }
        checked += 1;
        // The twin: a mask that is mirrored no longer lies there, unless it looks the same.
        let mirrored: Vec<f32> = mask.chunks_exact(SIDE as usize).flat_map(|row| row.iter().rev().copied()).collect();
        noticed += usize::from(lonely(&mirrored, &image, radius).len() > SIDE as usize / 2);
    }
    println!("{checked} masks, {skipped} enlarged or resized too much; a mirrored mask is noticed {noticed} times");
    assert!(3 * checked > lists() && 2 * noticed as u64 > checked, "too few are checked or noticed");
}
