//! Reads the marker segments of a JPEG (ITU-T T.81 annex B): the frame header, the scan headers and the tables that
//! each scan uses.
//!
//! It allocates no memory. Unsupported kinds of files and headers that violate the standard are rejected with a reason.

use crate::color::ColorTransform;
use crate::error::Unsupported;
use crate::huffman::HuffmanSpec;

/// The largest number of blocks in an MCU, of all components together (T.81 B.2.3).
pub(crate) const MAX_MCU_BLOCKS: usize = 10;

/// The largest supported number of components.
pub(crate) const MAX_COMPONENTS: usize = 3;

/// A component of the frame with the tables of its scan. Before its scan header is read, the tables are empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameComponent<'a> {
    /// Horizontal and vertical sampling factor, 1..=4. Both are 1 if the frame has only this component.
    pub(crate) horizontal: usize,
    pub(crate) vertical: usize,
    /// Quantization table in zigzag order.
    pub(crate) quantization: [u16; 64],
    pub(crate) dc: HuffmanSpec<'a>,
    pub(crate) ac: HuffmanSpec<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    component_indices: [usize; MAX_COMPONENTS],
    component_count: usize,
    /// MCUs in a row, and rows of MCUs. In a scan of one component each MCU is one block, and blocks that hold no part
    /// of the image are left out (T.81 A.2.2).
    pub(crate) mcus: (usize, usize),
    /// MCUs between restart markers; 0 if there are no restart markers.
    pub(crate) restart_interval: usize,
    /// Offset of the entropy-coded data in the file.
    pub(crate) data_offset: usize,
}

impl Scan {
    /// Indices of the scan's components in [`Frame::components`].
    pub(crate) fn component_indices(&self) -> &[usize] {
        &self.component_indices[..self.component_count]
    }
}

/// A supported frame: 8-bit, Huffman-coded, sequential, each component in one scan.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// Columns and rows.
    pub(crate) size: (usize, usize),
    components: [FrameComponent<'a>; MAX_COMPONENTS],
    component_count: usize,
    pub(crate) color_transform: ColorTransform,
    scans: [Scan; MAX_COMPONENTS],
    scan_count: usize,
}

impl<'a> Frame<'a> {
    /// The scans in the order of the file.
    pub(crate) fn scans(&self) -> &[Scan] {
        &self.scans[..self.scan_count]
    }

    /// One or three components.
    pub(crate) fn components(&self) -> &[FrameComponent<'a>] {
        &self.components[..self.component_count]
    }

