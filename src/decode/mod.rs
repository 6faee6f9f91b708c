//! Bytes to pixels: what an encoded image is ([`probe`]), and the pixels of one of its regions ([`decode`]).
//!
//! Formats are recognised by content, never by a file's name. The result is always RGBA8 with 255 in the alpha byte:
//! what Pillow's `Image.convert("RGB")`, torchvision's default loader, makes of the same file, in whole words. JPEG
//! goes through our own engine (the crate `gpufeed-jpeg`) and, of other kinds than that knows, through `zune-jpeg` (`zune.rs`), PNG
//! through the `png` crate (`png.rs`), everything else through the `image` crate (`fallback.rs`).

mod decoder;
mod fallback;
mod format;
mod header;
mod memory;
mod options;
mod orientation;
mod png;
mod probe;
mod scans;
pub(crate) mod seek;
mod zune;

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpufeed_jpeg::Error::{Damaged, NoMemory, Unsupported};
use gpufeed_jpeg::Request;

use crate::error::panic_text;
use crate::{Error, ErrorKind, Result};

pub use crate::geometry::{Rect, Scale};
pub(crate) use decoder::{Decoder, DecoderScratch};
pub use format::ImageFormat;
#[doc(hidden)] // `gpufeed doctor` tells cut files from damaged ones
pub use gpufeed_jpeg::has_end as jpeg_has_end;
use memory::try_grow;
pub use options::{DecodeOptions, Orientation, Truncated};
pub use probe::{Probe, probe};
pub use seek::{IndexSummary, SeekIndex, SeekIndexes};

/// Bytes of one decoded pixel: red, green, blue, 255.
const PIXEL: usize = 4;

/// One worker's reusable memory. It grows to the largest image seen and stays there, so that decoding JPEGs
/// allocates nothing of an image's size; for those that `zune-jpeg` decodes, that allocates a few rows per image, and the
/// coefficients of progressive files.
///
/// ```
/// let scratch = gpufeed::decode::Scratch::default(); // one a thread, lent to every `decode`
/// # let _ = scratch;
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    /// What a decoder wrote if that was not RGBA.
    raw: Vec<u8>,
    /// RGBA in the stored orientation: the whole image, or the region alone.
    stored: Vec<u8>,
    /// RGBA of the region, turned.
    oriented: Vec<u8>,
    /// The JPEG engine's.
    jpeg: gpufeed_jpeg::Decoder,
}

impl Scratch {
    /// Bytes of memory that it has grown to, tables aside.
    ///
    /// ```
    /// assert_eq!(gpufeed::decode::Scratch::default().bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        let [file, planes, columns] = self.jpeg.sizes();
        let images = self.raw.len() + self.stored.len() + self.oriented.len();
        // Three rows of bytes and one of 16 bits.
        (images + file + planes + 5 * columns) as u64
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

/// How a seek index takes part in decoding.
#[derive(Clone, Copy, Default)]
struct Seek<'a> {
    /// The file's index, if there is one.
    index: Option<&'a gpufeed_jpeg::SeekIndex>,
    /// True to build the index if there is none. The scan is then read to its end.
    build: bool,
}

/// The pixels of a region.
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
    /// RGBA8, alpha always 255, from the region's first pixel to its last; between its rows lie pixels of no interest.
    pub pixels: &'a [u8],
    /// Bytes from a row's first pixel to the next row's, at least 4 × width.
    pub stride: usize,
}

/// Where a decoder left the stored region inside `Scratch::stored`: bytes before it, and bytes per row.
#[derive(Clone, Copy)]
struct Placed {
    offset: usize,
    stride: usize,
}

/// Decodes the pixels of `region`, in oriented coordinates, of the image that `probe` described.
///
/// # Errors
///
/// [`ErrorKind::Argument`] if the region is empty or reaches outside the image; [`ErrorKind::TooManyPixels`],
/// [`ErrorKind::TooMuchMemory`], [`ErrorKind::NoMemory`] if the system has less (where it is the decoder's own allocation, as far as a trial tells),
/// [`ErrorKind::TruncatedImage`] and [`ErrorKind::Decode`] for what is wrong with the bytes. A decoder's panic is
/// [`ErrorKind::Decode`] too (the process's panic hook still sees it). `scratch` stays usable whatever happens.
pub fn decode<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    let wanted = (region, Scale::Full);
    seeking(bytes, probe, wanted, options, Seek::default(), scratch).map(|(decoded, _)| decoded)
}

/// [`decode`] with the file's seek index, by which a region is decoded from inside the file. Pixels are the same with
/// and without. An index of another file is not used.
///
/// # Errors
///
/// Those of [`decode`].
pub fn decode_with<'a>(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    index: Option<&SeekIndex>,
    scratch: &'a mut Scratch,
) -> Result<Decoded<'a>> {
    // The whole image has to be read from its start anyway.
    let index = index.filter(|_| (region.width, region.height) != (probe.width, probe.height));
    let seek = Seek { index: index.and_then(|index| index.of(bytes)), build: false };
    seeking(bytes, probe, (region, Scale::Full), options, seek, scratch).map(|(decoded, _)| decoded)
}

/// The index of a JPEG; `None` for a file that cannot have one.
fn build_index(
    bytes: &[u8],
    probe: &Probe,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Option<gpufeed_jpeg::SeekIndex>> {
    // The scan is read to its end, but of the pixels as good as none.
    let corner = Rect { left: 0, top: 0, width: 1, height: 1 };
    let seek = Seek { index: None, build: true };
    seeking(bytes, probe, (corner, Scale::Full), options, seek, scratch).map(|(_, (_, built))| built)
}

/// The way in which a file was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodePath {
    /// Its seek index was used.
    Indexed,
    /// Decoded from its start by the engine.
    FromStart,
    /// It is of a kind that the engine leaves to another decoder, or not a JPEG.
    Other,
}

