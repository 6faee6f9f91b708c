//! Where decoding can start within a scan: every few MCUs the place in the file and the DC predictors.

/// MCUs between entries, counted from the start of each row of MCUs. With 16 a crop decodes 7 % more, with 4 the index
/// is twice as large.
pub const GROUP: usize = 8;

/// The state of decoding before an MCU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Bits of the file before the MCU.
    pub at: u64,
    /// The DC predictors of the components.
    pub predictors: [i16; 3],
}

/// The places where decoding one JPEG's scan can start.
///
/// It is made by decoding the whole scan once, and belongs to exactly that file. The caller keeps the two together: with
/// another file an index may lead to wrong pixels, never to a panic.
///
/// An index may be forged, so decoding compares it with the file where that costs little: the first entry with the scan's
/// start, and in each row of a region the last entry on the way with the decoder's state there. A forged index contradicts
/// the file somewhere, but a region that does not cross that place cannot notice it.
///
/// ```
/// use gpufeed_jpeg::{Decoder, Header, Request, SeekIndex};
///
/// # let picture = image::RgbImage::from_fn(320, 240, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
/// # let mut jpeg = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = jpeg.into_inner();
/// let request = Request::new(Header::read(&jpeg)?.size()).build_index(true);
/// let index = Decoder::default().decode(&jpeg, &request)?.outcome.index.expect("one scan");
/// let stored = index.to_bytes();
/// assert_eq!(SeekIndex::from_bytes(&stored), Some(index));
/// # Ok::<(), gpufeed_jpeg::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeekIndex {
    /// MCUs of the image, across and down.
    mcus: (u32, u32),
    components: usize,
    /// Row by row, `mcus.0.div_ceil(GROUP)` a row.
    entries: Vec<Entry>,
    /// Bytes of the file up to the scan's end.
    end: u64,
}

/// Most MCUs on a side: a side has at most 65,535 pixels, an MCU at least 8.
const MOST: u64 = 8192;

impl SeekIndex {
    pub(crate) fn new(mcus: (usize, usize), components: usize, entries: Vec<Entry>, end: u64) -> Self {
        SeekIndex { mcus: (mcus.0 as u32, mcus.1 as u32), components, entries, end }
    }

    /// Returns true if the index is that of an image like this, and begins where the scan does, at byte `scan`.
    pub(crate) fn fits(&self, mcus: (usize, usize), components: usize, scan: usize) -> bool {
        (self.mcus.0 as usize, self.mcus.1 as usize, self.components) == (mcus.0, mcus.1, components)
            && self.entries.first() == Some(&Entry { at: 8 * scan as u64, predictors: [0; 3] })
    }

    /// The entry before MCU `column` of a row, where one begins; after a row's last MCU that of the next row.
    pub(crate) fn entry(&self, row: usize, column: usize) -> Option<&Entry> {
        let across = (self.mcus.0 as usize).div_ceil(GROUP);
        let at_entry = column.is_multiple_of(GROUP) || column == self.mcus.0 as usize;
        self.entries.get(row * across + column.div_ceil(GROUP)).filter(|_| at_entry)
    }

    /// The state before MCU `column` of a row (rounded down to the last entry, which is the second part of the result),
    /// and the file's bytes up to which the MCUs before `end` may reach.
    pub(crate) fn seek(&self, row: usize, column: usize, end: usize) -> Option<(Entry, usize, usize)> {
        let across = (self.mcus.0 as usize).div_ceil(GROUP);
        let group = column / GROUP;
        let entry = *self.entries.get(row * across + group)?;
        // The MCUs end where the next group begins, at most one byte and its stuffing later.
        let next = self.entries.get(row * across + end.div_ceil(GROUP));
        let until = next.map_or(self.end, |next| self.end.min(next.at / 8 + 2));
        Some((entry, group * GROUP, usize::try_from(until).ok()?))
    }

    /// As bytes, one to two hundredths of the file: numbers of variable length, seven bits a byte, the lowest first.
    /// Without a checksum: what stores them has its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + 6 * self.entries.len());
        let first = self.entries.first().map_or(0, |entry| entry.at);
        let header = [u64::from(self.mcus.0), u64::from(self.mcus.1), self.components as u64, first, self.end];
        header.into_iter().for_each(|number| push(&mut bytes, number));
        let mut last = Entry { at: first, predictors: [0; 3] };
        for entry in &self.entries {
            push(&mut bytes, entry.at - last.at);
            for component in 0..self.components {
                let difference = entry.predictors[component].wrapping_sub(last.predictors[component]);
                push(&mut bytes, u64::from(((difference << 1) ^ (difference >> 15)) as u16));
            }
            last = *entry;
        }
        bytes
    }

    /// Replaces this index by the one that `bytes` hold, in the same memory. `None` for bytes that
    /// [`to_bytes`](Self::to_bytes) never writes: the index then fits no file.
    #[doc(hidden)]
    pub fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        self.mcus = (0, 0);
        let mut header = [0; 5];
        for number in &mut header {
            *number = pull(&mut bytes)?;
        }
        let [across, down, components, first, end] = header;
        if !(1..=MOST).contains(&across) || !(1..=MOST).contains(&down) || !matches!(components, 1 | 3) {
            return None;
        }
        let components = components as usize;
        let count = (across as usize).div_ceil(GROUP) * down as usize;
        // Each number takes a byte at least, so nothing larger is allocated than the bytes could fill.
        if count.checked_mul(1 + components)? > bytes.len() || end > u64::MAX / 8 || first > 8 * end {
            return None;
        }
        let mut last = Entry { at: first, predictors: [0; 3] };
        self.entries.clear();
        self.entries.reserve_exact(count);
        for _ in 0..count {
            last.at = last.at.checked_add(pull(&mut bytes)?).filter(|&at| at <= 8 * end)?;
            for predictor in &mut last.predictors[..components] {
                let folded = u16::try_from(pull(&mut bytes)?).ok()?;
                let difference = (folded >> 1) as i16 ^ -((folded & 1) as i16);
                *predictor = predictor.wrapping_add(difference);
            }
            self.entries.push(last);
        }
        (self.mcus, self.components, self.end) = ((across as u32, down as u32), components, end);
        bytes.is_empty().then_some(())
    }

    /// The index that `bytes` hold; `None` for what [`to_bytes`](Self::to_bytes) never writes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut index = Self::default();
        index.read(bytes).map(|()| index)
    }

    /// For tests that forge them.
    #[doc(hidden)]
    pub fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// Entries that there is room for.
    #[doc(hidden)]
    pub fn room(&self) -> usize {
        self.entries.capacity()
    }

    /// Makes room for so many entries.
    #[doc(hidden)]
    pub fn reserve(&mut self, entries: usize) {
        self.entries.reserve_exact(entries.saturating_sub(self.entries.len()));
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            // One way to write each number.
            return (byte != 0 || shift == 0).then_some(number);
        }
    }
    None
}
