//! Makes the files that are packed for a sample: the image's own file, or its pixels decoded, reduced and encoded again;
//! and the members of its fields.

use crate::advice::{FactsAlone, PACK_MAX_SIDE, Reason};
use crate::backend::Backend;
use crate::dataset::{Dataset, Label, PixelFormat, Pixels, SampleData};
use crate::decode::{DecodeOptions, ImageFormat, Rect, Scratch, decode, probe};
use crate::error::{Error, Result};
use crate::plan::{DType, Layout, Output, Plan};
use crate::processor::Processor;
use crate::storage::is_network_failure;
use crate::transforms::{Key, Resize};
use image::ImageEncoder as _;
use image::codecs::png::PngEncoder;
use serde::{Deserialize, Serialize};

use super::members::{Member, MemberFields};

/// The settings for encoding images again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recoding {
    /// The longest side in pixels that an image may have. Images with a longer side are reduced.
    pub(super) max_side: Option<u32>,
    /// The JPEG quality. If it is set, all images are encoded again.
    pub(super) quality: Option<u8>,
}

/// The JPEG quality if `max_side` is set and `quality` is not.
const QUALITY: u8 = 90;

/// A sample ready to be written.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) file: Vec<u8>,
    pub(super) label: Label,
    /// The members of its fields.
    pub(super) members: Vec<Member>,
    pub(super) extension: &'static str,
    pub(super) treatment: Treatment,
    /// The number of bytes that the sample has in the source.
    pub(super) read: usize,
}

#[derive(Debug, PartialEq)]
pub(super) enum Treatment {
    /// The file is copied byte for byte.
    Kept,
    /// The image is encoded as JPEG. A sample that had pixels but no file may be encoded as PNG instead.
    Encoded,
    /// The file is copied byte for byte for this reason, although it should have been encoded or is not an image.
    Undecodable(String),
    /// The sample is skipped, because reading it from the source failed for this reason.
    Unreadable(String),
}

/// Makes the files of samples one after the other. It belongs to one thread, and reuses its buffers.
#[derive(Default)]
pub(super) struct Recoder {
    file: Vec<u8>,
    scratch: Scratch,
    /// The last sample's picture before it was encoded as JPEG. It has no pixels if the sample was copied or became a
    /// PNG.
    pub(super) picture: Picture,
}

/// A picture in RGB, whose rows follow each other without gaps.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) rgb: Vec<u8>,
}

impl Recoder {
    /// Makes the files that are packed for sample `index` of a data set, of which these fields are packed. A sample that
    /// cannot be read, or whose fields are not those of the data set, is skipped; a file that cannot be decoded is
    /// copied.
    ///
    /// # Errors
    /// If the sample has float pixels, or more pixels than a JPEG holds; if a store or the network has failed; if the
    /// data set returns an [`ErrorKind::Fatal`](crate::ErrorKind::Fatal).
    pub(super) fn pack(
        &mut self,
        (data, fields): (&dyn Dataset, &MemberFields),
        index: usize,
        recoding: Recoding,
    ) -> Result<Packed> {
        self.picture.rgb.clear();
        let mut file = std::mem::take(&mut self.file);
        let packed = self.sample((data, fields), index, recoding, &mut file);
        self.file = file;
        packed
    }

