//! Work in parts: which of them a process does, and which samples belong to it.
//!
//! `auto.rs` reads what launchers say.

mod auto;

use std::fmt;
use std::ops::Range;

/// The most parts of a data set.
pub(crate) const MOST_PARTS: usize = 100_000;

/// One of several parts, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartNumber {
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl PartNumber {
    /// Returns the indices of the part's samples: parts follow each other, and differ by one sample at the most. A data
    /// set with fewer samples than parts leaves some of them empty.
    pub(crate) fn range(self, samples: usize) -> Range<usize> {
        let bound = |part: usize| (samples as u128 * part as u128 / self.parts as u128) as usize;
        bound(self.part)..bound(self.part + 1)
    }
}

impl fmt::Display for PartNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

/// The value of `--part`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedPart {
    Number(PartNumber),
    /// By the variables of the launcher.
    Auto,
}

impl AskedPart {
    /// Parses `3/7` or `auto`.
    pub(crate) fn parse(text: &str) -> Result<AskedPart, String> {
        if text == "auto" {
            return Ok(AskedPart::Auto);
        }
        let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
        match numbers {
            Some((part, parts)) if parts > MOST_PARTS => Err(format!("at most {MOST_PARTS} parts, not {part}/{parts}")),
            Some((part, parts)) if part < parts => Ok(AskedPart::Number(PartNumber { part, parts })),
            Some((_, parts)) if parts > 0 => {
                Err(format!("parts are counted from 0: 0/{parts} to {}/{parts}", parts - 1))
            }
            _ => Err("a part and the number of parts, like 3/7, or auto".to_owned()),
        }
    }

    /// Returns the part. `parts` is the number of parts, where it is known, and `whence` says from where.
    ///
    /// # Errors
    /// If the launcher's variables contradict it or each other, or there are none.
    pub(crate) fn resolve(self, parts: Option<usize>, whence: &str) -> Result<PartNumber, String> {
        let number = match self {
            AskedPart::Number(number) => number,
            AskedPart::Auto => return auto::part(parts, whence, |name| std::env::var_os(name)),
        };
        match parts {
            Some(parts) if parts != number.parts => {
                Err(format!("--part {number} is one of {} parts, but {whence} has {parts}", number.parts))
            }
            _ => Ok(number),
        }
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

    #[test]
    fn a_part_is_below_their_number() {
        let number = |text: &str| AskedPart::parse(text);
        assert_eq!(number("6/7"), Ok(AskedPart::Number(PartNumber { part: 6, parts: 7 })));
        assert_eq!(number("auto"), Ok(AskedPart::Auto));
        assert_eq!(number("7/7").unwrap_err(), "parts are counted from 0: 0/7 to 6/7");
        for bad in ["", "3", "3/", "/7", "-1/7", "3/7/8", "0/0", "a/b", "3 / 7", "Auto"] {
            assert!(number(bad).unwrap_err().contains("like 3/7"), "{bad}");
        }
        assert!(number("3/100001").unwrap_err().contains("at most 100000 parts"));
        let asked = number("3/7").unwrap();
        assert!(asked.resolve(Some(7), "the plan").is_ok() && asked.resolve(None, "").is_ok());
        let error = asked.resolve(Some(8), "the plan in packed").unwrap_err();
        assert_eq!(error, "--part 3/7 is one of 7 parts, but the plan in packed has 8");
    }
}
