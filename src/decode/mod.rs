//! Decoding: reads an image's header ([`probe`]), and decodes one of its regions ([`decode`]).
//!
//! Formats are detected by content, never by a file's name. Decoded pixels are RGBA8 with 255 as alpha, so that each is
//! a whole word: the pixels of Pillow's `Image.convert("RGB")`, torchvision's default loader (the guide's chapter on
//! data sets lists the exceptions). The crate `gpufeed-jpeg` decodes JPEG and the crate `png` PNG; code of this crate
//! decodes GIF, TIFF and some kinds of BMP, and the crate `image` what is left.

// decoder.rs        the decoder of a loader: settings and seek indexes together
// gray16.rs         gray of 16 bits; mask.rs: numbers of palettes and of gray
// options.rs        the settings
// format.rs         the formats, by a file's first bytes
// probe.rs          format, size and orientation, by the header; header.rs has the facts, memory.rs what decoding takes
// metadata.rs       the orientation in EXIF and XMP, in any format; directory.rs reads TIFF's directories, which are
//                   EXIF's structure too; orientation.rs turns pixels and regions
// png.rs, gif.rs    a format each; bmp.rs: run lengths and 16 bits a pixel in BMP; tiff/ has a list of its own
// image_crate.rs    WebP, other BMP and PNM; webp.rs: the first frame of an animation
// seek/             where seek indexes are stored
// panics.rs         turns panics of decoders into errors, and prints nothing

mod bmp;
mod decoder;
mod directory;
mod format;
mod gif;
mod gray16;
mod header;
mod image_crate;
mod mask;
mod memory;
mod metadata;
mod options;
mod orientation;
pub(crate) mod panics;
mod png;
mod probe;
pub(crate) mod seek;
pub(crate) mod tiff;
mod webp;

use gpufeed_jpeg::Error::{Damaged, NoMemory};
use gpufeed_jpeg::Request;

use crate::{Error, ErrorKind, Result};

pub use crate::geometry::{Rect, Scale};
pub(crate) use decoder::{Decoder, DecoderScratch};
pub use format::ImageFormat;
#[doc(hidden)] // for `gpufeed doctor`, which tells cut files from damaged ones
pub use gpufeed_jpeg::has_end as jpeg_has_end;
use gray16::decode_gray16;
use mask::decode_mask;
use memory::try_grow;
pub use options::{DecodeOptions, Orientation, ReadMode, Truncated};
pub use probe::{Probe, probe};
pub use seek::{IndexSummary, SeekIndex, SeekIndexes};

/// Bytes of one decoded pixel: red, green, blue, 255.
const PIXEL: usize = 4;

/// One worker's reusable memory. It grows to the largest image and stays allocated, so that decoding JPEGs allocates
/// nothing of an image's size.
///
/// ```
/// let scratch = gpufeed::decode::Scratch::default(); // one per thread, passed to every `decode`
/// # let _ = scratch;
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    /// The output of a decoder that cannot write RGBA.
    raw: Vec<u8>,
    /// RGBA in the stored orientation: the whole image, or the region alone.
    stored: Vec<u8>,
    /// RGBA pixels of the region, after the turn by EXIF.
    oriented: Vec<u8>,
    /// Memory of the JPEG engine.
    jpeg: gpufeed_jpeg::Decoder,
}

impl Scratch {
    /// Returns the allocated memory in bytes, without small tables.
    ///
    /// ```
    /// assert_eq!(gpufeed::decode::Scratch::default().bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        (self.raw.len() + self.stored.len() + self.oriented.len() + self.jpeg.sizes().bytes()) as u64
    }

    /// Grows to the size of `other`.
    fn reserve_like(&mut self, other: &Scratch) {
        let Scratch { raw, stored, oriented, jpeg } = self;
        for (buffer, other) in [(raw, &other.raw), (stored, &other.stored), (oriented, &other.oriented)] {
            // Memory that is not available now is asked for again when it is needed.
            let _ = try_grow(buffer, other.len());
        }
        jpeg.reserve(other.jpeg.sizes());
    }
}

/// The use of a seek index in decoding.
#[derive(Clone, Copy, Default)]
struct Seek<'a> {
    /// The file's index, if there is one.
    index: Option<&'a gpufeed_jpeg::SeekIndex>,
    /// True to build the index if there is none, which reads the scan to its end.
    build: bool,
}

/// The decoded pixels of a region.
///
/// ```
/// use gpufeed::decode::{self, DecodeOptions, Rect, Scratch};
///
/// # let mut file = std::io::Cursor::new(Vec::new());
/// # image::RgbImage::from_pixel(8, 6, image::Rgb([1, 2, 3])).write_to(&mut file, image::ImageFormat::Png).unwrap();
/// # let file = file.into_inner();
/// let options = DecodeOptions::default();
/// let probe = decode::probe(&file, &options)?;
/// let region = Rect { left: 2, top: 1, width: 4, height: 3 };
/// let mut scratch = Scratch::default();
/// let decoded = decode::decode(&file, &probe, region, &options, &mut scratch)?;
/// for row in decoded.pixels.chunks(decoded.stride).take(3) {
///     assert_eq!(row[..4], [1, 2, 3, 255]);
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// RGBA8, with 255 as alpha, from the region's first pixel to its last. Pixels between its rows are undefined.
    pub pixels: &'a [u8],
    /// Bytes from a row's first pixel to the next row's, at least 4 × width.
    pub stride: usize,
}

