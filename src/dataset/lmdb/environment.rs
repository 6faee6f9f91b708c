//! LMDB's files: opening, growing, closing. The one place that has to be `unsafe`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls};

use crate::error::{Error, Result};

/// Bytes of the map that a new file begins with; it doubles when it is full.
const FIRST_MAP: usize = 1 << 30;
/// A multiple of every system's page size.
const ROUND: usize = 1 << 16;
/// How long another thread's closing of the same file is waited for.
const CLOSING: Duration = Duration::from_secs(1);

/// What an error of LMDB is here.
pub(super) fn failed(path: &Path, error: heed::Error) -> Error {
    let reason = match error {
        heed::Error::Io(source) => return Error::io(path, source),
        heed::Error::Mdb(heed::MdbError::Invalid) => "not an LMDB file, or one that is cut short or damaged".to_owned(),
        heed::Error::Mdb(heed::MdbError::VersionMismatch) => "of another version of LMDB's format".to_owned(),
        heed::Error::EnvAlreadyOpened => "open in this process already, to be written or with heed".to_owned(),
        other => format!("LMDB: {other}"),
    };
    broken(path, reason)
}

/// An error in the content of the file.
pub(super) fn broken(path: &Path, reason: impl Into<String>) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason.into()))
}

/// An LMDB file that is open for reading, and its main database.
#[derive(Debug)]
pub(super) struct Environment {
    env: Env<WithoutTls>,
    pub(super) database: Database<Bytes, Bytes>,
    pub(super) path: PathBuf,
}

/// LMDB must not open a file twice in a process; whoever asks for it again shares it.
static OPEN: Mutex<Vec<(PathBuf, Weak<Environment>)>> = Mutex::new(Vec::new());

impl Environment {
    /// Opens the file at `path`, or shares it where it is open.
    pub(super) fn open(path: &Path) -> Result<Arc<Environment>> {
        let whole = fs::canonicalize(path).map_err(|source| Error::io(path, source))?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, environment)| environment.strong_count() > 0);
        let shared = open.iter().find(|(known, _)| *known == whole).and_then(|(_, environment)| environment.upgrade());
        if let Some(environment) = shared {
            return Ok(environment);
        }
        let length = fs::metadata(&whole).map_err(|source| Error::io(path, source))?.len();
        if length == 0 {
            return Err(broken(path, "the file is empty: it is cut short"));
        }
        let env = match map_to_read(&whole) {
            Err(heed::Error::EnvAlreadyOpened) => {
                // The last one who shared it may be about to close it.
                if let Some(closing) = heed::env_closing_event(&whole) {
                    closing.wait_timeout(CLOSING);
                }
                map_to_read(&whole)
            }
            env => env,
        }
        .map_err(|error| failed(path, error))?;
        // LMDB would read behind the end of the file, which ends the process.
        let page = u64::from(env.stat().page_size);
        let needed = (env.info().last_page_number as u64).saturating_add(1).saturating_mul(page);
        if length < needed {
            return Err(broken(path, format!("{needed} bytes are in use, but the file has {length}: it is cut short")));
        }
        let database = {
            let transaction = env.read_txn().map_err(|error| failed(path, error))?;
            let database = env.open_database(&transaction, None).map_err(|error| failed(path, error))?;
            database.ok_or_else(|| broken(path, "it has no main database"))?
        };
        let environment = Arc::new(Environment { env, database, path: path.to_owned() });
        open.push((whole, Arc::downgrade(&environment)));
        Ok(environment)
    }

    /// Begins a transaction, in which what is read stays where it is. It takes a fraction of a microsecond: there is no
    /// lock file to note it in.
    pub(super) fn read(&self) -> Result<RoTxn<'_, WithoutTls>> {
        self.env.read_txn().map_err(|error| failed(&self.path, error))
    }

    pub(super) fn get<'t>(&self, transaction: &'t RoTxn<'_, WithoutTls>, key: &[u8]) -> Result<Option<&'t [u8]>> {
        self.database.get(transaction, key).map_err(|error| failed(&self.path, error))
    }
}

/// Maps a file read-only, without a lock file: data sets lie on read-only disks, too. So a writer elsewhere would not
/// know of the readers.
#[allow(unsafe_code)]
pub(super) fn map_to_read(file: &Path) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    // No more of the address space than the file has: others reserve a terabyte for it to grow.
    options.map_size((fs::metadata(file)?.len() as usize).next_multiple_of(ROUND));
    // SAFETY: the pages are LMDB's as long as nobody writes to the file while it is mapped, and it is what LMDB has
    // written; `Lmdb` says in its documentation that its caller sees to both, as for any memory map. NO_LOCK asks for
    // the same. NO_TLS is set by the type.
    unsafe {
        options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK | EnvFlags::NO_SUB_DIR | EnvFlags::NO_READ_AHEAD);
        options.open(file)
    }
}

/// Opens a file to write, with a lock file beside it; makes it if it is not there.
#[allow(unsafe_code)]
pub(super) fn map_to_write(file: &Path) -> heed::Result<Env<WithoutTls>> {
    // LMDB would make a file that its owner alone can read.
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

/// Doubles the map.
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
