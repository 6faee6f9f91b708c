//! The manifest that `gpufeed pack` writes beside what it packs, as far as a reader of fields needs it: the names, kinds
//! and defaults of fields, which the endings of members and the names of keys alone do not say.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::field::FieldChoice;
use crate::error::{Error, Result};
use crate::storage::local::regular_file;

/// The name of the file.
pub(crate) const PACK_MANIFEST: &str = "gpufeed-pack.json";

#[derive(Deserialize)]
pub(super) struct PackManifest {
    job: Job,
    #[serde(default)]
    shards: Vec<Shard>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    to: String,
    #[serde(default)]
    fields: FieldChoice,
}

#[derive(Deserialize)]
struct Shard {
    file: String,
}

impl PackManifest {
    /// Parses the text of the manifest at `place`.
    ///
    /// # Errors
    /// A text that is no manifest.
    pub(super) fn parse(place: &Path, text: &[u8]) -> Result<PackManifest> {
        serde_json::from_slice(text).map_err(|error| {
            let reason = format!("it lists no fields of a pack: {error}; remove it, or name the fields that are read");
            Error::io(place, io::Error::new(io::ErrorKind::InvalidData, reason))
        })
    }

    /// Returns the path and the text of the manifest beside a file; `None` if there is none.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub(super) fn beside(file: &Path) -> Result<Option<(PathBuf, Vec<u8>)>> {
        let path = file.with_file_name(PACK_MANIFEST);
        match regular_file::read(&path) {
            Ok(text) => Ok(Some((path, text))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(Error::io(path, error)),
        }
    }

    /// Returns the manifest of the LMDB at `file`; `None` if it has none.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub(super) fn of_lmdb(file: &Path) -> Result<Option<PackManifest>> {
        let Some((path, text)) = Self::beside(file)? else { return Ok(None) };
        let manifest = Self::parse(&path, &text)?;
        // The folder may also have shards, and the manifest may be theirs.
        Ok(Some(manifest).filter(|manifest| manifest.job.to == "lmdb"))
    }

    /// Returns the names of the shards.
    pub(super) fn shards(&self) -> impl Iterator<Item = &str> {
        self.shards.iter().map(|shard| &*shard.file)
    }

    /// Returns the fields, by the endings of their members or the names of their keys.
    pub(super) fn into_fields(self) -> FieldChoice {
        self.job.fields
    }
}
