//! Tests that memory is not allocated anew in every epoch, does not grow with the epochs, and stays within what was
//! declared.
//!
//! A global allocator counts host memory (allocations from 16 KiB on: every image, crop and batch here is larger).
//! gpufeed counts the GPU buffers that it makes, and wgpu those in its driver interface. Not counted:
//! `Queue::write_buffer` for the parameters of a submission (a few KiB), and what the driver allocates inside.

#![expect(clippy::print_stdout, reason = "the measured numbers are worth a look")]

use gpufeed::transforms::{
    BatchTransform, ColorJitter, CutMix, GaussianBlur, MixUp, Normalize, RandAugment, RandomErasing, RandomResizedCrop,
};
use gpufeed::{
    Backend, Batch, DataLoader, DataLoaderBuilder, Dataset, ErrorKind, ImageFolder, InMemory, Label, PixelFormat,
    Result, Sample, Semantics, wgpu::Backend as Api,
};
use gpufeed_testing::counting::{self, LARGE, made_so_far, peak_of};
use gpufeed_testing::pipeline::{Place, encoded, picture, places};
use gpufeed_testing::watch::{alone, gpu_buffers};
use image::ImageFormat;
use std::sync::Arc;
use tempfile::TempDir;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

const IMAGES: u32 = 24;
const WORKERS: usize = 2;

/// Returns the size of image `number`: all differ, and one is much larger, which only one worker meets in the first
/// epoch.
fn size(number: u32) -> (u32, u32) {
    if number == 7 {
        return (500, 400);
    }
    (200 + 5 * (number % 7), 150 + 9 * (number % 5))
}

fn pixels(format: PixelFormat, bytes: usize) -> Arc<dyn Dataset> {
    let mut data = InMemory::new();
    for number in 0..IMAGES {
        let (width, height) = size(number);
        let pixels = vec![number as u8; width as usize * height as usize * bytes];
        data.push_pixels(width, height, format, pixels, Label::Class(number)).unwrap();
    }
    Arc::new(data)
}

fn files(format: ImageFormat) -> (TempDir, Arc<dyn Dataset>) {
    folder(|picture| encoded(picture, format))
}

fn progressive_files() -> (TempDir, Arc<dyn Dataset>) {
    folder(|picture| {
        let mut bytes = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 80);
        encoder.set_progressive(true);
        let (width, height) = (picture.width() as u16, picture.height() as u16);
        encoder.encode(picture.as_raw(), width, height, jpeg_encoder::ColorType::Rgb).unwrap();
        bytes
    })
}

fn folder(encode: impl Fn(image::RgbImage) -> Vec<u8>) -> (TempDir, Arc<dyn Dataset>) {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("ape")).unwrap();
    for number in 0..IMAGES {
        let (width, height) = size(number);
        let bytes = encode(picture(number, width, height));
        std::fs::write(root.path().join(format!("ape/{number:02}.jpg")), bytes).unwrap();
    }
    let data = ImageFolder::open(root.path()).unwrap();
    (root, Arc::new(data))
}

/// Returns the settings of a loader with batches of 8 images, 384 KiB each.
fn builder(data: Arc<dyn Dataset>) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).transform(RandomResizedCrop::new(64));
    let builder = builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).transform(Normalize::IMAGENET);
    builder.batch_size(8).workers(WORKERS).slot_bytes(16 << 20).shuffle(true)
}

/// Like [`builder`], but the jitter works on the whole image first: its rows and an intermediate image have the
/// source's size, which is another for every image.
fn two_stages(data: Arc<dyn Dataset>) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1));
    let builder = builder.transform(RandomResizedCrop::new(64)).transform(Normalize::IMAGENET);
    builder.batch_size(8).workers(WORKERS).slot_bytes(16 << 20).shuffle(true)
}

/// Like [`builder`], but batches are mixed.
fn mixed(data: Arc<dyn Dataset>) -> DataLoaderBuilder {
    builder(data).batch_transform(BatchTransform::choice([MixUp::new(0.8).into(), CutMix::new(1.0).into()]))
}

/// A recipe with a policy in 8-bit numbers: its warps, blurs and statistics have intermediates.
fn rand_augment(data: Arc<dyn Dataset>) -> DataLoaderBuilder {
    policy(data).semantics(Semantics::Uint8)
}

/// The same in floats, on the whole image: intermediates have the source's size.
fn policy(data: Arc<dyn Dataset>) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).transform(RandAugment::new(3, 9)).transform(GaussianBlur::new(5));
    let builder = builder.transform(RandomResizedCrop::new(64)).transform(RandAugment::default());
    let builder = builder.transform(Normalize::IMAGENET).transform(RandomErasing::new(0.1));
    builder.batch_size(8).workers(WORKERS).slot_bytes(16 << 20).shuffle(true)
}

