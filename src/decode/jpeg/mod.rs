//! JPEG by our own engine: of a file only what a region needs is decoded, and with a [`SeekIndex`] only that is read.
//!
//! Bit for bit libjpeg-turbo's default result: accurate integer inverse DCT, interpolated ("fancy") chroma. Served are
//! 8-bit Huffman-coded sequential files of one or three components, in one scan or in several, which is nearly all, at
//! full size or scaled down as its draft mode does; anything else and anything unusual in the headers is declined, and
//! zune-jpeg (`zune.rs`) decides what becomes of it. Damage in what a region needs is an error, or with
//! `Truncated::Fill` decoded as libjpeg-turbo does.
//!
//! | step | file |
//! |---|---|
//! | segments up to the scan | `markers.rs` |
//! | the scan without stuffed bytes and restart markers | `stuffing.rs` |
//! | codes to coefficients | `huffman.rs`, `bits.rs` |
//! | which blocks, from where on | `scan.rs`, `index.rs` |
//! | the same of a damaged scan | `damaged.rs` |
//! | coefficients to samples | `idct.rs` |
//! | samples to pixels | `layout.rs`, `upsample.rs`, `color.rs` |

mod bits;
mod color;
mod damaged;
#[cfg(test)]
mod exactness;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forged;
mod huffman;
mod idct;
mod index;
mod layout;
mod markers;
mod scan;
mod stuffing;
mod upsample;

pub(crate) use index::SeekIndex;

use huffman::{Ac, Dc};
use idct::IdctSize;
use layout::Layout;
use markers::{COMPONENTS, Frame};
use scan::{Coder, Job, Part};
use stuffing::Destuffed;
use upsample::{Plane, Rows};

use super::memory::try_grow;
use super::zune::PIXELS_PER_BYTE;
use super::{DecodeOptions, PIXEL, Placed, Rect, Scale, Truncated, probe};

/// Why the engine has not decoded a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undecoded {
    /// It is of a kind, or has headers, that another decoder may know.
    Declined(&'static str),
    /// A part of the file that the region needs is damaged or cut.
    Damaged(&'static str),
}

impl From<&'static str> for Undecoded {
    fn from(reason: &'static str) -> Self {
        Undecoded::Declined(reason)
    }
}

impl Undecoded {
    pub(super) fn reason(self) -> &'static str {
        let (Undecoded::Declined(reason) | Undecoded::Damaged(reason)) = self;
        reason
    }
}

/// How a seek index takes part in decoding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seek<'a> {
    /// The file's index, if there is one. That of another file costs time, and may give wrong pixels where it agrees
    /// with itself and with the file in every place that is looked at (`index.rs`).
    pub(crate) index: Option<&'a SeekIndex>,
    /// Whether to build the index if there is none. The scan is then read to its end.
    pub(crate) build: bool,
}

/// Memory that is reused. It grows to the largest image.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    tables: Box<Tables>,
    destuffed: Destuffed,
    planes: Vec<u8>,
    rows: Rows,
}

/// Of each component, kept from file to file: many share their tables.
#[derive(Debug, Default)]
struct Tables {
    dc: [Dc; COMPONENTS],
    ac: [Ac; COMPONENTS],
}

impl Scratch {
    /// Bytes that it has grown to: of files, of planes, columns of rows.
    pub(super) fn sizes(&self) -> [usize; 3] {
        [self.destuffed.size(), self.planes.len(), self.rows.columns()]
    }

    /// Grows to what another one has grown to.
    pub(super) fn reserve(&mut self, [file, planes, columns]: [usize; 3]) {
        self.destuffed.reserve(file);
        // Memory that is not available now is asked for again when it is needed.
        let _ = try_grow(&mut self.planes, planes);
        self.rows.reserve(columns);
    }
}

/// The headers of a file that the engine serves, and its layout at `scale`. `size` = (columns, rows) is the stored image's.
fn open<'a>(
    bytes: &'a [u8],
    size: (u32, u32),
    scale: Scale,
    options: &DecodeOptions,
) -> Result<(Frame<'a>, Layout), Undecoded> {
    let fill = options.truncated == Truncated::Fill;
    if !fill && !probe::jpeg_has_end(bytes) {
        return Err(Undecoded::Damaged("no end-of-image marker"));
    }
    if u64::from(size.0) * u64::from(size.1) > bytes.len() as u64 * PIXELS_PER_BYTE {
        return Err(Undecoded::Damaged("too few bytes for its size"));
    }
    let frame = Frame::read(bytes, fill)?;
    if frame.size != (size.0 as usize, size.1 as usize) {
        return Err("another size than it was probed with".into());
    }
    let components = frame.components();
    let factors = [0, 1, 2].map(|i| components.get(i).map_or((1, 1), |one| (one.across as u8, one.down as u8)));
    let block = match scale {
        Scale::Full => IdctSize::Eight,
        Scale::Half => IdctSize::Four,
        Scale::Quarter => IdctSize::Two,
        Scale::Eighth => IdctSize::One,
    };
    let layout = Layout::new(size, &factors[..components.len()], block)
        .ok_or("sampling factors that do not divide each other")?;
    Ok((frame, layout))
}

