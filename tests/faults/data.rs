//! Tests data that changes, vanishes or has false headers while a run reads it, and user code that panics.
//!
//! A sample is read once; its header is probed, its parameters are made and its pixels decoded from those same bytes.
//! So a file cannot change between probe and decode; it can change between two epochs, and between a batch and its
//! replay.

use gpufeed::transforms::{CenterCrop, RandomCrop, RandomResizedCrop, Resize};
use gpufeed::{
    Backend, DataLoader, DataLoaderBuilder, Dataset, ErrorKind, ImageFolder, InMemory, Label, OnError, Result, Sample,
    SampleData,
};
use gpufeed_testing::pipeline::{Place, encoded, picture, places, seen, small_files};
use gpufeed_testing::watch::{alone, left_over, threads};
use image::{ImageFormat, Rgb, RgbImage};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn each_place(what: &str, test: fn(&Place)) {
    alone(200, what, move || {
        for place in places() {
            test(place);
            assert_eq!(left_over(), [""; 0], "{}", place.name);
        }
    });
}

/// Returns a folder of `count` files of one class, and its data set.
fn folder(count: u32) -> (TempDir, ImageFolder) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("ape")).unwrap();
    for number in 0..count {
        let bytes = encoded(picture(number, 40, 30 + number), ImageFormat::Jpeg);
        fs::write(root.path().join(format!("ape/{number:03}.jpg")), bytes).unwrap();
    }
    let data = ImageFolder::open(root.path()).unwrap();
    (root, data)
}

#[test]
fn files_that_vanish_while_the_run_reads_them() {
    each_place("vanishing", |place| {
        let (root, data) = folder(60);
        let loader = DataLoader::builder(data).transform(RandomCrop::new(24)).batch_size(4).workers(2);
        let loader = place.build(loader.on_error(OnError::Skip { max_share: 1.0 }));
        let mut run = loader.epoch(0).unwrap();
        run.next().unwrap().unwrap();
        // Five files are removed: each sample is replaced, and its failure has its path.
        for number in 55..60 {
            fs::remove_file(root.path().join(format!("ape/{number:03}.jpg"))).unwrap();
        }
        let batches: Vec<_> = run.map(Result::unwrap).collect();
        let missing: Vec<_> = batches.iter().flat_map(|batch| batch.failures()).filter(|f| f.id >= 55).collect();
        assert!(missing.len() >= 5 && batches.iter().all(|batch| batch.len() == 4), "{}", place.name);
        for failure in missing {
            let ErrorKind::Io { path, .. } = failure.error.kind() else { panic!("{}", failure.error) };
            assert_eq!(path.display().to_string(), failure.name, "{}", place.name);
        }
        drop(batches);
        // All files are removed: the run ends with an error that names a sample.
        let mut run = loader.epoch(1).unwrap();
        run.next().unwrap().unwrap();
        fs::remove_dir_all(root.path().join("ape")).unwrap();
        let error = run.find_map(Result::err).unwrap_or_else(|| panic!("{}: no error", place.name));
        let ErrorKind::Sample { name, source, .. } = error.kind() else { panic!("{}: {error}", place.name) };
        assert!(name.contains("ape/") && matches!(source.kind(), ErrorKind::Io { .. }), "{error}");
        assert!(run.next().is_none());
    });
}

