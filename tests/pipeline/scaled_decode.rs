//! JPEGs decoded at a reduced size: every pixel shows the same place as at full size, whatever the orientation and the
//! executor, and nothing changes where no reduction is allowed. With GPUFEED_LARGE set to a folder of class folders
//! with large photographs, their mean difference is printed, too.

#![allow(clippy::print_stdout)] // the tests print the differences that they measure

use gpufeed::decode::{Scale, Truncated};
use gpufeed::transforms::{
    CenterCrop, ColorJitter, Interpolation, Normalize, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop,
    RandomVerticalFlip, Resize, Transform,
};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, ImageFolder, InMemory, Label};
use gpufeed_testing::encoded;
use gpufeed_testing::pipeline::{Seen, assert_same, places, seen, small_files, within};
use image::codecs::jpeg::JpegEncoder;
use image::{ImageFormat, Rgb, RgbImage};

/// Returns an image of smooth gradients, a different one in each channel, so that a colour tells its place.
fn gradients(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let (x, y) = (x as f32 / (width - 1) as f32, y as f32 / (height - 1) as f32);
        Rgb([255.0 * x, 255.0 * y, 127.5 * (x + 1.0 - y)].map(|value| value.round() as u8))
    })
}

fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 100).encode_image(picture).unwrap();
    bytes
}

/// Returns JPEGs in every EXIF orientation; 8 divides the width of some, the height of others, or neither.
fn oriented() -> InMemory {
    let sizes = [(403, 301), (296, 413), (521, 304), (239, 235), (190, 511)];
    let files = sizes.into_iter().flat_map(|(width, height)| {
        let file = jpeg(&gradients(width, height));
        (1..=8).map(move |orientation| (encoded::with_exif(&file, orientation), Label::Class(orientation.into())))
    });
    files.collect()
}

fn builder(data: InMemory, transforms: &[Transform]) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).batch_size(16).workers(2).shuffle(true).seed(5);
    builder.recipe(transforms.to_vec())
}

/// Returns the largest and the mean difference, in levels of 255.
fn difference(left: &[Seen], right: &[Seen]) -> (f32, f32) {
    let pairs = left.iter().zip(right).flat_map(|(a, b)| a.floats().into_iter().zip(b.floats()));
    let differences: Vec<f32> = pairs.map(|(a, b)| 255.0 * (a - b).abs()).collect();
    let sum: f64 = differences.iter().map(|value| f64::from(*value)).sum();
    (differences.iter().fold(0.0, |a, b| b.max(a)), (sum / differences.len() as f64) as f32)
}

fn scales(batches: &[Seen]) -> Vec<Scale> {
    batches.iter().flat_map(|batch| batch.params.iter().map(|params| params.scale)).collect()
}

/// Replaces the scale in the parameters by that of a loader without `scaled_decode`.
fn as_full(mut batches: Vec<Seen>) -> Vec<Seen> {
    batches.iter_mut().flat_map(|batch| &mut batch.params).for_each(|params| params.scale = Scale::Full);
    batches
}

fn lists() -> Vec<(&'static str, Vec<Transform>)> {
    let flips = || [RandomHorizontalFlip::new(0.5).into(), RandomVerticalFlip::new(0.5).into()];
    let crop = || RandomResizedCrop::new((20, 24)).scale(0.1, 1.0);
    vec![
        ("crop, then flips", [&[crop().into()], &flips()[..]].concat()),
        ("flips, then crop", [&flips()[..], &[crop().into()]].concat()),
        ("resize and crop", vec![Resize::new(40).into(), CenterCrop::new(32).into()]),
        ("bicubic", vec![crop().interpolation(Interpolation::Bicubic).into(), flips()[0].clone()]),
        (
            "crop, resize, pad",
            vec![RandomCrop::new(180).into(), Resize::new((30, 25)).into(), Pad::new(2).into(), flips()[0].clone()],
        ),
    ]
}

#[test]
fn every_pixel_stays_where_it_was() {
    within(300, "all places", || {
        let mut all = Vec::new();
        for (name, transforms) in lists() {
            for place in places() {
                let build = |on| place.build(builder(oriented(), &transforms).scaled_decode(on));
                let (full, scaled) = (seen(build(false).epoch(0).unwrap()), seen(build(true).epoch(0).unwrap()));
                let at = format!("{name}, {}", place.name);
                let used = scales(&scaled);
                let most = used.iter().filter(|scale| **scale != Scale::Full).count();
                assert!(10 * most > 9 * used.len(), "{at}: {most} of {} scaled", used.len());
                all.extend(used);
                assert!(scales(&full).iter().all(|scale| *scale == Scale::Full));
                let (worst, mean) = difference(&full, &scaled);
                println!("{at}: {worst} at most, {mean} on average");
                assert!(worst < 5.0 && mean < 0.35, "{at}: {worst} at most, {mean} on average");
                for (full, scaled) in full.iter().zip(&as_full(scaled)) {
                    assert!(full.params == scaled.params && full.labels == scaled.labels && full.shape == scaled.shape);
                }
            }
        }
        for scale in [Scale::Half, Scale::Quarter, Scale::Eighth] {
            assert!(all.contains(&scale), "{scale:?} is never used");
        }
    });
}

