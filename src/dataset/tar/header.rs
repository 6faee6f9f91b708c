//! The headers of members, and errors that name an offset in a shard.

use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;

/// Block size of tar. A header takes one block, and members are padded to whole blocks.
pub(super) const BLOCK: u64 = 512;
/// Returns an error that names an offset in a shard.
pub(super) fn refused(path: &Path, offset: u64, reason: impl std::fmt::Display) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, format!("at byte {offset}: {reason}")))
}

/// Returns the hash of a member's header. The header is read with the image.
pub(super) fn header_hash(header: &[u8]) -> u32 {
    xxh3_64(header) as u32
}
