//! timm's operators: what they emit for an image, whatever its size. Their pixels and distributions are compared with timm
//! itself in `python/tests/test_timm_*.py`.

use gpufeed::transforms::{
    CenterCrop, CenterCropOrPad, Erased, ErasingValue, Key, Op, RandomCropOrPad, RandomErasing, RandomPad, Resize,
    ResizeKeepRatio, Transform, TrimBorder,
};
use gpufeed::{Output, Plan};
use std::collections::BTreeSet;

/// The ops of a list that ends in a crop, for an image of this size.
fn ops(transform: impl Into<Transform>, (width, height): (u32, u32), sample: u64) -> gpufeed::Result<Vec<Op>> {
    let list = [transform.into(), CenterCropOrPad::new(1).into()];
    let params =
        Plan::compile(&list, &Output::default())?.make_params(width, height, &Key { sample, ..Key::default() })?;
    let own = params.ops.len() - 1;
    Ok(params.ops.into_iter().take(own).map(|op| op.op).collect())
}

fn size(ops: &[Op], size: (u32, u32)) -> (u32, u32) {
    ops.iter().fold(size, |(w, h), op| match *op {
        Op::Pad { left, top, right, bottom, .. } => (w + left + right, h + top + bottom),
        Op::Crop { top, left, height, width } => {
            assert!(left + width <= w && top + height <= h, "{op:?} of {w}x{h}");
            (width, height)
        }
        _ => panic!("{op:?}"),
    })
}

#[test]
fn crops_and_borders_give_the_size_of_every_image() {
    for image in (1..30).flat_map(|width| [1, 7, 12, 29].map(|height| (width, height))) {
        for sample in 0..4 {
            let random = ops(RandomCropOrPad::new((12, 17)), image, sample).unwrap();
            assert_eq!(size(&random, image), (17, 12), "{image:?}");
            // An axis is padded or cropped, never both.
            let [.., Op::Crop { top, left, .. }] = random[..] else { panic!("{random:?}") };
            assert!((image.0 >= 17 || left == 0) && (image.1 >= 12 || top == 0), "{image:?}: {random:?}");
            let padded = ops(RandomPad::new((12, 17)), image, sample).unwrap();
            assert_eq!(size(&padded, image), (image.0.max(17), image.1.max(12)), "{image:?}");
        }
        let center = ops(CenterCropOrPad::new((12, 17)), image, 0).unwrap();
        assert_eq!(size(&center, image), (17, 12), "{image:?}");
        let trimmed = ops(TrimBorder::new(3), image, 0);
        match image {
            (w, h) if w > 6 && h > 6 => assert_eq!(size(&trimmed.unwrap(), image), (w - 6, h - 6)),
            _ => assert!(trimmed.unwrap_err().to_string().contains("nothing is left within a border of 3 pixels")),
        }
    }
}

#[test]
fn a_border_that_leaves_nothing_of_a_known_size_is_each_images_error() {
    for border in [2, 3] {
        let list = [
            CenterCrop::new(4).into(),
            TrimBorder::new(border).into(),
            Resize::new(9).into(),
            CenterCrop::new(5).into(),
        ];
        let plan = Plan::compile(&list, &Output::default()).unwrap();
        let error = plan.make_params(30, 20, &Key::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("nothing is left within a border of {border} pixels")), "{error}");
    }
}

#[test]
fn a_resize_keeps_the_ratio_unless_it_draws_another() {
    let resized = |transform: ResizeKeepRatio, sample| match ops(transform, (640, 480), sample).unwrap()[..] {
        [Op::Resize { height, width, .. }] => (width, height),
        ref other => panic!("{other:?}"),
    };
    let keeps = || ResizeKeepRatio::new((100, 120));
    assert_eq!(resized(keeps(), 0), (133, 100));
    assert_eq!(resized(keeps().longest(1.0), 0), (120, 90));
    // Halves go to the even number.
    assert_eq!(ResizeKeepRatio::new((5, 5)).output_size(5, 5, 0.5, 1.0), (2, 2));
    let drawn: BTreeSet<_> = (0..200).map(|sample| resized(keeps().random_scale(0.5, 0.5, 1.0), sample)).collect();
    assert!(drawn.contains(&(133, 100)) && drawn.len() > 30, "{drawn:?}");
    assert!(drawn.iter().all(|(w, h)| (66..=133).contains(w) && (50..=100).contains(h)));
    let drawn: BTreeSet<_> = (0..200).map(|sample| resized(keeps().random_aspect(1.0, 0.5, 2.0), sample)).collect();
    assert!(drawn.iter().all(|(w, h)| (w * h).abs_diff(13_333) < 200) && drawn.len() > 100, "{drawn:?}");
}

#[test]
fn each_rectangle_has_its_share_and_its_color() {
    let erasing = RandomErasing::new(1.0).scale(0.2, 0.2).ratio(1.0, 1.0).value(ErasingValue::RandomColor).count(1, 4);
    let mut counts = [0; 5];
    for sample in 0..400 {
        let ops = ops(erasing.clone(), (200, 200), sample).unwrap();
        counts[ops.len()] += 1;
        // A fifth of the area, divided by the number of rectangles.
        let side = (200.0 * 200.0 * 0.2 / ops.len() as f64).sqrt().round_ties_even() as u32;
        let mut colors = BTreeSet::new();
        for op in &ops {
            let Op::Erase { height, width, value: Erased::Color(color), .. } = *op else { panic!("{op:?}") };
            assert_eq!((height, width), (side, side));
            assert!(color.iter().all(|number| number.abs() < 5.3));
            colors.insert(color.map(f32::to_bits));
        }
        assert_eq!(colors.len(), ops.len());
    }
    assert!(counts[0] == 0 && counts[1..].iter().all(|count| (60..140).contains(count)), "{counts:?}");
}

#[test]
fn a_random_color_of_one_channel_is_one_number_and_bytes_have_none() {
    let erasing: Transform = RandomErasing::new(1.0).value(ErasingValue::RandomColor).into();
    let list = [CenterCropOrPad::new(20).into(), erasing.clone()];
    let plan = Plan::compile_as(gpufeed::Semantics::Float, 1, &list, &Output::default()).unwrap();
    let params = plan.make_params(30, 30, &Key::default()).unwrap();
    let Op::Erase { value: Erased::Color([r, g, b]), .. } = params.ops[params.ops.len() - 1].op else { panic!() };
    assert!(r == g && g == b && r != 0.0);
    let error = Plan::compile_as(gpufeed::Semantics::Uint8, 3, &list, &Output::default()).unwrap_err().to_string();
    assert!(error.contains("\"random_color\" needs floats"), "{error}");
}
