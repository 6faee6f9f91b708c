//! A region of a file, from its headers to its pixels.

use crate::huffman::{Ac, Dc};
use crate::idct::IdctSize;
use crate::index::SeekIndex;
use crate::layout::Layout;
use crate::markers::{COMPONENTS, Frame};
use crate::memory::try_grow;
use crate::scan::{Coder, Job, Part};
use crate::stuffing::Destuffed;
use crate::upsample::{Plane, Rows};
use crate::{Error, Rect, Scale, damaged, has_end, scan, upsample};

/// Bytes of a decoded pixel: red, green, blue, 255.
const PIXEL: usize = 4;

/// More pixels than this per byte of file no Huffman-coded JPEG can hold: an MCU covers at most 64 × 16 pixels and its
/// blocks take at least 8 bits together, which makes 1024. A file beyond it is cut or forged, and is refused before it
/// costs memory.
const PIXELS_PER_BYTE: u64 = 2048;

/// The part of a file that is asked for, and the way to it.
///
/// ```
/// use gpufeed_jpeg::{Decoder, Header, Rect, Request};
///
/// # let picture = image::RgbImage::from_fn(320, 240, |x, y| image::Rgb([x as u8, y as u8, 90]));
/// # let mut jpeg = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = jpeg.into_inner();
/// let header = Header::read(&jpeg)?;
/// let corner = Rect { left: 250, top: 200, width: 70, height: 40 };
/// let request = Request::new(header.size()).region(corner);
/// assert_eq!(Decoder::default().decode(&jpeg, &request)?.pixels.len(), 4 * 70 * 40);
/// # Ok::<(), gpufeed_jpeg::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    size: (u32, u32),
    region: Rect,
    scale: Scale,
    fill: bool,
    index: Option<&'a SeekIndex>,
    build_index: bool,
}

impl<'a> Request<'a> {
    /// All of an image at full size. `size` = (columns, rows) is [`Header::size`](crate::Header::size): a file of
    /// another size is [`Error::Unsupported`].
    pub fn new(size: (u32, u32)) -> Self {
        Request { size, region: Rect::whole(size), scale: Scale::Full, fill: false, index: None, build_index: false }
    }

    /// All of the image at a scale, as libjpeg's draft mode. It replaces an earlier region: call [`region`](Self::region) after
    /// it, in pixels of the scale.
    pub fn scale(mut self, scale: Scale) -> Self {
        (self.scale, self.region) = (scale, Rect::whole(scale.size(self.size)));
        self
    }

    /// A part of the image, in pixels as stored, at the scale.
    pub fn region(mut self, region: Rect) -> Self {
        self.region = region;
        self
    }

    /// With true, a damaged or cut file is decoded as far as it goes, the rest gray (128), with the pixels that libjpeg-turbo
    /// makes of it; off by default: it is [`Error::Damaged`].
    ///
    /// Without it a file is damaged if its end is missing, or if the region needs data that cannot be decoded: damage
    /// after the region is not noticed.
    pub fn fill(mut self, fill: bool) -> Self {
        self.fill = fill;
        self
    }

    /// Decodes from inside the file where `index` says so. Pixels are the same without it.
    ///
    /// The index must be that of exactly this file: one of another file may give wrong pixels, or is found not to fit and
    /// left aside. It never gives a panic.
    pub fn index(mut self, index: Option<&'a SeekIndex>) -> Self {
        self.index = index;
        self
    }

    /// With true, the file's index is built on the way, unless a given index leads to the region. The scan is then read to its
    /// end.
    pub fn build_index(mut self, build_index: bool) -> Self {
        self.build_index = build_index;
        self
    }
}

/// The pixels of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// RGBA8 row by row without gaps; alpha is 255.
    pub pixels: &'a [u8],
    /// Columns of the region.
    pub width: u32,
    /// Rows of the region.
    pub height: u32,
    /// How the file was read.
    pub outcome: Outcome,
}

/// How a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// True if the given index led to the region.
    pub by_index: bool,
    /// The index, if it was to be built and the file can have one: an undamaged image in one scan.
    pub index: Option<SeekIndex>,
}

