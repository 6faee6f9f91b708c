//! Describes an object of a store, and reads it at any offset.

use super::Remote;
use super::address::ObjectAddress;
use super::blocks::{BLOCK, blocks_of};
use super::request::{OpenedObject, modified};
use crate::error::{Error, Result};
use object_store::path::Path as Key;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes that an object may have. Objects of Azure have up to 190 TiB, those of other stores less.
const LARGEST: u64 = 256 << 40;

/// An object, as a store describes it.
#[derive(Clone, Debug)]
pub(crate) struct ObjectMeta {
    /// The address, without credentials.
    pub(crate) address: String,
    /// The length of the object in bytes.
    pub(crate) size: u64,
    /// The ETag: the name that the server gives to this version of the object's content.
    pub(crate) etag: Option<String>,
    /// When the object was written, in seconds since 1970.
    pub(crate) modified: Option<u64>,
    /// The hash of the query in the address; 0 if the address has no query.
    pub(super) query: u64,
    /// The number of the object's store among the stores of the connection.
    pub(super) store: usize,
    pub(super) key: Key,
}

impl ObjectMeta {
    /// Returns the part of the address after its last slash.
    pub(crate) fn file_name(&self) -> &str {
        self.address.rsplit('/').next().unwrap_or_default()
    }
}

/// Makes an [`ObjectMeta`] of a store's description of an object. `address` names that object or a folder that was
/// listed; `store` is the number of the store in the connection.
///
/// # Errors
/// An I/O error for a size that no store has.
pub(super) fn describe(address: &ObjectAddress, store: usize, meta: object_store::ObjectMeta) -> Result<ObjectMeta> {
    let (shown, modified) = (address.shown_with_key(meta.location.as_ref()), modified(&meta));
    if meta.size > LARGEST {
        let reason = format!("the server says that it has {} bytes; no store has objects above 256 TiB", meta.size);
        return Err(Error::io(shown, io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    let query = address.base.query().map_or(0, |query| xxh3_64(query.as_bytes()));
    let etag = meta.e_tag.map(quoted);
    Ok(ObjectMeta { address: shown, size: meta.size, etag, modified, query, store, key: meta.location })
}

/// Returns an ETag in quotes. ETags have quotes in headers and lack them in Azure's listings. Indexes and the cache on
/// disk compare an object's ETag from either, so both have to look the same.
fn quoted(etag: String) -> String {
    match etag.ends_with('"') {
        true => etag,
        false => format!("\"{etag}\""),
    }
}

/// An object that many threads read. Each read gives the content that the object had when the data set was opened, or
/// an error. Clones are the same object.
#[derive(Clone)]
pub(crate) struct RemoteObject {
    pub(super) remote: Remote,
    pub(super) meta: Arc<ObjectMeta>,
    pub(super) source: Arc<OpenedObject>,
}

impl RemoteObject {
    /// The address, without credentials.
    pub(crate) fn name(&self) -> &str {
        &self.meta.address
    }

    /// The length of the object in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.meta.size
    }

    /// The store's description of the object.
    pub(crate) fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// The connection through which the object is read.
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Fills `buffer` from the bytes at `offset`. Waits until they are there.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the object ends too early; else an error that names the range
    /// of bytes and the setting to change.
    pub(crate) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let range = offset..offset.saturating_add(buffer.len() as u64);
        if range.end > self.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (fetcher, blocks) = (&self.remote.0.fetcher, blocks_of(&range));
        if blocks.end - blocks.start > 1 {
            fetcher.expect_missing(&self.source, blocks.clone());
        }
        let mut left = buffer;
        for number in blocks {
            let begin = range.start.saturating_sub(number * BLOCK) as usize;
            let len = left.len().min(BLOCK as usize - begin);
            let (now, rest) = left.split_at_mut(len);
            fetcher.read(&self.source, number, begin, now)?;
            left = rest;
        }
        Ok(())
    }

    /// Announces that one call of [`read_exact`](Self::read_exact) will take these bytes, so that
    /// [`Remote::fetch_expected`] fetches their blocks ahead.
    pub(crate) fn expect(&self, range: Range<u64>) {
        let range = range.start..range.end.min(self.len());
        self.remote.0.fetcher.expect(&self.source, blocks_of(&range));
    }
}

impl fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteObject").field(&self.meta.address).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_and_a_header_name_the_same_etag() {
        let etag = |text: &str| quoted(text.to_owned());
        assert_eq!(etag("0x8D93C7D4629C227"), etag("\"0x8D93C7D4629C227\""));
        assert_eq!((etag("\"a-2\""), etag("W/\"a\"")), ("\"a-2\"".to_owned(), "W/\"a\"".to_owned()));
    }
}
