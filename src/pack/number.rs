//! Defines the number of a part of a data set that is packed in parts, and which samples belong to the part.

use std::fmt;
use std::ops::Range;

/// The most parts into which packing a data set can be divided.
pub const MOST_PARTS: usize = 100_000;

/// Names one of the parts in which a data set is packed.
///
/// ```
/// use gpufeed::pack::PartNumber;
///
/// let part = PartNumber { part: 1, parts: 3 };
/// assert_eq!((part.range(10), part.to_string()), (3..6, "1/3".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNumber {
    /// The number of the part, from 0 on.
    pub part: usize,
    /// The number of all parts.
    pub parts: usize,
}

impl PartNumber {
    /// Returns the indices of the part's samples, if the data set has `samples` samples. Each part begins where the
    /// part before it ends, and the sizes of parts differ by one sample at most. If there are fewer samples than parts,
    /// some parts are empty.
    ///
    /// # Panics
    ///
    /// If `parts` is 0.
    pub fn range(self, samples: usize) -> Range<usize> {
        let bound = |part: usize| (samples as u128 * part as u128 / self.parts as u128) as usize;
        bound(self.part)..bound(self.part + 1)
    }
}

impl fmt::Display for PartNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_differ_by_one() {
        for samples in [0, 1, 3, 6, 7, 8, 1000, usize::MAX] {
            let ranges: Vec<_> = (0..7).map(|part| PartNumber { part, parts: 7 }.range(samples)).collect();
            assert!(ranges[0].start == 0 && ranges[6].end == samples, "{ranges:?}");
            assert!(ranges.windows(2).all(|two| two[0].end == two[1].start), "{ranges:?}");
            let lengths = || ranges.iter().map(|range| range.len());
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1, "{ranges:?}");
        }
    }
}
