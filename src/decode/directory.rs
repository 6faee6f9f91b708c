//! The directories of TIFF 6.0 and BigTIFF, which are the structure of EXIF, too. Every read is checked against the bytes, and
//! nothing is allocated.

/// A TIFF structure: a whole file, or EXIF data without its prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiff<'a> {
    bytes: &'a [u8],
    pub(super) little: bool,
    /// BigTIFF: offsets and counts have 8 bytes.
    big: bool,
}

impl<'a> Tiff<'a> {
    /// Reads the header; `None` if it is none of TIFF's.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        // Some writers of EXIF write the number in the other byte order.
        let (little, big) = match bytes.get(..4)? {
            b"II*\0" | b"II\0*" => (true, false),
            b"MM\0*" | b"MM*\0" => (false, false),
            b"II+\0" => (true, true),
            b"MM\0+" => (false, true),
            _ => return None,
        };
        Some(Tiff { bytes, little, big })
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the entries of the first directory, up to where the bytes end; `None` if they end before it.
    pub(super) fn first(&self) -> Option<impl Iterator<Item = DirectoryEntry<'a>> + use<'a>> {
        let tiff = *self;
        let at = if self.big { self.uint(8, 8)? } else { self.uint(4, 4)? };
        let (count_size, entry_size) = if self.big { (8, 20) } else { (2, 12) };
        let at = usize::try_from(at).ok()?;
        let count = self.uint(at, count_size)?;
        let first = at.checked_add(count_size)?;
        let entries = (0..count).map_while(move |entry| {
            let at = usize::try_from(entry).ok()?.checked_mul(entry_size)?.checked_add(first)?;
            tiff.entry(at)
        });
        Some(entries)
    }

    fn entry(&self, at: usize) -> Option<DirectoryEntry<'a>> {
        let (count_size, inline) = if self.big { (8, 8) } else { (4, 4) };
        let tag = self.uint(at, 2)? as u16;
        let kind = self.uint(at + 2, 2)? as u16;
        let count = self.uint(at + 4, count_size)?;
        let value = at + 4 + count_size;
        self.bytes.get(value..value + inline)?;
        let size = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16 | 17 | 18 => 8,
            // An entry of an unknown type is passed over by all readers.
            _ => 0,
        };
        let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
        let data = length.and_then(|length| {
            let start = if length <= inline { value } else { usize::try_from(self.uint(value, inline)?).ok()? };
            self.bytes.get(start..start.checked_add(length)?)
        });
        Some(DirectoryEntry { tag, kind, size, little: self.little, data })
    }

    /// Reads an unsigned number of `size` bytes.
    fn uint(&self, at: usize, size: usize) -> Option<u64> {
        Some(uint(self.bytes.get(at..at.checked_add(size)?)?, self.little))
    }
}

fn uint(bytes: &[u8], little: bool) -> u64 {
    let push = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    if little { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) }
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectoryEntry<'a> {
    pub(super) tag: u16,
    kind: u16,
    /// Bytes of a value; 0 for an unknown type.
    size: usize,
    little: bool,
    /// The values; `None` if they lie outside of the bytes.
    data: Option<&'a [u8]>,
}

impl<'a> DirectoryEntry<'a> {
    /// The bytes of the values; `None` if they lie outside of the file.
    pub(super) fn data(&self) -> Option<&'a [u8]> {
        self.data
    }

    /// The values, if they are integers and in the file.
    pub(super) fn integers(&self) -> Option<Integers<'a>> {
        let data = self.data.filter(|_| matches!(self.kind, 1 | 3 | 4 | 6..=9 | 13 | 16..=18))?;
        Some(Integers { data, size: self.size, signed: matches!(self.kind, 6 | 8 | 9 | 17), little: self.little })
    }

    /// The first value as an orientation: Pillow takes short and long integers, signed or not.
    pub(super) fn orientation(&self) -> Option<i64> {
        self.integers().filter(|_| !matches!(self.kind, 1 | 6 | 7))?.get(0)
    }

    /// Value `index`, if it is a rational number.
    pub(super) fn rational(&self, index: usize) -> Option<f32> {
        let pair = self.data.filter(|_| self.kind == 5)?.get(index * 8..index * 8 + 8)?;
        let (above, below) = (uint(&pair[..4], self.little), uint(&pair[4..], self.little));
        Some(if below == 0 { 0.0 } else { (above as f64 / below as f64) as f32 })
    }
}

/// The integers of an entry, read where they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integers<'a> {
    data: &'a [u8],
    size: usize,
    signed: bool,
    little: bool,
}

impl Integers<'_> {
    pub(super) fn len(&self) -> usize {
        self.data.len() / self.size
    }

    pub(super) fn get(&self, index: usize) -> Option<i64> {
        let value = uint(self.data.get(index * self.size..(index + 1) * self.size)?, self.little);
        let unused = 64 - 8 * self.size as u32;
        Some(if self.signed { (value as i64) << unused >> unused } else { value.min(i64::MAX as u64) as i64 })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}
