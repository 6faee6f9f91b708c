//! The cache stores the result of a resize in bytes: by itself where that changes no bit; where `cache_in_bytes` asks
//! for it, every sample is rounded alike, cached or not.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, Interpolation, Normalize, Pad, PaddingMode, RandomApply, RandomCrop, RandomHorizontalFlip,
    RandomResizedCrop, Resize, ResizeTo, TenCrop, Transform,
};
use gpufeed::{Cache, DataLoader, DataLoaderBuilder, InMemory, Label, PixelFormat};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, farthest, places, seen, small_files, within};
use std::sync::LazyLock;

const SAMPLES: u32 = 13;
const ALL: u64 = 64 << 20;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(SAMPLES));

fn flip() -> Transform {
    RandomHorizontalFlip::new(0.5).into()
}

fn loader(place: &Place, data: &InMemory, list: &[Transform], cache: Cache) -> DataLoader {
    place.build(builder(data, list, cache).cache_in_bytes(true))
}

fn builder(data: &InMemory, list: &[Transform], cache: Cache) -> DataLoaderBuilder {
    DataLoader::builder(data.clone()).recipe(list.to_vec()).batch_size(4).shuffle(true).workers(2).cache(cache)
}

/// Returns the batches of two epochs, each in a run of its own, then of both in one run.
fn epochs(loader: &DataLoader) -> Vec<Seen> {
    let mut all: Vec<Seen> = (0..2).flat_map(|epoch| seen(loader.epoch(epoch).unwrap())).collect();
    all.extend(seen(loader.epochs(0..2).unwrap()));
    all
}

fn each_place(seconds: u64, test: impl Fn(&Place) + Send + 'static) {
    within(seconds, "all places", move || places().iter().for_each(test));
}

#[test]
fn batches_do_not_depend_on_what_is_kept() {
    each_place(240, |place| {
        for list in [
            vec![Resize::new(26).into(), RandomCrop::new(20).into(), flip(), Normalize::IMAGENET.into()],
            vec![
                Resize::new(30).into(),
                CenterCrop::new(24).into(),
                RandomResizedCrop::new(16).into(),
                ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            ],
            vec![Resize::new((24, 24)).into(), Resize::new(20).into(), Normalize::IMAGENET.into()],
            vec![Resize::new(26).into(), flip(), TenCrop::new(20).into(), Normalize::IMAGENET.into()],
        ] {
            let list: Vec<Transform> = list;
            let expected = epochs(&loader(place, &FILES, &list, Cache::Host(0)));
            for cache in [Cache::Host(ALL), Cache::Device(ALL), Cache::Host(8_000), Cache::Device(8_000)] {
                let what = format!("{}, {cache:?}", place.name);
                let loader = loader(place, &FILES, &list, cache);
                assert_same(&expected, &epochs(&loader), &what);
                let (samples, _) = loader.cached();
                let all = matches!(cache, Cache::Host(ALL) | Cache::Device(ALL));
                assert!(if all { samples == 13 } else { (1..13).contains(&samples) }, "{what}: {samples} samples");
                assert!(loader.explain().contains("bytes, rounded, after Resize"), "{}", loader.explain());
            }
        }
    });
}

#[test]
fn half_a_level_is_all_that_changes() {
    each_place(120, |place| {
        let list = [Resize::new((26, 26)).into(), RandomCrop::new(20).into(), flip()];
        let plain = epochs(&place.build(builder(&FILES, &list, Cache::Off)));
        for (cache, pixel) in [(Cache::Host(ALL), 3), (Cache::Device(ALL), 4)] {
            let loader = loader(place, &FILES, &list, cache);
            let error = farthest(&plain, &epochs(&loader));
            // A shader's resize also differs from the CPU executor's in the last bits.
            assert!((1e-4..0.5 / 255.0 + 1e-6).contains(&error), "{}: {error}", place.name);
            let (samples, bytes) = loader.cached();
            assert_eq!(samples, 13);
            // On the GPU, `cached` counts the bytes of whole pages.
            let kept = 13 * 26 * 26 * pixel;
            let on_host = !place.is_shaders() || matches!(cache, Cache::Host(_));
            let enough = if on_host { bytes == 13 * 26 * 26 * 3 } else { (kept..2 * kept).contains(&bytes) };
            assert!(enough, "{}: {bytes} bytes", place.name);
        }
    });
}

#[test]
fn what_bytes_cannot_hold_is_not_rounded() {
    each_place(120, |place| {
        let list = [Resize::new((26, 26)).into(), Normalize::IMAGENET.into(), CenterCrop::new(20).into(), flip()];
        let plain = epochs(&place.build(builder(&FILES, &list, Cache::Off)));
        let error = farthest(&plain, &epochs(&loader(place, &FILES, &list, Cache::Device(ALL))));
        // `Normalize` divides the error by at least 0.224, ImageNet's smallest standard deviation.
        assert!((1e-3..0.5 / 255.0 / 0.224 + 1e-5).contains(&error), "{}: {error}", place.name);
    });
}

