//! Hashes the content of files: while a file is written, or of a file that exists already.

use super::errors::failed;
use super::events::Watch;
use crate::error::Result;
use crate::storage::local::regular_file;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// A file that hashes its content as it is written.
pub(super) struct Hashed {
    file: BufWriter<File>,
    hash: Xxh3,
}

impl Hashed {
    pub(super) fn create(path: &Path) -> io::Result<Hashed> {
        Ok(Hashed { file: BufWriter::with_capacity(1 << 20, File::create(path)?), hash: Xxh3::new() })
    }

    /// Flushes and syncs the file to the disk. Returns its length in bytes, and the hash of its content in hexadecimal
    /// digits.
    pub(super) fn finish(self) -> io::Result<(u64, String)> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok((file.metadata()?.len(), format!("{:016x}", self.hash.digest())))
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns the hash of a file's content in hexadecimal digits.
pub(super) fn of(path: &Path, watch: &Watch) -> Result<String> {
    let (mut file, _) = regular_file::open(path).map_err(failed(path))?;
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 20]);
    loop {
        watch.check()?;
        match file.read(&mut buffer).map_err(failed(path))? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            read => hash.update(&buffer[..read]),
        }
    }
}
