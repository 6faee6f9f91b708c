//! The fields that the manifest of a pack lists, for a set that is opened with all of its fields: their names, kinds and
//! defaults, which the endings of members alone do not say.

use std::io;
use std::path::PathBuf;

use super::label;
use crate::dataset::field::FieldChoice;
use crate::dataset::pack_manifest::{PACK_MANIFEST, PackManifest};
use crate::dataset::shards::FileList;
use crate::error::{Error, Result};
use crate::storage::Remote;

/// The most bytes of a manifest in a store: that of a million shards.
const LARGEST: u64 = 256 << 20;

/// Returns the fields of the pack to which the first of these shards belongs; `None` if it belongs to none, or if the
/// pack has no fields.
///
/// # Errors
/// A manifest that cannot be read, or is none.
pub(super) fn listed_fields(files: &FileList) -> Result<Option<FieldChoice>> {
    let Some((place, text)) = manifest_beside(files)? else { return Ok(None) };
    let manifest = PackManifest::parse(&place, &text)?;
    // The first shard may have another folder's manifest beside it, if it was moved there.
    let is_own = manifest.shards().any(|shard| is_called(files, shard));
    Ok(Some(manifest.into_fields()).filter(|fields| is_own && *fields != FieldChoice::None))
}

/// Returns true if a pack has the members `.txt` of these shards as a field, so that no number in them is a label.
pub(super) fn texts_are_fields(files: &FileList) -> bool {
    // A file of this name may be something else than a manifest; a reader without fields does not need one.
    let Ok(Some(FieldChoice::Named(named))) = listed_fields(files) else { return false };
    named.iter().any(|(source, _)| source.split(';').any(|ending| ending == label::KINDS[label::TEXT]))
}

/// Returns true if the first file has this name, as a manifest writes it: the last parts of its path or address.
fn is_called(files: &FileList, name: &str) -> bool {
    let Some((_, address)) = files.first_address() else {
        return !name.is_empty() && files.first_path().is_some_and(|path| path.ends_with(name));
    };
    let plain = address.split(['?', '#']).next().unwrap_or_default();
    ends_in([address, plain], name)
}

/// Returns true if one of these addresses ends in whole parts with `name`, as it is or as the web writes it.
fn ends_in(addresses: [&str; 2], name: &str) -> bool {
    let ends = |address: &str| address.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
    let decoded = |address: &str| Remote::percent_decoded(address).is_some_and(|address| ends(&address));
    !name.is_empty() && addresses.into_iter().any(|address| ends(address) || decoded(address))
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
    PackManifest::beside(first)
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_that_of_shards_with_the_whole_name() {
        for (address, name, expected) in [
            ("s3://b/pack/train-000000.tar", "train-000000.tar", true),
            ("s3://b/pack/my train-000000.tar", "train-000000.tar", false),
            ("s3://b/pack/a%20b-000000.tar", "a%20b-000000.tar", true),
            ("https://h/train-000000.tar", "", false),
        ] {
            assert_eq!(ends_in([address; 2], name), expected, "{address}");
        }
    }
}
