//! Opens `--data`: a data set as it is, or pictures drawn in memory for the recipe.

use super::samples::{field_bytes, image_bytes};
use super::{BenchData, procedural};
use crate::dataset::FieldArguments;
use crate::{dataset, error_text};
use gpufeed::Dataset;
use std::error::Error;

/// The value of `--data` for pictures drawn in memory.
pub(crate) const PROCEDURAL: &str = "procedural";
/// The most samples that are read to estimate the bytes of an epoch.
const MEASURED: usize = 1024;

/// Returns the data's name for the report: the name of the folder without its path. Reports are shown to others, and a
/// path may be private.
pub(crate) fn name(data: &str) -> String {
    let shown = gpufeed::storage::Location::from(data).shown();
    let data = &*shown.to_string_lossy();
    let folder = std::path::absolute(data).ok();
    let last = folder.as_deref().and_then(std::path::Path::file_name);
    last.map_or_else(|| data.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Opens the data set at the path `data`, for any recipe. If `data` is `procedural`, draws samples that suit `recipe`,
/// a name or a file.
pub(crate) fn open(data: &str, recipe: &str, fields: &FieldArguments) -> Result<BenchData, Box<dyn Error>> {
    if data == PROCEDURAL { procedural::draw(recipe) } else { open_dataset(data, fields) }
}

/// Opens a data set: all of it, or its training part.
fn open_dataset(path: &str, fields: &FieldArguments) -> Result<BenchData, Box<dyn Error>> {
    let source = dataset::open_with(path, fields)?;
    let dataset = source.data.clone();
    // Files of fields are only known to the samples.
    if source.file(0).is_some() && dataset.fields().is_empty() {
        let files = (0..dataset.len()).filter_map(|index| source.file(index));
        // Skips missing files, as the pipeline does.
        let bytes = files.filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum();
        return Ok(BenchData { dataset, bytes, drawn: false, note: None });
    }
    let (bytes, measured) = epoch_bytes(&*dataset)?;
    let note = (measured < dataset.len())
        .then(|| format!("data: the bytes of an epoch are estimated from {measured} of {} samples", dataset.len()));
    Ok(BenchData { dataset, bytes, drawn: false, note })
}

/// Estimates the bytes that an epoch reads, fields included, from samples spread over the data set, because reading all would take as
/// long as an epoch. From a store it reads the first samples, because each random one would fetch a block. Also returns
/// the number of samples that it read.
fn epoch_bytes(dataset: &dyn Dataset) -> Result<(u64, usize), Box<dyn Error>> {
    let (mut buffer, mut bytes, mut measured, mut last) = (Vec::new(), 0, 0, None);
    let step = if crate::dataset::is_remote(dataset) { 1 } else { dataset.len().div_ceil(MEASURED).max(1) };
    for index in (0..dataset.len()).step_by(step).take(MEASURED) {
        bytes += match dataset.read(index, &mut buffer) {
            Ok(sample) => image_bytes(&sample.data) + field_bytes(&sample),
            // Skips unreadable samples, as the pipeline does.
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

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::{InMemory, Label, PixelFormat, SampleData};

    /// Returns the size and format that all samples have, and the bytes of the first 100.
    fn pixels(source: &BenchData) -> ((u32, u32, PixelFormat), Vec<Vec<u8>>) {
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
        assert_eq!(epoch_bytes(&files(1000)).unwrap(), (101_000, 1000));
        assert_eq!(epoch_bytes(&files(5000)).unwrap(), (505_000, 1000), "every fifth");
        assert!(epoch_bytes(&files(1025)).unwrap().1 < 1025);
    }

    #[test]
    fn recipes_that_read_pixels_get_them_drawn() {
        let source = open(PROCEDURAL, "augment-only", &FieldArguments::default()).unwrap();
        let (shape, images) = pixels(&source);
        assert_eq!((shape, source.dataset.len()), ((384, 384, PixelFormat::Rgb8), 1024));
        assert_eq!((&images[0], &images[1]), (&images[64], &images[65]), "64 images, again and again");
        assert_ne!(images[0], images[63]);
        assert_eq!(source.bytes, 1024 * 384 * 384 * 3);

        let source = open(PROCEDURAL, "mnist-train", &FieldArguments::default()).unwrap();
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
        // A dangling link counts as a sample, and its file adds no bytes.
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", class.join("dangling.png")).unwrap();
        let samples = if cfg!(unix) { 4 } else { 3 };
        for recipe in ["imagenet-train", "cifar-train", "mnist-train", "augment-only"] {
            let source = open(root.path().to_str().unwrap(), recipe, &FieldArguments::default()).unwrap();
            assert_eq!((source.dataset.len(), source.bytes, source.drawn), (samples, on_disk, false), "{recipe}");
        }
        let npy = root.path().join("x.npy");
        std::fs::write(&npy, npy_of(5, 32 * 32 * 3)).unwrap();
        let source = open(npy.to_str().unwrap(), "cifar-train", &FieldArguments::default()).unwrap();
        let (shape, _) = pixels(&source);
        assert_eq!((shape, source.dataset.len(), source.bytes), ((32, 32, PixelFormat::Rgb8), 5, 5 * 3072));
    }

    /// Returns a `.npy` file of RGB images of 32x32.
    fn npy_of(images: usize, bytes: usize) -> Vec<u8> {
        let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({images}, 32, 32, 3), }}");
        header += &" ".repeat(117 - header.len());
        header.push('\n');
        [b"\x93NUMPY\x01\x00", &118u16.to_le_bytes()[..], header.as_bytes(), &vec![7; images * bytes]].concat()
    }

    #[test]
    fn unreadable_samples_are_skipped_until_none_is_left() {
        struct Gaps(usize);
        impl Dataset for Gaps {
            fn len(&self) -> usize {
                10
            }

            fn inner(&self) -> Option<&dyn Dataset> {
                None
            }

            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<gpufeed::Sample<'a>> {
                if index < self.0 {
                    return Err(gpufeed::ErrorKind::Decode { format: "image", reason: "gone".into() }.into());
                }
                buffer.clear();
                buffer.extend([0; 100]);
                Ok(gpufeed::Sample::new(SampleData::Encoded(buffer), Label::None))
            }

            fn name(&self, index: usize) -> String {
                format!("sample {index}")
            }
        }
        assert_eq!(epoch_bytes(&Gaps(1)).unwrap(), (1000, 9));
        assert!(epoch_bytes(&Gaps(10)).unwrap_err().to_string().contains("gone"));
    }
}
