//! Opens and grows the LMDB files that are written. LMDB maps its file, so this has to be `unsafe`.

use std::fs;
use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};

use super::reader::broken;
use crate::error::Error;

/// The bytes of a new file's memory map; the map doubles when it is full.
const FIRST_MAP: usize = 1 << 30;
/// A multiple of the page size of every system.
#[cfg(test)]
const ROUND: usize = 1 << 16;

/// Converts an error of LMDB.
pub(super) fn failed(path: &Path, error: heed::Error) -> Error {
    let reason = match error {
        heed::Error::Io(source) => return Error::io(path, source),
        heed::Error::Mdb(heed::MdbError::Invalid) => "not an LMDB file, or one that is cut short or damaged".to_owned(),
        heed::Error::Mdb(heed::MdbError::VersionMismatch) => "of another version of LMDB's format".to_owned(),
        heed::Error::EnvAlreadyOpened => "already open for writing in this process".to_owned(),
        other => format!("LMDB: {other}"),
    };
    broken(path, reason)
}

/// Maps a file read-only, without a lock file.
#[cfg(test)]
#[allow(unsafe_code)]
pub(super) fn map_to_read(file: &Path) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size((fs::metadata(file)?.len() as usize).next_multiple_of(ROUND));
    // SAFETY: the test has written the file, and nobody writes to it while it is mapped.
    unsafe {
        options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK | EnvFlags::NO_SUB_DIR);
        options.open(file)
    }
}

/// Opens a file for writing, with a lock file next to it; creates it if it does not exist.
#[allow(unsafe_code)]
pub(super) fn map_to_write(file: &Path) -> heed::Result<Env<WithoutTls>> {
    // LMDB would create a file that only its owner can read.
    fs::OpenOptions::new().append(true).create(true).open(file)?;
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    let length = fs::metadata(file).map_or(0, |file| file.len() as usize);
    options.map_size(FIRST_MAP.max(length.next_multiple_of(FIRST_MAP)));
    // SAFETY: LMDB's lock file keeps other writers out; nobody reads a file of this temporary name.
    unsafe {
        options.flags(EnvFlags::NO_SUB_DIR);
        options.open(file)
    }
}

/// Doubles the size of the file's memory map.
pub(super) fn grow(env: &mut Env<WithoutTls>) -> heed::Result<()> {
    let size = env.info().map_size.saturating_mul(2);
    resize(env, size)
}

#[allow(unsafe_code)]
pub(super) fn resize(env: &mut Env<WithoutTls>, size: usize) -> heed::Result<()> {
    // SAFETY: no transaction may be open, and none is: they borrow the environment, which is borrowed mutably here, and
    // the writer that owns it never clones it.
    unsafe { env.resize(size) }
}