/// Returns true if the engine would decode a file by its headers. The data may still be damaged.
pub(super) fn serves(bytes: &[u8], size: (u32, u32), options: &DecodeOptions) -> bool {
    open(bytes, size, Scale::Full, options).is_ok()
}

/// Decodes `stored`, a part of the stored image at `scale`, into `target`; whether by the index, and the index if one was
/// to be built and the image lies in one scan. `size` = (columns, rows) is the stored image's full size.
///
/// # Errors
///
/// Returns the reason why the file was not decoded.
pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    (stored, scale): (Rect, Scale),
    options: &DecodeOptions,
    seek: Seek<'_>,
    scratch: &mut Scratch,
    target: &mut Vec<u8>,
) -> Result<(Placed, bool, Option<SeekIndex>), Undecoded> {
    let (frame, layout) = open(bytes, size, scale, options)?;
    let components = frame.components();

    // Whatever the region: the next one of this image may be larger.
    let (across, down) = frame.mcus();
    let blocks: usize = components.iter().map(|component| component.across * component.down).sum();
    try_grow(&mut scratch.planes, across * down * blocks * 64).map_err(|_| "no memory for its planes")?;
    try_grow(target, PIXEL * frame.size.0 * frame.size.1).map_err(|_| "no memory for its pixels")?;
    scratch.destuffed.reserve(bytes.len());
    scratch.rows.reserve(frame.size.0);

    let mut rest = scratch.planes.as_mut_slice();
    let mut parts: [Part<'_>; COMPONENTS] = Default::default();
    for (part, component) in parts.iter_mut().zip(&layout.components) {
        let window = component.window(stored);
        let side = component.size.samples();
        part.size = component.size;
        part.columns = (window.left / side, (window.left + window.width).div_ceil(side));
        part.rows = (window.top / side, (window.top + window.height).div_ceil(side));
        let length = part.stride() * side * (part.rows.1 - part.rows.0);
        let (samples, behind) = rest.split_at_mut_checked(length).ok_or("a region beyond its planes")?;
        (part.samples, rest) = (samples, behind);
    }

    // Blocks outside the region are stepped over by tables of their own, which take as long to make as some hundred
    // blocks to read.
    let everything = (layout.width, layout.height) == (stored.width as usize, stored.height as usize);
    let skips = seek.index.is_none() && !everything;
    let Tables { dc, ac } = &mut *scratch.tables;
    let mut slots = [0; COMPONENTS];
    for (i, component) in components.iter().enumerate() {
        // Chroma components nearly always share their codes.
        slots[i] = if i == 2 && component.ac == components[1].ac && component.dc == components[1].dc { 1 } else { i };
        if slots[i] == i {
            dc[i].build(component.dc)?;
            ac[i].build(component.ac, skips)?;
        }
    }
    let (mut indexed, mut built) = (false, None);
    for scan in frame.scans() {
        let coders: [Coder<'_>; COMPONENTS] = std::array::from_fn(|slot| {
            let i = scan.members().get(slot).copied().unwrap_or(0);
            let (across, down) = frame.blocks(i, scan);
            let steps = scan::in_rows(&components[i].steps);
            Coder { across, down, dc: &dc[slots[i]], ac: &ac[slots[i]], steps }
        });
        let mut own: [Part<'_>; COMPONENTS] = Default::default();
        own.iter_mut().zip(scan.members()).for_each(|(own, &i)| *own = std::mem::take(&mut parts[i]));
        let count = scan.members().len();
        let mut job = Job { bytes, scan, coders: &coders[..count], parts: &mut own[..count] };
        let seek = if frame.is_in_one_scan() { seek } else { Seek::default() };
        let sought = seek.index.and_then(|index| job.read_indexed(&mut scratch.destuffed, index));
        indexed = sought.is_some();
        if !indexed {
            built = match job.read_whole(&mut scratch.destuffed, seek.build) {
                None if options.truncated == Truncated::Fill => {
                    damaged::read(&mut job).ok_or("a region beyond its planes")?;
                    None
                }
                None => return Err(Undecoded::Damaged("the scan is damaged or cut")),
                Some(built) => built,
            };
        }
        own.into_iter().zip(scan.members()).for_each(|(own, &i)| parts[i] = own);
    }
    for (i, part) in parts.iter_mut().enumerate() {
        if !frame.scans().iter().any(|scan| scan.members().contains(&i)) {
            part.samples.fill(128); // its scan was cut off
        }
    }

    let plane = |i: usize| {
        let (part, component): (&Part<'_>, _) = (&parts[i], layout.components[i]);
        let side = part.size.samples();
        let (left, top) = (side * part.columns.0, side * part.rows.0);
        Plane { component, samples: &*part.samples, stride: part.stride(), left, top }
    };
    let row = stored.width as usize * PIXEL;
    let target = &mut target[..row * stored.height as usize];
    match components.len() {
        1 => upsample::finish(&[plane(0)], frame.transform, stored, &mut scratch.rows, target),
        _ => {
            let planes = [plane(0), plane(1), plane(2)];
            upsample::finish(&planes, frame.transform, stored, &mut scratch.rows, target);
        }
    }
    Ok((Placed { offset: 0, stride: row }, indexed, built))
}
