//! Tells to which object, and to which version of it, a cached block belongs.

use xxhash_rust::xxh3::Xxh3;

use super::VERSION;

/// The identity of an object. Two versions of an object differ in at least one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    /// The object's address, without credentials.
    pub(crate) address: &'a str,
    pub(crate) etag: Option<&'a str>,
    /// The object's length in bytes.
    pub(crate) size: u64,
    /// The time of its last change: milliseconds since 1970.
    pub(crate) modified: i64,
    /// The hash of the address's query, 0 if it does not matter.
    pub(crate) query: u64,
}

impl Identity<'_> {
    /// Returns the hash that names the object in the folder.
    pub(crate) fn key(&self, block: u64) -> u128 {
        let mut hash = Xxh3::new();
        // Adds the lengths first, so that no two lists of fields become the same bytes.
        for number in [VERSION, block, self.size, self.modified as u64, self.address.len() as u64] {
            hash.update(&number.to_le_bytes());
        }
        hash.update(self.address.as_bytes());
        if let Some(etag) = self.etag {
            hash.update(b"\x01");
            hash.update(etag.as_bytes());
        }
        if self.query != 0 {
            hash.update(b"\x02");
            hash.update(&self.query.to_le_bytes());
        }
        hash.digest128()
    }
}
