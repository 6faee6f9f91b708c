//! Cases in which a cache could change batches because it stores more than an epoch reads: which samples fail, which
//! executor makes an image, and how much of it is decoded. Batches have the bits of a loader without a cache.

use gpufeed::decode::Truncated;
use gpufeed::transforms::{
    CenterCrop, ColorJitter, Interpolation, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize, ResizeTo,
    Transform,
};
use gpufeed::{Cache, DataLoader, Dataset, InMemory, Label, OnError, PixelFormat, Result, Sample};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, places, seen, within};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::io::Cursor;
use std::slice;
use std::sync::Arc;

const ALL: u64 = 256 << 20;

fn epochs(loader: &DataLoader) -> Vec<Seen> {
    (0..4).flat_map(|epoch| seen(loader.epoch(epoch).unwrap())).collect()
}

/// Checks that batches are the same with and without a cache on every backend; `build` makes the loader's settings.
fn compare(seconds: u64, build: impl Fn() -> gpufeed::DataLoaderBuilder + Send + 'static) {
    within(seconds, "all places", move || {
        places().iter().for_each(|place: &Place| {
            let builder = || build().batch_size(4).shuffle(true).workers(2);
            let plain = place.build(builder());
            let expected = epochs(&plain);
            let mut images = expected.iter().flat_map(|batch| (0..batch.ids.len()).map(|place| batch.image(place)));
            let first = images.next().unwrap();
            assert!(images.any(|image| image != first), "the comparison cannot fail");
            for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
                let loader = place.build(builder().cache(cache));
                assert_same(&expected, &epochs(&loader), &format!("{}, {cache:?}", place.name));
                assert!(loader.cached().0 > 0, "{}, {cache:?}: nothing was kept", place.name);
                assert_eq!(loader.stats().cpu_fallback, plain.stats().cpu_fallback, "{}, {cache:?}", place.name);
            }
        });
    });
}

fn nearest(size: impl Into<ResizeTo>) -> Transform {
    Resize::new(size).interpolation(Interpolation::Nearest).into()
}

fn noise(number: u32, (width, height): (u32, u32), channels: u32) -> Vec<u8> {
    (0..width * height * channels).map(|i| ((i * (number + 3)) >> 3) as u8).collect()
}

/// A data set that does not tell the loader that its pixels are in memory, so the loader caches them.
struct Made(InMemory);

impl Dataset for Made {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

fn made(format: PixelFormat, size: (u32, u32)) -> Arc<Made> {
    let mut data = InMemory::new();
    for number in 0..9 {
        let channels = format.bytes_per_pixel() as u32;
        data.push_pixels(size.0, size.1, format, noise(number, size, channels), Label::Class(number)).unwrap();
    }
    Arc::new(Made(data))
}

#[test]
fn pixels_that_no_data_set_holds() {
    for format in [PixelFormat::R8, PixelFormat::Rgb8, PixelFormat::Rgba8] {
        let data = made(format, (31, 30));
        let list = || -> Vec<Transform> { vec![CenterCrop::new(24).into(), RandomCrop::new(16).into()] };
        compare(120, move || DataLoader::builder(Arc::clone(&data)).recipe(list()));
    }
}

#[test]
fn pixels_that_a_data_set_holds_in_memory_are_not_stored_twice() {
    let data: Arc<dyn Dataset> = {
        let mut data = InMemory::new();
        for number in 0..6 {
            data.push_pixels(31, 30, PixelFormat::Rgb8, noise(number, (31, 30), 3), Label::Class(number)).unwrap();
        }
        Arc::new(data)
    };
    let stored = |transforms: Vec<Transform>| {
        let builder = DataLoader::builder(Arc::clone(&data)).recipe(transforms).cache(Cache::Host(ALL));
        let loader = builder.build(&gpufeed::Backend::Cpu).unwrap();
        loader.epoch(0).unwrap().for_each(|batch| drop(batch.unwrap()));
        loader.cached().0
    };
    assert_eq!(stored(vec![CenterCrop::new(24).into(), RandomCrop::new(16).into()]), 0);
    assert_eq!(stored(vec![Resize::new((24, 24)).into(), RandomCrop::new(16).into()]), 6);
}

#[test]
fn views_of_a_border_alone() {
    let data = made(PixelFormat::Rgb8, (20, 20));
    let list = || -> Vec<Transform> {
        vec![Pad::new([0, 0, 10, 0]).into(), CenterCrop::new((20, 24)).into(), RandomCrop::new(5).into()]
    };
    compare(120, move || DataLoader::builder(Arc::clone(&data)).recipe(list()));
}

/// A GPU may read the source pixels of a crop of a resized image of five megapixels, but not those of the whole image.
#[test]
fn large_images_stay_where_they_are_augmented() {
    let mut data = InMemory::new();
    for number in 0..5 {
        let size = if number % 2 == 0 { (2560, 1920) } else { (150 + number, 130) };
        data.push_pixels(size.0, size.1, PixelFormat::Rgb8, noise(number, size, 3), Label::Class(number)).unwrap();
    }
    let data = Arc::new(Made(data));
    for (views, list) in [
        (1, vec![Resize::new(64).into(), RandomCrop::new(40).into()]),
        // The cached image is small; some crops read more source pixels than a GPU may, others read fewer.
        (
            2,
            vec![
                nearest((48, 48)),
                RandomResizedCrop::new(32).scale(0.7, 1.0).ratio(1.0, 1.0).into(),
                ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            ],
        ),
    ] {
        let list: Vec<Transform> = list;
        let data = Arc::clone(&data);
        compare(300, move || DataLoader::builder(Arc::clone(&data)).recipe(list.clone()).views(views));
    }
}

/// The result of a prefix may take more bytes than the source and than a staging slot, and the CPU executor may do the
/// resizes after it.
#[test]
fn heads_that_enlarge() {
    let bytes = |of_floats: bool, size: u32| {
        let mut data = InMemory::new();
        for number in 0..5 {
            let (format, pixels) = match of_floats {
                true => {
                    let levels = noise(number, (30, 20), 3).into_iter();
                    let floats = levels.flat_map(|level| (f32::from(level) / 300.0).to_ne_bytes());
                    (PixelFormat::F32 { channels: 3 }, floats.collect())
                }
                false => (PixelFormat::Rgb8, noise(number, (30, 20), 3)),
            };
            data.push_pixels(30, 20, format, pixels, Label::Class(number)).unwrap();
        }
        (data, size)
    };
    // A result of the prefix takes 23 MB as floats or 5.8 MB as bytes at 1200 x 1200 pixels, 17.6 MB as bytes at 2100 x
    // 2100; `fits` says whether a cache stores it where shaders run.
    for ((data, size), fits) in [(bytes(true, 1200), false), (bytes(false, 1200), true), (bytes(false, 2100), false)] {
        within(300, "all places", move || {
            places().iter().for_each(|place: &Place| {
                let last: Transform = match size {
                    1200 => RandomResizedCrop::new(16).scale(0.05, 0.5).into(),
                    _ => RandomCrop::new(16).into(),
                };
                let list = [nearest((size, size)), last];
                let builder =
                    || DataLoader::builder(data.clone()).recipe(list.to_vec()).batch_size(5).views(2).workers(2);
                let plain = place.build(builder());
                let expected = epochs(&plain);
                let reduced = plain.stats().cpu_fallback;
                assert!(size != 1200 || !place.is_shaders() || (1..40).contains(&reduced), "{reduced} of 40");
                for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
                    let what = format!("{}, {cache:?}, {size}", place.name);
                    let loader = place.build(builder().cache(cache));
                    assert_same(&expected, &epochs(&loader), &what);
                    assert_eq!(loader.stats().cpu_fallback, reduced, "{what}");
                    let kept = loader.cached().0;
                    let right = match cache {
                        _ if !place.is_shaders() => kept == 5,
                        _ if !fits => kept == 0,
                        // Samples that the CPU executor finished in every epoch are not in the GPU's cache.
                        Cache::Device(_) => (1..=5).contains(&kept),
                        _ => kept == 5,
                    };
                    assert!(right, "{what}: {kept} samples");
                }
            });
        });
    }
}

