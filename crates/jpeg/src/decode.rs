//! Decodes a region of a file: headers, scans, upsampling.

use crate::coefficients::Coefficients;
use crate::error::Result;
use crate::frame::{Frame, MAX_COMPONENTS, Scan};
use crate::huffman_tables::HuffmanTables;
use crate::idct::IdctSize;
use crate::index::SeekIndex;
use crate::layout::Layout;
use crate::markers::Headers;
use crate::mcus::ComponentDecoder;
use crate::memory::try_grow;
use crate::plane_window::{NaturalOrder, OUTSIDE_PLANES, PlaneWindow, plane_windows};
use crate::scan::ScanDecoder;
use crate::stuffing::UnstuffedData;
use crate::upsample::{Plane, RowBuffers};
use crate::{Error, Rect, Request, Scale, damaged, has_end, several_scans, upsample};

/// Bytes of a decoded pixel: red, green, blue and 255.
const PIXEL_BYTES: usize = 4;

/// An upper bound of the pixels that a byte of a Huffman-coded JPEG can hold. An MCU covers at most 32 × 32 pixels, and its blocks
/// take at least a bit each: nine with factors of 4×1, 1×4 and 1×1, which makes 910 pixels a byte. A file beyond the bound is truncated or
/// forged, or lacks its large components, and is rejected before memory is allocated for it.
const MAX_PIXELS_PER_BYTE: u64 = 2048;

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
    coefficients: Coefficients,
    planes: Vec<u8>,
    row_buffers: RowBuffers,
    pixels: Vec<u8>,
}

/// Sizes that the memory of a [`Decoder`] has grown to.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// The length of the largest file in bytes.
    pub file: usize,
    /// Blocks whose coefficients fit into the memory.
    pub blocks: usize,
    /// Bytes of the planes of samples.
    pub planes: usize,
    /// Columns of the widest image.
    pub columns: usize,
}

impl Sizes {
    /// The bytes of memory that these sizes take.
    pub fn bytes(self) -> usize {
        // A block of `Coefficients` takes 128 bytes and 8 for its bit set, `RowBuffers` four rows of bytes and one of `u16`.
        self.file + 136 * self.blocks + self.planes + 6 * self.columns
    }
}

