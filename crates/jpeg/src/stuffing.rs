//! Removes stuffed bytes and restart markers from a scan's data.

use crate::bits::DATA_PADDING;

/// A place where bytes were removed.
#[derive(Clone, Copy, Debug)]
struct Removal {
    /// Offset of the place in the unstuffed data.
    offset: usize,
    /// Bytes removed from the start of the data to this place, including those removed here.
    removed: usize,
}

/// A part of a scan's data without stuffed bytes and restart markers. Its memory is reused and grows with the largest
/// file.
#[derive(Debug, Default)]
pub(crate) struct UnstuffedData {
    bytes: Vec<u8>,
    length: usize,
    /// Offset of each restart interval in the unstuffed data.
    interval_starts: Vec<usize>,
    removals: Vec<Removal>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct UnstuffOptions {
    /// Number of the restart interval in which the data begin, counted from the scan's start; `None` if the scan has no
    /// restart markers.
    pub(crate) first_interval: Option<usize>,
    /// Restart intervals of the scan. A marker behind the last one ends the data.
    pub(crate) intervals: usize,
    /// Records removals, which [`UnstuffedData::source_offsets`] needs.
    pub(crate) record_removals: bool,
    /// Accepts fill bytes (0xFF) before a stuffed zero, as libjpeg does. In sequential scans without restart markers libjpeg-turbo
    /// first tries a faster way, which takes them for a marker and leaves the coefficients of its attempt behind: such
    /// data are damaged, as no pixels are theirs.
    pub(crate) fill_before_zero: bool,
}

/// Sets the highest bit of each byte that is 0xFF. The lowest such byte is exact; bytes above it may be set wrongly.
#[inline(always)]
fn bytes_with_ff(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let inverse = !word;
    inverse.wrapping_sub(ONES) & word & (ONES << 7)
}

impl UnstuffedData {
    /// Grows the memory for files of `length` bytes.
    pub(crate) fn reserve(&mut self, length: usize) {
        crate::memory::grow(&mut self.bytes, length + DATA_PADDING + 8);
    }

    /// Grows the memory as [`reserve`](Self::reserve) does.
    ///
    /// # Errors
    /// [`Error::NoMemory`](crate::Error::NoMemory).
    pub(crate) fn try_reserve(&mut self, length: usize) -> Result<(), crate::Error> {
        crate::memory::try_grow(&mut self.bytes, length.saturating_add(DATA_PADDING + 8))
    }

    /// The largest file length that fits into the memory.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len().saturating_sub(DATA_PADDING + 8)
    }

