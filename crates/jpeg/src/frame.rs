//! The frame header (SOF) and the scan headers (SOS) of a JPEG (ITU-T T.81 B.2.2 and B.2.3).

use crate::Error;
use crate::band::Band;
use crate::color::ColorTransform;
use crate::error::Result;
use crate::huffman::HuffmanSpec;
use crate::tables::TableSlots;

/// The largest number of blocks in an MCU, of all components together (T.81 B.2.3).
pub(crate) const MAX_MCU_BLOCKS: usize = 10;

/// The largest supported number of components.
pub(crate) const MAX_COMPONENTS: usize = 4;

/// A component of the frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameComponent {
    id: u8,
    /// Horizontal and vertical sampling factor, 1..=4. Both are 1 if the frame has only this component.
    pub(crate) horizontal: usize,
    pub(crate) vertical: usize,
    /// The vertical factor as declared, which libjpeg's block smoothing counts rows by, also where the component is the only one.
    pub(crate) declared_vertical: usize,
    /// Number of the quantization table, as declared: it may be above 3.
    quantization_slot: usize,
    /// Quantization table in zigzag order; `None` before the component's first scan.
    pub(crate) quantization: Option<[u16; 64]>,
}

/// A frame: 8-bit, Huffman-coded, sequential or progressive.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Columns and rows.
    pub(crate) size: (usize, usize),
    components: [FrameComponent; MAX_COMPONENTS],
    component_count: usize,
    pub(crate) progressive: bool,
    pub(crate) color_transform: ColorTransform,
}

/// A scan: its components in its order, and their Huffman tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    component_indices: [usize; MAX_COMPONENTS],
    component_count: usize,
    /// The tables of each of the scan's components; `None` for those that a progressive scan does not use.
    pub(crate) dc: [Option<HuffmanSpec<'a>>; MAX_COMPONENTS],
    pub(crate) ac: [Option<HuffmanSpec<'a>>; MAX_COMPONENTS],
    /// The coefficients that the scan has; all of them in a sequential frame.
    pub(crate) band: Band,
    /// MCUs in a row, and rows of MCUs. In a scan of one component each MCU is one block, and blocks that hold no part
    /// of the image are left out (T.81 A.2.2).
    pub(crate) mcus: (usize, usize),
    /// MCUs between restart markers; 0 if there are no restart markers.
    pub(crate) restart_interval: usize,
    /// Offset of the entropy-coded data in the file.
    pub(crate) data_offset: usize,
}

impl Scan<'_> {
    /// Indices of the scan's components in [`Frame::components`].
    pub(crate) fn component_indices(&self) -> &[usize] {
        &self.component_indices[..self.component_count]
    }

    /// Restart intervals of the scan, at least one.
    pub(crate) fn intervals(&self) -> usize {
        (self.mcus.0 * self.mcus.1).checked_div(self.restart_interval).map_or(1, |whole| whole + 1)
    }
}

