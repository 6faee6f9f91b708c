//! Reads a JPEG's segments (ITU-T T.81 annex B): the frame, its scans, the tables that each of them uses, and where
//! their data start.
//!
//! Nothing is allocated. Kinds of files that are not supported, and headers that are not as the standard has them, are
//! refused with a reason.

use crate::color::ColorTransform;
use crate::error::Unsupported;
use crate::huffman::Code;

/// Most blocks of an MCU, all components together (T.81 B.2.3).
pub(crate) const MCU_BLOCKS: usize = 10;

/// Most components that are supported.
pub(crate) const COMPONENTS: usize = 3;

/// One component of the frame, and the tables that its scan uses; a component without a scan has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component<'a> {
    /// Its sampling factors: blocks across and down of an MCU that it shares with others, 1..=4. Both are 1 where the
    /// frame has no other component.
    pub(crate) across: usize,
    pub(crate) down: usize,
    /// Steps of quantisation, in zigzag order.
    pub(crate) steps: [u16; 64],
    /// Code of DC differences.
    pub(crate) dc: Code<'a>,
    /// Code of AC coefficients.
    pub(crate) ac: Code<'a>,
}

/// A scan: which components it holds, and where its data are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    members: [usize; COMPONENTS],
    count: usize,
    /// MCUs across and down. A component that is alone in its scan has MCUs of one block, and none but those that hold
    /// a part of the image (T.81 A.2.2).
    pub(crate) mcus: (usize, usize),
    /// MCUs between restart markers; 0 where there are none.
    pub(crate) restart: usize,
    /// Offset of the entropy-coded data in the file.
    pub(crate) at: usize,
}

impl Scan {
    /// Which of the frame's components it holds.
    pub(crate) fn members(&self) -> &[usize] {
        &self.members[..self.count]
    }
}

/// A frame that can be decoded: 8 bits, Huffman-coded, sequential, each component in one scan.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// Columns and rows.
    pub(crate) size: (usize, usize),
    components: [Component<'a>; COMPONENTS],
    count: usize,
    pub(crate) transform: ColorTransform,
    scans: [Scan; COMPONENTS],
    scan_count: usize,
}

impl<'a> Frame<'a> {
    /// In the order of the file.
    pub(crate) fn scans(&self) -> &[Scan] {
        &self.scans[..self.scan_count]
    }

    /// One or three components.
    pub(crate) fn components(&self) -> &[Component<'a>] {
        &self.components[..self.count]
    }

