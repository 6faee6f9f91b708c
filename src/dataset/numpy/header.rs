//! The header of a `.npy` array: its type and shape, as a Python dictionary.

use super::super::unpacked::Unpacked;
use crate::error::Result;

/// Limit of the bytes of a header. numpy warns above 10,000.
const MOST_BYTES: u64 = 1 << 16;

/// Type, shape and order of an array's values.
#[derive(Debug, PartialEq)]
pub(super) struct ArrayHeader {
    /// Kind of number: 'u', 'i', 'f', 'b'.
    pub(super) kind: char,
    /// Bytes of a number: 1, 2, 4 or 8.
    pub(super) size: usize,
    pub(super) big_endian: bool,
    /// True if the first dimension changes fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl ArrayHeader {
    /// Reads up to the first value. An array without values, or with too many to count, is an error.
    pub(super) fn read(source: &mut Unpacked<'_>) -> Result<Self> {
        let [magic @ .., major, _minor] = source.take::<8>("a .npy header")?;
        if magic != *b"\x93NUMPY" {
            return Err(source.error_at(0, format!("not a .npy array: it begins with {magic:02x?}")));
        }
        let length = match major {
            1 => u64::from(u16::from_le_bytes(source.take("a .npy header")?)),
            2 | 3 => u64::from(u32::from_le_bytes(source.take("a .npy header")?)),
            _ => return Err(source.error_at(6, format!(".npy of version {major}, but the latest known is 3"))),
        };
        if length > MOST_BYTES {
            return Err(source.error(format!("a header of {length} bytes, but at most {MOST_BYTES} are read")));
        }
        let start = if major == 1 { 10 } else { 12 };
        let text = source.bytes(length, "a .npy header")?;
        let header = std::str::from_utf8(&text).ok().and_then(parse);
        header.ok_or_else(|| {
            let text = String::from_utf8_lossy(&text);
            // An error shows the start of the header, which has the type of the values; lists of fields can be long.
            let text: String = text.trim().chars().take(200).collect();
            let reason = format!("a header that cannot be parsed: {text:?}; save an array of numbers");
            source.error_at(start, reason)
        })
    }

    /// Returns numpy's name of the type.
    pub(super) fn type_name(&self) -> String {
        match (self.kind, self.size) {
            ('u', size) => format!("uint{}", 8 * size),
            ('i', size) => format!("int{}", 8 * size),
            ('f', size) => format!("float{}", 8 * size),
            _ => "bool".to_owned(),
        }
    }

    /// Returns the size of all values in bytes; `None` if the number overflows.
    pub(super) fn bytes(&self) -> Option<u64> {
        let size = self.shape.iter().try_fold(self.size, |size, &side| size.checked_mul(side))?;
        u64::try_from(size).ok()
    }
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: these keys, in any order.
pub(super) fn parse(text: &str) -> Option<ArrayHeader> {
    let mut rest = Text(text);
    rest.skip("{")?;
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    while rest.skip("}").is_none() {
        let key = rest.string()?;
        rest.skip(":")?;
        match key {
            "descr" => descr = Some(rest.string()?),
            "fortran_order" => fortran = Some(rest.boolean()?),
            "shape" => shape = Some(rest.tuple()?),
            _ => return None,
        }
        if rest.skip(",").is_none() {
            rest.skip("}")?;
            break;
        }
    }
    if !rest.0.trim().is_empty() {
        return None;
    }
    let descr = descr?;
    let order = descr.chars().next()?;
    let mut number = descr.get(1..)?.chars();
    let kind = number.next()?;
    let size = number.as_str().parse().ok()?;
    let known = matches!((kind, size), ('u' | 'i', 1 | 2 | 4 | 8) | ('f', 2 | 4 | 8) | ('b', 1));
    if !known || !matches!(order, '<' | '>' | '|' | '=') {
        return None;
    }
    let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
    Some(ArrayHeader { kind, size, big_endian, fortran: fortran?, shape: shape? })
}

/// The text that is not parsed yet.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn skip(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (string, rest) = text[1..].split_once(quote)?;
        self.0 = rest;
        Some(string)
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.skip("True") {
            Some(()) => Some(true),
            None => self.skip("False").map(|()| false),
        }
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.skip("(")?;
        let mut sides = Vec::new();
        while self.skip(")").is_none() {
            let text = self.0.trim_start();
            let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
            sides.push(text[..digits].parse().ok()?);
            // Python 2 wrote 3L.
            self.0 = text[digits..].strip_prefix('L').unwrap_or(&text[digits..]);
            if self.skip(",").is_none() {
                self.skip(")")?;
                break;
            }
        }
        Some(sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let header = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 28, 28), }      \n").unwrap();
        let expected = ArrayHeader { kind: 'f', size: 4, big_endian: false, fortran: false, shape: vec![3, 28, 28] };
        assert_eq!((header.type_name().as_str(), header.bytes()), ("float32", Some(9408)));
        assert_eq!(header, expected);
        let header = parse("{'shape': (5L,), 'fortran_order': True, 'descr': \">i8\"}").unwrap();
        let expected = ArrayHeader { kind: 'i', size: 8, big_endian: true, fortran: true, shape: vec![5] };
        assert_eq!(header, expected);
        let scalar = parse("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").unwrap();
        assert_eq!((scalar.type_name().as_str(), scalar.bytes()), ("bool", Some(1)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3)",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<U4', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': '<f3', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': 'é4', 'fortran_order': False, 'shape': (3,)}",
            "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}",
            "{'more': '<f4', 'fortran_order': False, 'shape': (3,)}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let huge = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}").unwrap();
        assert_eq!(huge.bytes(), None);
    }
}