/// Whether [`decode_indexed`] would decode an image at another scale than [`Scale::Full`], by what its headers say: it
/// has to be a JPEG for our own engine.
pub(crate) fn can_scale(bytes: &[u8], probe: &Probe, options: &DecodeOptions) -> bool {
    let request = Request::new(probe.stored).fill(options.truncated == Truncated::Fill);
    probe.format == ImageFormat::Jpeg && gpufeed_jpeg::check(bytes, &request).is_ok()
}

/// [`decode`] at a scale, in whose coordinates the region is, with the seek indexes of `store`, which gets those that
/// were missing.
///
/// # Errors
///
/// As [`decode`]; at another scale than [`Scale::Full`] for every file that our own JPEG engine declines, too.
pub(crate) fn decode_indexed<'a>(
    bytes: &[u8],
    probe: &Probe,
    (region, scale): (Rect, Scale),
    options: &DecodeOptions,
    (store, found): (Option<&seek::SeekStore>, &mut seek::SeekScratch),
    scratch: &'a mut Scratch,
) -> Result<(Decoded<'a>, DecodePath)> {
    // The whole image has to be read from its start anyway.
    let store = store.filter(|_| (region.width, region.height) != scale.size((probe.width, probe.height)));
    let (Some(store), ImageFormat::Jpeg) = (store, probe.format) else {
        let (decoded, (path, _)) = seeking(bytes, probe, (region, scale), options, Seek::default(), scratch)?;
        return Ok((decoded, path));
    };
    let key = seek::SeekStore::key(bytes);
    let known = store.get(key, &mut found.record);
    let usable = known && found.index.read(&found.record).is_some();
    let seek = Seek { index: usable.then_some(&found.index), build: !known };
    let (decoded, (path, built)) = seeking(bytes, probe, (region, scale), options, seek, scratch)?;
    // An empty record is that of a file that cannot have an index.
    if known && path != DecodePath::Indexed && !found.record.is_empty() {
        store.report_unfit();
    }
    if !known {
        // Of a file that cannot have one the record is empty: no later epoch tries again.
        store.put(key, built.map_or(Vec::new(), |index| index.to_bytes()));
    }
    Ok((decoded, path))
}

/// [`decode`] with a JPEG's seek index, or building one: the last part of the result, where the engine decodes the file.
fn seeking<'a>(
    bytes: &[u8],
    probe: &Probe,
    (region, scale): (Rect, Scale),
    options: &DecodeOptions,
    seek: Seek<'_>,
    scratch: &'a mut Scratch,
) -> Result<(Decoded<'a>, (DecodePath, Option<gpufeed_jpeg::SeekIndex>))> {
    let (across, down) = scale.size((probe.width, probe.height));
    if !region.is_inside((across, down)) {
        let reason = format!("{region:?} must be a part of the image's {across}x{down} pixels");
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
                Err(Unsupported(reason)) if scale.is_full() => {
                    probe.cost.try_passing()?;
                    zune::decode(bytes, reason, probe.stored, stored, options, scratch)
                        .map(|placed| (placed, (DecodePath::Other, None)))
                }
                Err(Damaged(reason)) => Err(truncated(probe.format, reason)),
                Err(NoMemory { bytes }) => Err(ErrorKind::NoMemory { bytes: bytes as u64 }.into()),
                Err(error) => Err(broken(probe.format, error.reason())),
            }
        }
        ImageFormat::Png => {
            probe.cost.try_passing()?;
            png::decode(bytes, probe.stored, stored, options, scratch).map(|placed| (placed, (DecodePath::Other, None)))
        }
        _ => fallback::decode(bytes, probe.format, probe.stored, stored, options, scratch)
            .map(|placed| (placed, (DecodePath::Other, None))),
    })?;

    let row = region.width as usize * PIXEL;
    if probe.orientation == 1 {
        let length = (region.height as usize - 1) * placed.stride + row;
        let pixels = &scratch.stored[placed.offset..][..length];
        return Ok((Decoded { pixels, stride: placed.stride }, index));
    }
    let length = row * region.height as usize;
    // Whatever the region: the next one of this image may be larger.
    try_grow(&mut scratch.oriented, PIXEL * width as usize * height as usize)?;
    let source = &scratch.stored[placed.offset..];
    orientation::turn(probe.orientation, source, placed.stride, stored, &mut scratch.oriented[..length]);
    Ok((Decoded { pixels: &scratch.oriented[..length], stride: row }, index))
}

/// Runs a third-party decoder; its panic becomes an error, for hostile files must not end a run.
///
/// Unwind safety: all that `work` can leave half-written is scratch memory, and every decode overwrites what it returns.
fn guarded<T>(format: ImageFormat, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(broken(format, format!("the decoder panicked: {}", panic_text(panic.as_ref())))))
}

/// An [`ErrorKind::Decode`].
fn broken(format: ImageFormat, reason: impl Into<String>) -> Error {
    ErrorKind::Decode { format: format.name(), reason: reason.into() }.into()
}

/// An [`ErrorKind::TruncatedImage`].
fn truncated(format: ImageFormat, reason: impl Into<String>) -> Error {
    ErrorKind::TruncatedImage { format: format.name(), reason: reason.into() }.into()
}