#[test]
fn a_shift_or_a_flip_would_be_seen() {
    // The crops of the test above move by 4 pixels of the file, which is half a pixel at the smallest scale.
    let transforms = [RandomCrop::new(200).into(), Resize::new((25, 25)).into()];
    let loader = builder(oriented(), &transforms).build(&Backend::Cpu).unwrap();
    let batches = seen(loader.epoch(0).unwrap());
    for (dx, dy, flipped) in [(4, 0, false), (0, 4, false), (0, 0, true)] {
        let mut moved = batches.clone();
        for batch in &mut moved {
            batch.bytes.clear();
            for (id, params) in batch.ids.iter().zip(&batch.params) {
                let mut params = params.clone();
                for op in &mut params.ops {
                    if let gpufeed::transforms::Op::Crop { left, top, .. } = &mut op.op {
                        (*left, *top) = ((*left).abs_diff(dx), (*top).abs_diff(dy));
                    }
                }
                let mut image = loader.replay(*id as usize, &params).unwrap();
                if flipped {
                    image.chunks_exact_mut(4 * 25).for_each(|row| row.as_chunks_mut::<4>().0.reverse());
                }
                batch.bytes.extend(image);
            }
        }
        let (_, mean) = difference(&batches, &moved);
        println!("{dx} {dy} {flipped}: {mean}");
        assert!(mean > 0.8, "{dx} {dy} {flipped}: {mean}");
    }
}

#[test]
fn workers_views_and_replay_change_no_bit() {
    within(300, "all places", || {
        let transforms = [
            RandomResizedCrop::new(24).scale(0.02, 1.0).into(),
            RandomHorizontalFlip::new(0.5).into(),
            ColorJitter::new(0.2, 0.2, 0.2, 0.1).into(),
            Normalize::IMAGENET.into(),
        ];
        for place in places() {
            let build = |workers| {
                let builder = builder(oriented(), &transforms).scaled_decode(true).views(3);
                place.build(builder.workers(workers).queue_depth(workers))
            };
            let loader = build(1);
            let one = seen(loader.epochs(0..2).unwrap());
            assert_same(&one, &seen(build(4).epochs(0..2).unwrap()), &place.name);
            // The second time, the loader uses seek indexes.
            assert_same(&one, &seen(loader.epochs(0..2).unwrap()), &place.name);
            let used = scales(&one);
            assert!(used.chunks(3).all(|views| views.iter().all(|scale| *scale == views[0])));
            assert!([Scale::Full, Scale::Half, Scale::Quarter].iter().all(|scale| used.contains(scale)), "{used:?}");
            // Only one image per scale is replayed, because a replay compiles the shaders anew.
            for scale in [Scale::Full, Scale::Half, Scale::Quarter] {
                let places = one.iter().flat_map(|batch| (0..batch.ids.len()).map(move |at| (batch, at)));
                let (batch, at) = places.into_iter().find(|(batch, at)| batch.params[*at].scale == scale).unwrap();
                let (id, params) = (batch.ids[at] as usize, &batch.params[at]);
                assert!(loader.replay(id, params).unwrap() == batch.image(at), "{}: {scale:?}", place.name);
                // The parameters survive JSON, which has the scale only if it is not full.
                let text = serde_json::to_string(params).unwrap();
                assert_eq!(
                    (&serde_json::from_str::<gpufeed::transforms::Params>(&text).unwrap(), text.contains("scale")),
                    (params, scale != Scale::Full)
                );
            }
        }
    });
}

/// Checks that `scaled_decode` changes no bit of these batches.
fn unchanged(data: impl Fn() -> InMemory, transforms: &[Transform]) {
    let of = |on| {
        let loader = builder(data(), transforms).scaled_decode(on).build(&Backend::Cpu).unwrap();
        seen(loader.epochs(0..2).unwrap())
    };
    assert_same(&of(false), &of(true), "with and without");
}