/// Position of the region in `Scratch::stored`: bytes before it, and bytes per row.
#[derive(Clone, Copy)]
struct Placed {
    offset: usize,
    stride: usize,
}

/// Decodes `region`, in oriented coordinates, of the image that `probe` describes.
///
/// # Errors
///
/// [`ErrorKind::Argument`] if the region is empty or reaches outside the image; [`ErrorKind::TooManyPixels`];
/// [`ErrorKind::TooMuchMemory`]; [`ErrorKind::NoMemory`] if the system has less memory (for the decoder's own memory a
/// trial allocation checks this); [`ErrorKind::TruncatedImage`] and [`ErrorKind::Decode`] for damaged bytes. A
/// decoder's panic is an [`ErrorKind::Decode`] with the panic's message, and is not printed. `scratch` stays usable after
/// every error.
pub fn decode<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    seeking(bytes, probe, ScaledRegion { region, scale: Scale::Full }, options, Seek::default(), scratch)
        .map(|(decoded, _)| decoded)
}

/// Decodes as [`decode`] does, using the file's seek index to start inside the file. Returns the same pixels as without
/// one. An index of another file is ignored.
///
/// # Errors
///
/// The errors of [`decode`].
pub fn decode_with<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    index: Option<&SeekIndex>,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    // An index cannot help here: the whole image is read from its start.
    let index = index.filter(|_| (region.width, region.height) != (probe.width, probe.height));
    let seek = Seek { index: index.and_then(|index| index.of(bytes)), build: false };
    seeking(bytes, probe, ScaledRegion { region, scale: Scale::Full }, options, seek, scratch)
        .map(|(decoded, _)| decoded)
}

/// Builds the index of a JPEG; returns `None` for a file that cannot have one.
fn build_index(
    bytes: &[u8],
    probe: &Probe,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Option<gpufeed_jpeg::SeekIndex>> {
    // Building an index reads the whole scan; a region of one pixel avoids the rest of the work.
    let region = Rect { left: 0, top: 0, width: 1, height: 1 };
    let seek = Seek { index: None, build: true };
    seeking(bytes, probe, ScaledRegion { region, scale: Scale::Full }, options, seek, scratch)
        .map(|(_, (_, built))| built)
}

/// How a file was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodePath {
    /// The file was decoded with its seek index.
    Indexed,
    /// The file was decoded from its start, by the JPEG engine.
    FromStart,
    /// The file has another format.
    Other,
}

/// A region of an image that is decoded at a scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledRegion {
    /// In the coordinates of the image at that scale.
    pub(crate) region: Rect,
    pub(crate) scale: Scale,
}

/// Decodes a region with the seek indexes of `store`. Adds a missing index to `store`.
///
/// # Errors
///
/// The errors of [`decode`]; at another scale than [`Scale::Full`] the image has to be a JPEG.
pub(crate) fn decode_indexed<'a>(
    bytes: &[u8],
    probe: &Probe,
    wanted: ScaledRegion,
    options: &DecodeOptions,
    store: Option<&seek::SeekStore>,
    found: &mut seek::SeekScratch,
    scratch: &'a mut Scratch,
) -> Result<(Decoded<'a>, DecodePath)> {
    let ScaledRegion { region, scale } = wanted;
    // An index cannot help here: the whole image is read from its start.
    let store = store.filter(|_| (region.width, region.height) != scale.size((probe.width, probe.height)));
    let (Some(store), ImageFormat::Jpeg) = (store, probe.format) else {
        let (decoded, (path, _)) = seeking(bytes, probe, wanted, options, Seek::default(), scratch)?;
        return Ok((decoded, path));
    };
    let key = seek::SeekStore::key(bytes);
    let known = store.get(key, &mut found.record);
    let usable = known && found.index.read(&found.record).is_some();
    let seek = Seek { index: usable.then_some(&found.index), build: !known };
    let (decoded, (path, built)) = seeking(bytes, probe, wanted, options, seek, scratch)?;
    // An empty record means that the file cannot have an index.
    if known && path != DecodePath::Indexed && !found.record.is_empty() {
        store.report_unfit();
    }
    if !known {
        // A file that cannot have an index gets an empty record, so that no later epoch tries again.
        store.put(key, built.map_or(Vec::new(), |index| index.to_bytes()));
    }
    Ok((decoded, path))
}

