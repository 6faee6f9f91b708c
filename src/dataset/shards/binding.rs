//! Tells which file an index belongs to.

use std::io;

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::Xxh3;

use crate::storage::file::{DataFile, Stamp};

/// The bytes that are compared at a file's start, and at its end. tar pads an archive to 10 KiB, and Parquet's footer
/// is at the end, so the end has the headers of the last samples, too.
const START: u64 = 4 << 10;
const END: u64 = 64 << 10;

/// Identifies the file and the settings that an index was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(in crate::dataset) struct Binding {
    /// The file's length in bytes.
    pub(in crate::dataset) length: u64,
    /// The time of the file's last change: seconds and nanoseconds.
    pub(super) seconds: u64,
    pub(super) nanoseconds: u64,
    /// The hash of the file's first and last bytes; for an object, the hash of its ETag.
    pub(super) ends: u64,
    /// The hash of the format, and of the settings that decide what is an image and what is a label.
    pub(super) settings: u64,
}

impl Binding {
    /// # Errors
    /// The system's, if the file cannot be read.
    pub(super) fn of(file: &DataFile, settings: u64) -> io::Result<Binding> {
        let Stamp { length, seconds, nanoseconds, tag } = file.stamp()?;
        if let Some(ends) = tag {
            return Ok(Binding { length, seconds, nanoseconds, ends, settings });
        }
        let mut hash = Xxh3::new();
        hash.update(&file.bytes(0, length.min(START) as usize)?);
        hash.update(&file.bytes(length - length.min(END), length.min(END) as usize)?);
        Ok(Binding { length, seconds, nanoseconds, ends: hash.digest(), settings })
    }
}