    /// The largest horizontal and the largest vertical sampling factor. An MCU has this size in blocks of 8×8 pixels.
    pub(crate) fn max_factors(&self) -> (usize, usize) {
        let components = self.components();
        let max = |factor: fn(&FrameComponent<'_>) -> usize| components.iter().map(factor).max().unwrap_or(1);
        (max(|component| component.horizontal), max(|component| component.vertical))
    }

    /// MCUs in a row, and rows of MCUs.
    pub(crate) fn mcus(&self) -> (usize, usize) {
        let (max_h, max_v) = self.max_factors();
        (self.size.0.div_ceil(8 * max_h), self.size.1.div_ceil(8 * max_v))
    }

    /// Columns and rows of the component's blocks in an MCU of `scan`.
    pub(crate) fn mcu_blocks(&self, component: usize, scan: &Scan) -> (usize, usize) {
        match (scan.component_indices(), &self.components[component]) {
            ([_], _) => (1, 1),
            (_, component) => (component.horizontal, component.vertical),
        }
    }

    /// Reads the segments up to the first scan header, or up to the end of the image if its components are in several
    /// scans. With `fill` the file may end before every component has its scan.
    pub(crate) fn read(bytes: &'a [u8], fill: bool) -> Result<Self, Unsupported> {
        let mut headers = Headers::default();
        let mut at = 2;
        loop {
            let has_scan = headers.has_scan();
            let (marker, payload, end) = match next_segment(bytes, at) {
                Ok(Some(segment)) => segment,
                Ok(None) if has_scan => break,
                Ok(None) => return Err("an end-of-image marker (EOI) before the first scan"),
                Err(_) if has_scan && fill => break,
                Err(reason) => return Err(reason),
            };
            at = match headers.read_segment(bytes, marker, payload, end) {
                Ok(next) => next,
                Err(_) if has_scan && fill => break,
                Err(reason) => return Err(reason),
            };
            // A scan of all components completes the image. The segments after it are not part of the image.
            if headers.frame.as_ref().is_some_and(|(_, frame)| frame.has_single_scan()) {
                break;
            }
        }
        headers.finish(fill)
    }

    /// Returns true if the first scan has all components.
    pub(crate) fn has_single_scan(&self) -> bool {
        self.scan_count > 0 && self.scans[0].component_count == self.component_count
    }

    /// Adds the scan with the header `payload`.
    fn add_scan(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        tables: &TableSlots<'a>,
        restart_interval: usize,
        data_offset: usize,
    ) -> Result<(), Unsupported> {
        let (&count, rest) = payload.split_first().ok_or("the scan header (SOS) is too short")?;
        let count = usize::from(count);
        if !(1..=self.component_count).contains(&count) {
            return Err("a scan of no component, or of more than the frame has");
        }
        let (selectors, rest) = rest.split_at_checked(2 * count).ok_or("the scan header (SOS) is too short")?;
        // The last three bytes are spectral selection and successive approximation, which a sequential frame does not
        // use. libjpeg warns about unusual values and continues.
        if rest.len() != 3 {
            return Err("a scan header (SOS) of the wrong length");
        }
        let mcus = self.mcus();
        let mut scan = Scan {
            component_indices: [0; MAX_COMPONENTS],
            component_count: count,
            mcus,
            restart_interval,
            data_offset,
        };
        let mut first = 0;
        for (index, &[id, selector]) in scan.component_indices.iter_mut().zip(selectors.as_chunks::<2>().0) {
            let ids = header.components[..self.component_count].iter().map(|component| component.id);
            let Some(found) = ids.enumerate().skip(first).find(|&(_, other)| other == id).map(|(i, _)| i) else {
                return Err("the scan's components are not in the frame's order");
            };
            if self.scans().iter().any(|earlier| earlier.component_indices().contains(&found)) {
                return Err("a component in two scans");
            }
            (*index, first) = (found, found + 1);
            const MISSING: Unsupported = "a quantization or Huffman table of the scan is missing";
            let component = &mut self.components[found];
            let quantization_slot = header.components[found].quantization_slot;
            component.quantization = tables.quantization.get(quantization_slot).copied().flatten().ok_or(MISSING)?;
            component.dc = tables.dc.get(usize::from(selector >> 4)).copied().flatten().ok_or(MISSING)?;
            component.ac = tables.ac.get(usize::from(selector & 15)).copied().flatten().ok_or(MISSING)?;
        }
        let components = scan.component_indices().iter().map(|&index| &self.components[index]);
        let blocks: usize = components.map(|component| component.horizontal * component.vertical).sum();
        if count > 1 && blocks > MAX_MCU_BLOCKS {
            return Err("an MCU of more than ten blocks");
        }
        if count == 1 {
            let (component, (max_h, max_v)) = (&self.components[scan.component_indices[0]], self.max_factors());
            scan.mcus.0 = (self.size.0 * component.horizontal).div_ceil(8 * max_h);
            scan.mcus.1 = (self.size.1 * component.vertical).div_ceil(8 * max_v);
        }
        self.scans[self.scan_count] = scan;
        self.scan_count += 1;
        Ok(())
    }
}

/// The content of the segments that were read so far.
#[derive(Default)]
struct Headers<'a> {
    frame: Option<(FrameHeader, Frame<'a>)>,
    tables: TableSlots<'a>,
    restart_interval: usize,
    has_jfif: bool,
    /// The colour transform that an Adobe segment declares.
    adobe_transform: Option<u8>,
}

impl<'a> Headers<'a> {
    fn has_scan(&self) -> bool {
        self.frame.as_ref().is_some_and(|(_, frame)| frame.scan_count > 0)
    }

