//! `JPEG` makes the reference's bytes of any image, whatever part of it is read.

use gpufeed::transforms::{JPEG, Key, Op, RandomApply, Transform};
use gpufeed::{DType, Layout, Output, Plan, Semantics};
use gpufeed_testing::adapters::places;
use gpufeed_testing::dice::Dice;
use gpufeed_testing::images::Source;
use gpufeed_testing::procedural;
use gpufeed_testing::reference::{self, jpeg::jpeg, moved::crop};

const BYTES: Output = Output { layout: Layout::Nchw, dtype: DType::U8 };

/// Returns the planes that the CPU executor makes, and the region of the source that it reads.
fn run(source: &Source, ops: &[Op]) -> (Vec<u8>, gpufeed::decode::Rect) {
    let plan = Plan::fixed_as(Semantics::Uint8, source.channels, ops, &BYTES).unwrap();
    let params = plan.make_params(source.width, source.height, &Key::default()).unwrap();
    (places()[0].prepare(&plan).bytes(source, &params), plan.source_region(&params).unwrap())
}

fn bytes(picture: &reference::Picture) -> Vec<u8> {
    picture.image.planes.iter().map(|&value| value as u8).collect()
}

/// An image: waves with noise, noise alone, or black and white squares, which leave the range of bytes on the way.
fn source(kind: u32, size: (u32, u32, u32)) -> Source {
    procedural::build(size, |x, y, c| match kind % 3 {
        0 => procedural::value(kind, x, y, c),
        1 => (procedural::value(kind, 97 * x, 89 * y, c) & 15) * 17,
        _ => {
            if ((x + c) / 3 + y / 5).is_multiple_of(2) {
                0
            } else {
                255
            }
        }
    })
}

#[test]
fn any_image_has_the_bytes_of_the_reference() {
    let mut dice = Dice(5);
    let sizes = [(1, 1), (2, 1), (1, 17), (3, 3), (4, 5), (5, 4), (8, 8), (16, 16), (17, 15), (33, 31), (47, 64)];
    for (number, (width, height)) in (0..).zip(sizes.into_iter().cycle().take(132)) {
        let channels = if number % 4 == 3 { 1 } else { 3 };
        let source = source(number, (width, height, channels));
        let quality = match number % 5 {
            0 => 100,
            1 => 1,
            _ => dice.between(1, 100),
        };
        let picture = source.picture(reference::Semantics::Uint8);
        let expected = bytes(&jpeg(&picture, quality));
        assert!(run(&source, &[Op::Jpeg { quality }]).0 == expected, "image {number}, quality {quality}");
        // The twin: another quality is noticed.
        if width * height > 500 {
            let other = if quality > 50 { quality - 30 } else { quality + 40 };
            assert!(run(&source, &[Op::Jpeg { quality: other }]).0 != expected, "image {number}, quality {quality}");
        }
    }
}

#[test]
fn a_crop_reads_whole_blocks_and_no_more() {
    let mut dice = Dice(6);
    let mut smaller = 0;
    for number in 0..60 {
        let (width, height) = (dice.between(20, 90), dice.between(20, 70));
        let source = source(number, (width, height, if number % 4 == 3 { 1 } else { 3 }));
        let (w, h) = (dice.between(1, width / 2), dice.between(1, height / 2));
        let (left, top) = (dice.between(0, width - w), dice.between(0, height - h));
        let quality = dice.between(1, 100);
        let ops = [Op::Jpeg { quality }, Op::Crop { top, left, height: h, width: w }];
        let (values, region) = run(&source, &ops);
        let whole = jpeg(&source.picture(reference::Semantics::Uint8), quality);
        let expected = crop(&whole, (i64::from(top), i64::from(left)), (h as usize, w as usize));
        assert!(values == bytes(&expected), "image {number}: {ops:?}");
        // What lies outside the region has no part in it.
        let mut changed = source.clone();
        for (i, byte) in changed.bytes.iter_mut().enumerate() {
            let pixel = i as u32 / source.channels;
            let (x, y) = (pixel % width, pixel / width);
            let inside = (region.left..region.left + region.width).contains(&x)
                && (region.top..region.top + region.height).contains(&y);
            *byte = if inside { *byte } else { byte.wrapping_add(97) };
        }
        assert!(run(&changed, &ops).0 == values, "image {number}: {ops:?}");
        smaller += usize::from((region.width, region.height) != (width, height));
    }
    assert!(smaller > 30, "{smaller} regions are smaller than the image");
}

#[test]
fn floats_have_no_jpeg() {
    let nested = RandomApply::new(0.5, [JPEG::new((20, 80))]);
    let lists: [Vec<Transform>; 2] = [vec![JPEG::new(50).into()], vec![nested.into()]];
    for list in lists {
        assert!(Plan::compile_as(Semantics::Uint8, 3, &list, &BYTES).is_ok());
        let error = Plan::compile(&list, &BYTES).unwrap_err().to_string();
        assert!(error.contains("JPEG needs 8-bit numbers") && error.contains("Semantics::Uint8"), "{error}");
    }
    let error = Plan::fixed(3, &[Op::Jpeg { quality: 50 }], &BYTES).unwrap_err().to_string();
    assert!(error.contains("JPEG needs 8-bit numbers"), "{error}");
    // Parameters of another plan: the op stands in the slot of a blur.
    let blur = Op::GaussianBlur { kernel_size: [3; 2], sigma: [1.0; 2] };
    let plan = Plan::fixed(3, &[blur], &BYTES).unwrap();
    let mut params = plan.make_params(9, 9, &Key::default()).unwrap();
    for (quality, reason) in [(50, "8-bit numbers"), (0, "1 to 100 work"), (101, "1 to 100 work")] {
        params.ops[0].op = Op::Jpeg { quality };
        let error = plan.source_region(&params).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