fn epochs(loader: &DataLoader, epochs: std::ops::Range<u64>) {
    // Each epoch is a run of its own, with threads of its own.
    epochs.for_each(|epoch| loader.epoch(epoch).unwrap().for_each(|batch| drop(batch.unwrap())));
}

/// Returns the number of buffers that gpufeed has made, and of those that the driver has; zeros on the CPU.
fn buffers(place: &Place) -> (u64, isize) {
    let Backend::Gpu(gpu) = &place.backend else { return (0, 0) };
    (gpu.buffers_made(), gpu_buffers(gpu).0)
}

#[test]
fn after_the_first_epoch_nothing_of_an_images_size_is_made() {
    alone(300, "allocations", || {
        let (_jpegs, jpeg) = files(ImageFormat::Jpeg);
        let (_pngs, png) = files(ImageFormat::Png);
        let (_progressive, progressive) = progressive_files();
        // The number is how many large allocations a decoder may make per image: none for a JPEG; the png crate makes
        // two windows and three row buffers, because it reads the header twice.
        let rgb = pixels(PixelFormat::Rgb8, 3);
        type Builder = fn(Arc<dyn Dataset>) -> DataLoaderBuilder;
        let cases: [(_, _, _, Builder); 9] = [
            ("RGB pixels", Arc::clone(&rgb), 0, builder),
            ("RGB pixels, mixed", Arc::clone(&rgb), 0, mixed),
            ("RGB pixels, two stages", Arc::clone(&rgb), 0, two_stages),
            ("RGB pixels, RandAugment", Arc::clone(&rgb), 0, policy),
            ("RGB pixels, RandAugment in 8 bits", rgb, 0, rand_augment),
            ("float pixels", pixels(PixelFormat::F32 { channels: 3 }, 12), 0, builder),
            ("JPEG files", jpeg, 0, builder),
            ("progressive JPEG files", progressive, 0, builder),
            ("PNG files", png, 5, builder),
        ];
        for place in places() {
            for (what, data, of_decoder, builder) in &cases {
                let built = place.try_build(builder(Arc::clone(data)));
                // Policies may have no shaders.
                let Ok(loader) = built else {
                    assert!(what.contains("RandAugment") && place.is_shaders(), "{}, {what}: {built:?}", place.name);
                    continue;
                };
                epochs(&loader, 0..1);
                let (large, before) = (made_so_far(), buffers(place));
                epochs(&loader, 1..6);
                let an_image = (made_so_far() - large) as f64 / f64::from(5 * IMAGES);
                assert!(an_image <= f64::from(*of_decoder), "{}, {what}: {an_image} an image", place.name);
                assert_eq!(buffers(place), before, "{}, {what}: GPU buffers", place.name);
            }
        }
    });
}

/// A data set that reads from another one, and allocates memory for each sample.
struct Wasteful(Arc<dyn Dataset>);

impl Dataset for Wasteful {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        *buffer = vec![0; LARGE];
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

#[test]
fn the_counters_notice_what_is_made_in_an_epoch() {
    alone(60, "twin", || {
        for place in places() {
            let loader = place.build(builder(Arc::new(Wasteful(pixels(PixelFormat::Rgb8, 3)))));
            epochs(&loader, 0..1);
            let (large, before) = (made_so_far(), buffers(place));
            epochs(&loader, 1..2);
            assert_eq!(made_so_far() - large, u64::from(IMAGES), "{}", place.name);
            // Reading a batch back makes a buffer each time, and frees it.
            loader.epoch(2).unwrap().for_each(|batch| drop(batch.unwrap().to_host().unwrap()));
            let made = if matches!(place.backend, Backend::Cpu) { 0 } else { u64::from(IMAGES / 8) };
            assert_eq!(buffers(place), (before.0 + made, before.1), "{}", place.name);
        }
    });
}

/// Buffers are counted in `device.rs`, so those made elsewhere would not be counted.
#[test]
fn every_buffer_is_made_in_one_place() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpu")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let (inner, here): (Vec<_>, Vec<_>) =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(here);
    }
    let mut calls = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let here = text.matches("create_buffer(").count() + text.matches("create_buffer_init(").count();
        calls.extend(std::iter::repeat_n(path.file_name().unwrap().to_str().unwrap().to_owned(), here));
    }
    calls.sort();
    // `Gpu::buffer`; a probe of four bytes; what `Gpu::exported` and `Gpu::host_staging_buffer` call, which count it.
    assert_eq!(calls, ["device.rs", "errors.rs", "vulkan.rs", "vulkan.rs"]);
}

/// Returns the process's resident memory in bytes.
#[cfg(target_os = "linux")]
fn resident() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: i64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as i64
}