impl Frame {
    /// Reads the frame header with this marker (SOF0..SOF15).
    pub(crate) fn read(marker: u8, payload: &[u8]) -> Result<Frame> {
        match marker {
            0xC0..=0xC2 => {}
            0xC3 => return Err(Error::Unsupported("lossless coding is not supported")),
            0xC5..=0xC7 => return Err(Error::Unsupported("hierarchical coding is not supported")),
            0xC8 => return Err(Error::Invalid("a reserved marker (JPG)")),
            _ => return Err(Error::Unsupported("arithmetic coding is not supported")),
        }
        let &[precision, h1, h0, w1, w0, count, ref rest @ ..] = payload else {
            return Err(Error::Invalid("the frame header (SOF) is too short"));
        };
        match precision {
            8 => {}
            12 => return Err(Error::Unsupported("samples of 12 bits are not supported")),
            _ => return Err(Error::Unsupported("samples have 8 bits; other numbers of bits are not supported")),
        }
        let component_count = usize::from(count);
        if !matches!(component_count, 1 | 3 | 4) {
            return Err(Error::Unsupported("an image has one, three or four components; others are not supported"));
        }
        if rest.len() != 3 * component_count {
            return Err(Error::Invalid("a frame header (SOF) of the wrong length"));
        }
        let size = (usize::from(u16::from_be_bytes([w1, w0])), usize::from(u16::from_be_bytes([h1, h0])));
        if size.1 == 0 {
            return Err(Error::Unsupported("the height is not in the frame header (SOF), which is not supported"));
        }
        let unused = FrameComponent {
            id: 0,
            horizontal: 1,
            vertical: 1,
            declared_vertical: 1,
            quantization_slot: 0,
            quantization: None,
        };
        let mut components = [unused; MAX_COMPONENTS];
        for (component, &[id, factors, table]) in components.iter_mut().zip(rest.as_chunks::<3>().0) {
            let (horizontal, vertical) = (usize::from(factors >> 4), usize::from(factors & 15));
            if !(1..=4).contains(&horizontal) || !(1..=4).contains(&vertical) {
                return Err(Error::Invalid("sampling factors outside 1 to 4"));
            }
            // The MCUs of a single component are one block each, whatever its sampling factors.
            let declared_vertical = vertical;
            let (horizontal, vertical) = if component_count == 1 { (1, 1) } else { (horizontal, vertical) };
            let quantization_slot = table.into();
            *component =
                FrameComponent { id, horizontal, vertical, declared_vertical, quantization_slot, quantization: None };
        }
        let progressive = marker == 0xC2;
        let frame = Frame { size, components, component_count, progressive, color_transform: ColorTransform::Gray };
        let (max_h, max_v) = frame.max_factors();
        let is_integral = |component: &FrameComponent| {
            max_h.is_multiple_of(component.horizontal) && max_v.is_multiple_of(component.vertical)
        };
        if !frame.components().iter().all(is_integral) {
            return Err(Error::Unsupported("sampling factors whose ratio is not an integer are not supported"));
        }
        Ok(frame)
    }

    /// One, three or four components.
    pub(crate) fn components(&self) -> &[FrameComponent] {
        &self.components[..self.component_count]
    }

    /// The components' identifiers.
    pub(crate) fn identifiers(&self) -> ([u8; MAX_COMPONENTS], usize) {
        (self.components.map(|component| component.id), self.component_count)
    }

    /// The largest horizontal and the largest vertical sampling factor. An MCU has this size in blocks of 8×8 pixels.
    pub(crate) fn max_factors(&self) -> (usize, usize) {
        let components = self.components();
        let max = |factor: fn(&FrameComponent) -> usize| components.iter().map(factor).max().unwrap_or(1);
        (max(|component| component.horizontal), max(|component| component.vertical))
    }

    /// MCUs in a row, and rows of MCUs, of a scan of all components.
    pub(crate) fn mcus(&self) -> (usize, usize) {
        let (max_h, max_v) = self.max_factors();
        (self.size.0.div_ceil(8 * max_h), self.size.1.div_ceil(8 * max_v))
    }

    /// Columns and rows of a component's blocks, those in whole MCUs that hold no part of the image included.
    pub(crate) fn grid(&self, component: usize) -> (usize, usize) {
        let (columns, rows) = self.mcus();
        let FrameComponent { horizontal, vertical, .. } = self.components[component];
        (columns * horizontal, rows * vertical)
    }

    /// Columns and rows of a component's blocks that hold a part of the image.
    pub(crate) fn image_blocks(&self, component: usize) -> (usize, usize) {
        let (FrameComponent { horizontal, vertical, .. }, (max_h, max_v)) =
            (self.components[component], self.max_factors());
        ((self.size.0 * horizontal).div_ceil(8 * max_h), (self.size.1 * vertical).div_ceil(8 * max_v))
    }

    /// Rows of MCUs of a scan of all components, as libjpeg counts them for block smoothing.
    pub(crate) fn declared_mcu_rows(&self) -> usize {
        let most = self.components().iter().map(|component| component.declared_vertical).max().unwrap_or(1);
        self.size.1.div_ceil(8 * most)
    }

    /// Columns and rows of the component's blocks in an MCU of `scan`.
    pub(crate) fn mcu_blocks(&self, component: usize, scan: &Scan<'_>) -> (usize, usize) {
        match (scan.component_indices(), &self.components[component]) {
            ([_], _) => (1, 1),
            (_, component) => (component.horizontal, component.vertical),
        }
    }

