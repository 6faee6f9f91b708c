//! What a JPEG's segments say, up to its scan (ITU-T T.81 annex B): the frame, the tables that the scan uses, where its
//! data starts.
//!
//! Nothing is allocated. Whatever the engine does not serve, and whatever is not quite as the standard has it, is
//! declined with a reason: zune-jpeg then decides.

use super::color::ColorTransform;
use super::huffman::Code;

/// Why the engine leaves a file to another decoder.
pub(super) type Declined = &'static str;

/// Most blocks of an MCU, all components together (T.81 B.2.3).
pub(super) const MCU_BLOCKS: usize = 10;

/// One component of the frame, and the tables its scan uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component<'a> {
    /// Blocks of an MCU across, 1..=4; 1 where the component is alone.
    pub(super) across: usize,
    /// Blocks of an MCU down.
    pub(super) down: usize,
    /// Steps of quantisation, in zigzag order.
    pub(super) steps: [u16; 64],
    /// Code of DC differences.
    pub(super) dc: Code<'a>,
    /// Code of AC coefficients.
    pub(super) ac: Code<'a>,
}

/// A frame that the engine can decode: 8 bits, Huffman-coded, sequential, one scan.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    /// Columns and rows.
    pub(super) size: (usize, usize),
    components: [Component<'a>; 3],
    count: usize,
    /// MCUs between restart markers; 0 where there are none.
    pub(super) restart: usize,
    pub(super) transform: ColorTransform,
    /// Offset of the scan's entropy-coded data in the file.
    pub(super) scan: usize,
}

impl<'a> Frame<'a> {
    /// One or three components.
    pub(super) fn components(&self) -> &[Component<'a>] {
        &self.components[..self.count]
    }

    /// The largest sampling factors, across and down: an MCU's size in blocks of 8×8 pixels.
    pub(super) fn largest(&self) -> (usize, usize) {
        let components = self.components();
        let most = |of: fn(&Component<'_>) -> usize| components.iter().map(of).max().unwrap_or(1);
        (most(|component| component.across), most(|component| component.down))
    }

    /// MCUs across and down.
    pub(super) fn mcus(&self) -> (usize, usize) {
        let (across, down) = self.largest();
        (self.size.0.div_ceil(8 * across), self.size.1.div_ceil(8 * down))
    }

    /// Reads the segments up to and including SOS.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Declined> {
        let mut tables = Tables { steps: [None; 4], dc: [None; 4], ac: [None; 4] };
        let mut sof = None;
        let mut restart = 0;
        let (mut jfif, mut adobe) = (false, None);
        let mut at = 2;
        loop {
            let (marker, payload, end) = segment(bytes, at)?;
            at = end;
            match marker {
                0xC0 | 0xC1 if sof.is_none() => sof = Some(Sof::read(payload)?),
                0xC0 | 0xC1 => return Err("several frames"),
                0xC2 => return Err("progressive"),
                0xC4 => tables.huffman(payload)?,
                0xC3 | 0xC5..=0xCF => return Err("neither baseline nor extended sequential"),
                0xDB => tables.quantisation(payload)?,
                0xDD => {
                    let &[high, low] = payload else { return Err("a DRI segment of a wrong length") };
                    restart = usize::from(u16::from_be_bytes([high, low]));
                }
                0xDA => {
                    let Some(sof) = &sof else { return Err("no frame before the scan") };
                    let (components, count) = sof.scan(payload, &tables)?;
                    let ids = sof.components.map(|(id, ..)| id);
                    let transform = ColorTransform::of(jfif, adobe, &ids[..count]).ok_or("an unknown colour space")?;
                    return Ok(Frame { size: sof.size, components, count, restart, transform, scan: at });
                }
                0xE0 => jfif |= payload.len() >= 14 && payload.starts_with(b"JFIF\0"),
                0xEE if payload.len() >= 12 && payload.starts_with(b"Adobe") => adobe = Some(payload[11]),
                0xE1..=0xEF | 0xFE => {}
                _ => return Err("an unusual marker before the scan"),
            }
        }
    }
}

