//! Draws samples in memory: JPEG files for most recipes, pixels for recipes of small images.

use super::BenchData;
use super::texture::Texture;
use bytes::Bytes;
use gpufeed::{Dataset, InMemory, Label, PixelFormat};
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use std::error::Error;
use std::sync::Arc;
use std::thread::available_parallelism;

/// The quality of the JPEG files. It makes them 40 to 110 KB each, as ImageNet's files are.
pub(crate) const QUALITY: u8 = 90;
/// The number of different files.
const FILES: usize = 128;
/// How often an epoch has each file, which makes 1,024 samples.
const REPETITIONS: usize = 8;
/// The sizes that the files have in turn. ImageNet's photographs have such sizes.
const SIZES: [(u32, u32); 4] = [(500, 375), (500, 375), (375, 500), (500, 333)];
const CLASSES: u32 = 10;

/// The pixels to draw for a recipe.
#[derive(Clone, Copy)]
struct PixelSet {
    side: u32,
    format: PixelFormat,
    /// The number of different images.
    images: usize,
    /// How often an epoch has each image.
    repetitions: usize,
}

/// Returns the pixels to draw for a recipe; `None` if the recipe gets files.
fn pixel_set(recipe: &str) -> Option<PixelSet> {
    let set = |side, format, images, repetitions| Some(PixelSet { side, format, images, repetitions });
    match recipe {
        "augment-only" => set(384, PixelFormat::Rgb8, 64, 16),
        "cifar-train" => set(32, PixelFormat::Rgb8, 50_000, 1),
        "mnist-train" => set(28, PixelFormat::R8, 50_000, 1),
        _ => None,
    }
}

/// Draws the samples for a recipe.
pub(crate) fn draw(recipe: &str) -> Result<BenchData, Box<dyn Error>> {
    pixel_set(recipe).map_or_else(draw_files, draw_pixels)
}

/// Draws one picture of the kind that a recipe gets, for code that needs only its form.
pub(crate) fn one(recipe: &str) -> Result<Arc<dyn Dataset>, Box<dyn Error>> {
    let (width, height, format) =
        pixel_set(recipe).map_or((SIZES[0].0, SIZES[0].1, PixelFormat::Rgb8), |set| (set.side, set.side, set.format));
    let mut dataset = InMemory::new();
    let pixels = vec![0; width as usize * height as usize * format.bytes_per_pixel()];
    dataset.push_pixels(width, height, format, pixels, Label::Class(0))?;
    Ok(Arc::new(dataset))
}

/// Draws JPEG files.
fn draw_files() -> Result<BenchData, Box<dyn Error>> {
    let texture = Texture::new();
    let files = in_parallel(FILES, |number| {
        let (width, height) = SIZES[number % SIZES.len()];
        let pixels = texture.picture(number as u64, width, height, 3);
        let mut file = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut file, QUALITY);
        encoder.encode(&pixels, width, height, ExtendedColorType::Rgb8).map_err(|error| error.to_string())?;
        Ok(file)
    })?;
    let bytes = files.iter().map(|file| file.len() as u64).sum::<u64>() * REPETITIONS as u64;
    // `Bytes` is a counted reference, so repetitions are not copied.
    let files: Vec<Bytes> = files.into_iter().map(Bytes::from).collect();
    let class = (0u32..).map(|number| Label::Class(number % CLASSES));
    let dataset: InMemory = files.iter().cycle().take(FILES * REPETITIONS).cloned().zip(class).collect();
    let note = format!(
        "data: {FILES} JPEG files drawn in memory, 4:4:4, {REPETITIONS} times an epoch; no disk is read, and chroma takes \
         more decoding than in photographs, which are mostly 4:2:0"
    );
    Ok(BenchData { dataset: Arc::new(dataset), bytes, drawn: true, note: Some(note) })
}

/// Draws pixels.
fn draw_pixels(set: PixelSet) -> Result<BenchData, Box<dyn Error>> {
    let PixelSet { side, format, images: count, repetitions } = set;
    let texture = Texture::new();
    let images = in_parallel(count, |number| Ok(texture.picture(number as u64, side, side, format.channels())))?;
    let note = format!(
        "data: {count} images of {side}x{side} {format:?} drawn in memory, {repetitions} times an epoch; nothing is read \
         or decoded"
    );
    let images: Vec<Bytes> = images.into_iter().map(Bytes::from).collect();
    let mut dataset = InMemory::new();
    for (image, number) in images.iter().cycle().take(count * repetitions).zip(0u32..) {
        dataset.push_pixels(side, side, format, image.clone(), Label::Class(number % CLASSES))?;
    }
    let bytes = dataset.len() as u64 * u64::from(side) * u64::from(side) * format.bytes_per_pixel() as u64;
    Ok(BenchData { dataset: Arc::new(dataset), bytes, drawn: true, note: Some(note) })
}

/// Calls `make(0)` to `make(count - 1)` on all cores and returns the results in order.
fn in_parallel(
    count: usize,
    make: impl Fn(usize) -> Result<Vec<u8>, String> + Sync,
) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut made = vec![Vec::new(); count];
    let share = count.div_ceil(available_parallelism().map_or(1, usize::from));
    std::thread::scope(|scope| {
        let make = &make;
        let parts: Vec<_> = made
            .chunks_mut(share)
            .enumerate()
            .map(|(part, images)| {
                scope.spawn(move || {
                    images.iter_mut().zip(part * share..).try_for_each(|(image, number)| {
                        *image = make(number)?;
                        Ok::<(), String>(())
                    })
                })
            })
            .collect();
        for part in parts {
            part.join().map_err(|_| "a thread that draws pictures has panicked".to_owned())??;
        }
        Ok::<(), String>(())
    })?;
    Ok(made)
}