    /// Reads a segment that ends at offset `end`. Returns the offset at which to search for the next one.
    fn read_segment(&mut self, bytes: &[u8], marker: u8, payload: &'a [u8], end: usize) -> Result<usize, Unsupported> {
        let has_scan = self.has_scan();
        match marker {
            0xC0 | 0xC1 if self.frame.is_none() => {
                let header = FrameHeader::read(payload)?;
                self.frame = Some((header, header.frame()?));
            }
            0xC0 | 0xC1 => return Err("several frames"),
            0xC2 => return Err("progressive"),
            0xC4 => self.tables.read_dht(payload)?,
            0xC3 | 0xC5..=0xCF => return Err("lossless, hierarchical or arithmetic coding"),
            0xDB => self.tables.read_dqt(payload)?,
            0xDD => match payload {
                &[high, low] => self.restart_interval = usize::from(u16::from_be_bytes([high, low])),
                _ => return Err("a DRI segment of the wrong length"),
            },
            0xDA => {
                let Some((header, frame)) = &mut self.frame else { return Err("a scan without a frame") };
                frame.add_scan(header, payload, &self.tables, self.restart_interval, end)?;
                return Ok(skip_scan_data(bytes, end, frame));
            }
            // libjpeg evaluates these two segments before the first scan only.
            0xE0 if !has_scan => self.has_jfif |= payload.len() >= 14 && payload.starts_with(b"JFIF\0"),
            0xEE if !has_scan && payload.len() >= 12 && payload.starts_with(b"Adobe") => {
                self.adobe_transform = Some(payload[11]);
            }
            0xE0..=0xEF | 0xFE => {}
            _ => return Err("an unusual marker before the scan"),
        }
        Ok(end)
    }

    /// Returns the frame. Without `fill` every component must have its scan.
    fn finish(self, fill: bool) -> Result<Frame<'a>, Unsupported> {
        let Some((header, mut frame)) = self.frame else { return Err("a scan without a frame") };
        let scanned: usize = frame.scans().iter().map(|scan| scan.component_count).sum();
        if !fill && scanned < frame.component_count {
            return Err("a component without a scan");
        }
        let ids = header.components.map(|component| component.id);
        let transform = ColorTransform::detect(self.has_jfif, self.adobe_transform, &ids[..frame.component_count]);
        frame.color_transform = transform.ok_or("an unknown colour space")?;
        Ok(frame)
    }
}

