//! The settings of a pack, as a struct that serde reads and writes.
//!
//! `scripts/settings.py` reads the fields of this struct, as it reads those of `LoaderSettings`, and writes the
//! keywords of Python's `gpufeed.pack` from them.

use crate::byte_size as size;
use crate::dataset::{FieldChoice, MAX_FIELD_BYTES, Split};
use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;

/// The settings of a [`Packer`](super::Packer).
///
/// serde reads and writes them as users of Python write them, in JSON and other formats: a size in bytes is a number,
/// or text with a unit of 1024, such as "512M". Absent keys have their defaults, and unknown keys are errors.
///
/// ```
/// use gpufeed::pack::PackSettings;
///
/// let settings: PackSettings = serde_json::from_str(r#"{"shard_bytes": "512M", "max_side": 500}"#)?;
/// assert_eq!((settings.shard_bytes, &*settings.prefix), (512 << 20, "shard"));
/// assert!(serde_json::from_str::<PackSettings>(r#"{"max_size": 500}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PackSettings {
    /// The format that is written: `"tar"` shards or an `"lmdb"`. Default: `"tar"`.
    pub to: PackFormat,
    /// The most bytes of a tar shard, unless one sample alone is larger. An LMDB is written to the disk each time this
    /// many bytes, or 32 MiB, have come together. A pack that was stopped goes on after the last complete shard or
    /// write. Default: `"1G"`.
    #[serde(with = "size")]
    pub shard_bytes: u64,
    /// The part to pack of a data set that comes in two: `"train"` or `"test"`. Default: `"train"`.
    pub split: Split,
    /// The beginning of the names of shards, PREFIX-000000.tar. Default: `"shard"`.
    pub prefix: String,
    /// The seed of a random order of the samples, in which neighbours are no more alike than others. A source in a
    /// store cannot be shuffled. Default: the source's order.
    pub shuffle: Option<u64>,
    /// The fields that are packed beside images and labels: `"all"`, `"none"`, or those that are named, such as
    /// `{"txt": "caption", "json": "meta"}`: what is read of the source (the ending of a member, a column), and the name
    /// that it gets. Of an open data set, the names of its fields stand first. Default: all of an open data set,
    /// and none of a path.
    #[serde(with = "choice")]
    pub fields: Option<FieldChoice>,
    /// The most bytes that a field's value may have in a path: samples with larger ones are left out. Default: `"1M"`.
    #[serde(with = "size")]
    pub max_field_bytes: u64,
    /// The longest side of an image in pixels, 1 to 65535. An image with a longer side is reduced, bilinear and
    /// antialiased, and becomes a JPEG. Default: images stay as they are.
    pub max_side: Option<u32>,
    /// The quality, 1 to 100, with which all images are encoded anew as JPEGs. Default: files stay as they are, and
    /// those that `max_side` reduces have 90.
    pub quality: Option<u8>,
    /// Threads that read and encode: 1 to 4096. Default: one for each core.
    pub workers: Option<usize>,
    /// The folder of this machine in which shards are written before they are uploaded to a store. Default: the system's
    /// folder of temporary files.
    pub scratch: Option<PathBuf>,
    /// Reads the whole pack back, and compares it with the source: files byte for byte, and pixels where images were
    /// encoded anew. Default: `false`.
    pub verify: bool,
}

/// The format in which a pack is written.
///
/// ```
/// use gpufeed::pack::PackFormat;
///
/// assert_eq!(PackFormat::default().name(), "tar");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PackFormat {
    /// Tar shards in WebDataset's convention.
    #[default]
    Tar,
    /// An LMDB, which needs the feature `lmdb`.
    Lmdb,
}

impl PackFormat {
    /// Returns the name that the format has in settings.
    pub fn name(self) -> &'static str {
        match self {
            PackFormat::Tar => "tar",
            PackFormat::Lmdb => "lmdb",
        }
    }
}

impl Default for PackSettings {
    fn default() -> Self {
        PackSettings {
            to: PackFormat::default(),
            shard_bytes: 1 << 30,
            split: Split::default(),
            prefix: "shard".to_owned(),
            shuffle: None,
            fields: None,
            max_field_bytes: MAX_FIELD_BYTES,
            max_side: None,
            quality: None,
            workers: None,
            scratch: None,
            verify: false,
        }
    }
}

/// Reads and writes the choice of fields, of which serde cannot tell none from the default.
mod choice {
    use super::{Deserialize, Deserializer, FieldChoice, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(choice: &Option<FieldChoice>, to: S) -> Result<S::Ok, S::Error> {
        match choice {
            Some(FieldChoice::None) => to.serialize_str("none"),
            choice => choice.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FieldChoice>, D::Error> {
        Option::deserialize(from)
    }
}

impl PackSettings {
    /// Returns an error if a setting has a value that cannot work.
    pub(super) fn check(&self) -> Result<()> {
        let among = |setting: &'static str, value: Option<u64>, most: u64| match value {
            Some(value) if value == 0 || value > most => {
                Err(Error::argument(setting, format!("{value}; 1 to {most} work")))
            }
            _ => Ok(()),
        };
        if self.to == PackFormat::Lmdb && !cfg!(feature = "lmdb") {
            return Err(Error::argument("to", "this build writes no LMDB; build it with the feature `lmdb`"));
        }
        if self.shard_bytes == 0 {
            return Err(Error::argument("shard_bytes", "0; a number of bytes works, like 256M"));
        }
        let plain = |prefix: &str| !prefix.starts_with('.') && !prefix.contains(['/', '\\', '{', '}', ':', '?', '#']);
        if self.prefix.is_empty() || !plain(&self.prefix) {
            let reason = format!("{:?}; a file name's beginning works, like train", self.prefix);
            return Err(Error::argument("prefix", reason));
        }
        among("max_side", self.max_side.map(u64::from), 65535)?;
        among("quality", self.quality.map(u64::from), 100)?;
        among("workers", self.workers.map(|workers| workers as u64), 4096)
    }

    /// Returns the number of threads that read and encode: `workers`, else one for each core.
    pub(super) fn threads(&self) -> usize {
        self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fields_and_the_default_are_told_apart() {
        for (choice, text) in [
            (None, "null"),
            (Some(FieldChoice::None), "\"none\""),
            (Some(FieldChoice::All), "\"all\""),
            (Some(FieldChoice::from([("txt", "caption")])), r#"{"txt":"caption"}"#),
        ] {
            let settings = PackSettings { fields: choice, ..PackSettings::default() };
            let written = serde_json::to_value(&settings).unwrap();
            assert_eq!(written["fields"].to_string(), text);
            assert_eq!(serde_json::from_value::<PackSettings>(written).unwrap(), settings);
        }
        let error = serde_json::from_str::<PackSettings>(r#"{"fields": "some"}"#).unwrap_err().to_string();
        assert!(error.contains("expected \"all\""), "{error}");
    }
}