/// Decodes one file after the other in memory that is reused and grows to the largest image.
///
/// ```
/// use gpufeed_jpeg::{Decoder, Header, Rect, Request};
///
/// # let picture = image::RgbImage::from_fn(320, 240, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
/// # let mut jpeg = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = jpeg.into_inner();
/// let mut decoder = Decoder::default();
/// let whole = Request::new(Header::read(&jpeg)?.size());
/// let index = decoder.decode(&jpeg, &whole.build_index(true))?.outcome.index;
///
/// let crop = whole.region(Rect { left: 200, top: 100, width: 64, height: 64 });
/// let from_start = decoder.decode(&jpeg, &crop)?.pixels.to_vec();
/// let by_index = decoder.decode(&jpeg, &crop.index(index.as_ref()))?;
/// assert!(by_index.outcome.by_index);
/// assert_eq!(by_index.pixels, from_start);
/// # Ok::<(), gpufeed_jpeg::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    tables: Box<Tables>,
    destuffed: Destuffed,
    planes: Vec<u8>,
    rows: Rows,
    pixels: Vec<u8>,
}

/// The tables of each component. They are kept from file to file, as many files share them.
#[derive(Debug, Default)]
struct Tables {
    dc: [Dc; COMPONENTS],
    ac: [Ac; COMPONENTS],
}

