//! The samples: a folder of files, or pictures drawn in memory; as files, or as pixels where the recipe asks for those.

use super::photographs::Texture;
use bytes::Bytes;
use gpufeed::dataset::{self, Format};
use gpufeed::transforms::{Grayscale, Resize};
use gpufeed::{Backend, DType, DataLoader, Dataset, ImageFolder, InMemory, Label, Layout, PixelFormat, SampleData};
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use std::error::Error;
use std::sync::Arc;
use std::thread::available_parallelism;

/// What `--data` says for pictures drawn in memory.
pub(super) const PROCEDURAL: &str = "procedural";
/// Of the JPEG files: 40 to 110 KB each, as ImageNet's.
pub(super) const QUALITY: u8 = 90;
/// Different files, and how often each comes in an epoch of 1,024.
const FILES: usize = 128;
const TIMES: usize = 8;
/// Sizes of ImageNet's photographs, by turns.
const SIZES: [(u32, u32); 4] = [(500, 375), (500, 375), (375, 500), (500, 333)];
const CLASSES: u32 = 10;
/// Most samples whose bytes are counted.
const MEASURED: usize = 1024;

/// The samples of a run.
pub(super) struct Source {
    pub(super) dataset: Arc<dyn Dataset>,
    /// Bytes that an epoch reads.
    pub(super) bytes: u64,
    /// What a reader of the report has to know about them.
    pub(super) note: Option<String>,
}

/// Images that lie in memory as pixels.
#[derive(Clone, Copy)]
struct Resident {
    side: u32,
    format: PixelFormat,
    images: usize,
    times: usize,
}

/// What the recipe reads if not files.
fn resident(recipe: &str) -> Option<Resident> {
    let resident = |side, format, images, times| Some(Resident { side, format, images, times });
    match recipe {
        "augment-only" => resident(384, PixelFormat::Rgb8, 64, 16),
        "cifar-train" => resident(32, PixelFormat::Rgb8, 50_000, 1),
        "mnist-train" => resident(28, PixelFormat::R8, 50_000, 1),
        _ => None,
    }
}

/// As a report has it: the folder's own name, for reports are shown to others, and where the folder lies is nobody's
/// business.
pub(super) fn name(data: &str) -> String {
    let folder = std::path::absolute(data).ok();
    let last = folder.as_deref().and_then(std::path::Path::file_name);
    last.map_or_else(|| data.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Opens `data`, a path or `procedural`, as `recipe` (a name or a file) wants it.
pub(super) fn open(data: &str, recipe: &str) -> Result<Source, Box<dyn Error>> {
    match (resident(recipe), data) {
        (None, PROCEDURAL) => files(),
        (None, path) if Format::detect(path) != Format::Folder => whole(path),
        (None, folder) => {
            let folder = ImageFolder::open(folder)?;
            let mut bytes = 0;
            for path in (0..folder.len()).filter_map(|index| folder.path(index)) {
                bytes += std::fs::metadata(path).map_err(|error| format!("data: {}: {error}", path.display()))?.len();
            }
            Ok(Source { dataset: Arc::new(folder), bytes, note: None })
        }
        (Some(resident), PROCEDURAL) => {
            let texture = Texture::new();
            let Resident { side, format, images, .. } = resident;
            let picture = |number: usize| Ok(texture.picture(number as u64, side, side, format.channels()));
            pixels(resident, in_parallel(images, picture)?, "pictures drawn in memory")
        }
        (Some(resident), folder) => {
            let images = shrunk(folder, resident)?;
            pixels(resident, images, &format!("the first photographs of {folder}, resized beforehand"))
        }
    }
}

/// A data set of another format, all of it.
fn whole(path: &str) -> Result<Source, Box<dyn Error>> {
    let dataset: Arc<dyn Dataset> = Arc::from(dataset::open(path)?.train);
    let (bytes, measured) = bytes(&*dataset)?;
    let note = (measured < dataset.len())
        .then(|| format!("data: the bytes of an epoch are estimated from {measured} of {} samples", dataset.len()));
    Ok(Source { dataset, bytes, note })
}

/// What an epoch reads, by samples from all over the data set: to read all of it would take as long as an epoch. Also
/// how many were read.
fn bytes(dataset: &dyn Dataset) -> Result<(u64, usize), Box<dyn Error>> {
    let (mut buffer, mut bytes, mut measured) = (Vec::new(), 0, 0);
    for index in (0..dataset.len()).step_by(dataset.len().div_ceil(MEASURED).max(1)) {
        measured += 1;
        bytes += match dataset.read(index, &mut buffer)?.data {
            SampleData::Encoded(file) => file.len() as u64,
            SampleData::Pixels(pixels) => pixels.bytes().len() as u64,
        };
    }
    Ok(((bytes as f64 * dataset.len() as f64 / measured.max(1) as f64).round() as u64, measured))
}

/// JPEG files in memory.
fn files() -> Result<Source, Box<dyn Error>> {
    let texture = Texture::new();
    let files = in_parallel(FILES, |number| {
        let (width, height) = SIZES[number % SIZES.len()];
        let pixels = texture.picture(number as u64, width, height, 3);
        let mut file = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut file, QUALITY);
        encoder.encode(&pixels, width, height, ExtendedColorType::Rgb8).map_err(|error| error.to_string())?;
        Ok(file)
    })?;
    let bytes = files.iter().map(|file| file.len() as u64).sum::<u64>() * TIMES as u64;
    // `Bytes` is a counted reference: what comes again is not copied.
    let files: Vec<Bytes> = files.into_iter().map(Bytes::from).collect();
    let class = (0u32..).map(|number| Label::Class(number % CLASSES));
    let dataset: InMemory = files.iter().cycle().take(FILES * TIMES).cloned().zip(class).collect();
    let note = format!(
        "data: {FILES} JPEG files drawn in memory, 4:4:4, {TIMES} times an epoch; no disk is read, and chroma takes more \
         decoding than in photographs, which are mostly 4:2:0"
    );
    Ok(Source { dataset: Arc::new(dataset), bytes, note: Some(note) })
}

fn pixels(resident: Resident, images: Vec<Vec<u8>>, origin: &str) -> Result<Source, Box<dyn Error>> {
    let Resident { side, format, images: wanted, times } = resident;
    let note = format!(
        "data: {wanted} images of {side}x{side} {format:?} in memory, {times} times an epoch ({} different: {origin}); \
         nothing is read or decoded",
        images.len()
    );
    let images: Vec<Bytes> = images.into_iter().map(Bytes::from).collect();
    let mut dataset = InMemory::new();
    for (image, number) in images.iter().cycle().take(wanted * times).zip(0u32..) {
        dataset.push_pixels(side, side, format, image.clone(), Label::Class(number % CLASSES))?;
    }
    let bytes = dataset.len() as u64 * u64::from(side) * u64::from(side) * format.bytes_per_pixel() as u64;
    Ok(Source { dataset: Arc::new(dataset), bytes, note: Some(note) })
}

/// The photographs of a folder as pixels: as many as there are, or are wanted.
fn shrunk(folder: &str, resident: Resident) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let Resident { side, format, images, .. } = resident;
    let folder = ImageFolder::open(folder)?;
    let wanted = images.min(folder.len());
    let mut loader = DataLoader::builder(folder).transform(Resize::new((side, side))).batch_size(wanted.min(64));
    if format.channels() == 1 {
        loader = loader.transform(Grayscale::default());
    }
    let loader = loader.output(Layout::Nhwc, DType::U8).build(&Backend::Cpu)?;
    let mut images = Vec::with_capacity(wanted);
    for batch in loader.epoch(0)? {
        let batch = batch?;
        let bytes = batch.to_host()?;
        images.extend(bytes.chunks_exact(bytes.len() / batch.len()).map(<[u8]>::to_vec));
        if images.len() >= wanted {
            images.truncate(wanted);
            break;
        }
    }
    Ok(images)
}