#[test]
fn a_file_that_gets_another_size_between_epochs_or_before_its_replay() {
    each_place("changing", |place| {
        let (root, data) = folder(8);
        let loader = DataLoader::builder(data).transform(RandomResizedCrop::new(16)).batch_size(4).workers(2);
        let loader = place.build(loader);
        let before = seen(loader.epoch(0).unwrap());
        let bytes = encoded(picture(3, 21, 90), ImageFormat::Png);
        fs::write(root.path().join("ape/003.jpg"), bytes).unwrap();
        let replayed = |index: usize, params| loader.replay(index, params);
        let error = replayed(3, &before[0].params[3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "params: they were made for 40x33 pixels, but the image has 21x90",
            "{}",
            place.name
        );
        assert!(replayed(2, &before[0].params[2]).unwrap() == before[0].image(2), "{}", place.name);
        // The next epoch has the file's new size and nothing of the old one.
        let after = seen(loader.epoch(0).unwrap());
        assert_eq!((after[0].params[3].width, after[0].params[3].height), (21, 90));
        assert!(replayed(3, &after[0].params[3]).unwrap() == after[0].image(3), "{}", place.name);
        assert!(after[0].image(2) == before[0].image(2) && after[0].image(3) != before[0].image(3));
        // A damaged file is an error of its sample, not of the run.
        fs::write(root.path().join("ape/005.jpg"), &encoded(picture(5, 3, 2), ImageFormat::Png)[..40]).unwrap();
        let batches = loader.epoch(0).unwrap().map(Result::unwrap);
        let failures: Vec<_> = batches.flat_map(|b| b.failures().iter().map(|f| f.id).collect::<Vec<_>>()).collect();
        assert!(failures.contains(&5), "{}: {failures:?}", place.name);
    });
}

/// A data set that gives another image at each read, whose colour tells its size.
struct Restless {
    reads: AtomicUsize,
}

const SIZES: [(u32, u32); 3] = [(40, 30), (17, 63), (90, 11)];

impl Dataset for Restless {
    fn len(&self) -> usize {
        40
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, _index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let which = self.reads.fetch_add(1, Ordering::Relaxed) % 3;
        let mut color = Rgb([0; 3]);
        color.0[which] = 255;
        let (width, height) = SIZES[which];
        *buffer = encoded(RgbImage::from_pixel(width, height, color), ImageFormat::Png);
        Ok(Sample::new(SampleData::Encoded(buffer), Label::Class(which as u32)))
    }

    fn name(&self, index: usize) -> String {
        format!("restless {index}")
    }
}

#[test]
fn a_data_set_that_reads_something_else_each_time() {
    each_place("restless", |place| {
        let builder = DataLoader::builder(Restless { reads: AtomicUsize::new(0) }).transform(RandomResizedCrop::new(8));
        let batches = seen(place.build(builder.batch_size(8).workers(3)).epochs(0..3).unwrap());
        for batch in batches {
            for at in 0..8 {
                let &Label::Class(which) = &batch.labels[at] else { panic!("no class") };
                let params = &batch.params[at];
                assert_eq!((params.width, params.height), SIZES[which as usize], "{}", place.name);
                let planes = batch.floats()[at * 192..(at + 1) * 192].to_vec();
                for (plane, values) in planes.chunks(64).enumerate() {
                    let expected = if plane == which as usize { 1.0 } else { 0.0 };
                    assert!(values.iter().all(|v| (v - expected).abs() < 1e-5), "{}: {values:?}", place.name);
                }
            }
        }
    });
}

/// Returns small files whose headers declare far more pixels than the files hold.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let whole = |format| encoded(picture(1, 40, 40), format);
    let patched = |mut bytes: Vec<u8>, at: usize, with: &[u8]| {
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let jpeg = whole(ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    let png = whole(ImageFormat::Png);
    let header = [&b"IHDR"[..], &60_000_u32.to_be_bytes(), &60_000_u32.to_be_bytes(), &png[24..29]].concat();
    let png = patched(patched(png, 12, &header), 29, &crc32(&header).to_be_bytes());
    let side = 60_000_u32.to_le_bytes();
    vec![
        ("JPEG", patched(jpeg, frame + 5, &[0xFF; 4])),
        ("PNG", png),
        ("GIF", patched(whole(ImageFormat::Gif), 6, &[0xFF; 4])),
        ("BMP", patched(whole(ImageFormat::Bmp), 18, &[side, side].concat())),
        ("PNM", b"P6 60000 60000 255\n0123456789".to_vec()),
    ]
}

/// Returns the checksum of a PNG chunk (ISO 3309, polynomial 0xEDB88320).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xEDB8_8320 * (crc & 1))))
}

#[test]
fn headers_that_declare_too_much_cost_no_memory() {
    each_place("bombs", |place| {
        let bombs = bombs();
        let mut data = small_files(45);
        bombs.iter().for_each(|(_, bytes)| data.push_encoded(bytes.clone(), Label::None).unwrap());
        let loader = DataLoader::builder(data).transform(Resize::new((16, 16))).batch_size(10).workers(2);
        let loader = place.build(loader.on_error(OnError::Skip { max_share: 0.5 }));
        let peak = peak_kib();
        let batches: Vec<_> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
        let grown = peak_kib().saturating_sub(peak);
        // Decoded, 60,000 x 60,000 pixels would take 14 GB.
        assert!(grown < 256 << 10, "{}: {grown} KiB", place.name);
        for (number, (format, _)) in (45..).zip(&bombs) {
            let failure = batches.iter().flat_map(|batch| batch.failures()).find(|failure| failure.id == number);
            let error = &failure.unwrap_or_else(|| panic!("{}: {format} was taken", place.name)).error;
            assert!(matches!(error.kind(), ErrorKind::TooManyPixels { .. }), "{}: {format}: {error}", place.name);
            assert!(error.to_string().contains("max_pixels"), "{error}");
        }
    });
}

/// Returns the process's peak memory so far in KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A data set that panics at sample 7, and panics again when asked for its name.
struct Cursed(InMemory);

impl Dataset for Cursed {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        assert!(index != 7, "read {index}");
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        panic!("name {index}")
    }
}