    /// The largest sampling factors, across and down: an MCU's size in blocks of 8×8 pixels.
    pub(crate) fn largest(&self) -> (usize, usize) {
        let components = self.components();
        let most = |of: fn(&Component<'_>) -> usize| components.iter().map(of).max().unwrap_or(1);
        (most(|component| component.across), most(|component| component.down))
    }

    /// MCUs across and down.
    pub(crate) fn mcus(&self) -> (usize, usize) {
        let (across, down) = self.largest();
        (self.size.0.div_ceil(8 * across), self.size.1.div_ceil(8 * down))
    }

    /// Blocks of an MCU across and down in a scan of so many components.
    pub(crate) fn blocks(&self, component: usize, scan: &Scan) -> (usize, usize) {
        match (scan.members(), &self.components[component]) {
            ([_], _) => (1, 1),
            (_, component) => (component.across, component.down),
        }
    }

    /// Reads the segments up to the header of the scan that completes the image; where components have scans of their
    /// own, up to the image's end. With `fill` the image may end before each component had its scan.
    pub(crate) fn read(bytes: &'a [u8], fill: bool) -> Result<Self, Unsupported> {
        let mut tables = Tables { steps: [None; 4], dc: [None; 4], ac: [None; 4] };
        let mut frame: Option<(Sof, Frame<'a>)> = None;
        let mut restart = 0;
        let (mut jfif, mut adobe) = (false, None);
        let mut at = 2;
        loop {
            let begun = frame.as_ref().is_some_and(|(_, frame)| frame.scan_count > 0);
            let (marker, payload, end) = match segment(bytes, at) {
                Ok(Some(segment)) => segment,
                Ok(None) if begun => break,
                Ok(None) => return Err("the image ends before its scan"),
                Err(_) if begun && fill => break,
                Err(reason) => return Err(reason),
            };
            at = end;
            let read = match marker {
                0xC0 | 0xC1 if frame.is_none() => {
                    let sof = Sof::read(payload)?;
                    frame = Some((sof, sof.frame()?));
                    Ok(())
                }
                0xC0 | 0xC1 => Err("several frames"),
                0xC2 => Err("progressive"),
                0xC4 => tables.huffman(payload),
                0xC3 | 0xC5..=0xCF => Err("neither baseline nor extended sequential"),
                0xDB => tables.quantisation(payload),
                0xDD => match payload {
                    &[high, low] => {
                        restart = usize::from(u16::from_be_bytes([high, low]));
                        Ok(())
                    }
                    _ => Err("a DRI segment of a wrong length"),
                },
                0xDA => {
                    let Some((sof, frame)) = &mut frame else { return Err("no frame before the scan") };
                    frame.add(sof, payload, &tables, (restart, at)).map(|()| at = behind_data(bytes, at, frame))
                }
                // libjpeg looks at these before the first scan.
                0xE0 if !begun => {
                    jfif |= payload.len() >= 14 && payload.starts_with(b"JFIF\0");
                    Ok(())
                }
                0xEE if !begun && payload.len() >= 12 && payload.starts_with(b"Adobe") => {
                    adobe = Some(payload[11]);
                    Ok(())
                }
                0xE0..=0xEF | 0xFE => Ok(()),
                _ => Err("an unusual marker before the scan"),
            };
            match read {
                Err(reason) if !(begun && fill) => return Err(reason),
                Err(_) => break,
                // Whatever follows a scan of all components is not part of the image.
                Ok(()) if frame.as_ref().is_some_and(|(_, frame)| frame.is_in_one_scan()) => break,
                Ok(()) => {}
            }
        }
        let Some((sof, mut frame)) = frame else { return Err("no frame before the scan") };
        if !fill && frame.scans().iter().map(|scan| scan.count).sum::<usize>() < frame.count {
            return Err("a component without a scan");
        }
        let ids = sof.components.map(|(id, ..)| id);
        frame.transform = ColorTransform::of(jfif, adobe, &ids[..frame.count]).ok_or("an unknown colour space")?;
        Ok(frame)
    }

    /// Returns true if the first scan holds all components.
    pub(crate) fn is_in_one_scan(&self) -> bool {
        self.scan_count > 0 && self.scans[0].count == self.count
    }

    /// Adds the scan whose header `payload` is; `restart` and the place of its data are given.
    fn add(
        &mut self,
        sof: &Sof,
        payload: &[u8],
        tables: &Tables<'a>,
        (restart, at): (usize, usize),
    ) -> Result<(), Unsupported> {
        let (&count, rest) = payload.split_first().ok_or("the scan header is too short")?;
        let count = usize::from(count);
        if !(1..=self.count).contains(&count) {
            return Err("a scan of no component, or of more than the frame has");
        }
        let (selectors, rest) = rest.split_at_checked(2 * count).ok_or("the scan header is too short")?;
        // Spectral selection and approximation have no meaning in a sequential frame; libjpeg warns and goes on.
        if rest.len() != 3 {
            return Err("a scan header of a wrong length");
        }
        let mut scan = Scan { members: [0; COMPONENTS], count, mcus: self.mcus(), restart, at };
        let mut first = 0;
        for (member, &[id, selector]) in scan.members.iter_mut().zip(selectors.as_chunks::<2>().0) {
            let ids = sof.components[..self.count].iter().map(|component| component.0);
            let Some(found) = ids.enumerate().skip(first).find(|&(_, other)| other == id).map(|(i, _)| i) else {
                return Err("the scan's components are not in the frame's order");
            };
            if self.scans().iter().any(|earlier| earlier.members().contains(&found)) {
                return Err("a component in two scans");
            }
            (*member, first) = (found, found + 1);
            const MISSING: Unsupported = "a table that the scan uses is missing";
            let component = &mut self.components[found];
            component.steps = tables.steps.get(sof.components[found].3).copied().flatten().ok_or(MISSING)?;
            component.dc = tables.dc.get(usize::from(selector >> 4)).copied().flatten().ok_or(MISSING)?;
            component.ac = tables.ac.get(usize::from(selector & 15)).copied().flatten().ok_or(MISSING)?;
        }
        let members = scan.members().iter().map(|&member| &self.components[member]);
        if count > 1 && members.map(|component| component.across * component.down).sum::<usize>() > MCU_BLOCKS {
            return Err("an MCU of more than ten blocks");
        }
        if count == 1 {
            let (component, (across, down)) = (&self.components[scan.members[0]], self.largest());
            scan.mcus.0 = (self.size.0 * component.across).div_ceil(8 * across);
            scan.mcus.1 = (self.size.1 * component.down).div_ceil(8 * down);
        }
        self.scans[self.scan_count] = scan;
        self.scan_count += 1;
        Ok(())
    }
}

/// Returns where to look for the next segment after a scan's header that ends at `at`: after the scan's data if another
/// scan has to follow.
fn behind_data(bytes: &[u8], mut at: usize, frame: &Frame<'_>) -> usize {
    if frame.is_in_one_scan() {
        return at;
    }
    while let Some(full) = bytes[at..].iter().position(|&byte| byte == 0xFF) {
        at += full;
        let Some(behind) = bytes[at..].iter().position(|&byte| byte != 0xFF) else { return at };
        match bytes[at + behind] {
            // Stuffing and restart markers are data.
            0 | 0xD0..=0xD7 => at += behind + 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// A marker, its payload, and where that ends.
type Segment<'a> = (u8, &'a [u8], usize);

/// Returns the segment at or after `at`; `None` for the image's end.
fn segment(bytes: &[u8], mut at: usize) -> Result<Option<Segment<'_>>, Unsupported> {
    const ENDS: Unsupported = "the bytes end before the scan";
    let rest = bytes.get(at..).ok_or(ENDS)?;
    // Stray bytes between segments are common, and so are fill bytes (0xFF).
    at += rest.iter().position(|&byte| byte == 0xFF).ok_or(ENDS)?;
    at += bytes[at..].iter().position(|&byte| byte != 0xFF).ok_or(ENDS)?;
    if bytes[at] == 0xD9 {
        return Ok(None);
    }
    let &[marker, high, low, ..] = &bytes[at..] else { return Err(ENDS) };
    if matches!(marker, 0x00..=0xBF | 0xD0..=0xD9) {
        return Err("an unusual marker before the scan");
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length < 2 {
        return Err("a segment without a length");
    }
    let payload = bytes.get(at + 3..at + 1 + length).ok_or(ENDS)?;
    Ok(Some((marker, payload, at + 1 + length)))
}

/// The tables as defined so far; a later definition replaces an earlier one.
struct Tables<'a> {
    steps: [Option<[u16; 64]>; 4],
    dc: [Option<Code<'a>>; 4],
    ac: [Option<Code<'a>>; 4],
}

impl<'a> Tables<'a> {
    fn quantisation(&mut self, mut payload: &[u8]) -> Result<(), Unsupported> {
        const LENGTH: Unsupported = "a DQT segment of a wrong length";
        while let Some((&kind, rest)) = payload.split_first() {
            let slot = self.steps.get_mut(usize::from(kind & 15)).ok_or("a quantisation table beyond the fourth")?;
            let mut steps = [0; 64];
            payload = match kind >> 4 {
                0 => {
                    let (values, rest) = rest.split_first_chunk::<64>().ok_or(LENGTH)?;
                    steps.iter_mut().zip(values).for_each(|(step, &value)| *step = u16::from(value));
                    rest
                }
                1 => {
                    let (values, rest) = rest.split_first_chunk::<128>().ok_or(LENGTH)?;
                    let (values, _) = values.as_chunks::<2>();
                    steps.iter_mut().zip(values).for_each(|(step, &value)| *step = u16::from_be_bytes(value));
                    rest
                }
                _ => return Err("a quantisation table of an unknown precision"),
            };
            *slot = Some(steps);
        }
        Ok(())
    }

    fn huffman(&mut self, mut payload: &'a [u8]) -> Result<(), Unsupported> {
        const LENGTH: Unsupported = "a DHT segment of a wrong length";
        while let Some((&kind, rest)) = payload.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(LENGTH)?;
            let symbols = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(symbols).ok_or(LENGTH)?;
            let slots = match kind >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err("a Huffman table of an unknown class"),
            };
            let slot = slots.get_mut(usize::from(kind & 15)).ok_or("a Huffman table beyond the fourth")?;
            *slot = Some(Code { counts, symbols });
            payload = rest;
        }
        Ok(())
    }
}

/// The frame header.
#[derive(Clone, Copy)]
struct Sof {
    size: (usize, usize),
    /// Identifier, sampling factors, quantisation table.
    components: [(u8, usize, usize, usize); COMPONENTS],
    count: usize,
}

impl Sof {
    fn read(payload: &[u8]) -> Result<Self, Unsupported> {
        let &[precision, h1, h0, w1, w0, count, ref rest @ ..] = payload else {
            return Err("the frame header is too short");
        };
        if precision != 8 {
            return Err("samples are not of 8 bits");
        }
        let count = usize::from(count);
        if !matches!(count, 1 | 3) {
            return Err("neither one nor three components");
        }
        if rest.len() != 3 * count {
            return Err("a frame header of a wrong length");
        }
        let mut components = [(0, 1, 1, 0); COMPONENTS];
        for (component, &[id, factors, table]) in components.iter_mut().zip(rest.as_chunks::<3>().0) {
            let (across, down) = (usize::from(factors >> 4), usize::from(factors & 15));
            if !(1..=4).contains(&across) || !(1..=4).contains(&down) {
                return Err("sampling factors outside 1 to 4");
            }
            *component = (id, across, down, usize::from(table));
        }
        let size = (usize::from(u16::from_be_bytes([w1, w0])), usize::from(u16::from_be_bytes([h1, h0])));
        Ok(Sof { size, components, count })
    }

    /// The frame without its scans.
    fn frame<'a>(&self) -> Result<Frame<'a>, Unsupported> {
        let component = |(_, across, down, _): (u8, usize, usize, usize)| {
            // One that is alone has one block an MCU, whatever its factors.
            let (across, down) = if self.count == 1 { (1, 1) } else { (across, down) };
            let none = Code { counts: &[0; 16], symbols: &[] };
            Component { across, down, steps: [0; 64], dc: none, ac: none }
        };
        let frame = Frame {
            size: self.size,
            components: self.components.map(component),
            count: self.count,
            transform: ColorTransform::Gray,
            scans: [Scan::default(); COMPONENTS],
            scan_count: 0,
        };
        let (across, down) = frame.largest();
        if frame.components().iter().any(|component| across % component.across != 0 || down % component.down != 0) {
            return Err("sampling factors that do not divide each other");
        }
        Ok(frame)
    }
}
