//! Decodes a region of a file: headers, scans, upsampling.

use crate::huffman::{AcTable, DcTable};
use crate::idct::IdctSize;
use crate::index::SeekIndex;
use crate::layout::Layout;
use crate::markers::{Frame, FrameComponent, MAX_COMPONENTS, Scan};
use crate::memory::try_grow;
use crate::scan::{ComponentDecoder, PlaneWindow, ScanDecoder};
use crate::stuffing::UnstuffedData;
use crate::upsample::{Plane, RowBuffers};
use crate::{Error, Rect, Scale, damaged, has_end, scan, upsample};

/// Bytes of a decoded pixel: red, green, blue and 255.
const PIXEL_BYTES: usize = 4;

/// An upper bound of the pixels that a byte of a Huffman-coded JPEG can hold. An MCU covers at most 64 × 16 pixels and
/// its blocks take at least 8 bits together, which makes 1024 pixels a byte; the bound is twice that. A file beyond it
/// is truncated or forged, and is rejected before memory is allocated for it.
const MAX_PIXELS_PER_BYTE: u64 = 2048;

/// The error for plane windows outside the memory for the planes.
const OUTSIDE_PLANES: Error = Error::Unsupported("a region beyond its planes");

/// The region to decode, and the options.
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
    /// Requests a whole image at full size. `size` = (columns, rows) is [`Header::size`](crate::Header::size). A file
    /// of another size is [`Error::Unsupported`].
    pub fn new(size: (u32, u32)) -> Self {
        Request { size, region: Rect::whole(size), scale: Scale::Full, fill: false, index: None, build_index: false }
    }

    /// Requests the whole image at a scale, as libjpeg's draft mode. This replaces an earlier region: call
    /// [`region`](Self::region) after it, with pixels of the scaled image.
    pub fn scale(mut self, scale: Scale) -> Self {
        (self.scale, self.region) = (scale, Rect::whole(scale.size(self.size)));
        self
    }

    /// Requests a region. It is in pixels of the scaled image, before any EXIF orientation is applied.
    pub fn region(mut self, region: Rect) -> Self {
        self.region = region;
        self
    }

    /// With true, a damaged or truncated file is decoded to the same pixels as by libjpeg-turbo; missing parts are gray
    /// (128). By default such a file is [`Error::Damaged`].
    ///
    /// By default a file is damaged if its end-of-image marker is missing, or if data that the region needs cannot be
    /// decoded. Damage after the region is not detected.
    pub fn fill(mut self, fill: bool) -> Self {
        self.fill = fill;
        self
    }

    /// Starts decoding inside the file with the help of a seek index. The pixels are the same as without it.
    ///
    /// The index must belong to exactly this file. An index of another file is ignored if the decoder detects the
    /// mismatch, and leads to wrong pixels otherwise. It never causes a panic.
    pub fn index(mut self, index: Option<&'a SeekIndex>) -> Self {
        self.index = index;
        self
    }

    /// With true, the decoder reads the scan to its end and builds the file's seek index, unless it used the index of
    /// the request.
    pub fn build_index(mut self, build_index: bool) -> Self {
        self.build_index = build_index;
        self
    }
}

/// The pixels of a decoded region.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// RGBA with 8 bits a channel, in rows without gaps. Alpha is 255.
    pub pixels: &'a [u8],
    /// Columns of the region.
    pub width: u32,
    /// Rows of the region.
    pub height: u32,
    /// The use of the seek index.
    pub outcome: Outcome,
}

/// The use of the seek index in decoding a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// True if the index of the request was used.
    pub by_index: bool,
    /// The index that [`Request::build_index`] asked for. Only undamaged files with a single scan have one.
    pub index: Option<SeekIndex>,
}

/// Decodes files. Its memory is reused from file to file and grows with the largest image.
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
    tables: Box<HuffmanTables>,
    data: UnstuffedData,
    planes: Vec<u8>,
    row_buffers: RowBuffers,
    pixels: Vec<u8>,
}