/// The marker and payload of the segment at or behind `at`, and where it ends.
fn segment(bytes: &[u8], mut at: usize) -> Result<(u8, &[u8], usize), Declined> {
    const ENDS: Declined = "the bytes end before the scan";
    let rest = bytes.get(at..).ok_or(ENDS)?;
    // Stray bytes between segments are common, and so are fill bytes (0xFF).
    at += rest.iter().position(|&byte| byte == 0xFF).ok_or(ENDS)?;
    at += bytes[at..].iter().position(|&byte| byte != 0xFF).ok_or(ENDS)?;
    let &[marker, high, low, ..] = &bytes[at..] else { return Err(ENDS) };
    if matches!(marker, 0x00..=0xBF | 0xD0..=0xD9) {
        return Err("an unusual marker before the scan");
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length < 2 {
        return Err("a segment without a length");
    }
    let payload = bytes.get(at + 3..at + 1 + length).ok_or(ENDS)?;
    Ok((marker, payload, at + 1 + length))
}

/// The tables as defined so far; a later definition replaces an earlier one.
struct Tables<'a> {
    steps: [Option<[u16; 64]>; 4],
    dc: [Option<Code<'a>>; 4],
    ac: [Option<Code<'a>>; 4],
}

impl<'a> Tables<'a> {
    fn quantisation(&mut self, mut payload: &[u8]) -> Result<(), Declined> {
        const LENGTH: Declined = "a DQT segment of a wrong length";
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

    fn huffman(&mut self, mut payload: &'a [u8]) -> Result<(), Declined> {
        const LENGTH: Declined = "a DHT segment of a wrong length";
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
struct Sof {
    size: (usize, usize),
    /// Identifier, blocks across, blocks down, quantisation table.
    components: [(u8, usize, usize, usize); 3],
    count: usize,
}

impl Sof {
    fn read(payload: &[u8]) -> Result<Self, Declined> {
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
        let mut components = [(0, 1, 1, 0); 3];
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

    /// What the scan header makes of the frame's components.
    fn scan<'a>(&self, payload: &[u8], tables: &Tables<'a>) -> Result<([Component<'a>; 3], usize), Declined> {
        let (&count, rest) = payload.split_first().ok_or("the scan header is too short")?;
        if usize::from(count) != self.count {
            return Err("components are not interleaved");
        }
        let (selectors, rest) = rest.split_at_checked(2 * self.count).ok_or("the scan header is too short")?;
        // What spectral selection and approximation say is of no meaning in a sequential frame; libjpeg warns and goes on.
        if rest.len() != 3 {
            return Err("a scan header of a wrong length");
        }
        let none = Component {
            across: 1,
            down: 1,
            steps: [0; 64],
            dc: Code { counts: &[0; 16], symbols: &[] },
            ac: Code { counts: &[0; 16], symbols: &[] },
        };
        let mut components = [none; 3];
        let selected = selectors.as_chunks::<2>().0.iter().zip(&self.components);
        for (component, (&[id, selector], &(expected, across, down, table))) in components.iter_mut().zip(selected) {
            if id != expected {
                return Err("the scan's components are not in the frame's order");
            }
            const MISSING: Declined = "a table that the scan uses is missing";
            // A component that is alone has one block an MCU, whatever its factors.
            let (across, down) = if self.count == 1 { (1, 1) } else { (across, down) };
            *component = Component {
                across,
                down,
                steps: tables.steps.get(table).copied().flatten().ok_or(MISSING)?,
                dc: tables.dc.get(usize::from(selector >> 4)).copied().flatten().ok_or(MISSING)?,
                ac: tables.ac.get(usize::from(selector & 15)).copied().flatten().ok_or(MISSING)?,
            };
        }
        let components_used = &components[..self.count];
        if components_used.iter().map(|component| component.across * component.down).sum::<usize>() > MCU_BLOCKS {
            return Err("an MCU of more than ten blocks");
        }
        let largest = |of: fn(&Component<'a>) -> usize| components_used.iter().map(of).max().unwrap_or(1);
        let (across, down) = (largest(|component| component.across), largest(|component| component.down));
        if components_used.iter().any(|component| across % component.across != 0 || down % component.down != 0) {
            return Err("sampling factors that do not divide each other");
        }
        Ok((components, self.count))
    }
}
