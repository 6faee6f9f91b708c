//! A cache changes no bit of any batch: in host memory and on the GPU, with room for all samples or for half, empty or
//! filled, on every executor.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, FiveCrop, Grayscale, Interpolation, Normalize, Pad, RandomCrop, RandomHorizontalFlip,
    RandomResizedCrop, Resize, TenCrop, Transform,
};
use gpufeed::{
    Cache, DType, DataLoader, DataLoaderBuilder, Dataset, InMemory, Label, LastBatch, Layout, PixelFormat, Result,
    Sample, State,
};
use gpufeed_testing::pipeline::{self, Place, Seen, assert_same, is_full, places, seen, small_files, within};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

const SAMPLES: u32 = 21;
/// The cache's size limit in bytes, more than all samples take.
const ALL: u64 = 64 << 20;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(SAMPLES));

fn flip() -> Transform {
    RandomHorizontalFlip::new(0.5).into()
}

fn jitter() -> Transform {
    ColorJitter::new(0.4, 0.4, 0.4, 0.1).into()
}

fn nearest(size: u32) -> Transform {
    Resize::new(size).interpolation(Interpolation::Nearest).into()
}

/// Lists of transforms, each named by the result of its prefix, which the cache stores.
fn lists() -> Vec<(&'static str, Vec<Transform>)> {
    let crop = |size: u32| -> Transform { RandomCrop::new(size).into() };
    let normalize = || -> Transform { Normalize::IMAGENET.into() };
    vec![
        ("all of the source", vec![RandomResizedCrop::new(20).into(), flip(), jitter(), normalize()]),
        ("the middle of the source", vec![CenterCrop::new(24).into(), crop(16), flip()]),
        ("a resize", vec![Resize::new(26).into(), crop(20), flip(), jitter(), normalize()]),
        ("two resizes", vec![Resize::new((40, 40)).into(), RandomResizedCrop::new(16).into(), jitter()]),
        (
            "a resize, and another behind a flip",
            vec![Resize::new(28).into(), flip(), RandomResizedCrop::new(16).into()],
        ),
        ("nothing random", vec![Resize::new(24).into(), CenterCrop::new(20).into(), normalize()]),
        ("a border behind", vec![Resize::new((24, 24)).into(), Pad::new(2).into(), crop(20)]),
        (
            "a border that another resize reads",
            vec![
                Resize::new(40).into(),
                Grayscale::new(3).into(),
                Pad::new(4).into(),
                CenterCrop::new(44).into(),
                RandomResizedCrop::new(16).into(),
            ],
        ),
        ("a crop behind the resize", vec![Resize::new(28).into(), CenterCrop::new(24).into(), crop(16), jitter()]),
        ("one channel", vec![Resize::new(24).into(), Grayscale::new(1).into(), crop(16), jitter()]),
        (
            "bicubic and nearest",
            vec![Resize::new(30).interpolation(Interpolation::Bicubic).into(), nearest(20), flip(), crop(16)],
        ),
        ("a nearest resize, in bytes", vec![nearest(26), CenterCrop::new(24).into(), crop(20), flip(), jitter()]),
        ("five crops of a resize", vec![Resize::new(26).into(), FiveCrop::new(20).into(), normalize()]),
        ("crops of a random crop", vec![nearest(28), crop(24), FiveCrop::new(16).into()]),
        ("ten crops of the source", vec![TenCrop::new(20).into(), normalize()]),
    ]
}

fn builder(list: &[Transform]) -> DataLoaderBuilder {
    let list = list.to_vec();
    DataLoader::builder(FILES.clone()).recipe(list).batch_size(4).shuffle(true).seed(7).workers(2)
}

/// Returns 2, for an epoch that fills the cache and one that reads it; where all combinations are tried 3.
fn number_of_epochs() -> u64 {
    if is_full() { 3 } else { 2 }
}

/// Returns the batches of the epochs, each in a run of its own, then of the same epochs in one run.
fn epochs(loader: &DataLoader) -> Vec<Seen> {
    let all = 0..number_of_epochs();
    let mut batches: Vec<Seen> = all.clone().flat_map(|epoch| seen(loader.epoch(epoch).unwrap())).collect();
    batches.extend(seen(loader.epochs(all).unwrap()));
    batches
}

fn each_place(seconds: u64, test: fn(&Place)) {
    within(seconds, "all places", move || places().iter().for_each(test));
}

