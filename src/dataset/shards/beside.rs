//! Reads and writes the index of an object in its store, where it lies in the object's folder.

use std::io;

use super::binding::Binding;
use super::index::{Index, IndexBytes};
use crate::dataset::class_names;
use crate::error::{Error, Result};
use crate::storage::{Remote, RemoteObject};

/// The largest index that is fetched: that of 20 million samples. An index may also be at most `BESIDES` bytes larger
/// than its object.
const LARGEST: u64 = 1 << 30;
const BESIDES: u64 = 1 << 20;
const LARGEST_NAMES: u64 = 16 << 20;

/// The place of an object's index in its store: `.NAME.gpufeed-index`, beside the object.
pub(super) struct Beside<'a> {
    object: &'a RemoteObject,
    /// `None` if the address has a signature: that is valid for one object alone.
    address: Option<String>,
}

impl<'a> Beside<'a> {
    pub(super) fn of(object: &'a RemoteObject) -> Beside<'a> {
        let name = format!(".{}.gpufeed-index", object.meta().file_name());
        Beside { object, address: object.remote().beside(object.meta(), &name) }
    }

    /// Fetches the index. `None` if there is none, or if it is damaged, larger than [`most`], belongs to another content
    /// of the object, or is refused by `can_use`.
    pub(super) fn get(&self, binding: &Binding, can_use: impl FnOnce(&Index) -> bool) -> Result<Option<IndexBytes>> {
        let Some(address) = &self.address else { return Ok(None) };
        let found = self.object.remote().get_small(address, most(binding.length));
        let found = match found {
            // For an object that does not exist, a store that may not be listed answers so.
            Err(error) if is_forbidden(&error) => None,
            Err(error) if is_too_large(&error) => {
                tracing::warn!(%error, "the index beside an object is not read; the object is read for another one");
                None
            }
            found => found?,
        };
        Ok(found.and_then(|(bytes, _)| IndexBytes::parse(bytes, binding, can_use)))
    }

    /// Returns true if an index that can be used is there, and belongs to the object.
    pub(super) fn is_there(&self, binding: &Binding, can_use: impl FnOnce(&Index) -> bool) -> Result<bool> {
        Ok(self.get(binding, can_use)?.is_some())
    }

    /// Writes the index, unless it is larger than [`most`]: then nobody would read it.
    ///
    /// # Errors
    /// The store's, for example if it may only be read.
    pub(super) fn put(&self, bytes: Vec<u8>) -> Result<()> {
        let length = self.object.meta().size;
        if bytes.len() as u64 > most(length) {
            let object = crate::quote::Shown(&self.object.meta().address);
            tracing::warn!(%object, length, index = bytes.len(), "an index that is larger than its object is not written beside it");
            return Ok(());
        }
        let Some(address) = &self.address else {
            let reason = "an address with a signature is for one object, so no index can be written beside it";
            return Err(Error::argument("put_indexes", reason));
        };
        self.object.remote().put(address, bytes)
    }
}

/// Reads the class names in a `classes.txt` or `classes.json` beside an object; none if there is neither.
pub(super) fn class_names(remote: &Remote, object: &str) -> Result<Vec<String>> {
    for name in class_names::FILES {
        let Some(address) = Remote::beside_address(object, name)? else { break };
        let found = match remote.get_small(&address, LARGEST_NAMES) {
            Err(error) if is_forbidden(&error) => None,
            found => found?,
        };
        if let Some((bytes, meta)) = found {
            let invalid = |reason| Error::io(&meta.address, io::Error::new(io::ErrorKind::InvalidData, reason));
            return class_names::parsed(name, &bytes).map_err(invalid);
        }
    }
    Ok(Vec::new())
}

/// Returns the most bytes that the index of an object of `length` bytes may have. An index has 32 bytes for each sample. A
/// sample of a tar shard takes 1 KiB or more; only tiny images in Parquet files take less.
fn most(length: u64) -> u64 {
    length.saturating_add(BESIDES).min(LARGEST)
}

fn is_too_large(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge)
}

fn is_forbidden(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}
