//! Puts the values of a row together: JSON of structs and lists, numbers of lists of one length.

use std::io::Write;

use half::f16;

use super::kept::Fault;
use super::nested::Part;
use super::schema::{List, Node, Shape, Value};
use crate::dataset::NumberType;

/// Writes the JSON of a row. Returns false if it is null, and then writes nothing. `end` is the length up to which the
/// bytes may grow.
///
/// # Errors
/// The fault of the row.
pub(super) fn json(node: &Node, parts: &[Part<'_>], out: &mut Vec<u8>, end: usize) -> Result<bool, Fault> {
    let first = parts.first().ok_or(Fault::Levels)?;
    let definition = first.definition()?;
    if definition < node.definition {
        return Ok(false);
    }
    match &node.shape {
        Shape::Leaf(leaf) => scalar(leaf.value, first.value()?, out)?,
        Shape::Struct(members) => {
            out.push(b'{');
            let mut rest = parts;
            for (number, (name, member)) in members.iter().enumerate() {
                let (own, others) = rest.split_at_checked(member.count()).ok_or(Fault::Levels)?;
                rest = others;
                if number > 0 {
                    out.push(b',');
                }
                text(name, out)?;
                out.push(b':');
                json_or_null(member, own, out, end)?;
            }
            out.push(b'}');
        }
        Shape::List(list) => {
            out.push(b'[');
            each_element(list, parts, |number, element| {
                if number > 0 {
                    out.push(b',');
                }
                json_or_null(&list.element, element, out, end)
            })?;
            out.push(b']');
        }
        Shape::Unread(_) => return Err(Fault::Levels),
    }
    if out.len() > end { Err(Fault::Long) } else { Ok(true) }
}

fn json_or_null(node: &Node, parts: &[Part<'_>], out: &mut Vec<u8>, end: usize) -> Result<(), Fault> {
    if !json(node, parts, out, end)? {
        out.extend_from_slice(b"null");
    }
    if out.len() > end { Err(Fault::Long) } else { Ok(()) }
}

/// Appends the numbers of a row, in lists of one length at each depth. Returns false if the row is null.
///
/// # Errors
/// The fault of the row: nulls in it, or lists of several lengths.
pub(super) fn numbers(
    node: &Node,
    parts: &[Part<'_>],
    lengths: &mut [Option<u32>],
    out: &mut Vec<u8>,
    end: usize,
) -> Result<bool, Fault> {
    let first = parts.first().ok_or(Fault::Levels)?;
    if first.definition()? < node.definition {
        return Ok(false);
    }
    match &node.shape {
        Shape::List(list) => {
            let (own, below) = lengths.split_first_mut().ok_or(Fault::Levels)?;
            let mut count = 0;
            each_element(list, parts, |_, element| {
                count += 1;
                if numbers(&list.element, element, below, out, end)? { Ok(()) } else { Err(Fault::Nulls) }
            })?;
            if *own.get_or_insert(count) != count {
                return Err(Fault::Ragged);
            }
        }
        _ => out.extend_from_slice(first.value()?),
    }
    if out.len() > end { Err(Fault::Long) } else { Ok(true) }
}

/// Appends the only value of a row. Returns false if it is null.
pub(super) fn value(node: &Node, parts: &[Part<'_>], out: &mut Vec<u8>) -> Result<bool, Fault> {
    let first = parts.first().ok_or(Fault::Levels)?;
    if first.definition()? < node.definition {
        return Ok(false);
    }
    out.extend_from_slice(first.value()?);
    Ok(true)
}

/// Calls `see` with the number of each element of a list, and the element.
fn each_element(
    list: &List,
    parts: &[Part<'_>],
    mut see: impl FnMut(usize, &[Part<'_>]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut rest = parts.to_vec();
    let Some(first) = rest.first() else { return Err(Fault::Levels) };
    if first.definition()? < list.levels.filled {
        return Ok(());
    }
    let mut element = Vec::with_capacity(rest.len());
    let mut number = 0;
    loop {
        element.clear();
        element.extend(rest.iter_mut().map(|part| part.split_element(list.levels.repetition)));
        see(number, &element)?;
        number += 1;
        let left = rest.iter().filter(|part| !part.entries.is_empty()).count();
        match left {
            0 => return Ok(()),
            _ if left < rest.len() => return Err(Fault::Levels),
            _ => {}
        }
    }
}

/// Writes a value as JSON.
fn scalar(value: Value, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    fn word<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
        bytes.try_into().map_err(|_| Fault::Levels)
    }
    let Value::Number(number) = value else {
        return text(std::str::from_utf8(bytes).map_err(|_| Fault::NotText)?, out);
    };
    match number.number_type {
        NumberType::Bool => out.extend_from_slice(if bytes == [0] { b"false" } else { b"true" }),
        NumberType::I8 => whole(i8::from_ne_bytes(word(bytes)?), out),
        NumberType::U8 => whole(u8::from_ne_bytes(word(bytes)?), out),
        NumberType::I16 => whole(i16::from_ne_bytes(word(bytes)?), out),
        NumberType::U16 => whole(u16::from_ne_bytes(word(bytes)?), out),
        NumberType::I32 => whole(i32::from_ne_bytes(word(bytes)?), out),
        NumberType::U32 => whole(u32::from_ne_bytes(word(bytes)?), out),
        NumberType::I64 => whole(i64::from_ne_bytes(word(bytes)?), out),
        NumberType::U64 => whole(u64::from_ne_bytes(word(bytes)?), out),
        NumberType::F16 => return float(f16::from_ne_bytes(word(bytes)?).into(), out),
        NumberType::F32 => return float(f32::from_ne_bytes(word(bytes)?).into(), out),
        NumberType::F64 => return float(f64::from_ne_bytes(word(bytes)?), out),
    }
    Ok(())
}

fn whole(number: impl Into<i128>, out: &mut Vec<u8>) {
    // Writing into a vector does not fail.
    let _ = write!(out, "{}", number.into());
}

/// Floats of 16 and 32 bits are written as the number of 64 bits that they are, as Python's JSON writes them.
fn float(number: f64, out: &mut Vec<u8>) -> Result<(), Fault> {
    if !number.is_finite() {
        return Err(Fault::NotFinite);
    }
    serde_json::to_writer(out, &number).map_err(|_| Fault::NotFinite)
}

fn text(text: &str, out: &mut Vec<u8>) -> Result<(), Fault> {
    serde_json::to_writer(out, text).map_err(|_| Fault::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json_has_them() {
        use super::super::schema::Number;
        let written = |number_type, bytes: &[u8]| {
            let mut out = Vec::new();
            let value = Value::Number(Number { number_type, stored: bytes.len() });
            scalar(value, bytes, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(written(NumberType::I8, &(-3i8).to_ne_bytes()).unwrap(), "-3");
        assert_eq!(written(NumberType::U64, &u64::MAX.to_ne_bytes()).unwrap(), "18446744073709551615");
        assert_eq!(written(NumberType::F32, &0.1f32.to_ne_bytes()).unwrap(), "0.10000000149011612");
        assert_eq!(written(NumberType::Bool, &[1]).unwrap(), "true");
        assert_eq!(written(NumberType::F64, &f64::NAN.to_ne_bytes()), Err(Fault::NotFinite));
        assert_eq!(written(NumberType::I64, &[1]), Err(Fault::Levels));
        let mut out = Vec::new();
        scalar(Value::Text, "a \"b\"\n".as_bytes(), &mut out).unwrap();
        assert_eq!(out, br#""a \"b\"\n""#);
        assert_eq!(scalar(Value::Text, b"\xff", &mut out), Err(Fault::NotText));
    }
}