#[test]
fn a_cache_changes_nothing() {
    each_place(300, |place| {
        for (name, list) in lists() {
            let expected = epochs(&place.build(builder(&list)));
            let mut images = expected.iter().flat_map(|batch| (0..batch.ids.len()).map(|place| batch.image(place)));
            let first = images.next().unwrap();
            assert!(images.any(|image| image != first), "the comparison cannot fail");
            // The size limits of the small caches: half of what all samples take, once the large caches have measured
            // that.
            let mut half = [ALL / 2; 2];
            for number in 0..4 {
                let cache = match number {
                    0 => Cache::Host(ALL),
                    1 => Cache::Device(ALL),
                    2 => Cache::Host(half[0]),
                    _ => Cache::Device(half[1]),
                };
                let what = format!("{}, {name}, {cache:?}", place.name);
                let loader = place.build(builder(&list).cache(cache));
                assert_same(&expected, &epochs(&loader), &what);
                let (samples, bytes) = loader.cached();
                let hits = loader.stats().cache_hits;
                if let Some(half) = half.get_mut(number) {
                    assert_eq!(samples, u64::from(SAMPLES), "{what}");
                    // No sample is a hit in the first epoch, and each is one in every other epoch.
                    assert_eq!(hits, (2 * number_of_epochs() - 1) * samples, "{what}");
                    *half = bytes / 2;
                } else {
                    assert!(bytes <= half[number - 2], "{what}: {bytes} bytes");
                    assert!((1..u64::from(SAMPLES)).contains(&samples), "{what}: {samples} samples");
                    assert_eq!(hits, (2 * number_of_epochs() - 1) * samples, "{what}");
                }
                assert!(loader.explain().contains(&format!("{samples} samples")), "{}", loader.explain());
            }
        }
    });
}

#[test]
fn types_layouts_and_views_change_nothing_either() {
    each_place(300, |place| {
        let lists = lists();
        for (list, layout, dtype, views) in [
            (&lists[0].1, Layout::Nchw, DType::F16, 3),
            (&lists[1].1, Layout::Nhwc, DType::U8, 2),
            (&lists[2].1, Layout::Nhwc, DType::F16, 1),
            (&lists[3].1, Layout::Nchw, DType::U8, 2),
            (&lists[11].1, Layout::Nhwc, DType::U8, 2),
            (&lists[11].1, Layout::Nchw, DType::F16, 1),
            (&lists[13].1, Layout::Nhwc, DType::U8, 2),
        ] {
            let builder = || builder(list).output(layout, dtype).views(views).last_batch(LastBatch::Pad).batch_size(5);
            let expected = epochs(&place.build(builder()));
            for cache in [Cache::Host(ALL), Cache::Device(ALL), Cache::Device(100_000)] {
                let what = format!("{}, {layout:?}, {dtype:?}, {views} views, {cache:?}", place.name);
                assert_same(&expected, &epochs(&place.build(builder().cache(cache))), &what);
            }
        }
    });
}

/// A data set that counts its reads.
struct Counted(InMemory, AtomicU64);

impl Dataset for Counted {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.1.fetch_add(1, Relaxed);
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

#[test]
fn a_kept_sample_is_read_once() {
    each_place(120, |place| {
        for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
            let data = Arc::new(Counted(FILES.clone(), AtomicU64::new(0)));
            let builder = DataLoader::builder(Arc::clone(&data)).recipe(lists()[2].1.clone()).batch_size(4);
            let loader = place.build(builder.cache(cache).workers(2));
            seen(loader.epochs(0..4).unwrap());
            // At the end of the first epoch, the second may ask for a sample before it is stored, so it is read twice.
            let read = data.1.load(Relaxed);
            assert!((u64::from(SAMPLES)..2 * u64::from(SAMPLES)).contains(&read), "{}: {read} reads", place.name);
            let before = data.1.load(Relaxed);
            seen(loader.epochs(4..6).unwrap());
            assert_eq!(data.1.load(Relaxed), before, "{}", place.name);
        }
    });
}

#[test]
fn a_run_may_end_anywhere() {
    each_place(120, |place| {
        let list = &lists()[2].1;
        let expected = place.build(builder(list));
        for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
            let loader = place.build(builder(list).cache(cache));
            for batches in [0, 1, 2, 4] {
                let mut run = loader.epochs(0..5).unwrap();
                run.by_ref().take(batches).for_each(|batch| drop(batch.unwrap()));
            }
            let state = State::at(7, 1, 2);
            let rest = |loader: &DataLoader| seen(loader.resume_until(&state, 4).unwrap());
            assert_same(&rest(&expected), &rest(&loader), &format!("{}, {cache:?}", place.name));
            // Samples that the dropped runs had begun to store are not lost.
            assert_eq!(loader.cached().0, u64::from(SAMPLES), "{}, {cache:?}", place.name);
            // Two runs at once share the cache.
            let pair = [0, 1].map(|epoch| loader.epoch(epoch).unwrap());
            for (run, epoch) in pair.into_iter().zip(0..) {
                assert_same(&seen(expected.epoch(epoch).unwrap()), &seen(run), &format!("{}, at once", place.name));
            }
        }
    });
}

