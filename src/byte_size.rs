//! Reads and writes numbers of bytes in settings: whole numbers, or texts such as "16G", whose units are powers of
//! 1024. Fields use this module by `#[serde(with = "size")]`.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeTuple, Serializer};
use serde_json::Value;
use std::path::Path;

const UNITS: [(&str, u32); 4] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];

/// The type of a field that holds a number of bytes: `u64`, or `Option<u64>` if the number may be absent.
pub(crate) trait Bytes: Copy + Into<Option<u64>> {
    fn of(bytes: Option<u64>) -> Option<Self>;
}

impl Bytes for u64 {
    fn of(bytes: Option<u64>) -> Option<Self> {
        bytes
    }
}

impl Bytes for Option<u64> {
    fn of(bytes: Option<u64>) -> Option<Self> {
        Some(bytes)
    }
}

pub(crate) fn serialize<T: Bytes, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    match (*value).into() {
        Some(bytes) => written(bytes).serialize(to),
        None => to.serialize_none(),
    }
}

pub(crate) fn deserialize<'de, T: Bytes, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    let bytes = if value.is_null() { T::of(None) } else { read(&value).and_then(|bytes| T::of(Some(bytes))) };
    bytes.ok_or_else(|| D::Error::custom(format!("{value}; a number of bytes works, or text such as \"16G\"")))
}

/// Serializes a folder and a number of bytes as a list of two, such as `["/cache", "200G"]`.
pub(crate) fn beside<S: Serializer>(folder: &Path, bytes: u64, to: S) -> Result<S::Ok, S::Error> {
    let mut pair = to.serialize_tuple(2)?;
    pair.serialize_element(folder)?;
    pair.serialize_element(&written(bytes))?;
    pair.end()
}

pub(crate) fn read(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| parse(value.as_str()?))
}

/// Returns the number of bytes that a text means, such as `16G`, `1.5 GiB` or `4096`; `None` for other texts.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.find(|part: char| !part.is_ascii_digit() && part != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(unit);
    let power = match unit {
        "" => 0,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(1 << power),
        Err(_) if number.starts_with('.') || number.ends_with('.') => None,
        Err(_) => number.parse::<f64>().ok().map(|number| (number * (1u64 << power) as f64) as u64),
    }
}

/// Returns a number of bytes as text in the largest unit of which it is a whole multiple: 3072 is `3K`, 3073 is `3073`.
pub(crate) fn text(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, power)| bytes != 0 && bytes.trailing_zeros() >= *power);
    unit.map_or_else(|| bytes.to_string(), |(name, power)| format!("{}{name}", bytes >> power))
}

/// Returns a number of bytes as JSON: as text if it is a whole multiple of a unit, else as a number.
fn written(bytes: u64) -> Value {
    let text = text(bytes);
    if text.ends_with(|end: char| end.is_ascii_digit()) { bytes.into() } else { text.into() }
}