#[test]
fn a_panic_while_a_panic_is_reported() {
    each_place("panics", |place| {
        let builder = DataLoader::builder(Cursed(small_files(20))).transform(CenterCrop::new(16)).batch_size(4);
        let mut run = place.build(builder.workers(3)).epoch(0).unwrap();
        let error = run.find_map(Result::err).unwrap_or_else(|| panic!("{}: no error", place.name));
        let ErrorKind::Panic { stage, message } = error.kind() else { panic!("{}: {error}", place.name) };
        assert_eq!((*stage, message.as_str()), ("worker", "name 7"), "{}", place.name);
        assert!(run.next().is_none());
    });
}

fn endless() -> DataLoaderBuilder {
    DataLoader::builder(small_files(400)).transform(RandomResizedCrop::new(24)).batch_size(4).workers(3)
}

#[test]
fn a_caller_that_stops_and_never_returns() {
    each_place("stopping", |place| {
        let loader = place.build(endless());
        for taken in [0, 1, 7] {
            let mut run = loader.epochs(0..100).unwrap();
            run.by_ref().take(taken).for_each(|batch| drop(batch.unwrap()));
            let before = rest(&loader, place);
            // The queue has a few batches of the first of the hundred epochs.
            assert!(before.0 < 400 * 3, "{}: {before:?} has no end", place.name);
            let running = threads().len();
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!((loader.stats().images, buffers_made(place)), before, "{}: works on", place.name);
            assert_eq!(threads().len(), running, "{}", place.name);
            // Another run of the same loader works as before, and the idle run goes on when it is asked for a batch.
            assert_eq!(loader.epoch(7).unwrap().filter(Result::is_ok).count(), 100, "{}", place.name);
            assert!(run.next().unwrap().is_ok(), "{}", place.name);
            let started = Instant::now();
            drop(run);
            assert!(started.elapsed() < Duration::from_secs(1), "{}: {:?}", place.name, started.elapsed());
            assert_eq!(left_over(), [""; 0], "{}", place.name);
        }
    });
}

/// Returns the loader's images and the device's buffers once neither has grown for a second, which a busy machine with an
/// empty cache of shaders reaches late.
fn rest(loader: &DataLoader, place: &Place) -> (u64, u64) {
    let (started, mut since, mut last) = (Instant::now(), Instant::now(), (0, 0));
    while since.elapsed() < Duration::from_secs(1) {
        assert!(started.elapsed() < Duration::from_secs(60), "{}: works on after {last:?}", place.name);
        std::thread::sleep(Duration::from_millis(20));
        let now = (loader.stats().images, buffers_made(place));
        if now != last {
            (since, last) = (Instant::now(), now);
        }
    }
    last
}

fn buffers_made(place: &Place) -> u64 {
    if let Backend::Gpu(gpu) = &place.backend { gpu.buffers_made() } else { 0 }
}