#[test]
fn behind_a_nearest_resize_nothing_changes() {
    each_place(120, |place| {
        let list = [nearest(26), RandomCrop::new(20).into(), flip(), Normalize::IMAGENET.into()];
        let plain = epochs(&place.build(builder(&FILES, &list, Cache::Off)));
        for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
            let kept = epochs(&loader(place, &FILES, &list, cache));
            assert_same(&plain, &kept, &format!("{}, {cache:?}", place.name));
        }
        // Nothing changes either where no resize is done once per sample, or where the only one comes after
        // `Normalize`, whose values bytes cannot hold.
        for list in
            [[RandomResizedCrop::new(20).into(), flip()], [Normalize::IMAGENET.into(), Resize::new((20, 20)).into()]]
        {
            let plain = epochs(&place.build(builder(&FILES, &list, Cache::Off)));
            assert_same(&plain, &epochs(&loader(place, &FILES, &list, Cache::Device(ALL))), &place.name);
        }
    });
}

#[test]
fn replayed_images_are_rounded_and_pixels_of_every_format_work() {
    each_place(120, |place| {
        for format in [PixelFormat::R8, PixelFormat::Rgb8, PixelFormat::Rgba8, PixelFormat::F32 { channels: 3 }] {
            let mut data = InMemory::new();
            for number in 0..6_u32 {
                let (width, height) = (40 + number, 33);
                let bytes =
                    (0..width * height * format.bytes_per_pixel() as u32).map(|i| ((i * (number + 3)) >> 3) as u8);
                let bytes: Vec<u8> = match format {
                    // Some values are outside the range that bytes can represent.
                    PixelFormat::F32 { .. } => (0..width * height * 3)
                        .flat_map(|i| ((i * (number + 1) % 97) as f32 / 80.0 - 0.1).to_ne_bytes())
                        .collect(),
                    _ => bytes.collect(),
                };
                data.push_pixels(width, height, format, bytes, Label::Class(number)).unwrap();
            }
            let list = [Resize::new(24).into(), RandomCrop::new(16).into(), flip()];
            let expected = epochs(&loader(place, &data, &list, Cache::Host(0)));
            let loader = loader(place, &data, &list, Cache::Device(ALL));
            let batches = epochs(&loader);
            assert_same(&expected, &batches, &format!("{}, {format:?}", place.name));
            let (mut first, mut differing) = (None, 0);
            for (batch, at) in batches.iter().flat_map(|batch| (0..batch.ids.len()).map(move |at| (batch, at))) {
                let image = loader.replay(batch.ids[at] as usize, &batch.params[at]).unwrap();
                assert!(image == batch.image(at), "{}, {format:?}: image {at}", place.name);
                differing += usize::from(*first.get_or_insert(image.clone()) != image);
            }
            assert!(differing > 0, "the comparison cannot fail");
        }
    });
}

fn nearest(size: impl Into<ResizeTo>) -> Transform {
    Resize::new(size).interpolation(Interpolation::Nearest).into()
}

fn nearest_exact(size: impl Into<ResizeTo>) -> Transform {
    Resize::new(size).interpolation(Interpolation::NearestExact).into()
}

fn crop() -> Transform {
    RandomCrop::new(16).into()
}

/// Whether the loader has cached `samples` samples in `bytes` bytes.
fn keeps(loader: &DataLoader, place: &Place, cache: Cache, samples: u64, bytes: u64) -> bool {
    let (kept, of_buffers) = loader.cached();
    let on_host = !place.is_shaders() || matches!(cache, Cache::Host(_));
    // On the GPU, `cached` counts the bytes of whole pages.
    let enough = if on_host { of_buffers == bytes } else { (bytes..bytes + bytes / 4).contains(&of_buffers) };
    kept == samples && enough
}

/// Returns how many bytes a pixel takes if it is cached in bytes: 4 on the GPU, 3 in host memory.
fn pixel(place: &Place, cache: Cache) -> u64 {
    if place.is_shaders() && matches!(cache, Cache::Device(_)) { 4 } else { 3 }
}

