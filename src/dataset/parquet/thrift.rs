//! Reads Thrift's compact protocol, in which Parquet's footer and the headers of its pages are written.
//!
//! Reading takes time in proportion to the bytes that are there: a list must have room for its elements before they are
//! read, and unknown fields are skipped only down to a limited depth.

/// The deepest nesting that is skipped. A Parquet footer nests 7 deep.
const DEEPEST: u32 = 24;

/// The reason why a structure cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The structure would go on after the last byte.
    Ends,
    /// The bytes are no structure, or not the expected one.
    Says(&'static str),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Broken::Ends => "it is cut short",
            Broken::Says(reason) => reason,
        })
    }
}

type Result<T> = std::result::Result<T, Broken>;

/// Types of fields and elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    /// An integer of 16, 32 or 64 bits.
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Result<Kind> {
        Ok(match code {
            1 => Kind::True,
            2 => Kind::False,
            3 => Kind::Byte,
            4..=6 => Kind::Integer,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            _ => return Err(Broken::Says("it has a value of an unknown type")),
        })
    }
}

/// A position in the bytes of a structure.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { bytes, at: 0 }
    }

    /// Returns the number of bytes that were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Reads a structure. `field` gets the number and the type of each field. It reads the fields that it knows, and
    /// returns true for them.
    pub(super) fn structure(&mut self, mut field: impl FnMut(&mut Self, i64, Kind) -> Result<bool>) -> Result<()> {
        let mut last = 0;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Ok(());
            }
            let kind = Kind::of(byte & 15)?;
            last = if byte >> 4 == 0 { self.number()? } else { last + i64::from(byte >> 4) };
            if !(0..=i64::from(i16::MAX)).contains(&last) {
                return Err(Broken::Says("a field has a number that cannot be"));
            }
            if !field(self, last, kind)? {
                self.skip(kind, 0)?;
            }
        }
    }

    /// Reads the start of a list. Returns the number of its elements, which have to be of this type.
    pub(super) fn list(&mut self, element: Kind) -> Result<usize> {
        let (kind, count) = self.any_list()?;
        if count > 0 && kind != element {
            return Err(Broken::Says("a list has elements of another type"));
        }
        Ok(count)
    }

    /// Reads an integer.
    pub(super) fn number(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a string of bytes.
    pub(super) fn binary(&mut self) -> Result<&'a [u8]> {
        let length = self.unsigned()?;
        self.take(length)
    }

    fn any_list(&mut self) -> Result<(Kind, usize)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.unsigned()?,
            count => count.into(),
        };
        if count == 0 {
            // Some writers give no type to an empty list.
            return Ok((Kind::Byte, 0));
        }
        let left = self.bytes.len() - self.at;
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok((Kind::of(byte & 15)?, count)),
            _ => Err(Broken::Ends),
        }
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Result<()> {
        if depth > DEEPEST {
            return Err(Broken::Says("it is nested too deep"));
        }
        match kind {
            Kind::True | Kind::False => {}
            Kind::Byte => drop(self.byte()?),
            Kind::Integer => drop(self.unsigned()?),
            Kind::Double => drop(self.take(8)?),
            Kind::Uuid => drop(self.take(16)?),
            Kind::Binary => drop(self.binary()?),
            Kind::List => {
                let (kind, count) = self.any_list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth))?;
            }
            Kind::Map => {
                let count = self.unsigned()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 15)?);
                    for _ in 0..count {
                        self.skip_element(key, depth)?;
                        self.skip_element(value, depth)?;
                    }
                }
            }
            Kind::Struct => loop {
                let byte = self.byte()?;
                if byte == 0 {
                    break;
                }
                if byte >> 4 == 0 {
                    self.unsigned()?;
                }
                self.skip(Kind::of(byte & 15)?, depth + 1)?;
            },
        }
        Ok(())
    }

    /// Skips an element. Truth values take a byte in lists and maps, and none as fields.
    fn skip_element(&mut self, kind: Kind, depth: u32) -> Result<()> {
        match kind {
            Kind::True | Kind::False => self.byte().map(drop),
            kind => self.skip(kind, depth + 1),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Broken::Ends)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let bytes = self.bytes.get(self.at..end.ok_or(Broken::Ends)?).ok_or(Broken::Ends)?;
        self.at += bytes.len();
        Ok(bytes)
    }

    fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(Broken::Says("a number is too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 1 is a number, 2 a string, 4 a list of numbers; all others are skipped.
    fn read(bytes: &[u8]) -> Result<(i64, Vec<u8>, Vec<i64>)> {
        let (mut number, mut text, mut list) = (0, Vec::new(), Vec::new());
        let mut thrift = Thrift::new(bytes);
        thrift.structure(|thrift, field, kind| {
            match (field, kind) {
                (1, Kind::Integer) => number = thrift.number()?,
                (2, Kind::Binary) => text = thrift.binary()?.to_vec(),
                (4, Kind::List) => {
                    for _ in 0..thrift.list(Kind::Integer)? {
                        list.push(thrift.number()?);
                    }
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        assert_eq!(thrift.at(), bytes.len());
        Ok((number, text, list))
    }

    const WHOLE: &[u8] = &[
        0x15, 0x04, // 1: 2
        0x18, 2, b'a', b'b', // 2: "ab"
        0x11, // 3: true
        0x19, 0x25, 0x01, 0xac, 0x02, // 4: [-1, 150]
        0x1c, 0x12, 0x29, 0x21, 1, 2, 0x00, // 5: a structure with a truth value and a list of two
        0x1b, 1, 0x85, 1, b'x', 0x06, // 6: a map of a string to a number
        0x17, 0, 0, 0, 0, 0, 0, 0, 0, // 7: a double
        0x06, 0xd0, 0x0f, 0x02, // 1000: 1
        0x00,
    ];

    #[test]
    fn known_fields_are_read_and_others_skipped() {
        assert_eq!(read(WHOLE).unwrap(), (2, b"ab".to_vec(), vec![-1, 150]));
        for length in 0..WHOLE.len() {
            assert_eq!(read(&WHOLE[..length]), Err(Broken::Ends), "{length}");
        }
    }

    #[test]
    fn lists_longer_than_the_bytes_and_deep_nesting_are_refused() {
        assert_eq!(read(&[0x49, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0]), Err(Broken::Ends));
        // Truth values of a list take a byte each, so that a long list of nothing is no work.
        assert_eq!(read(&[0x59, 0xf1, 0xff, 0xff, 0xff, 0x7f, 0]), Err(Broken::Ends));
        let deep = [&[0x5c][..], &[0x1c; 100], &[0; 102]].concat();
        assert_eq!(read(&deep), Err(Broken::Says("it is nested too deep")));
        let lists = [&[0x59][..], &[0x19; 100], &[0x13, 0, 0]].concat();
        assert_eq!(read(&lists), Err(Broken::Says("it is nested too deep")));
        assert_eq!(read(&[0x49, 0x18, 0, 0]), Err(Broken::Says("a list has elements of another type")));
        assert_eq!(read(&[0x1f, 0]), Err(Broken::Says("it has a value of an unknown type")));
        assert!(read(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]).is_err());
    }
}
