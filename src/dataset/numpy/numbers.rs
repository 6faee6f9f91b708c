//! A `.npy` array as the numbers of a field.

use std::borrow::Cow;

use super::header::{self, ArrayHeader};
use crate::dataset::{NumberType, Numbers};

/// The first bytes of a `.npy` array.
pub(in crate::dataset) const MAGIC: &[u8] = b"\x93NUMPY";

/// The numbers of a whole `.npy` file, in the machine's order of bytes.
///
/// # Errors
/// The reason for which the bytes are no such array.
pub(in crate::dataset) fn numbers(bytes: Cow<'_, [u8]>) -> Result<Numbers<'_>, String> {
    let (header, start) = split(&bytes)?;
    let number_type = type_of(&header);
    // An array of one axis lies the same way in both orders.
    if header.fortran && header.shape.iter().filter(|side| **side > 1).count() > 1 {
        return Err("is a .npy array whose first axis is the fastest; save np.ascontiguousarray of it".to_owned());
    }
    let (expected, found) = (header.bytes(), bytes.len() - start);
    if expected != Some(found as u64) {
        let (name, shape) = (header.type_name(), &header.shape);
        return Err(format!("is a .npy array of {name} of shape {shape:?}, but {found} bytes of numbers are there"));
    }
    let mut values = match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[start..]),
        Cow::Owned(mut bytes) => Cow::Owned(bytes.split_off(start)),
    };
    if header.size > 1 && header.big_endian != cfg!(target_endian = "big") {
        values.to_mut().chunks_exact_mut(header.size).for_each(<[u8]>::reverse);
    }
    Numbers::new(number_type, header.shape, values).map_err(|error| error.to_string())
}

/// The header of an array, and the byte at which its numbers begin.
fn split(bytes: &[u8]) -> Result<(ArrayHeader, usize), String> {
    let none = || "is no .npy array".to_owned();
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(none)?;
    let (length, start) = match rest {
        [1, _, low, high, ..] => (usize::from(u16::from_le_bytes([*low, *high])), 10),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        [1..=3, ..] | [] => return Err("is a .npy array that ends in its header".to_owned()),
        [version, ..] => return Err(format!("is a .npy array of version {version}, but the latest known is 3")),
    };
    let end = start + length;
    let text = bytes.get(start..end).ok_or("is a .npy array that ends in its header")?;
    let header = std::str::from_utf8(text).ok().and_then(header::parse);
    Ok((header.ok_or("is a .npy array whose header cannot be parsed; save an array of numbers")?, end))
}

fn type_of(header: &ArrayHeader) -> NumberType {
    match (header.kind, header.size) {
        ('u', 1) => NumberType::U8,
        ('u', 2) => NumberType::U16,
        ('u', 4) => NumberType::U32,
        ('u', _) => NumberType::U64,
        ('i', 1) => NumberType::I8,
        ('i', 2) => NumberType::I16,
        ('i', 4) => NumberType::I32,
        ('i', _) => NumberType::I64,
        ('f', 2) => NumberType::F16,
        ('f', 4) => NumberType::F32,
        ('f', _) => NumberType::F64,
        // The header has no other kind.
        _ => NumberType::Bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as numpy writes it.
    fn npy(descr: &str, fortran: bool, shape: &str, values: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + text.len() + 1) % 64 != 0 {
            text.push(' ');
        }
        text.push('\n');
        [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes(), values].concat()
    }

    fn read(bytes: Vec<u8>) -> Result<Numbers<'static>, String> {
        let owned = numbers(Cow::Owned(bytes.clone()));
        assert_eq!(numbers(Cow::Borrowed(&bytes)), owned);
        owned
    }

    #[test]
    fn arrays_of_any_type_and_order_of_bytes() {
        let two = Numbers::new(NumberType::I16, [2], [1_i16, -2].map(i16::to_ne_bytes).concat()).unwrap();
        assert_eq!(read(npy("<i2", false, "(2,)", &[1, 0, 0xfe, 0xff])).unwrap(), two);
        assert_eq!(read(npy(">i2", false, "(2,)", &[0, 1, 0xff, 0xfe])).unwrap(), two);
        assert_eq!(read(npy("<i2", true, "(2,)", &[1, 0, 0xfe, 0xff])).unwrap(), two);
        assert_eq!(read(npy("<f8", false, "()", &0.5_f64.to_le_bytes())).unwrap(), Numbers::from(0.5));
        assert_eq!(read(npy("|b1", false, "()", &[1])).unwrap(), Numbers::from(true));
        assert_eq!(read(npy("<f4", false, "(0, 3)", &[])).unwrap().shape(), [0, 3]);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let error = |bytes| read(bytes).unwrap_err();
        assert_eq!(error(b"7".to_vec()), "is no .npy array");
        assert_eq!(error(MAGIC.to_vec()), "is a .npy array that ends in its header");
        assert!(error([MAGIC, &[9, 0, 0, 0]].concat()).contains("version 9"));
        assert!(error([MAGIC, &[2, 0, 0xff, 0xff, 0xff, 0xff]].concat()).contains("ends in its header"));
        assert!(error(npy("<f4", true, "(2, 2)", &[0; 16])).contains("ascontiguousarray"));
        assert!(error(npy("<f4", false, "(2, 2)", &[0; 12])).contains("but 12 bytes"));
        assert!(error(npy("|O", false, "(2,)", &[0; 12])).contains("save an array of numbers"));
    }
}