/// Decodes with a JPEG's seek index, or builds one. The index in the result is
/// `Some` if it was built.
fn seeking<'a>(
    bytes: &[u8],
    probe: &Probe,
    wanted: ScaledRegion,
    options: &DecodeOptions,
    seek: Seek<'_>,
    scratch: &'a mut Scratch,
) -> Result<(Decoded<'a>, (DecodePath, Option<gpufeed_jpeg::SeekIndex>))> {
    decode_as(ReadMode::Color, bytes, probe, wanted, options, seek, scratch)
}

/// Decodes as [`seeking`] does, in a mode that the file has to allow.
fn decode_as<'a>(
    mode: ReadMode,
    bytes: &[u8],
    probe: &Probe,
    ScaledRegion { region, scale }: ScaledRegion,
    options: &DecodeOptions,
    seek: Seek<'_>,
    scratch: &'a mut Scratch,
) -> Result<(Decoded<'a>, (DecodePath, Option<gpufeed_jpeg::SeekIndex>))> {
    let (across, down) = scale.size((probe.width, probe.height));
    if !region.is_inside((across, down)) {
        let reason = format!("{region:?} must be within the image's {across}x{down} pixels");
        return Err(Error::argument("region", reason));
    }
    let (width, height) = probe.stored;
    options.check_size(probe.format, width, height)?;
    probe.check_memory(options)?;

    let stored = orientation::stored_region(probe.orientation, region, scale.size(probe.stored));
    let (placed, index) = guarded(probe.format, || match probe.format {
        ImageFormat::Jpeg => {
            let Scratch { stored: target, jpeg, .. } = &mut *scratch;
            let fill = options.truncated == Truncated::Fill;
            let request = Request::new(probe.stored).scale(scale).region(stored).fill(fill);
            let request = request.index(seek.index).build_index(seek.build);
            match jpeg.decode_into(bytes, &request, target) {
                Ok(outcome) => {
                    let path = if outcome.by_index { DecodePath::Indexed } else { DecodePath::FromStart };
                    let placed = Placed { offset: 0, stride: stored.width as usize * PIXEL };
                    Ok((placed, (path, outcome.index)))
                }
                Err(Damaged(reason)) => Err(truncated(probe.format, reason)),
                Err(NoMemory { bytes }) => Err(ErrorKind::NoMemory { bytes: bytes as u64 }.into()),
                Err(error) => Err(broken(probe.format, error.reason())),
            }
        }
        format => {
            let (size, scratch) = (probe.stored, &mut *scratch);
            let placed = match (format, bmp::Bitmap::read(bytes)) {
                (ImageFormat::Png, _) => {
                    probe.cost.try_transient()?;
                    png::decode(mode, bytes, size, stored, options, scratch)?
                }
                (ImageFormat::Gif, _) => gif::decode(bytes, size, stored, options, scratch)?,
                (ImageFormat::Tiff, _) => tiff::decode(bytes, size, stored, options, scratch)?,
                (ImageFormat::Bmp, Some(bitmap)) => bitmap.decode(size, stored, options, scratch)?,
                _ => image_crate::decode(bytes, format, size, stored, options, scratch)?,
            };
            Ok((placed, (DecodePath::Other, None)))
        }
    })?;

    let row = region.width as usize * PIXEL;
    if probe.orientation == 1 {
        let length = (region.height as usize - 1) * placed.stride + row;
        let pixels = &scratch.stored[placed.offset..][..length];
        return Ok((Decoded { pixels, stride: placed.stride }, index));
    }
    let length = row * region.height as usize;
    // Grown to the whole image, since the next region may be larger.
    try_grow(&mut scratch.oriented, PIXEL * width as usize * height as usize)?;
    let source = &scratch.stored[placed.offset..];
    orientation::turn(probe.orientation, source, placed.stride, stored, &mut scratch.oriented[..length]);
    Ok((Decoded { pixels: &scratch.oriented[..length], stride: row }, index))
}

/// Runs a decoder. Its panic becomes an error and is not printed, so that a hostile file cannot end a run.
///
/// Unwind safety: `work` can leave only scratch memory half-written, and every decode overwrites the scratch memory
/// that it returns.
fn guarded<T>(format: ImageFormat, work: impl FnOnce() -> Result<T>) -> Result<T> {
    panics::caught(work).unwrap_or_else(|text| Err(broken(format, format!("the decoder panicked: {text}"))))
}

/// Makes an [`ErrorKind::Decode`].
/// Refuses a file that declares another size than it had when it was probed.
fn check_declared(format: ImageFormat, declared: (u32, u32), probed: (u32, u32)) -> Result<()> {
    if declared == probed {
        return Ok(());
    }
    Err(broken(format, format!("declares another size than the {}x{} of its probe", probed.0, probed.1)))
}

fn broken(format: ImageFormat, reason: impl Into<String>) -> Error {
    ErrorKind::Decode { format: format.name(), reason: reason.into() }.into()
}

/// Makes an [`ErrorKind::TruncatedImage`].
fn truncated(format: ImageFormat, reason: impl Into<String>) -> Error {
    ErrorKind::TruncatedImage { format: format.name(), reason: reason.into() }.into()
}
