//! The index of an object beside it in its store.

use std::io;

use super::binding::Binding;
use super::index::IndexBytes;
use crate::dataset::class_names;
use crate::dataset::remote::{Remote, RemoteObject};
use crate::error::{Error, Result};

/// Largest index that is fetched: that of 20 million samples.
const LARGEST: u64 = 1 << 30;
const LARGEST_NAMES: u64 = 16 << 20;

/// Where the index of an object is in its store: `.NAME.gpufeed-index`.
pub(super) struct Beside<'a> {
    object: &'a RemoteObject,
    /// Nothing where the address has a signature, which is for one object.
    address: Option<String>,
}

impl<'a> Beside<'a> {
    pub(super) fn of(object: &'a RemoteObject) -> Beside<'a> {
        let name = format!(".{}.gpufeed-index", object.meta().file_name());
        Beside { object, address: object.remote().beside(object.meta(), &name) }
    }

    /// Fetches the index; `None` if there is none, or if it is damaged or belongs to another content of the object.
    pub(super) fn get(&self, binding: &Binding) -> Result<Option<IndexBytes>> {
        let Some(address) = &self.address else { return Ok(None) };
        let found = self.object.remote().get_small(address, LARGEST);
        let found = match found {
            // Some stores answer so for what is not there, if one may not list them.
            Err(error) if is_forbidden(&error) => None,
            found => found?,
        };
        Ok(found.and_then(|(bytes, _)| IndexBytes::parse(bytes, binding)))
    }

    /// Returns true if the index is there, and belongs to the object.
    pub(super) fn is_there(&self, binding: &Binding) -> Result<bool> {
        Ok(self.get(binding)?.is_some())
    }

    /// Writes the index.
    ///
    /// # Errors
    /// The store's, for example where one may only read.
    pub(super) fn put(&self, bytes: Vec<u8>) -> Result<()> {
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

fn is_forbidden(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}