/// `make(0)` to `make(count - 1)` on every core, in order.
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

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::SampleData;

    /// Every sample's size and format, which must be one, and the first ones' bytes.
    fn pixels(source: &Source) -> ((u32, u32, PixelFormat), Vec<Vec<u8>>) {
        let (mut shapes, mut first, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..source.dataset.len() {
            let SampleData::Pixels(pixels) = source.dataset.read(index, &mut buffer).unwrap().data else {
                panic!("sample {index} is encoded");
            };
            shapes.push((pixels.width(), pixels.height(), pixels.format()));
            if index < 100 {
                first.push(pixels.bytes().to_vec());
            }
        }
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "{shapes:?}");
        (shapes[0], first)
    }

    #[test]
    fn the_bytes_of_an_epoch_are_counted_or_estimated() {
        let files = |count: usize| (0..count).map(|i| (vec![0; 1 + i % 2 * 200], Label::None)).collect::<InMemory>();
        assert_eq!(bytes(&files(1000)).unwrap(), (101_000, 1000));
        assert_eq!(bytes(&files(5000)).unwrap(), (505_000, 1000), "every fifth");
        assert!(bytes(&files(1025)).unwrap().1 < 1025);
    }

    #[test]
    fn recipes_that_read_pixels_get_them_drawn() {
        let source = open(PROCEDURAL, "augment-only").unwrap();
        let (shape, images) = pixels(&source);
        assert_eq!((shape, source.dataset.len()), ((384, 384, PixelFormat::Rgb8), 1024));
        assert_eq!((&images[0], &images[1]), (&images[64], &images[65]), "64 images, again and again");
        assert_ne!(images[0], images[63]);
        assert_eq!(source.bytes, 1024 * 384 * 384 * 3);

        let source = open(PROCEDURAL, "mnist-train").unwrap();
        let (shape, images) = pixels(&source);
        assert_eq!((shape, source.dataset.len()), ((28, 28, PixelFormat::R8), 50_000));
        assert_ne!(images[0], images[64]);
        assert_eq!(source.dataset.channels(), 1);
    }

    #[test]
    fn recipes_that_read_pixels_get_a_folders_photographs() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("class");
        std::fs::create_dir_all(&class).unwrap();
        for number in 0..3u8 {
            let picture = image::RgbImage::from_pixel(40, 30, image::Rgb([80 * number, 20, 200]));
            picture.save(class.join(format!("{number}.png"))).unwrap();
        }
        let folder = root.path().to_str().unwrap();
        let (shape, images) = pixels(&open(folder, "cifar-train").unwrap());
        assert_eq!(shape, (32, 32, PixelFormat::Rgb8));
        assert_eq!((&images[1][..3], &images[1]), (&[80, 20, 200][..], &images[4]));
        let (shape, images) = pixels(&open(folder, "mnist-train").unwrap());
        // 0.587 × 20 + 0.114 × 200 = 34.5, and less than a whole level is cut, as torchvision's conversion does.
        assert_eq!((shape, images[0][0]), ((28, 28, PixelFormat::R8), 34));

        let files = open(folder, "imagenet-train").unwrap();
        let on_disk = std::fs::read_dir(&class).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
        assert_eq!((files.dataset.len(), files.bytes), (3, on_disk.sum()));
    }
}