/// Returns the offset at which to search for the segment after the scan data at `at`. The data of a scan of all
/// components are not searched, because no segment after them is read.
fn skip_scan_data(bytes: &[u8], mut at: usize, frame: &Frame<'_>) -> usize {
    if frame.has_single_scan() {
        return at;
    }
    while let Some(before_ff) = bytes[at..].iter().position(|&byte| byte == 0xFF) {
        at += before_ff;
        let Some(fill_bytes) = bytes[at..].iter().position(|&byte| byte != 0xFF) else { return at };
        match bytes[at + fill_bytes] {
            // Stuffing and restart markers are part of the data.
            0 | 0xD0..=0xD7 => at += fill_bytes + 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// A marker, its payload and the offset after the payload.
type Segment<'a> = (u8, &'a [u8], usize);

/// Returns the first segment from offset `at` on; `None` at the end-of-image marker.
fn next_segment(bytes: &[u8], mut at: usize) -> Result<Option<Segment<'_>>, Unsupported> {
    const TRUNCATED: Unsupported = "the bytes end before the scan";
    let rest = bytes.get(at..).ok_or(TRUNCATED)?;
    // Stray bytes and fill bytes (0xFF) between segments are common.
    at += rest.iter().position(|&byte| byte == 0xFF).ok_or(TRUNCATED)?;
    at += bytes[at..].iter().position(|&byte| byte != 0xFF).ok_or(TRUNCATED)?;
    if bytes[at] == 0xD9 {
        return Ok(None);
    }
    let &[marker, high, low, ..] = &bytes[at..] else { return Err(TRUNCATED) };
    if matches!(marker, 0x00..=0xBF | 0xD0..=0xD9) {
        return Err("an unusual marker before the scan");
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length < 2 {
        return Err("a segment length below 2");
    }
    let payload = bytes.get(at + 3..at + 1 + length).ok_or(TRUNCATED)?;
    Ok(Some((marker, payload, at + 1 + length)))
}

/// The tables that DQT and DHT segments have defined so far. A later definition replaces an earlier one.
#[derive(Default)]
struct TableSlots<'a> {
    quantization: [Option<[u16; 64]>; 4],
    dc: [Option<HuffmanSpec<'a>>; 4],
    ac: [Option<HuffmanSpec<'a>>; 4],
}

impl<'a> TableSlots<'a> {
    fn read_dqt(&mut self, mut payload: &[u8]) -> Result<(), Unsupported> {
        const LENGTH: Unsupported = "a DQT segment of the wrong length";
        while let Some((&precision_and_slot, rest)) = payload.split_first() {
            let slot = self.quantization.get_mut(usize::from(precision_and_slot & 15));
            let slot = slot.ok_or("a quantization table number above 3")?;
            let mut table = [0; 64];
            payload = match precision_and_slot >> 4 {
                0 => {
                    let (values, rest) = rest.split_first_chunk::<64>().ok_or(LENGTH)?;
                    table.iter_mut().zip(values).for_each(|(entry, &value)| *entry = u16::from(value));
                    rest
                }
                1 => {
                    let (values, rest) = rest.split_first_chunk::<128>().ok_or(LENGTH)?;
                    let (values, _) = values.as_chunks::<2>();
                    table.iter_mut().zip(values).for_each(|(entry, &value)| *entry = u16::from_be_bytes(value));
                    rest
                }
                _ => return Err("a quantization table of an unknown precision"),
            };
            *slot = Some(table);
        }
        Ok(())
    }

    fn read_dht(&mut self, mut payload: &'a [u8]) -> Result<(), Unsupported> {
        const LENGTH: Unsupported = "a DHT segment of the wrong length";
        while let Some((&class_and_slot, rest)) = payload.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(LENGTH)?;
            let symbols = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(symbols).ok_or(LENGTH)?;
            let slots = match class_and_slot >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err("a Huffman table of an unknown class"),
            };
            let slot = slots.get_mut(usize::from(class_and_slot & 15)).ok_or("a Huffman table number above 3")?;
            *slot = Some(HuffmanSpec { counts, symbols });
            payload = rest;
        }
        Ok(())
    }
}

/// A component as the frame header declares it.
#[derive(Clone, Copy)]
struct ComponentHeader {
    id: u8,
    /// Sampling factors.
    horizontal: usize,
    vertical: usize,
    /// Number of the quantization table, as declared: it may be above 3.
    quantization_slot: usize,
}

/// The frame header (SOF).
#[derive(Clone, Copy)]
struct FrameHeader {
    size: (usize, usize),
    components: [ComponentHeader; MAX_COMPONENTS],
    component_count: usize,
}

impl FrameHeader {
    fn read(payload: &[u8]) -> Result<Self, Unsupported> {
        let &[precision, h1, h0, w1, w0, count, ref rest @ ..] = payload else {
            return Err("the frame header (SOF) is too short");
        };
        if precision != 8 {
            return Err("a sample precision other than 8 bits");
        }
        let component_count = usize::from(count);
        if !matches!(component_count, 1 | 3) {
            return Err("neither one nor three components");
        }
        if rest.len() != 3 * component_count {
            return Err("a frame header (SOF) of the wrong length");
        }
        let unused = ComponentHeader { id: 0, horizontal: 1, vertical: 1, quantization_slot: 0 };
        let mut components = [unused; MAX_COMPONENTS];
        for (component, &[id, factors, table]) in components.iter_mut().zip(rest.as_chunks::<3>().0) {
            let (horizontal, vertical) = (usize::from(factors >> 4), usize::from(factors & 15));
            if !(1..=4).contains(&horizontal) || !(1..=4).contains(&vertical) {
                return Err("sampling factors outside 1 to 4");
            }
            *component = ComponentHeader { id, horizontal, vertical, quantization_slot: usize::from(table) };
        }
        let size = (usize::from(u16::from_be_bytes([w1, w0])), usize::from(u16::from_be_bytes([h1, h0])));
        Ok(FrameHeader { size, components, component_count })
    }

    /// The frame without its scans.
    fn frame<'a>(&self) -> Result<Frame<'a>, Unsupported> {
        let component = |header: ComponentHeader| {
            // The MCUs of a single component are one block each, whatever its sampling factors.
            let (horizontal, vertical) =
                if self.component_count == 1 { (1, 1) } else { (header.horizontal, header.vertical) };
            let empty = HuffmanSpec { counts: &[0; 16], symbols: &[] };
            FrameComponent { horizontal, vertical, quantization: [0; 64], dc: empty, ac: empty }
        };
        let frame = Frame {
            size: self.size,
            components: self.components.map(component),
            component_count: self.component_count,
            color_transform: ColorTransform::Gray,
            scans: [Scan::default(); MAX_COMPONENTS],
            scan_count: 0,
        };
        let (max_h, max_v) = frame.max_factors();
        let is_integral = |component: &FrameComponent<'_>| {
            max_h.is_multiple_of(component.horizontal) && max_v.is_multiple_of(component.vertical)
        };
        if !frame.components().iter().all(is_integral) {
            return Err("sampling factors whose ratio is not an integer");
        }
        Ok(frame)
    }
}