#[test]
fn bad_samples_fail_in_every_epoch() {
    each_place(120, |place| {
        let mut data = InMemory::new();
        for number in 0..SAMPLES {
            let mut file = pipeline::file(number);
            if number % 7 == 3 {
                file.truncate(file.len() / 3);
            }
            data.push_encoded(file, Label::Class(number)).unwrap();
        }
        let builder = || {
            let builder = DataLoader::builder(data.clone()).recipe(lists()[0].1.clone()).batch_size(4).shuffle(true);
            builder.on_error(gpufeed::OnError::Skip { max_share: 1.0 }).workers(2)
        };
        let expected = epochs(&place.build(builder()));
        assert!(expected.iter().any(|batch| !batch.failures.is_empty()));
        for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
            let loader = place.build(builder().cache(cache));
            assert_same(&expected, &epochs(&loader), &format!("{}, {cache:?}", place.name));
            assert_eq!(loader.cached().0, 18, "{}", place.name);
        }
    });
}

/// Returns images of one format and of several sizes; if `large`, one of them is so large that the CPU executor
/// finishes it for the GPU.
fn pixels(format: PixelFormat, large: bool) -> InMemory {
    let mut data = InMemory::new();
    for number in 0..12_u32 {
        let (width, height) = if large && number == 4 { (2300, 2000) } else { (24 + number % 5, 30 - number % 4) };
        let values = width * height * format.channels();
        let byte = |i: u32| ((i * (number + 3)) >> 2) as u8;
        let bytes = match format {
            PixelFormat::F32 { .. } => (0..values).flat_map(|i| (f32::from(byte(i)) / 300.0).to_ne_bytes()).collect(),
            PixelFormat::Rgba8 => (0..4 * width * height).map(byte).collect(),
            _ => (0..values).map(byte).collect::<Vec<u8>>(),
        };
        data.push_pixels(width, height, format, bytes, Label::Class(number)).unwrap();
    }
    data
}

#[test]
fn pixels_of_every_format() {
    each_place(240, |place| {
        let floats = |channels| PixelFormat::F32 { channels };
        for (format, large) in [
            (PixelFormat::R8, false),
            (PixelFormat::Rgb8, true),
            (PixelFormat::Rgba8, false),
            (floats(1), false),
            (floats(3), false),
        ] {
            for list in [vec![RandomCrop::new(16).padding(2).into(), flip()], lists()[3].1.clone()] {
                let data = pixels(format, large);
                let builder = || DataLoader::builder(data.clone()).recipe(list.clone()).batch_size(5).shuffle(true);
                let expected = epochs(&place.build(builder()));
                for cache in [Cache::Host(ALL), Cache::Device(ALL)] {
                    let what = format!("{}, {format:?}, {cache:?}", place.name);
                    let loader = place.build(builder().cache(cache));
                    assert_same(&expected, &epochs(&loader), &what);
                }
            }
        }
    });
}

#[test]
fn thousands_of_small_images() {
    each_place(240, |place| {
        let mut data = InMemory::new();
        for number in 0..3000_u32 {
            let bytes: Vec<u8> = (0..8 * 8).map(|i| ((i * (number + 3)) >> 2) as u8).collect();
            data.push_pixels(8, 8, PixelFormat::R8, bytes, Label::Class(number)).unwrap();
        }
        let builder = || {
            let list: [Transform; 2] =
                [RandomCrop::new(8).padding(1).into(), Normalize::new([0.1; 3], [0.3; 3]).into()];
            DataLoader::builder(data.clone()).recipe(list.to_vec()).batch_size(1000).shuffle(true).workers(3)
        };
        let expected = epochs(&place.build(builder().workers(1)));
        assert_same(&expected, &epochs(&place.build(builder())), &place.name);
        for cache in [Cache::Host(ALL), Cache::Device(ALL), Cache::Device(300_000)] {
            assert_same(
                &expected,
                &epochs(&place.build(builder().cache(cache))),
                &format!("{}, {cache:?}", place.name),
            );
        }
    });
}

#[test]
fn what_cannot_be_kept_is_said() {
    let builder = builder(&lists()[0].1).cache(Cache::Host(ALL)).scaled_decode(true);
    let error = builder.build(&gpufeed::Backend::Cpu).unwrap_err().to_string();
    assert!(error.starts_with("cache: ") && error.contains("scaled_decode"), "{error}");
}