    fn sample(
        &mut self,
        (data, fields): (&dyn Dataset, &MemberFields),
        index: usize,
        recoding: Recoding,
        buffer: &mut Vec<u8>,
    ) -> Result<Packed> {
        let unreadable = |reason: String| {
            let treatment = Treatment::Unreadable(reason);
            Packed { file: Vec::new(), label: Label::None, members: Vec::new(), extension: "", treatment, read: 0 }
        };
        let sample = match data.read(index, buffer) {
            Ok(sample) => sample,
            // The sample is not at fault, so it is not skipped. Packing ends, and a later attempt may succeed.
            Err(error) if error.is_fatal() || is_network_failure(&error) => return Err(error),
            Err(error) => return Ok(unreadable(error.in_words_of(&FactsAlone))),
        };
        // The pixels of fields keep their values, which may be distances or classes: they become PNGs, whatever the
        // settings make of the sample's own image.
        let image = |data: &SampleData<'_>| -> Result<_, Reason> {
            Ok(match data {
                SampleData::Encoded(bytes) => (bytes.to_vec(), extension(bytes)),
                SampleData::Pixels(pixels) => (png(*pixels)?, "png"),
            })
        };
        let members = match fields.members(&sample.fields, image) {
            Ok(members) => members.map_err(|reason| Error::pack(data.name(index), reason))?,
            Err(reason) => return Ok(unreadable(reason)),
        };
        let read_of_fields = members.iter().map(|(_, content)| content.len()).sum::<usize>();
        let label = sample.label;
        match sample.data {
            SampleData::Encoded(bytes) => {
                let read = bytes.len() + read_of_fields;
                let kept = |treatment, members| {
                    let extension = extension(bytes);
                    Packed { file: bytes.to_vec(), label: label.clone(), members, extension, treatment, read }
                };
                if ImageFormat::recognise(bytes).is_none() {
                    return Ok(kept(Treatment::Undecodable("no image of a known format".into()), members));
                }
                match self.encoded(bytes, recoding) {
                    Ok(None) => Ok(kept(Treatment::Kept, members)),
                    Ok(Some(file)) => {
                        Ok(Packed { file, label, members, extension: "jpg", treatment: Treatment::Encoded, read })
                    }
                    Err(reason) => Ok(kept(Treatment::Undecodable(reason.text), members)),
                }
            }
            SampleData::Pixels(pixels) => {
                let read = pixels.bytes().len() + read_of_fields;
                let file = self.pixels(pixels, recoding).map_err(|reason| Error::pack(data.name(index), reason))?;
                let extension = extension(&file);
                Ok(Packed { file, label, members, extension, treatment: Treatment::Encoded, read })
            }
        }
    }

    /// Returns an image file encoded again; `None` if the settings leave the file as it is.
    fn encoded(&mut self, bytes: &[u8], recoding: Recoding) -> Result<Option<Vec<u8>>, Reason> {
        if recoding == Recoding::default() {
            return Ok(None);
        }
        let found = probe(bytes, &DecodeOptions::default())?;
        if recoding.quality.is_none() && recoding.size(found.width, found.height).is_none() {
            return Ok(None);
        }
        self.decode(bytes)?;
        self.jpeg(recoding).map(Some)
    }

    /// Decodes an image file as a whole into `self.picture`.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<&Picture> {
        let options = DecodeOptions::default();
        let found = probe(bytes, &options)?;
        let (width, height) = (found.width, found.height);
        let whole = Rect { left: 0, top: 0, width, height };
        let decoded = decode(bytes, &found, whole, &options, &mut self.scratch)?;
        let Picture { rgb, .. } = &mut self.picture;
        rgb.clear();
        for row in decoded.pixels.chunks(decoded.stride).take(height as usize) {
            rgb.extend(row.as_chunks::<4>().0.iter().take(width as usize).flat_map(|&[r, g, b, _]| [r, g, b]));
        }
        (self.picture.width, self.picture.height) = (width, height);
        Ok(&self.picture)
    }

    fn pixels(&mut self, pixels: Pixels<'_>, recoding: Recoding) -> Result<Vec<u8>, Reason> {
        let (width, height) = (pixels.width(), pixels.height());
        let is_float = matches!(pixels.format(), PixelFormat::F32 { .. });
        if is_float || (recoding.quality.is_none() && recoding.size(width, height).is_none()) {
            return png(pixels);
        }
        let bytes = pixels.bytes();
        let rgb = match pixels.format() {
            PixelFormat::R8 => bytes.iter().flat_map(|&v| [v, v, v]).collect(),
            PixelFormat::Rgba8 => bytes.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect(),
            _ => bytes.to_vec(),
        };
        self.picture = Picture { width, height, rgb };
        self.jpeg(recoding)
    }

    /// Reduces `self.picture` to the size that the settings ask for, and returns it encoded as JPEG.
    fn jpeg(&mut self, recoding: Recoding) -> Result<Vec<u8>, Reason> {
        let Picture { width, height, .. } = self.picture;
        if let Some((width, height)) = recoding.size(width, height) {
            self.picture = reduced(&self.picture, width, height)?;
        }
        let Picture { width, height, rgb } = &self.picture;
        let (Ok(width), Ok(height)) = (u16::try_from(*width), u16::try_from(*height)) else {
            let reason = Reason::new(format!("{width}x{height} pixels are more than a JPEG has"));
            return Err(reason.advise(PACK_MAX_SIDE));
        };
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, recoding.quality.unwrap_or(QUALITY));
        let gray = rgb.as_chunks::<3>().0.iter().all(|[r, g, b]| r == g && g == b);
        if gray {
            let luma: Vec<u8> = rgb.iter().step_by(3).copied().collect();
            encoder.encode(&luma, width, height, jpeg_encoder::ColorType::Luma).map_err(unencoded)?;
        } else {
            // Halves the chroma's width and height (4:2:0), as in most photographs. Less chroma also takes less time to
            // decode.
            encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_2);
            encoder.encode(rgb, width, height, jpeg_encoder::ColorType::Rgb).map_err(unencoded)?;
        }
        Ok(file)
    }
}

impl Recoding {
    /// Returns the width and height to which an image is reduced; `None` if the image is small enough.
    fn size(&self, width: u32, height: u32) -> Option<(u32, u32)> {
        let longest = width.max(height);
        let max = self.max_side.filter(|max| *max < longest)?;
        let side = |side: u32| {
            let (side, max, longest) = (u64::from(side), u64::from(max), u64::from(longest));
            ((2 * side * max + longest) / (2 * longest)).max(1) as u32
        };
        Some((side(width), side(height)))
    }
}