    /// The unstuffed bytes, then [`DATA_PADDING`] zeros.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length + DATA_PADDING]
    }

    /// Start and exclusive end of restart interval `number`, counted from the start of the data.
    pub(crate) fn interval(&self, number: usize) -> Option<(usize, usize)> {
        let start = *self.interval_starts.get(number)?;
        Some((start, self.interval_starts.get(number + 1).copied().unwrap_or(self.length)))
    }

    /// Reads `source` up to its end or to the first marker other than the next restart marker. Returns the offset of that
    /// place.
    pub(crate) fn read(&mut self, source: &[u8], options: UnstuffOptions) -> usize {
        self.reserve(source.len());
        self.interval_starts.clear();
        self.interval_starts.push(0);
        self.removals.clear();
        let mut expected = options.first_interval;
        let (mut at, mut out) = (0, 0);
        loop {
            while let Some(chunk) = source[at..].first_chunk::<8>() {
                self.bytes[out..out + 8].copy_from_slice(chunk);
                let with_ff = bytes_with_ff(u64::from_le_bytes(*chunk));
                let before = if with_ff == 0 { 8 } else { with_ff.trailing_zeros() as usize / 8 };
                at += before;
                out += before;
                if with_ff != 0 {
                    break;
                }
            }
            while at < source.len() && source[at] != 0xFF {
                self.bytes[out] = source[at];
                at += 1;
                out += 1;
            }
            // `at` is at 0xFF or at the end. Fill bytes (0xFF) may precede a marker.
            let Some(fill_bytes) = source[at..].iter().position(|&byte| byte != 0xFF) else { break };
            match source[at + fill_bytes] {
                0 if fill_bytes > 1 && !options.fill_before_zero => break,
                0 => {
                    self.bytes[out] = 0xFF;
                    out += 1;
                    at += fill_bytes + 1;
                }
                marker @ 0xD0..=0xD7 => match &mut expected {
                    Some(interval)
                        if *interval % 8 == usize::from(marker - 0xD0) && *interval + 1 < options.intervals =>
                    {
                        *interval += 1;
                        at += fill_bytes + 1;
                        self.interval_starts.push(out);
                    }
                    _ => break,
                },
                _ => break,
            }
            if options.record_removals {
                self.removals.push(Removal { offset: out, removed: at - out });
            }
        }
        self.length = out;
        self.bytes[out..out + DATA_PADDING].fill(0);
        at
    }

    /// Returns a function that maps offsets in the unstuffed data to offsets in `source`. It must be called with
    /// ascending offsets.
    pub(crate) fn source_offsets(&self) -> impl FnMut(usize) -> usize + '_ {
        let mut removals = self.removals.iter().peekable();
        let mut removed = 0;
        move |offset| {
            while let Some(next) = removals.next_if(|next| next.offset <= offset) {
                removed = next.removed;
            }
            offset + removed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &[u8], first_interval: Option<usize>) -> (Vec<u8>, Vec<usize>) {
        let mut data = UnstuffedData::default();
        data.read(
            source,
            UnstuffOptions { first_interval, intervals: 12, record_removals: true, fill_before_zero: true },
        );
        let length = data.length;
        let mut source_offset = data.source_offsets();
        for offset in 0..length {
            assert_eq!(data.bytes[offset], source[source_offset(offset)]);
        }
        assert!(data.bytes()[length..].iter().all(|&byte| byte == 0));
        (data.bytes[..length].to_vec(), data.interval_starts.clone())
    }

    #[test]
    fn stuffed_bytes_and_restart_markers_are_removed() {
        assert_eq!(read(b"ab\xFF\0cd\xFF\xD9rest", None), (b"ab\xFFcd".to_vec(), vec![0]));
        assert_eq!(read(b"\xFF\0\xFF\0\xFF\0", None), (vec![0xFF; 3], vec![0]));
        assert_eq!(read(b"ab\xFF\xD0cd\xFF\xFF\xD1ef\xFF\xD9", Some(0)), (b"abcdef".to_vec(), vec![0, 2, 4]));
        assert_eq!(read(b"ab\xFF\xD1cd\xFF\xD3ef", Some(9)), (b"abcd".to_vec(), vec![0, 2]));
        assert_eq!(read(b"ab\xFF\xD0cd", None), (b"ab".to_vec(), vec![0]));
        assert_eq!(read(b"", None), (vec![], vec![0]));
        assert_eq!(read(b"abc\xFF", None), (b"abc".to_vec(), vec![0]));
        assert_eq!(read(b"ab\xFF\xFF\0cd", None), (b"ab\xFFcd".to_vec(), vec![0]));
        // The scan has twelve intervals, and the tenth is the first one here.
        assert_eq!(read(b"a\xFF\xD1b\xFF\xD2c\xFF\xD3d", Some(9)), (b"abc".to_vec(), vec![0, 1, 2]));
        let mut data = UnstuffedData::default();
        let options =
            UnstuffOptions { first_interval: None, intervals: 1, record_removals: false, fill_before_zero: false };
        assert_eq!(data.read(b"ab\xFF\0c\xFF\xFF\0d", options), 5);
    }

    #[test]
    fn a_stuffed_byte_is_removed_at_every_offset() {
        for length in 0..40 {
            for stuffed in 0..length {
                let mut source: Vec<u8> = (0..length as u8).collect();
                source[stuffed] = 0xFF;
                let expected = source.clone();
                source.insert(stuffed + 1, 0);
                assert_eq!(read(&source, None).0, expected);
            }
        }
    }
}
