//! The fields that the manifest of a pack lists, for a set that is opened with all of its fields: their names, kinds and
//! defaults, which the endings of members alone do not say.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use crate::dataset::field::FieldChoice;
use crate::dataset::shards::FileList;
use crate::error::{Error, Result};
use crate::storage::Remote;
use crate::storage::local::regular_file;

/// The name of the file that `gpufeed pack` writes beside the shards.
pub(crate) const PACK_MANIFEST: &str = "gpufeed-pack.json";

/// The most bytes of a manifest in a store: that of a million shards.
const LARGEST: u64 = 256 << 20;

/// The part of a manifest that a reader of fields needs.
#[derive(Deserialize)]
struct Manifest {
    job: Job,
    #[serde(default)]
    shards: Vec<Shard>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    fields: FieldChoice,
}

#[derive(Deserialize)]
struct Shard {
    file: String,
}

/// Returns the fields of the pack to which the first of these shards belongs; `None` if it belongs to none, or if the
/// pack has no fields.
///
/// # Errors
/// A manifest that cannot be read, or is none.
pub(super) fn listed_fields(files: &FileList) -> Result<Option<FieldChoice>> {
    let Some((place, text)) = manifest_beside(files)? else { return Ok(None) };
    let Manifest { job, shards } = serde_json::from_slice(&text).map_err(|error| {
        let reason = format!("it lists no fields of a pack: {error}; remove it, or name the fields that are read");
        Error::io(&place, io::Error::new(io::ErrorKind::InvalidData, reason))
    })?;
    // The first shard may have another folder's manifest beside it, if it was moved there.
    let first = files.name(0).unwrap_or_default();
    let first = first.split(['?', '#']).next().unwrap_or_default();
    let is_own = shards.iter().any(|shard| first.ends_with(&shard.file));
    Ok(Some(job.fields).filter(|fields| is_own && *fields != FieldChoice::None))
}

/// Returns the name and the content of the manifest beside the first shard; `None` if there is none.
fn manifest_beside(files: &FileList) -> Result<Option<(PathBuf, Vec<u8>)>> {
    if let Some((remote, address)) = files.first_address() {
        let Some(beside) = Remote::beside_address(address, PACK_MANIFEST)? else { return Ok(None) };
        return match remote.get_small(&beside, LARGEST) {
            Ok(found) => Ok(found.map(|(text, meta)| (PathBuf::from(meta.address), text))),
            // For an object that does not exist, a store that may not be listed answers so.
            Err(error) if is_forbidden(&error) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let Some(first) = files.first_path() else { return Ok(None) };
    let path = first.with_file_name(PACK_MANIFEST);
    match regular_file::read(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Error::io(path, error)),
    }
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}
