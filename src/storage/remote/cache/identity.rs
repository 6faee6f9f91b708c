//! Identifies the object, and the version of the object, to which a cached block belongs.

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
    /// The time of the object's last change, in milliseconds since 1970; 0 if it is not known.
    pub(crate) modified: i64,
    /// The hash of the part of the address after `?`. 0 if there is no such part, or if an ETag tells the versions
    /// apart.
    pub(crate) query: u64,
}

impl Identity<'_> {
    /// Returns a hash of all fields and of the block length `block`. It is the name of the object's folder in the
    /// cache.
    pub(crate) fn key(&self, block: u64) -> u128 {
        let mut hash = Xxh3::new();
        // Hashes the numbers and the length of the address first, so that two identities never become the same bytes.
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
