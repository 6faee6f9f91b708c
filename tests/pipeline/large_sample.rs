//! Tests that a sample larger than a staging slot neither stalls the ring nor gives wrong pixels on a GPU.

use gpufeed::transforms::{
    ColorJitter, Normalize, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomRotation, Resize, Transform,
};
use gpufeed::{DataLoader, ErrorKind, InMemory, Label, PixelFormat, Semantics};
use gpufeed_testing::pipeline::{encoded, farthest, file, places, seen, within};
use image::{GrayImage, ImageFormat, Luma};

/// Size of the large image: 60 megapixels, which take 240 MB once decoded, as much as 15 staging slots of 16 MiB.
const LARGE: (u32, u32) = (10_000, 6_000);

fn large() -> GrayImage {
    GrayImage::from_fn(LARGE.0, LARGE.1, |x, y| Luma([((x >> 5) ^ (y >> 4)) as u8]))
}

/// Returns nine small files and the large one, which is in the middle of the second of three batches.
fn files() -> InMemory {
    let huge = encoded(large(), ImageFormat::Jpeg);
    assert!(huge.len() < 60 << 20);
    (0..10).map(|number| (if number == 5 { huge.clone() } else { file(number) }, Label::Class(number))).collect()
}

#[test]
fn a_huge_jpeg_in_mid_batch_passes() {
    let data = files();
    let lists: [(Semantics, Vec<Transform>); 3] = [
        (Semantics::Float, vec![Resize::new((32, 32)).into()]),
        (
            Semantics::Float,
            vec![
                RandomResizedCrop::new(32).scale(0.5, 1.0).into(),
                RandomHorizontalFlip::new(0.5).into(),
                ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            ],
        ),
        // The shaders hand bytes from stage to stage, and the result is beyond these.
        (
            Semantics::Uint8,
            vec![Resize::new((32, 32)).into(), RandomRotation::new(20.0).into(), Normalize::IMAGENET.into()],
        ),
    ];
    for (semantics, list) in lists {
        let mut expected = Vec::new();
        for place in places() {
            for workers in [1, 2] {
                let builder = DataLoader::builder(data.clone()).recipe(list.clone()).batch_size(4).workers(workers);
                // The budget has room for 3 staging slots and what they are copied to on the GPU, for the workspace (with
                // stages of their own for 8-bit numbers) and for small batches.
                let budget = if semantics == Semantics::Uint8 { 116 } else { 66 };
                let builder = builder.semantics(semantics).slot_bytes(16 << 20).memory_budget(budget << 20);
                let loader = place.build(builder);
                let what = format!("{}, {workers} workers", place.name);
                let (found, stats) = within(60, &what, move || (seen(loader.epoch(0).unwrap()), loader.stats()));
                assert_eq!((found.len(), stats.images, stats.failed), (3, 10, 0), "{what}");
                assert_eq!(stats.cpu_fallback, u64::from(place.is_shaders()), "{what}");
                if expected.is_empty() {
                    expected.clone_from(&found);
                }
                let off = farthest(&expected, &found);
                assert!(off <= 1e-4, "{what}: off by {off}");
            }
        }
    }
}

#[test]
fn huge_pixels_of_one_channel_pass() {
    let mut data = InMemory::new();
    for number in 0..6_u32 {
        let (width, height) = if number == 3 { LARGE } else { (40 + number, 50) };
        let pixels = if number == 3 { large().into_raw() } else { vec![40 * number as u8; (width * height) as usize] };
        data.push_pixels(width, height, PixelFormat::R8, pixels, Label::Class(number)).unwrap();
    }
    let mut expected = Vec::new();
    for place in places() {
        let loader = DataLoader::builder(data.clone()).transform(Resize::new((24, 24))).batch_size(6).workers(2);
        let loader = place.build(loader.slot_bytes(16 << 20));
        let (found, stats) = within(60, &place.name, move || (seen(loader.epoch(0).unwrap()), loader.stats()));
        assert_eq!(found[0].shape, [6, 1, 24, 24]);
        assert_eq!(stats.cpu_fallback, u64::from(place.is_shaders()), "{}", place.name);
        if expected.is_empty() {
            expected.clone_from(&found);
        }
        let off = farthest(&expected, &found);
        assert!(off <= 1e-4, "{}: off by {off}", place.name);
    }
}

/// The picture is larger than a GPU's binding may be, but the region that the crop reads is not.
#[test]
fn a_crop_of_a_huge_jpeg_is_replayed() {
    let data = files();
    for place in places() {
        let builder = DataLoader::builder(data.clone()).transform(Pad::new(200)).transform(RandomCrop::new(40));
        let loader = place.build(builder.batch_size(10).workers(2).slot_bytes(16 << 20));
        within(60, &place.name, move || {
            let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
            let images = batch.to_host().unwrap();
            let [large, small] = [5, 6].map(|number| {
                let place = batch.ids().iter().position(|id| *id == number).unwrap();
                (&images[place * (images.len() / 10)..][..images.len() / 10], &batch.params()[place])
            });
            assert_eq!(loader.replay(5, large.1).unwrap(), large.0);
            assert!(loader.replay(6, small.1).unwrap() != large.0, "the comparison cannot fail");
        });
    }
}

/// An image of more pixels than allowed is a bad sample, and does not exhaust the memory.
#[test]
fn a_header_beyond_max_pixels_is_a_bad_sample() {
    let data = files();
    for place in places() {
        let builder = DataLoader::builder(data.clone()).transform(Resize::new((16, 16))).batch_size(10).workers(2);
        let loader = place.build(builder.max_pixels(1 << 20));
        let batch = within(60, &place.name, move || loader.epoch(0).unwrap().next().unwrap().unwrap());
        let [failure] = batch.failures() else { panic!("{}: {:?}", place.name, batch.failures()) };
        assert_eq!((failure.batch_index, failure.id), (5, 5));
        assert!(matches!(failure.error.kind(), ErrorKind::TooManyPixels { width: 10_000, .. }), "{}", failure.error);
    }
}