impl Decoder {
    /// Decodes a region into the decoder's own memory.
    ///
    /// # Errors
    /// [`Error`] has the reason. The decoder can be used again.
    pub fn decode(&mut self, bytes: &[u8], request: &Request<'_>) -> Result<Decoded<'_>> {
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
    pub fn decode_into(&mut self, bytes: &[u8], request: &Request<'_>, target: &mut Vec<u8>) -> Result<Outcome> {
        let &Request { region, scale, size, .. } = request;
        let (width, height) = scale.size(size);
        if !region.is_inside((width, height)) {
            return Err(Error::Region { region, width, height });
        }
        check_bytes(bytes, request)?;
        let mut headers = Headers::new(bytes);
        let (frame, scan) = headers.first_scan()?;
        let layout = layout(&frame, request)?;
        let is_one_scan = frame.is_one_scan(&scan);
        self.reserve_for(bytes, &frame, is_one_scan, target)?;
        let mut windows = plane_windows(&mut self.planes, &layout, region)?;
        let outcome = if is_one_scan {
            // Blocks outside the region are skipped with lookup tables of their own. Building these takes as long as
            // reading some hundred blocks, so they are built only if many blocks may be skipped.
            let is_whole = (layout.width, layout.height) == (region.width as usize, region.height as usize);
            self.tables.build(&scan, request.index.is_none() && !is_whole)?;
            set_quantization(&mut windows, &frame);
            let components = self.tables.component_decoders(&frame, &scan);
            decode_scan(bytes, request, &mut self.data, &scan, &components, &mut windows)?
        } else {
            let Decoder { tables, data, coefficients, .. } = self;
            decode_several(bytes, request, headers, scan, tables, data, coefficients, &mut windows)?;
            Outcome::default()
        };
        write_pixels(&frame, &layout, region, &windows, &mut self.row_buffers, target);
        Ok(outcome)
    }

    /// Sizes that the memory has grown to.
    #[doc(hidden)]
    pub fn sizes(&self) -> Sizes {
        Sizes {
            file: self.data.capacity(),
            blocks: self.coefficients.blocks(),
            planes: self.planes.len(),
            columns: self.row_buffers.columns(),
        }
    }

    /// Grows the memory to the [`sizes`](Self::sizes) of another decoder.
    #[doc(hidden)]
    pub fn reserve(&mut self, sizes: Sizes) {
        // If one of these allocations fails, decoding requests it again and reports the error.
        let _ = self.data.try_reserve(sizes.file);
        let _ = self.coefficients.try_reserve(sizes.blocks);
        let _ = try_grow(&mut self.planes, sizes.planes);
        let _ = self.row_buffers.try_reserve(sizes.columns);
    }

    /// Grows the memory for the whole image, because the next region of this image may be larger.
    fn reserve_for(&mut self, bytes: &[u8], frame: &Frame, is_one_scan: bool, target: &mut Vec<u8>) -> Result<()> {
        let (mcus_per_row, mcu_rows) = frame.mcus();
        let blocks: usize = frame.components().iter().map(|component| component.horizontal * component.vertical).sum();
        try_grow(&mut self.planes, buffer_length(&[mcus_per_row, mcu_rows, blocks, 64])?)?;
        if !is_one_scan {
            self.coefficients.try_reserve(buffer_length(&[mcus_per_row, mcu_rows, blocks])?)?;
        }
        try_grow(target, buffer_length(&[PIXEL_BYTES, frame.size.0, frame.size.1])?)?;
        self.data.try_reserve(bytes.len())?;
        self.row_buffers.try_reserve(frame.size.0)
    }
}

/// Sets the quantization tables. A component without one had no scan: all of its samples are 128.
fn set_quantization(windows: &mut [PlaneWindow<'_>; MAX_COMPONENTS], frame: &Frame) {
    for (window, component) in windows.iter_mut().zip(frame.components()) {
        window.quantization = component.quantization.as_ref().map(NaturalOrder::new).unwrap_or_default();
    }
}

/// Decodes a scan of all components into the plane windows: by the index, else from the start, else as a damaged scan.
fn decode_scan(
    bytes: &[u8],
    request: &Request<'_>,
    data: &mut UnstuffedData,
    scan: &Scan<'_>,
    components: &[ComponentDecoder<'_>; MAX_COMPONENTS],
    windows: &mut [PlaneWindow<'_>; MAX_COMPONENTS],
) -> Result<Outcome> {
    let count = scan.component_indices().len();
    let mut decoder = ScanDecoder { bytes, scan, components: &components[..count], windows: &mut windows[..count] };
    if request.index.and_then(|index| decoder.decode_by_index(data, index)).is_some() {
        Ok(Outcome { by_index: true, index: None })
    } else if let Some(index) = decoder.decode_from_start(data, request.build_index) {
        Ok(Outcome { by_index: false, index })
    } else if request.fill {
        damaged::decode(&mut decoder).ok_or(OUTSIDE_PLANES)?;
        Ok(Outcome::default())
    } else {
        Err(Error::Damaged("the scan is damaged or cut"))
    }
}

/// Decodes several scans into the plane windows: reads what the region needs of each scan. Of a file that lacks bits all blocks are
/// read: strictly, or with `fill` as libjpeg reads damaged data. With `fill`, damage is read that way, too.
#[allow(clippy::too_many_arguments)] // the decoder's memory, which is borrowed apart from its planes
fn decode_several<'a>(
    bytes: &'a [u8],
    request: &Request<'_>,
    headers: Headers<'a>,
    first: Scan<'a>,
    tables: &mut HuffmanTables,
    data: &mut UnstuffedData,
    coefficients: &mut Coefficients,
    windows: &mut [PlaneWindow<'_>; MAX_COMPONENTS],
) -> Result<()> {
    let frame = headers.frame().cloned().ok_or(OUTSIDE_PLANES)?;
    let needed = std::array::from_fn(|i| (windows[i].columns, windows[i].rows));
    let all = std::array::from_fn(|i| {
        let (columns, rows) = if i < frame.components().len() { frame.grid(i) } else { (0, 0) };
        ((0, columns), (0, rows))
    });
    let mut stored = coefficients.windows(&frame, needed)?;
    let mut read = several_scans::read(bytes, headers.clone(), first, tables, data, &mut stored);
    // A file that lacks scans may be cut, and only reading all of its data shows that.
    let lacks_bits = read.as_ref().is_ok_and(|(frame, known)| known.lacks_bits(frame));
    if lacks_bits && !request.fill {
        stored = coefficients.windows(&frame, all)?;
        read = several_scans::read(bytes, headers.clone(), first, tables, data, &mut stored);
    }
    // Missing coefficients are estimated from blocks around the region.
    let is_estimated = read.as_ref().is_ok_and(|(frame, known)| known.smoothing(frame).is_some());
    let is_tolerant = request.fill && (is_estimated || matches!(read, Err(Error::Damaged(_))));
    if is_tolerant {
        stored = coefficients.windows(&frame, all)?;
        read = damaged::read(bytes, headers, first, tables, &mut stored);
    }
    let (frame, known) = read?;
    set_quantization(windows, &frame);
    let smoothing = known.smoothing(&frame);
    let in_bands = frame.progressive && !is_tolerant;
    for (i, (window, stored)) in windows.iter_mut().zip(&stored).enumerate().take(frame.components().len()) {
        let smoothing = smoothing.as_ref().map(|all| &all[i]);
        stored.write_samples(window, in_bands, smoothing).ok_or(OUTSIDE_PLANES)?;
    }
    Ok(())
}

/// Upsamples the plane windows and writes the region's pixels to `target`.
fn write_pixels(
    frame: &Frame,
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
        3 => upsample::planes_to_rgba(&[plane(0), plane(1), plane(2)], transform, region, row_buffers, target),
        _ => upsample::planes_to_rgba(&[0, 1, 2, 3].map(plane), transform, region, row_buffers, target),
    }
}

/// Returns the product of `factors`, or [`Error::NoMemory`] if it overflows, as it can on 32-bit systems.
fn buffer_length(factors: &[usize]) -> Result<usize> {
    let product = factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor));
    product.ok_or(Error::NoMemory { bytes: usize::MAX })
}

/// Checks the bytes before any header is read.
fn check_bytes(bytes: &[u8], request: &Request<'_>) -> Result<()> {
    if !bytes.starts_with(&[0xFF, 0xD8]) {
        return Err(Error::Invalid("no start-of-image marker (SOI)"));
    }
    if !request.fill && !has_end(bytes) {
        return Err(Error::Damaged("no end-of-image marker"));
    }
    let (width, height) = request.size;
    if u64::from(width) * u64::from(height) > bytes.len() as u64 * MAX_PIXELS_PER_BYTE {
        return Err(Error::Damaged("too few bytes for its size"));
    }
    Ok(())
}

/// Computes the layout of a frame at the request's scale.
fn layout(frame: &Frame, request: &Request<'_>) -> Result<Layout> {
    if frame.size != (request.size.0 as usize, request.size.1 as usize) {
        return Err(Error::Invalid("the frame header (SOF) and Request::new differ in the image size"));
    }
    let components = frame.components();
    let factors: [_; MAX_COMPONENTS] = std::array::from_fn(|i| match components.get(i) {
        Some(component) => (component.horizontal as u8, component.vertical as u8),
        None => (1, 1),
    });
    let idct_size = match request.scale {
        Scale::Full => IdctSize::Eight,
        Scale::Half => IdctSize::Four,
        Scale::Quarter => IdctSize::Two,
        Scale::Eighth => IdctSize::One,
    };
    Layout::new(request.size, &factors[..components.len()], idct_size)
        .ok_or(Error::Unsupported("sampling factors whose ratio is not an integer are not supported"))
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