#[test]
#[cfg(target_os = "linux")]
fn resident_memory_does_not_drift_over_fifty_epochs() {
    alone(500, "drift", || {
        let (_jpegs, jpeg) = files(ImageFormat::Jpeg);
        for place in places() {
            let loader = place.build(builder(Arc::clone(&jpeg)));
            epochs(&loader, 0..5);
            let before = resident();
            epochs(&loader, 5..55);
            let drift = resident() - before;
            println!("{}: {} KiB over 50 epochs, of {} MiB", place.name, drift >> 10, before >> 20);
            assert!(drift < 8 << 20, "{}: {drift} bytes", place.name);
        }
    });
}

/// Returns the bytes of memory that `builder` declares, without batches that the caller holds.
fn declared(place: &Place, builder: DataLoaderBuilder) -> u64 {
    match place.try_build(builder.memory_budget(0)).unwrap_err().into_kind() {
        ErrorKind::DoesNotFit { needed, .. } => needed,
        kind => panic!("{}: {kind}", place.name),
    }
}

/// Returns the bytes of GPU memory, where the backend counts them (Vulkan); else 0.
fn gpu_bytes(place: &Place) -> u64 {
    if let Backend::Gpu(gpu) = &place.backend { gpu_buffers(gpu).1 as u64 } else { 0 }
}

#[test]
fn the_declared_budget_is_kept() {
    alone(200, "budget", || {
        let data = pixels(PixelFormat::Rgb8, 3);
        const BATCH: u64 = 8 * 3 * 64 * 64 * 4;
        // Each worker's memory comes on top: an image of 230 x 186 pixels as RGBA, and the workspace of the CPU
        // executor.
        let workers = WORKERS as u64 * (4 * 230 * 186 + (128 << 10));
        for place in places() {
            let base = declared(place, builder(Arc::clone(&data)));
            for held in [0, 20] {
                let budget = base + held * BATCH;
                let gpu = gpu_bytes(place);
                let work = || {
                    let loader = place.build(builder(Arc::clone(&data)).memory_budget(budget));
                    assert!(loader.explain().contains(&mib(base)), "{} is not {base}", loader.explain());
                    epochs(&loader, 0..2);
                    let mut run = loader.epochs(2..50).unwrap();
                    let mut batches: Vec<Batch> = run.by_ref().take(held as usize + 2).map(Result::unwrap).collect();
                    let used = gpu_bytes(place) - gpu;
                    // The caller holds all other batches that the budget allows, until the next one is an error.
                    let full = run.find_map(|batch| batch.map(|batch| batches.push(batch)).err()).unwrap();
                    assert!(matches!(full.kind(), ErrorKind::OutputsHeld { .. }), "{full}");
                    assert!(batches.len() as u64 >= held, "{}: {} held", place.name, batches.len());
                    used
                };
                let (used, host) = peak_of(work);
                println!("{}: declared {budget}, GPU {used}, host {host}", place.name);
                assert!(used <= budget, "{}: {used} bytes on the GPU of {budget}", place.name);
                assert!(host as u64 <= budget + workers, "{}: {host} bytes on the host of {budget}", place.name);
                let counted = matches!(&place.backend, Backend::Gpu(gpu) if gpu.info().backend == Api::Vulkan)
                    || matches!(place.backend, Backend::Cpu);
                // The declaration is not much larger than the memory in use, either.
                assert!(!counted || used + host as u64 > budget / 10 * 8, "{}: {used} + {host}", place.name);
                assert_eq!(gpu_bytes(place), gpu, "{}", place.name);
            }
        }
    });
}

/// On a GPU mixing takes the parameters of a dispatch for each of the four output buffers, on the CPU nothing.
#[test]
fn the_memory_of_mixing_is_declared() {
    alone(60, "mixing", || {
        let data = pixels(PixelFormat::Rgb8, 3);
        for place in places() {
            let more = declared(place, mixed(Arc::clone(&data))) - declared(place, builder(Arc::clone(&data)));
            assert_eq!(more, if place.is_shaders() { 4 * 256 } else { 0 }, "{}", place.name);
            let gpu = gpu_bytes(place);
            let loaders = [mixed(Arc::clone(&data)), builder(Arc::clone(&data))].map(|builder| {
                let before = buffers(place).0;
                let loader = place.build(builder);
                epochs(&loader, 0..1);
                buffers(place).0 - before
            });
            assert_eq!(loaders[0] - loaders[1], more / 256, "{}: buffers", place.name);
            assert_eq!(gpu_bytes(place), gpu, "{}", place.name);
        }
    });
}

/// Returns the text in which `explain` prints the declared memory.
fn mib(bytes: u64) -> String {
    format!("memory: {:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