#[test]
fn bytes_behind_a_nearest_resize_change_nothing() {
    each_place(400, |place| {
        let center = |size: u32| -> Transform { CenterCrop::new(size).into() };
        let smaller: Transform = RandomResizedCrop::new(16).into();
        let reflected: Transform = Pad::new(3).padding_mode(PaddingMode::Reflect).into();
        let gray = |fill: f32| -> Transform { Pad::new(2).fill([fill; 3]).into() };
        let jitter = || -> Transform { ColorJitter::new(0.4, 0.4, 0.4, 0.1).into() };
        // A crop may show nothing but this border.
        let aside: Transform = Pad::new([0, 0, 40, 0]).into();
        let at_times: Transform = RandomApply::new(0.5, [Resize::new((20, 22))]).into();
        for (list, exact) in [
            (vec![nearest((24, 24)), crop(), flip(), jitter(), Normalize::IMAGENET.into()], true),
            (vec![nearest_exact(28), center(24), smaller], true),
            (vec![reflected, nearest(28), center(24), crop()], true),
            // The first border's colour is level 51 of 255; the second's lies between two levels.
            (vec![gray(51.0 * (1.0 / 255.0)), nearest((24, 24)), crop(), jitter()], true),
            (vec![nearest(24), gray(0.5), center(26), RandomCrop::new(22).into()], false),
            (vec![nearest((33, 29)), nearest_exact((24, 24)), crop(), jitter()], true),
            (vec![nearest((24, 24)), at_times, crop()], true),
            (vec![nearest((20, 20)), Pad::new(2).into(), center(24), aside, crop()], true),
        ] {
            let list: Vec<Transform> = list;
            let expected = epochs(&place.build(builder(&FILES, &list, Cache::Off)));
            for cache in [Cache::Host(ALL), Cache::Device(ALL), Cache::Host(8_000), Cache::Device(10_000)] {
                let what = format!("{}, {list:?}, {cache:?}", place.name);
                let loader = place.build(builder(&FILES, &list, cache));
                assert_same(&expected, &epochs(&loader), &what);
                assert_eq!(loader.explain().contains("bytes, exact, after"), exact, "{}", loader.explain());
                if matches!(cache, Cache::Host(ALL) | Cache::Device(ALL)) {
                    let bytes = 13 * 24 * 24 * pixel(place, cache);
                    assert!(!exact || keeps(&loader, place, cache, 13, bytes), "{what}: {:?}", loader.cached());
                } else {
                    assert!((1..13).contains(&loader.cached().0) || !exact, "{what}: {:?}", loader.cached());
                }
            }
        }
    });
}

/// Returns images of `formats` in turn; some of the float values are outside the range that bytes can represent.
fn pixels(formats: &[PixelFormat]) -> InMemory {
    let mut data = InMemory::new();
    for (number, format) in (0..12_u32).zip(formats.iter().cycle()) {
        let (width, height) = (40 + number, 33);
        let bytes: Vec<u8> = match *format {
            PixelFormat::F32 { channels } => (0..width * height * channels)
                .flat_map(|i| ((i * (number + 1) % 97) as f32 / 80.0 - 0.1).to_ne_bytes())
                .collect(),
            _ => {
                (0..width * height * format.bytes_per_pixel() as u32).map(|i| ((i * (number + 3)) >> 3) as u8).collect()
            }
        };
        data.push_pixels(width, height, *format, bytes, Label::Class(number)).unwrap();
    }
    data
}

#[test]
fn floats_stay_floats_beside_bytes_and_replay_as_in_the_batch() {
    use PixelFormat::{F32, R8, Rgb8, Rgba8};
    let (one, three) = (F32 { channels: 1 }, F32 { channels: 3 });
    each_place(240, move |place| {
        for (formats, floats) in [(&[Rgb8, three, Rgba8][..], 4), (&[R8, one], 6)] {
            let data = pixels(formats);
            let list = [nearest((24, 24)), crop(), flip(), ColorJitter::new(0.4, 0.4, 0.0, 0.0).into()];
            let plain = builder(&data, &list, Cache::Off).views(2);
            let expected = epochs(&place.build(plain));
            for cache in [Cache::Host(ALL), Cache::Device(ALL), Cache::Host(30_000), Cache::Device(30_000)] {
                let what = format!("{}, {formats:?}, {cache:?}", place.name);
                let loader = place.build(builder(&data, &list, cache).views(2));
                let batches = epochs(&loader);
                assert_same(&expected, &batches, &what);
                if matches!(cache, Cache::Host(30_000) | Cache::Device(30_000)) {
                    assert!((1..12).contains(&loader.cached().0), "{what}: {:?}", loader.cached());
                    continue;
                }
                let bytes = 24 * 24 * (16 * floats + (12 - floats) * pixel(place, cache));
                // The size of a page is that of all samples if each were as large as the first, so there may be several
                // pages.
                let on_host = !place.is_shaders() || matches!(cache, Cache::Host(_));
                let right = if on_host { loader.cached() == (12, bytes) } else { loader.cached().1 < 2 * bytes };
                assert!(right, "{what}: {:?}", loader.cached());
                let batch = &batches[0];
                for at in 0..batch.ids.len() {
                    let image = loader.replay(batch.ids[at] as usize, &batch.params[at]).unwrap();
                    assert!(image == batch.image(at), "{what}: image {at}");
                }
            }
        }
    });
}