/// Encodes pixels without loss.
fn png(pixels: Pixels<'_>) -> Result<Vec<u8>, Reason> {
    let color = match pixels.format() {
        PixelFormat::R8 => image::ExtendedColorType::L8,
        PixelFormat::Rgb8 => image::ExtendedColorType::Rgb8,
        PixelFormat::Rgba8 => image::ExtendedColorType::Rgba8,
        PixelFormat::F32 { .. } => return Err("float pixels fit no image file without loss; pack 8-bit ones".into()),
    };
    let mut file = Vec::new();
    let encoder = PngEncoder::new(&mut file);
    encoder.write_image(pixels.bytes(), pixels.width(), pixels.height(), color).map_err(unencoded)?;
    Ok(file)
}

/// Makes a reason of an encoder's error.
fn unencoded(error: impl std::fmt::Display) -> Reason {
    Reason::new(error.to_string())
}

/// Reduces a picture like torchvision's `Resize`: bilinear and antialiased.
fn reduced(picture: &Picture, width: u32, height: u32) -> Result<Picture> {
    let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
    let plan = Plan::compile(&[Resize::new((height, width)).into()], &output)?;
    let pixels = Pixels::new(picture.width, picture.height, PixelFormat::Rgb8, &picture.rgb)?;
    let params = plan.make_params(picture.width, picture.height, &Key::default())?;
    let rgb = Processor::new(&plan, &Backend::Cpu)?.run(&[(pixels, &params)])?;
    Ok(Picture { width, height, rgb })
}

/// Returns the file name extension for a file's content, one of those in `endings.rs`. Unknown content gets `jpg`, the
/// most common one.
fn extension(bytes: &[u8]) -> &'static str {
    match ImageFormat::recognise(bytes) {
        Some(ImageFormat::Png) => "png",
        Some(ImageFormat::WebP) => "webp",
        Some(ImageFormat::Gif) => "gif",
        Some(ImageFormat::Bmp) => "bmp",
        Some(ImageFormat::Tiff) => "tif",
        Some(ImageFormat::Pnm) => "pnm",
        Some(ImageFormat::Jpeg) | None => "jpg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::dataset::InMemory;

    fn pack(format: PixelFormat, recoding: Recoding) -> Result<(Packed, Picture)> {
        let mut data = InMemory::new();
        let bytes: Vec<u8> = (0..40 * 30 * format.bytes_per_pixel()).map(|i| (i / 40) as u8).collect();
        data.push_pixels(40, 30, format, bytes, Label::Class(5))?;
        let mut recoder = Recoder::default();
        let packed = recoder.pack((&data, &MemberFields::default()), 0, recoding)?;
        recoder.decode(&packed.file)?;
        Ok((packed, recoder.picture))
    }

    #[test]
    fn pixels_become_files() {
        for (format, rgb) in [
            (PixelFormat::R8, [0, 0, 0].map(|c| c as usize)),
            (PixelFormat::Rgb8, [0, 1, 2]),
            (PixelFormat::Rgba8, [0, 1, 2]),
        ] {
            let (packed, picture) = pack(format, Recoding::default()).unwrap();
            assert_eq!(
                (packed.extension, &packed.treatment, packed.label),
                ("png", &Treatment::Encoded, Label::Class(5))
            );
            let size = format.bytes_per_pixel();
            let expected: Vec<u8> =
                (0..40 * 30).flat_map(|pixel| rgb.map(|channel| ((pixel * size + channel) / 40) as u8)).collect();
            assert!(picture.rgb == expected, "{format:?}");

            let (packed, picture) = pack(format, Recoding { max_side: Some(20), quality: Some(95) }).unwrap();
            assert_eq!((packed.extension, picture.width, picture.height), ("jpg", 20, 15));
        }
        let refused = pack(PixelFormat::F32 { channels: 1 }, Recoding::default()).unwrap_err().to_string();
        assert!(refused.contains("sample 0: float pixels"), "{refused}");
    }

    #[test]
    fn gray_and_color_are_what_they_were() {
        let quality = Recoding { max_side: None, quality: Some(98) };
        let (gray, _) = pack(PixelFormat::R8, quality).unwrap();
        let (color, picture) = pack(PixelFormat::Rgb8, quality).unwrap();
        // Reads from the JPEG's frame header how many components it has, and the sampling factors of the first
        // component.
        let components = |file: &[u8]| {
            let at = file.windows(2).position(|marker| marker == [0xFF, 0xC0]).unwrap();
            (file[at + 9], file.get(at + 11).copied())
        };
        assert_eq!(components(&gray.file).0, 1);
        assert_eq!(components(&color.file), (3, Some(0x22)), "4:2:0");
        let far = picture.rgb.iter().enumerate().filter(|(i, v)| v.abs_diff((i / 40) as u8) > 12).count();
        assert!(far < picture.rgb.len() / 20, "{far}");
    }

    #[test]
    fn the_longest_side_decides() {
        let recoding = Recoding { max_side: Some(256), quality: None };
        for (size, expected) in [
            ((256, 256), None),
            ((100, 256), None),
            ((512, 256), Some((256, 128))),
            ((300, 400), Some((192, 256))),
            ((500, 333), Some((256, 170))), // 333 * 256 / 500 is 170.496
            ((10_000, 3), Some((256, 1))),
        ] {
            assert_eq!(recoding.size(size.0, size.1), expected, "{size:?}");
        }
        assert_eq!(Recoding::default().size(1000, 1000), None);
    }
}
