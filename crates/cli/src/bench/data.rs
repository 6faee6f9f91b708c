//! The samples: a data set as it is, or pictures drawn in memory, as files or as the pixels that a recipe is made for.

use super::photographs::Texture;
use crate::{dataset, error_text};
use bytes::Bytes;
use gpufeed::{Dataset, InMemory, Label, PixelFormat, SampleData};
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
    /// True if they are pictures drawn in memory, not a data set.
    pub(super) drawn: bool,
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

/// The pixels that are drawn for the recipe; `None` if files are drawn for it.
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

/// Opens `data`: what a path names is taken as it is, whatever the recipe; `procedural` is drawn as `recipe` (a name or a
/// file) wants it.
pub(super) fn open(data: &str, recipe: &str) -> Result<Source, Box<dyn Error>> {
    if data != PROCEDURAL {
        return there(data);
    }
    let Some(resident) = resident(recipe) else { return files() };
    let texture = Texture::new();
    let Resident { side, format, images, .. } = resident;
    let picture = |number: usize| Ok(texture.picture(number as u64, side, side, format.channels()));
    pixels(resident, in_parallel(images, picture)?)
}

/// A data set that is there, all of it or its part to train on.
fn there(path: &str) -> Result<Source, Box<dyn Error>> {
    let source = dataset::open(path)?.train;
    let dataset = source.data.clone();
    if source.file(0).is_some() {
        let files = (0..dataset.len()).filter_map(|index| source.file(index));
        // Files that are missing are passed over, as the line does.
        let bytes = files.filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum();
        return Ok(Source { dataset, bytes, drawn: false, note: None });
    }
    let (bytes, measured) = bytes(&*dataset)?;
    let note = (measured < dataset.len())
        .then(|| format!("data: the bytes of an epoch are estimated from {measured} of {} samples", dataset.len()));
    Ok(Source { dataset, bytes, drawn: false, note })
}

/// What an epoch reads, by samples from all over the data set: to read all of it would take as long as an epoch. Also
/// how many were read.
fn bytes(dataset: &dyn Dataset) -> Result<(u64, usize), Box<dyn Error>> {
    let (mut buffer, mut bytes, mut measured, mut last) = (Vec::new(), 0, 0, None);
    for index in (0..dataset.len()).step_by(dataset.len().div_ceil(MEASURED).max(1)) {
        bytes += match dataset.read(index, &mut buffer) {
            Ok(sample) => match sample.data {
                SampleData::Encoded(file) => file.len() as u64,
                SampleData::Pixels(pixels) => pixels.bytes().len() as u64,
            },
            // Passed over, as the line does.
            Err(error) => {
                last = Some(error);
                continue;
            }
        };
        measured += 1;
    }
    match last {
        Some(error) if measured == 0 => {
            Err(format!("none of the samples can be read; the last: {}", error_text::describe(&error)).into())
        }
        _ => Ok(((bytes as f64 * dataset.len() as f64 / measured.max(1) as f64).round() as u64, measured)),
    }
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
    Ok(Source { dataset: Arc::new(dataset), bytes, drawn: true, note: Some(note) })
}

fn pixels(resident: Resident, images: Vec<Vec<u8>>) -> Result<Source, Box<dyn Error>> {
    let Resident { side, format, images: wanted, times } = resident;
    let note = format!(
        "data: {wanted} images of {side}x{side} {format:?} drawn in memory, {times} times an epoch; nothing is read or decoded"
    );
    let images: Vec<Bytes> = images.into_iter().map(Bytes::from).collect();
    let mut dataset = InMemory::new();
    for (image, number) in images.iter().cycle().take(wanted * times).zip(0u32..) {
        dataset.push_pixels(side, side, format, image.clone(), Label::Class(number % CLASSES))?;
    }
    let bytes = dataset.len() as u64 * u64::from(side) * u64::from(side) * format.bytes_per_pixel() as u64;
    Ok(Source { dataset: Arc::new(dataset), bytes, drawn: true, note: Some(note) })
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
        assert_eq!((source.dataset.channels(), source.drawn), (1, true));
    }

    #[test]
    fn a_data_set_is_used_as_it_is_whatever_the_recipe() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("class");
        std::fs::create_dir_all(&class).unwrap();
        for number in 0..3u8 {
            let picture = image::RgbImage::from_pixel(40, 30, image::Rgb([80 * number, 20, 200]));
            picture.save(class.join(format!("{number}.png"))).unwrap();
        }
        let on_disk = std::fs::read_dir(&class).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
        let on_disk: u64 = on_disk.sum();
        // It has no bytes, and a place in the epoch.
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", class.join("dangling.png")).unwrap();
        let samples = if cfg!(unix) { 4 } else { 3 };
        for recipe in ["imagenet-train", "cifar-train", "mnist-train", "augment-only"] {
            let source = open(root.path().to_str().unwrap(), recipe).unwrap();
            assert_eq!((source.dataset.len(), source.bytes, source.drawn), (samples, on_disk, false), "{recipe}");
        }
        let npy = root.path().join("x.npy");
        std::fs::write(&npy, npy_of(5, 32 * 32 * 3)).unwrap();
        let source = open(npy.to_str().unwrap(), "cifar-train").unwrap();
        let (shape, _) = pixels(&source);
        assert_eq!((shape, source.dataset.len(), source.bytes), ((32, 32, PixelFormat::Rgb8), 5, 5 * 3072));
    }

    /// So many images of 32x32 in RGB.
    fn npy_of(images: usize, bytes: usize) -> Vec<u8> {
        let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({images}, 32, 32, 3), }}");
        header += &" ".repeat(117 - header.len());
        header.push('\n');
        [b"\x93NUMPY\x01\x00", &118u16.to_le_bytes()[..], header.as_bytes(), &vec![7; images * bytes]].concat()
    }

    #[test]
    fn samples_that_cannot_be_read_are_passed_over_until_none_is_left() {
        struct Gaps(usize);
        impl Dataset for Gaps {
            fn len(&self) -> usize {
                10
            }

            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<gpufeed::Sample<'a>> {
                if index < self.0 {
                    return Err(gpufeed::ErrorKind::Decode { format: "image", reason: "gone".into() }.into());
                }
                buffer.clear();
                buffer.extend([0; 100]);
                Ok(gpufeed::Sample { data: SampleData::Encoded(buffer), label: Label::None })
            }

            fn name(&self, index: usize) -> String {
                format!("sample {index}")
            }
        }
        assert_eq!(bytes(&Gaps(1)).unwrap(), (1000, 9));
        assert!(bytes(&Gaps(10)).unwrap_err().to_string().contains("gone"));
    }
}