impl Decoder {
    /// Decodes the region into the decoder's own memory.
    ///
    /// # Errors
    /// [`Error`] has the reason. The decoder can be used again.
    pub fn decode(&mut self, bytes: &[u8], request: &Request<'_>) -> Result<Decoded<'_>, Error> {
        let mut pixels = std::mem::take(&mut self.pixels);
        let outcome = self.decode_into(bytes, request, &mut pixels);
        self.pixels = pixels;
        let outcome = outcome?; // from here on the region lies within the image
        let Rect { width, height, .. } = request.region;
        let length = PIXEL * width as usize * height as usize;
        Ok(Decoded { pixels: &self.pixels[..length], width, height, outcome })
    }

    /// As [`decode`](Self::decode), with the pixels at the start of `target`, which grows to what the whole image takes:
    /// 4 × columns × rows bytes.
    ///
    /// # Errors
    /// As [`decode`](Self::decode). The content of `target` is then undefined.
    pub fn decode_into(&mut self, bytes: &[u8], request: &Request<'_>, target: &mut Vec<u8>) -> Result<Outcome, Error> {
        let &Request { region, scale, size, .. } = request;
        let (width, height) = scale.size(size);
        if !region.is_inside((width, height)) {
            return Err(Error::Region { region, width, height });
        }
        let (frame, layout) = open(bytes, request)?;
        self.decode_frame(bytes, (&frame, &layout), request, target)
    }

    /// Bytes that its memory has grown to: of files, of planes, and columns of rows.
    #[doc(hidden)]
    pub fn sizes(&self) -> [usize; 3] {
        [self.destuffed.size(), self.planes.len(), self.rows.columns()]
    }

    /// Grows to what another one has grown to.
    #[doc(hidden)]
    pub fn reserve(&mut self, [file, planes, columns]: [usize; 3]) {
        self.destuffed.reserve(file);
        // Memory that is not available now is asked for again when it is needed.
        let _ = try_grow(&mut self.planes, planes);
        self.rows.reserve(columns);
    }

    fn decode_frame(
        &mut self,
        bytes: &[u8],
        (frame, layout): (&Frame<'_>, &Layout),
        request: &Request<'_>,
        target: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        let region = request.region;
        let components = frame.components();

        // Whatever the region: the next one of this image may be larger.
        let (across, down) = frame.mcus();
        let blocks: usize = components.iter().map(|component| component.across * component.down).sum();
        try_grow(&mut self.planes, product(&[across, down, blocks, 64])?)?;
        try_grow(target, product(&[PIXEL, frame.size.0, frame.size.1])?)?;
        self.destuffed.reserve(bytes.len());
        self.rows.reserve(frame.size.0);

        let mut rest = self.planes.as_mut_slice();
        let mut parts: [Part<'_>; COMPONENTS] = Default::default();
        for (part, component) in parts.iter_mut().zip(&layout.components) {
            let window = component.window(region);
            let side = component.size.samples();
            part.size = component.size;
            part.columns = (window.left / side, (window.left + window.width).div_ceil(side));
            part.rows = (window.top / side, (window.top + window.height).div_ceil(side));
            let length = part.stride() * side * (part.rows.1 - part.rows.0);
            let (samples, behind) =
                rest.split_at_mut_checked(length).ok_or(Error::Unsupported("a region beyond its planes"))?;
            (part.samples, rest) = (samples, behind);
        }

        // Blocks outside the region are stepped over by tables of their own, which take as long to make as some hundred
        // blocks to read.
        let everything = (layout.width, layout.height) == (region.width as usize, region.height as usize);
        let skips = request.index.is_none() && !everything;
        let Tables { dc, ac } = &mut *self.tables;
        let mut slots = [0; COMPONENTS];
        for (i, component) in components.iter().enumerate() {
            // Chroma components nearly always share their codes.
            slots[i] =
                if i == 2 && component.ac == components[1].ac && component.dc == components[1].dc { 1 } else { i };
            if slots[i] == i {
                dc[i].build(component.dc).map_err(Error::Unsupported)?;
                ac[i].build(component.ac, skips).map_err(Error::Unsupported)?;
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
            let one = frame.is_in_one_scan();
            let sought = request.index.filter(|_| one).and_then(|index| job.read_indexed(&mut self.destuffed, index));
            indexed = sought.is_some();
            if !indexed {
                built = match job.read_whole(&mut self.destuffed, one && request.build_index) {
                    None if request.fill => {
                        damaged::read(&mut job).ok_or(Error::Unsupported("a region beyond its planes"))?;
                        None
                    }
                    None => return Err(Error::Damaged("the scan is damaged or cut")),
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
        let row = region.width as usize * PIXEL;
        let target = &mut target[..row * region.height as usize];
        match components.len() {
            1 => upsample::finish(&[plane(0)], frame.transform, region, &mut self.rows, target),
            _ => {
                let planes = [plane(0), plane(1), plane(2)];
                upsample::finish(&planes, frame.transform, region, &mut self.rows, target);
            }
        }
        Ok(Outcome { by_index: indexed, index: built })
    }
}

/// Bytes of a buffer; more than there can be where the product does not fit, as on 32-bit systems.
fn product(factors: &[usize]) -> Result<usize, Error> {
    let all = factors.iter().try_fold(1_usize, |all, &factor| all.checked_mul(factor));
    all.ok_or(Error::NoMemory { bytes: usize::MAX })
}

/// The headers of a file that can be decoded, and its layout at the scale.
fn open<'a>(bytes: &'a [u8], request: &Request<'_>) -> Result<(Frame<'a>, Layout), Error> {
    let (size, fill) = (request.size, request.fill);
    if !bytes.starts_with(&[0xFF, 0xD8]) {
        return Err(Error::Invalid("no start-of-image marker (SOI)"));
    }
    if !fill && !has_end(bytes) {
        return Err(Error::Damaged("no end-of-image marker"));
    }
    if u64::from(size.0) * u64::from(size.1) > bytes.len() as u64 * PIXELS_PER_BYTE {
        return Err(Error::Damaged("too few bytes for its size"));
    }
    let frame = Frame::read(bytes, fill).map_err(Error::Unsupported)?;
    if frame.size != (size.0 as usize, size.1 as usize) {
        return Err(Error::Unsupported("another size than the request has"));
    }
    let components = frame.components();
    let factors = [0, 1, 2].map(|i| components.get(i).map_or((1, 1), |one| (one.across as u8, one.down as u8)));
    let block = match request.scale {
        Scale::Full => IdctSize::Eight,
        Scale::Half => IdctSize::Four,
        Scale::Quarter => IdctSize::Two,
        Scale::Eighth => IdctSize::One,
    };
    let layout = Layout::new(size, &factors[..components.len()], block)
        .ok_or(Error::Unsupported("sampling factors that do not divide each other"))?;
    Ok((frame, layout))
}

/// Checks by a file's headers whether this crate decodes it. The data may still be damaged.
///
/// # Errors
/// As [`Decoder::decode`]; the region and the index are not looked at.
pub fn check(bytes: &[u8], request: &Request<'_>) -> Result<(), Error> {
    open(bytes, request).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_beyond_every_image_is_an_error() {
        let file = b"\xFF\xD8\xFF\xD9";
        let most = Rect { left: 0, top: 0, width: u32::MAX, height: u32::MAX };
        let request = Request::new((8, 8)).region(most);
        let error = Decoder::default().decode(file, &request).unwrap_err();
        assert_eq!(error, Error::Region { region: most, width: 8, height: 8 });
        assert!(matches!(product(&[usize::MAX, 2]), Err(Error::NoMemory { .. })));
        assert_eq!(product(&[2, 3, 4]), Ok(24));
    }
}
