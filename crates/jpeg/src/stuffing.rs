//! A scan's bytes without what is stuffed between them, and where its restart markers were.

use crate::bits::PADDING;

/// A place where bytes were taken out of a scan. It tells where in the file a destuffed bit lies.
#[derive(Clone, Copy, Debug)]
struct Removed {
    /// Destuffed bytes before the place.
    before: usize,
    /// Bytes taken out so far, this place included.
    total: usize,
}

/// A stretch of a scan, destuffed. The memory is reused and grows with the largest file.
#[derive(Debug, Default)]
pub(crate) struct Destuffed {
    bytes: Vec<u8>,
    length: usize,
    /// Where each restart interval begins, in destuffed bytes.
    starts: Vec<usize>,
    removed: Vec<Removed>,
}

/// Where a stretch is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// The interval that the stretch begins in, counted from the scan's start; `None` where the file has no restart markers.
    pub(crate) interval: Option<usize>,
    /// Whether to note what is taken out.
    pub(crate) noted: bool,
}

/// The highest bit of each byte that is 0xFF, the lowest such byte for certain and only bytes above it in error.
#[inline(always)]
fn full_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let inverse = !word;
    inverse.wrapping_sub(ONES) & word & (ONES << 7)
}

impl Destuffed {
    /// Grows to what files of `length` bytes need.
    pub(crate) fn reserve(&mut self, length: usize) {
        crate::memory::grow(&mut self.bytes, length + PADDING + 8);
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len().saturating_sub(PADDING + 8)
    }

    /// The destuffed bytes, then [`PADDING`] zeros.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length + PADDING]
    }

    /// The bytes of restart interval `number`, counted from the stretch's start: where they begin and end.
    pub(crate) fn interval(&self, number: usize) -> Option<(usize, usize)> {
        let start = *self.starts.get(number)?;
        Some((start, self.starts.get(number + 1).copied().unwrap_or(self.length)))
    }

    /// Reads `source` up to its end or to a marker that is not the restart marker whose turn it is.
    pub(crate) fn read(&mut self, source: &[u8], cut: Cut) {
        self.reserve(source.len());
        self.starts.clear();
        self.starts.push(0);
        self.removed.clear();
        let mut expected = cut.interval;
        let (mut at, mut out) = (0, 0);
        loop {
            while let Some(chunk) = source[at..].first_chunk::<8>() {
                self.bytes[out..out + 8].copy_from_slice(chunk);
                let full = full_bytes(u64::from_le_bytes(*chunk));
                let before = if full == 0 { 8 } else { full.trailing_zeros() as usize / 8 };
                at += before;
                out += before;
                if full != 0 {
                    break;
                }
            }
            while at < source.len() && source[at] != 0xFF {
                self.bytes[out] = source[at];
                at += 1;
                out += 1;
            }
            // 0xFF, or the end. Fill bytes may come before a marker, and decoders let them pass before a stuffed zero too.
            let Some(behind) = source[at..].iter().position(|&byte| byte != 0xFF) else { break };
            match source[at + behind] {
                0 => {
                    self.bytes[out] = 0xFF;
                    out += 1;
                    at += behind + 1;
                }
                marker @ 0xD0..=0xD7 => match &mut expected {
                    Some(interval) if *interval % 8 == usize::from(marker - 0xD0) => {
                        *interval += 1;
                        at += behind + 1;
                        self.starts.push(out);
                    }
                    _ => break,
                },
                _ => break,
            }
            if cut.noted {
                self.removed.push(Removed { before: out, total: at - out });
            }
        }
        self.length = out;
        self.bytes[out..out + PADDING].fill(0);
    }

    /// A way from destuffed places to those in `source`, for places in ascending order.
    pub(crate) fn places(&self) -> impl FnMut(usize) -> usize + '_ {
        let mut removed = self.removed.iter().peekable();
        let mut total = 0;
        move |at| {
            while let Some(next) = removed.next_if(|next| next.before <= at) {
                total = next.total;
            }
            at + total
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &[u8], interval: Option<usize>) -> (Vec<u8>, Vec<usize>) {
        let mut destuffed = Destuffed::default();
        destuffed.read(source, Cut { interval, noted: true });
        let length = destuffed.length;
        let mut place = destuffed.places();
        for at in 0..length {
            assert_eq!(destuffed.bytes[at], source[place(at)]);
        }
        assert!(destuffed.bytes()[length..].iter().all(|&byte| byte == 0));
        (destuffed.bytes[..length].to_vec(), destuffed.starts.clone())
    }

    #[test]
    fn stuffing_and_markers_go() {
        assert_eq!(read(b"ab\xFF\0cd\xFF\xD9rest", None), (b"ab\xFFcd".to_vec(), vec![0]));
        assert_eq!(read(b"\xFF\0\xFF\0\xFF\0", None), (vec![0xFF; 3], vec![0]));
        assert_eq!(read(b"ab\xFF\xD0cd\xFF\xFF\xD1ef\xFF\xD9", Some(0)), (b"abcdef".to_vec(), vec![0, 2, 4]));
        assert_eq!(read(b"ab\xFF\xD1cd\xFF\xD3ef", Some(9)), (b"abcd".to_vec(), vec![0, 2]));
        assert_eq!(read(b"ab\xFF\xD0cd", None), (b"ab".to_vec(), vec![0]));
        assert_eq!(read(b"", None), (vec![], vec![0]));
        assert_eq!(read(b"abc\xFF", None), (b"abc".to_vec(), vec![0]));
    }

    #[test]
    fn equals_the_plain_way_at_every_place() {
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