    /// Returns true if the frame is sequential, and the scan has all of its components.
    pub(crate) fn is_one_scan(&self, scan: &Scan<'_>) -> bool {
        !self.progressive && scan.component_count == self.component_count
    }

    /// Reads a scan header whose data lie at `data_offset`. A component's first scan fixes its quantization table.
    pub(crate) fn read_scan<'a>(
        &mut self,
        payload: &[u8],
        tables: &TableSlots<'a>,
        restart_interval: usize,
        data_offset: usize,
    ) -> Result<Scan<'a>> {
        const SHORT: Error = Error::Invalid("the scan header (SOS) is too short");
        let (&count, rest) = payload.split_first().ok_or(SHORT)?;
        let count = usize::from(count);
        if !(1..=self.component_count).contains(&count) {
            return Err(Error::Invalid("a scan of no component, or of more than the frame has"));
        }
        let (selectors, rest) = rest.split_at_checked(2 * count).ok_or(SHORT)?;
        let &[first, last, approximation] = rest else {
            return Err(Error::Invalid("a scan header (SOS) of the wrong length"));
        };
        let band = self.band(count, [first, last], approximation)?;
        let mut scan = Scan {
            component_indices: [0; MAX_COMPONENTS],
            component_count: count,
            dc: [None; MAX_COMPONENTS],
            ac: [None; MAX_COMPONENTS],
            band,
            mcus: self.mcus(),
            restart_interval,
            data_offset,
        };
        let has_dc = !self.progressive || (band.first == 0 && band.high == 0);
        let has_ac = !self.progressive || band.first > 0;
        for (position, &[id, selector]) in selectors.as_chunks::<2>().0.iter().enumerate() {
            let index = self.component_of(id, &scan.component_indices[..position])?;
            scan.component_indices[position] = index;
            if has_dc {
                scan.dc[position] = Some(tables.dc(selector >> 4)?);
            }
            if has_ac {
                scan.ac[position] = Some(tables.ac(selector & 15)?);
            }
            let component = &mut self.components[index];
            if component.quantization.is_none() {
                component.quantization = Some(tables.quantization(component.quantization_slot)?);
            }
        }
        let components = scan.component_indices().iter().map(|&index| &self.components[index]);
        let blocks: usize = components.map(|component| component.horizontal * component.vertical).sum();
        match scan.component_indices() {
            &[component] => scan.mcus = self.image_blocks(component),
            _ if blocks > MAX_MCU_BLOCKS => return Err(Error::Invalid("an MCU of more than ten blocks")),
            _ => {}
        }
        Ok(scan)
    }

    /// Checks which coefficients a scan has. A sequential scan has all of them; libjpeg warns where its header says
    /// otherwise, and goes on.
    fn band(&self, count: usize, [first, last]: [u8; 2], approximation: u8) -> Result<Band> {
        if !self.progressive {
            return Ok(Band { first: 0, last: 63, high: 0, low: 0 });
        }
        let (high, low) = (u32::from(approximation >> 4), u32::from(approximation & 15));
        let (first, last) = (usize::from(first), usize::from(last));
        let is_valid = match first {
            0 => last == 0,
            _ => first <= last && last < 64 && count == 1,
        };
        if !is_valid || (high > 0 && low != high - 1) || low > 13 {
            return Err(Error::Invalid("a scan header (SOS) with a band or bits that no progressive file may have"));
        }
        Ok(Band { first, last, high, low })
    }

    /// Returns the index of the component with this identifier, for the scan whose earlier components are `before`.
    ///
    /// Identifiers may be equal. As libjpeg does, it takes the first component of this identifier whose own index is not
    /// yet among the scan's positions.
    fn component_of(&self, id: u8, before: &[usize]) -> Result<usize> {
        let found =
            self.components().iter().enumerate().find(|&(i, component)| component.id == id && i >= before.len());
        match found {
            Some((index, _)) if !before.contains(&index) => Ok(index),
            _ => Err(Error::Invalid(
                "a scan names a component that the frame lacks, names one twice, or names them in another order",
            )),
        }
    }
}
