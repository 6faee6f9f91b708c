//! Work in parts: which of them a process does, and which samples belong to it.
//!
//! `auto.rs` reads what launchers say.

mod auto;

pub(crate) use gpufeed::pack::{MOST_PARTS, PartNumber};

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