#[test]
fn small_reductions_other_formats_and_other_stages_stay_as_they_are() {
    let crop = || vec![RandomResizedCrop::new(24).into()];
    // The image shrinks by a factor below 2 in one direction or the other.
    unchanged(oriented, &[Resize::new((261, 20)).into()]);
    unchanged(oriented, &[Resize::new((20, 261)).into()]);
    unchanged(oriented, &[RandomCrop::new((180, 90)).into(), Resize::new((91, 20)).into()]);
    let png = || (0..4).map(|i| (encoded::encode(gradients(300 + i, 290), ImageFormat::Png), Label::None)).collect();
    unchanged(png, &crop());
    // The plan pads the source, resizes without antialiasing, has no resize, or the images are small.
    unchanged(oriented, &[Pad::new(5).into(), Resize::new((20, 20)).into()]);
    unchanged(oriented, &[Resize::new((20, 20)).antialias(false).into()]);
    unchanged(oriented, &[RandomCrop::new(100).into()]);
    unchanged(|| small_files(12), &[Resize::new((33, 33)).into()]);
    // A colour step comes first, so its stage needs the image at full size.
    unchanged(oriented, &[ColorJitter::new(0.2, 0.0, 0.0, 0.0).into(), Resize::new((20, 20)).into()]);
    let scaled = builder(oriented(), &crop()).scaled_decode(true).build(&Backend::Cpu).unwrap();
    let full = builder(oriented(), &crop()).build(&Backend::Cpu).unwrap();
    assert!(seen(scaled.epoch(0).unwrap()) != seen(full.epoch(0).unwrap()), "the comparison cannot fail");
    assert!(scaled.explain().contains("scaled decode: JPEGs at 1/2"), "{}", scaled.explain());
    assert!(full.explain().contains("scaled decode: off"));
}

/// The picture of 403 x 301 pixels as a progressive file.
fn progressive() -> Vec<u8> {
    let (mut bytes, picture) = (Vec::new(), gradients(403, 301));
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 90);
    encoder.set_progressive(true);
    encoder.encode(picture.as_raw(), 403, 301, jpeg_encoder::ColorType::Rgb).unwrap();
    bytes
}

#[test]
fn cut_and_progressive_files_are_decoded_scaled_too() {
    let transforms = [RandomResizedCrop::new(24).scale(0.5, 1.0).into(), RandomHorizontalFlip::new(0.5).into()];
    let whole = || jpeg(&gradients(403, 301));
    // Some files are cut; the missing part is gray at every size. One is progressive.
    let cut = move || {
        let file = whole();
        let files = [2, 3, 4, 5].map(|part| ([&file[..part * file.len() / 6], b"\xFF\xD9"].concat(), Label::None));
        files.into_iter().chain([(file.clone(), Label::None), (progressive(), Label::None)]).collect::<InMemory>()
    };
    for place in places() {
        let of = |on| {
            let builder = builder(cut(), &transforms).truncated(Truncated::Fill).scaled_decode(on);
            seen(place.build(builder).epoch(0).unwrap())
        };
        let (full, scaled) = (of(false), of(true));
        assert!(scales(&scaled).iter().all(|scale| *scale != Scale::Full), "{}", place.name);
        let (worst, mean) = difference(&full, &scaled);
        println!("{}: {worst} at most, {mean} on average", place.name);
        assert!(mean < 0.7, "{}: {worst} at most, {mean} on average", place.name);
    }
}

#[test]
fn a_scale_that_does_not_belong_to_the_numbers_is_refused() {
    let loader =
        builder(oriented(), &[Resize::new((100, 150)).into()]).scaled_decode(true).build(&Backend::Cpu).unwrap();
    let mut params = seen(loader.epoch(0).unwrap())[0].params[0].clone();
    params.scale = Scale::Eighth;
    let error = loader.replay(0, &params).unwrap_err().to_string();
    assert!(error.contains("params"), "{error}");
}

#[test]
fn photographs_differ_little() {
    let Some(root) = std::env::var_os("GPUFEED_LARGE") else {
        println!("skipped: GPUFEED_LARGE not set");
        return;
    };
    let lists: [(&str, Vec<Transform>); 4] = [
        ("Resize(224)", vec![Resize::new((224, 224)).into()]),
        ("Resize(256), CenterCrop(224)", vec![Resize::new(256).into(), CenterCrop::new(224).into()]),
        ("RandomResizedCrop(224)", vec![RandomResizedCrop::new(224).into()]),
        ("Resize(700), CenterCrop(224)", vec![Resize::new(700).into(), CenterCrop::new(224).into()]),
    ];
    for (name, transforms) in lists {
        let of = |on| {
            let builder = DataLoader::builder(ImageFolder::open(&root).unwrap()).recipe(transforms.clone());
            seen(builder.batch_size(8).workers(2).scaled_decode(on).build(&Backend::Cpu).unwrap().epoch(0).unwrap())
        };
        let (full, scaled) = (of(false), of(true));
        let (worst, mean) = difference(&full, &scaled);
        let used = scales(&scaled);
        let count = |scale| used.iter().filter(|one| **one == scale).count();
        let counts = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth].map(count);
        println!("{name}: {mean} levels on average, {worst} at most; {counts:?} at 1, 1/2, 1/4, 1/8");
        assert!(mean < 4.0);
    }
}