/// The output is larger than an intermediate image on a GPU may be.
#[test]
fn outputs_of_five_megapixels() {
    let data = made(PixelFormat::Rgb8, (50, 40));
    let list = || -> Vec<Transform> { vec![Resize::new((2100, 2100)).into(), RandomHorizontalFlip::new(0.5).into()] };
    within(300, "all places", move || {
        let place = places().iter().find(|place| place.is_shaders()).unwrap_or(&places()[0]);
        let builder = || DataLoader::builder(Arc::clone(&data)).recipe(list()).batch_size(1).queue_depth(1);
        let first = |loader: DataLoader| Seen::from(&loader.epoch(0).unwrap().next().unwrap().unwrap());
        let expected = first(place.build(builder()));
        for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
            assert_same(slice::from_ref(&expected), &[first(place.build(builder().cache(cache)))], &place.name);
        }
    });
}

/// Returns a JPEG: of three in turn, one is whole, one is damaged two thirds down, and one is cut there.
fn damaged(number: u32) -> Vec<u8> {
    let picture =
        RgbImage::from_fn(96, 160, |x, y| Rgb([(x * 2 + number) as u8, (y + 7 * number) as u8, (x * y) as u8]));
    let mut file = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(picture).write_to(&mut file, ImageFormat::Jpeg).unwrap();
    let mut file = file.into_inner();
    let at = file.len() * 2 / 3;
    match number % 3 {
        0 => {}
        1 => file[at..at + 2].copy_from_slice(&[0xff, 0xc0]),
        _ => file.truncate(at),
    }
    file
}

#[test]
fn damage_that_an_epoch_does_not_read() {
    for truncated in [Truncated::Error, Truncated::Fill] {
        let mut data = InMemory::new();
        (0..24).for_each(|number| data.push_encoded(damaged(number), Label::Class(number)).unwrap());
        for list in [
            vec![RandomResizedCrop::new(16).scale(0.02, 0.2).into()],
            vec![Resize::new(48).into(), RandomCrop::new(16).into()],
            vec![nearest(48), RandomCrop::new(16).into()],
            vec![nearest(48), CenterCrop::new((64, 40)).into(), RandomResizedCrop::new(16).scale(0.02, 0.2).into()],
        ] {
            let list: Vec<Transform> = list;
            let data = data.clone();
            compare(120, move || {
                let builder = DataLoader::builder(data.clone()).recipe(list.clone()).truncated(truncated);
                builder.on_error(OnError::Skip { max_share: 1.0 })
            });
        }
    }
}
