//! The seek index: for every eighth MCU its offset in the file and the DC predictors.

/// MCUs between two entries, counted from the start of each row of MCUs. With 16 a crop decodes 7 % more data, with 4
/// the index is twice as large.
pub const MCUS_PER_ENTRY: usize = 8;

/// The state of the entropy decoder before an MCU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry {
    /// Offset of the MCU in the file, in bits.
    pub bit_offset: u64,
    /// The DC predictors of the components.
    pub predictors: [i16; 4],
}

/// The places at which decoding of one JPEG's scan can start.
///
/// [`Request::build_index`](crate::Request::build_index) makes it by decoding the whole scan once. It is valid for
/// exactly that file, and the caller keeps the two together. With another file it may lead to wrong pixels, never to a
/// panic.
///
/// An index may be forged, so the decoder compares it with the file where that costs little: the first entry with the
/// scan's start, and in each row of a region the last entry that the decoder passes with its own state. A forged index
/// contradicts the file at some place. A region that does not cross this place cannot detect it.
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
    /// MCUs in a row, and rows of MCUs.
    mcus: (u32, u32),
    components: usize,
    /// The entries of each row of MCUs, row by row.
    entries: Vec<IndexEntry>,
    /// Offset in the file at which the scan's data end, in bytes.
    scan_end: u64,
}

/// The largest number of MCUs in a row or a column: an image has at most 65,535 pixels on a side, an MCU at least 8.
const MAX_MCUS: u64 = 8192;

impl SeekIndex {
    pub(crate) fn new(mcus: (usize, usize), components: usize, entries: Vec<IndexEntry>, scan_end: u64) -> Self {
        SeekIndex { mcus: (mcus.0 as u32, mcus.1 as u32), components, entries, scan_end }
    }

    /// Returns true if the index has the image's MCUs and components, and if its first entry is the scan's start.
    pub(crate) fn matches(&self, mcus: (usize, usize), components: usize, data_offset: usize) -> bool {
        (self.mcus.0 as usize, self.mcus.1 as usize, self.components) == (mcus.0, mcus.1, components)
            && self.entries.first() == Some(&IndexEntry { bit_offset: 8 * data_offset as u64, predictors: [0; 4] })
    }

    fn entries_per_row(&self) -> usize {
        (self.mcus.0 as usize).div_ceil(MCUS_PER_ENTRY)
    }

    /// Returns the entry at MCU `column` of a row, if there is one. The column after a row's last MCU has the first
    /// entry of the next row.
    pub(crate) fn entry(&self, row: usize, column: usize) -> Option<&IndexEntry> {
        let has_entry = column.is_multiple_of(MCUS_PER_ENTRY) || column == self.mcus.0 as usize;
        let index = row * self.entries_per_row() + column.div_ceil(MCUS_PER_ENTRY);
        self.entries.get(index).filter(|_| has_entry)
    }

    /// Finds the data of MCUs `column..end` of a row. Returns the last entry at or before `column`, the column of this
    /// entry, and the offset in the file at which the data end at the latest.
    pub(crate) fn seek(&self, row: usize, column: usize, end: usize) -> Option<(IndexEntry, usize, usize)> {
        let row_start = row * self.entries_per_row();
        let in_row = column / MCUS_PER_ENTRY;
        let entry = *self.entries.get(row_start + in_row)?;
        // The data end at the next entry. Its byte may be shared, and a stuffed byte may follow: two bytes more.
        let next = self.entries.get(row_start + end.div_ceil(MCUS_PER_ENTRY));
        let data_end = next.map_or(self.scan_end, |next| self.scan_end.min(next.bit_offset / 8 + 2));
        Some((entry, in_row * MCUS_PER_ENTRY, usize::try_from(data_end).ok()?))
    }

    /// Serializes the index, to one to two hundredths of the file's size. The caller adds a checksum where the storage
    /// needs one.
    ///
    /// The format is a sequence of variable-length integers with seven bits a byte, the lowest bits first (LEB128):
    /// MCUs in a row, rows of MCUs, components, the first entry's bit offset and the end of the scan; then for each
    /// entry the differences of its bit offset and of its predictors from the entry before.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 + 6 * self.entries.len());
        let first = self.entries.first().map_or(0, |entry| entry.bit_offset);
        let header = [u64::from(self.mcus.0), u64::from(self.mcus.1), self.components as u64, first, self.scan_end];
        header.into_iter().for_each(|number| write_varint(&mut bytes, number));
        let mut last = IndexEntry { bit_offset: first, predictors: [0; 4] };
        for entry in &self.entries {
            write_varint(&mut bytes, entry.bit_offset - last.bit_offset);
            for component in 0..self.components {
                let difference = entry.predictors[component].wrapping_sub(last.predictors[component]);
                // Zigzag encoding keeps small negative differences short.
                write_varint(&mut bytes, u64::from(((difference << 1) ^ (difference >> 15)) as u16));
            }
            last = *entry;
        }
        bytes
    }

    /// Replaces this index by a serialized one and reuses its memory. Returns `None` for bytes that
    /// [`to_bytes`](Self::to_bytes) never writes; the index then matches no file.
    #[doc(hidden)]
    pub fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        self.mcus = (0, 0);
        let mut header = [0; 5];
        for number in &mut header {
            *number = read_varint(&mut bytes)?;
        }
        let [columns, rows, components, first, scan_end] = header;
        if !(1..=MAX_MCUS).contains(&columns) || !(1..=MAX_MCUS).contains(&rows) || !matches!(components, 1 | 3 | 4) {
            return None;
        }
        let components = components as usize;
        let count = (columns as usize).div_ceil(MCUS_PER_ENTRY) * rows as usize;
        // Each number takes at least one byte. The comparison bounds the allocation by the length of the input.
        if count.checked_mul(1 + components)? > bytes.len() || scan_end > u64::MAX / 8 || first > 8 * scan_end {
            return None;
        }
        let mut last = IndexEntry { bit_offset: first, predictors: [0; 4] };
        self.entries.clear();
        self.entries.reserve_exact(count);
        for _ in 0..count {
            let bit_offset = last.bit_offset.checked_add(read_varint(&mut bytes)?);
            last.bit_offset = bit_offset.filter(|&offset| offset <= 8 * scan_end)?;
            for predictor in &mut last.predictors[..components] {
                let encoded = u16::try_from(read_varint(&mut bytes)?).ok()?;
                let difference = (encoded >> 1) as i16 ^ -((encoded & 1) as i16);
                *predictor = predictor.wrapping_add(difference);
            }
            self.entries.push(last);
        }
        (self.mcus, self.components, self.scan_end) = ((columns as u32, rows as u32), components, scan_end);
        bytes.is_empty().then_some(())
    }

    /// Deserializes an index. Returns `None` for bytes that [`to_bytes`](Self::to_bytes) never writes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut index = Self::default();
        index.read(bytes).map(|()| index)
    }

    /// The entries, for tests that forge them.
    #[doc(hidden)]
    pub fn entries_mut(&mut self) -> &mut [IndexEntry] {
        &mut self.entries
    }

    /// Number of entries that fit into the allocated memory.
    #[doc(hidden)]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Allocates memory for `entries` entries in all.
    #[doc(hidden)]
    pub fn reserve(&mut self, entries: usize) {
        self.entries.reserve_exact(entries.saturating_sub(self.entries.len()));
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            // Trailing zero groups are rejected, so that each number has one encoding.
            return (byte != 0 || shift == 0).then_some(number);
        }
    }
    None
}