/// The Huffman tables of each component. They are kept from file to file, because many files have the same tables.
#[derive(Debug, Default)]
struct HuffmanTables {
    dc: [DcTable; MAX_COMPONENTS],
    ac: [AcTable; MAX_COMPONENTS],
}

impl HuffmanTables {
    /// Builds the tables of all components. Returns for each component the index of its tables.
    fn build(
        &mut self,
        components: &[FrameComponent<'_>],
        with_skip_lookup: bool,
    ) -> Result<[usize; MAX_COMPONENTS], Error> {
        let mut slots = [0; MAX_COMPONENTS];
        for (i, component) in components.iter().enumerate() {
            // Both chroma components have the same tables in nearly all files.
            let shares_tables = i == 2 && component.ac == components[1].ac && component.dc == components[1].dc;
            slots[i] = if shares_tables { 1 } else { i };
            if !shares_tables {
                self.dc[i].build(component.dc).map_err(Error::Unsupported)?;
                self.ac[i].build(component.ac, with_skip_lookup).map_err(Error::Unsupported)?;
            }
        }
        Ok(slots)
    }
}

impl Decoder {
    /// Decodes a region into the decoder's own memory.
    ///
    /// # Errors
    /// [`Error`] has the reason. The decoder can be used again.
    pub fn decode(&mut self, bytes: &[u8], request: &Request<'_>) -> Result<Decoded<'_>, Error> {
        let mut pixels = std::mem::take(&mut self.pixels);
        let outcome = self.decode_into(bytes, request, &mut pixels);
        self.pixels = pixels;
        let outcome = outcome?; // an `Ok` proves that the region lies within the image
        let Rect { width, height, .. } = request.region;
        let length = PIXEL_BYTES * width as usize * height as usize;
        Ok(Decoded { pixels: &self.pixels[..length], width, height, outcome })
    }

    /// Decodes a region into the start of `target`. `target` grows to 4 × columns × rows bytes of the whole image.
    ///
    /// # Errors
    /// [`Error`] has the reason. The content of `target` is then undefined. The decoder can be used again.
    pub fn decode_into(&mut self, bytes: &[u8], request: &Request<'_>, target: &mut Vec<u8>) -> Result<Outcome, Error> {
        let &Request { region, scale, size, .. } = request;
        let (width, height) = scale.size(size);
        if !region.is_inside((width, height)) {
            return Err(Error::Region { region, width, height });
        }
        let (frame, layout) = read_headers(bytes, request)?;
        self.reserve_for(bytes, &frame, target)?;
        let mut windows = plane_windows(&mut self.planes, &layout, region)?;
        // Blocks outside the region are skipped with lookup tables of their own. Building these takes as long as
        // reading some hundred blocks, so they are built only if many blocks may be skipped.
        let is_whole = (layout.width, layout.height) == (region.width as usize, region.height as usize);
        let table_slots = self.tables.build(frame.components(), request.index.is_none() && !is_whole)?;

        let mut outcome = Outcome::default();
        for scan in frame.scans() {
            let components = component_decoders(&self.tables, table_slots, &frame, scan);
            outcome = decode_scan(bytes, request, &mut self.data, &frame, scan, &components, &mut windows)?;
        }
        for (i, window) in windows.iter_mut().enumerate() {
            if !frame.scans().iter().any(|scan| scan.component_indices().contains(&i)) {
                window.samples.fill(128); // the file was truncated before the component's scan
            }
        }
        write_pixels(&frame, &layout, region, &windows, &mut self.row_buffers, target);
        Ok(outcome)
    }

    /// Sizes that the memory has grown to: file length, bytes of planes, image width.
    #[doc(hidden)]
    pub fn sizes(&self) -> [usize; 3] {
        [self.data.capacity(), self.planes.len(), self.row_buffers.columns()]
    }

    /// Grows the memory to the [`sizes`](Self::sizes) of another decoder.
    #[doc(hidden)]
    pub fn reserve(&mut self, [file, planes, columns]: [usize; 3]) {
        // If one of these allocations fails, decoding requests it again and reports the error.
        let _ = self.data.try_reserve(file);
        let _ = try_grow(&mut self.planes, planes);
        let _ = self.row_buffers.try_reserve(columns);
    }

    /// Grows the memory for the whole image, because the next region of this image may be larger.
    fn reserve_for(&mut self, bytes: &[u8], frame: &Frame<'_>, target: &mut Vec<u8>) -> Result<(), Error> {
        let (mcus_per_row, mcu_rows) = frame.mcus();
        let blocks: usize = frame.components().iter().map(|component| component.horizontal * component.vertical).sum();
        try_grow(&mut self.planes, buffer_length(&[mcus_per_row, mcu_rows, blocks, 64])?)?;
        try_grow(target, buffer_length(&[PIXEL_BYTES, frame.size.0, frame.size.1])?)?;
        self.data.try_reserve(bytes.len())?;
        self.row_buffers.try_reserve(frame.size.0)
    }
}

/// Splits `planes` into the plane windows of the components for a region.
fn plane_windows<'a>(
    planes: &'a mut [u8],
    layout: &Layout,
    region: Rect,
) -> Result<[PlaneWindow<'a>; MAX_COMPONENTS], Error> {
    let mut rest = planes;
    let mut windows: [PlaneWindow<'_>; MAX_COMPONENTS] = Default::default();
    for (window, component) in windows.iter_mut().zip(&layout.components) {
        let samples = component.window(region);
        let side = component.idct_size.samples();
        window.idct_size = component.idct_size;
        window.columns = (samples.left / side, (samples.left + samples.width).div_ceil(side));
        window.rows = (samples.top / side, (samples.top + samples.height).div_ceil(side));
        let length = window.stride() * side * (window.rows.1 - window.rows.0);
        (window.samples, rest) = rest.split_at_mut_checked(length).ok_or(OUTSIDE_PLANES)?;
    }
    Ok(windows)
}

/// Returns the tables for each component of a scan, in the order of the scan. Unused elements repeat component 0.
fn component_decoders<'a>(
    HuffmanTables { dc, ac }: &'a HuffmanTables,
    table_slots: [usize; MAX_COMPONENTS],
    frame: &Frame<'_>,
    scan: &Scan,
) -> [ComponentDecoder<'a>; MAX_COMPONENTS] {
    std::array::from_fn(|position| {
        let i = scan.component_indices().get(position).copied().unwrap_or(0);
        let (mcu_width, mcu_height) = frame.mcu_blocks(i, scan);
        let quantization = scan::to_natural_order(&frame.components()[i].quantization);
        let (dc, ac) = (&dc[table_slots[i]], &ac[table_slots[i]]);
        ComponentDecoder { mcu_width, mcu_height, dc, ac, quantization }
    })
}

/// Decodes a scan into the plane windows of its components: by the index, else from the start, else as a damaged scan.
fn decode_scan<'a>(
    bytes: &[u8],
    request: &Request<'_>,
    data: &mut UnstuffedData,
    frame: &Frame<'_>,
    scan: &Scan,
    components: &[ComponentDecoder<'_>],
    windows: &mut [PlaneWindow<'a>; MAX_COMPONENTS],
) -> Result<Outcome, Error> {
    let indices = scan.component_indices();
    let mut scan_windows: [PlaneWindow<'a>; MAX_COMPONENTS] = Default::default();
    for (scan_window, &i) in scan_windows.iter_mut().zip(indices) {
        *scan_window = std::mem::take(&mut windows[i]);
    }
    let count = indices.len();
    let mut decoder =
        ScanDecoder { bytes, scan, components: &components[..count], windows: &mut scan_windows[..count] };
    // An index holds places of a single scan.
    let index = request.index.filter(|_| frame.has_single_scan());
    let build_index = request.build_index && frame.has_single_scan();
    let outcome = if index.and_then(|index| decoder.decode_by_index(data, index)).is_some() {
        Outcome { by_index: true, index: None }
    } else if let Some(index) = decoder.decode_from_start(data, build_index) {
        Outcome { by_index: false, index }
    } else if request.fill {
        damaged::decode(&mut decoder).ok_or(OUTSIDE_PLANES)?;
        Outcome::default()
    } else {
        return Err(Error::Damaged("the scan is damaged or cut"));
    };
    for (scan_window, &i) in scan_windows.into_iter().zip(indices) {
        windows[i] = scan_window;
    }
    Ok(outcome)
}

/// Upsamples the plane windows and writes the region's pixels to `target`.
fn write_pixels(
    frame: &Frame<'_>,
    layout: &Layout,
    region: Rect,
    windows: &[PlaneWindow<'_>; MAX_COMPONENTS],
    row_buffers: &mut RowBuffers,
    target: &mut [u8],
) {
    let plane = |i: usize| {
        let (window, component): (&PlaneWindow<'_>, _) = (&windows[i], layout.components[i]);
        let side = window.idct_size.samples();
        let (left, top) = (side * window.columns.0, side * window.rows.0);
        Plane { component, samples: &*window.samples, stride: window.stride(), left, top }
    };
    let row = region.width as usize * PIXEL_BYTES;
    let target = &mut target[..row * region.height as usize];
    let transform = frame.color_transform;
    match layout.components.len() {
        1 => upsample::planes_to_rgba(&[plane(0)], transform, region, row_buffers, target),
        _ => upsample::planes_to_rgba(&[plane(0), plane(1), plane(2)], transform, region, row_buffers, target),
    }
}

/// Returns the product of `factors`, or [`Error::NoMemory`] if it overflows, as it can on 32-bit systems.
fn buffer_length(factors: &[usize]) -> Result<usize, Error> {
    let product = factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor));
    product.ok_or(Error::NoMemory { bytes: usize::MAX })
}

/// Reads the headers of a supported file, and computes its layout at the request's scale.
fn read_headers<'a>(bytes: &'a [u8], request: &Request<'_>) -> Result<(Frame<'a>, Layout), Error> {
    let (size, fill) = (request.size, request.fill);
    if !bytes.starts_with(&[0xFF, 0xD8]) {
        return Err(Error::Invalid("no start-of-image marker (SOI)"));
    }
    if !fill && !has_end(bytes) {
        return Err(Error::Damaged("no end-of-image marker"));
    }
    if u64::from(size.0) * u64::from(size.1) > bytes.len() as u64 * MAX_PIXELS_PER_BYTE {
        return Err(Error::Damaged("too few bytes for its size"));
    }
    let frame = Frame::read(bytes, fill).map_err(Error::Unsupported)?;
    if frame.size != (size.0 as usize, size.1 as usize) {
        return Err(Error::Unsupported("the frame header (SOF) and Request::new differ in the image size"));
    }
    let components = frame.components();
    let factors = [0, 1, 2].map(|i| match components.get(i) {
        Some(component) => (component.horizontal as u8, component.vertical as u8),
        None => (1, 1),
    });
    let idct_size = match request.scale {
        Scale::Full => IdctSize::Eight,
        Scale::Half => IdctSize::Four,
        Scale::Quarter => IdctSize::Two,
        Scale::Eighth => IdctSize::One,
    };
    let layout = Layout::new(size, &factors[..components.len()], idct_size)
        .ok_or(Error::Unsupported("sampling factors whose ratio is not an integer"))?;
    Ok((frame, layout))
}

/// Checks by a file's headers whether this crate supports it. The data may still be damaged.
///
/// # Errors
/// The errors of [`Decoder::decode`]. The region and the index are not checked.
pub fn check(bytes: &[u8], request: &Request<'_>) -> Result<(), Error> {
    read_headers(bytes, request).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_outside_every_image_is_an_error() {
        let file = b"\xFF\xD8\xFF\xD9";
        let region = Rect { left: 0, top: 0, width: u32::MAX, height: u32::MAX };
        let request = Request::new((8, 8)).region(region);
        let error = Decoder::default().decode(file, &request).unwrap_err();
        assert_eq!(error, Error::Region { region, width: 8, height: 8 });
        assert!(matches!(buffer_length(&[usize::MAX, 2]), Err(Error::NoMemory { .. })));
        assert_eq!(buffer_length(&[2, 3, 4]), Ok(24));
    }
}
