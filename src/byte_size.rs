//! Numbers of bytes as settings have them: whole numbers, or texts with a unit of 1024. For `#[serde(with = "size")]`.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeTuple, Serializer};
use serde_json::Value;
use std::path::Path;

const UNITS: [(&str, u32); 4] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];

/// A field that has such a number, or may have one.
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

/// A folder and its bytes.
pub(crate) fn beside<S: Serializer>(folder: &Path, bytes: u64, to: S) -> Result<S::Ok, S::Error> {
    let mut pair = to.serialize_tuple(2)?;
    pair.serialize_element(folder)?;
    pair.serialize_element(&written(bytes))?;
    pair.end()
}

pub(crate) fn read(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| parse(value.as_str()?))
}

/// The bytes of a text: `16G`, `1.5 GiB`, `4096`.
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

/// The bytes as text, with the largest unit of which they are a whole number.
pub(crate) fn text(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, power)| bytes != 0 && bytes.trailing_zeros() >= *power);
    unit.map_or_else(|| bytes.to_string(), |(name, power)| format!("{}{name}", bytes >> power))
}

/// Writes bytes as text with a unit, or as a number if no unit fits.
fn written(bytes: u64) -> Value {
    let text = text(bytes);
    if text.ends_with(|end: char| end.is_ascii_digit()) { bytes.into() } else { text.into() }
}
