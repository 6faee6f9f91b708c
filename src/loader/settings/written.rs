//! Defines how the values of settings are written in TOML and JSON, and which values are allowed. Users of Python write
//! the values in the same way.

use super::ShardChoice;
use crate::byte_size as size;
use crate::decode::{Orientation, SeekIndexes, Truncated};
use crate::loader::cache::Cache;
use crate::loader::{Execute, OnError};
use crate::plan::{DType, Layout, Semantics};
use crate::sampler::{LastBatch, Order};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use std::path::PathBuf;

/// A type of settings whose values can be read from TOML or JSON, and written there.
pub(super) trait WrittenForm: Sized {
    /// Returns a text that says which values are allowed, for an error about another value.
    fn works() -> String;
    fn read(value: &Value) -> Option<Self>;
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
}

/// Serializes a field that has `#[serde(with = "written")]`.
pub(super) fn serialize<T: WrittenForm, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.write(to)
}

/// Deserializes a field that has `#[serde(with = "written")]`.
pub(super) fn deserialize<'de, T: WrittenForm, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    T::read(&value).ok_or_else(|| D::Error::custom(format!("{value}; {}", T::works())))
}

impl<T: WrittenForm> WrittenForm for Option<T> {
    fn works() -> String {
        T::works()
    }

    fn read(value: &Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::read(value).map(Some) }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(to),
            None => to.serialize_none(),
        }
    }
}

/// Lists the allowed words for an error: `"partial", "drop" and "pad" work`.
fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, others)) => format!("{} and {last} work", others.join(", ")),
        None => String::new(),
    }
}

/// Implements [`WrittenForm`] for enums whose values are written as words. The word after a `|` is the one that recipes
/// have: it is read, too, but never written.
macro_rules! words {
    ($($type:ident { $($variant:ident = $word:literal $(| $other:literal)?),+ })+) => {$(
        impl WrittenForm for $type {
            fn works() -> String {
                listed(&[$($word),+])
            }

            fn read(value: &Value) -> Option<Self> {
                match value.as_str()? {
                    $($word $(| $other)? => Some($type::$variant),)+
                    _ => None,
                }
            }

            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(match self {
                    $($type::$variant => $word,)+
                })
            }
        }
    )+};
}

words! {
    LastBatch { Partial = "partial", Drop = "drop", Pad = "pad" }
    Layout { Nchw = "nchw" | "Nchw", Nhwc = "nhwc" | "Nhwc" }
    DType { F32 = "float32" | "F32", F16 = "float16" | "F16", BF16 = "bfloat16" | "BF16", U8 = "uint8" | "U8" }
    Semantics { Float = "float" | "Float", Uint8 = "uint8" | "Uint8" }
    Execute { Auto = "auto", Gpu = "gpu", Cpu = "cpu" }
    Truncated { Error = "error", Fill = "fill" }
}

/// Implements [`WrittenForm`] for types that serde already writes as a plain number, true or false.
macro_rules! plain {
    ($($type:ident $read:ident $works:literal)+) => {$(
        impl WrittenForm for $type {
            fn works() -> String {
                $works.to_owned()
            }

            fn read(value: &Value) -> Option<Self> {
                $type::try_from(value.$read()?).ok()
            }

            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.serialize(to)
            }
        }
    )+};
}

plain! {
    bool as_bool "true and false work"
    u64 as_u64 "a whole number works"
    usize as_u64 "a whole number works"
}

/// The setting for an image's (EXIF) orientation is written as true if the orientation is applied, else as false.
impl WrittenForm for Orientation {
    fn works() -> String {
        bool::works()
    }

    fn read(value: &Value) -> Option<Self> {
        Some(if value.as_bool()? { Orientation::Apply } else { Orientation::Ignore })
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (*self == Orientation::Apply).serialize(to)
    }
}

impl WrittenForm for Order {
    fn works() -> String {
        r#""full" and ["blocks", 256, 4], samples of a block and blocks of a window, work"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => text.parse().ok(),
            Value::Array(list) => match &list[..] {
                [Value::String(kind), samples, window] if kind == "blocks" => {
                    Some(Order::Blocks { samples: usize::read(samples)?, window: usize::read(window)? })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Order::Full => to.serialize_str("full"),
            Order::Blocks { samples, window } => ("blocks", samples, window).serialize(to),
        }
    }
}

impl WrittenForm for ShardChoice {
    fn works() -> String {
        r#""auto" and [rank, world] work"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        if value == "auto" {
            return Some(ShardChoice::Auto);
        }
        match &value.as_array()?[..] {
            [rank, world] => Some(ShardChoice::ByHand { rank: usize::read(rank)?, world: usize::read(world)? }),
            _ => None,
        }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ShardChoice::Auto => to.serialize_str("auto"),
            ShardChoice::ByHand { rank, world } => (rank, world).serialize(to),
        }
    }
}

impl WrittenForm for OnError {
    fn works() -> String {
        r#""skip", "fail" and the share of samples that may fail, 0 to 1, work"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str() {
            Some("fail") => Some(OnError::Fail),
            Some("skip") => Some(OnError::default()),
            Some(_) => None,
            None => {
                value.as_f64().filter(|share| (0.0..=1.0).contains(share)).map(|max_share| OnError::Skip { max_share })
            }
        }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            OnError::Fail => to.serialize_str("fail"),
            skip if *skip == OnError::default() => to.serialize_str("skip"),
            OnError::Skip { max_share } => max_share.serialize(to),
        }
    }
}

impl WrittenForm for Cache {
    fn works() -> String {
        r#""host:16G", "device:8G" and "off" work"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_str()?.split_once(':') {
            Some(("host", bytes)) => size::parse(bytes).map(Cache::Host),
            Some(("device", bytes)) => size::parse(bytes).map(Cache::Device),
            Some(_) => None,
            None => (value == "off").then_some(Cache::Off),
        }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Cache::Off => to.serialize_str("off"),
            Cache::Host(bytes) => to.collect_str(&format_args!("host:{}", size::text(*bytes))),
            Cache::Device(bytes) => to.collect_str(&format_args!("device:{}", size::text(*bytes))),
        }
    }
}

impl WrittenForm for SeekIndexes {
    fn works() -> String {
        r#""beside", "memory", "off" and a path work"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        Some(match value.as_str()? {
            "beside" => SeekIndexes::Beside,
            "memory" => SeekIndexes::Memory,
            "off" => SeekIndexes::Off,
            path => SeekIndexes::File(path.into()),
        })
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            SeekIndexes::Beside => to.serialize_str("beside"),
            SeekIndexes::Memory => to.serialize_str("memory"),
            SeekIndexes::Off => to.serialize_str("off"),
            SeekIndexes::File(path) => path.serialize(to),
        }
    }
}

/// A folder and a number of bytes are written as a list with two entries.
impl WrittenForm for (PathBuf, u64) {
    fn works() -> String {
        r#"["/var/cache/gpufeed", "200G"], a folder and its bound, works"#.to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match &value.as_array()?[..] {
            [folder, bytes] => Some((folder.as_str()?.into(), size::read(bytes)?)),
            _ => None,
        }
    }

    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        size::beside(&self.0, self.1, to)
    }
}
