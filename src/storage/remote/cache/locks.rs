//! File locks in the cache's folder, by which processes agree on reading, writing and evicting objects. The system
//! frees the locks of a process when the process ends.
//!
//! Objects share 64 lock files, called stripes. The files are never deleted, so all processes lock the same file,
//! however often an object is evicted and fetched again.

use std::fs::{File, OpenOptions, TryLockError, create_dir_all};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const STRIPES: u128 = 64;
/// The time between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(2);
/// The longest time that the thread which writes blocks waits for a lock. Others hold a lock only while they copy a
/// block or delete files.
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock files of a cache.
#[derive(Debug)]
pub(super) struct Locks(PathBuf);

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(super) struct Held(File);

impl Drop for Held {
    /// Unlocks explicitly, because closing the file does not free the lock while a forked child process has the file
    /// open.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The answer to a thread that wants to read an object.
#[derive(Debug)]
pub(super) enum Read {
    /// The thread may read. The object is not evicted as long as this lock is held.
    Held { _lock: Held },
    /// The thread may read without a lock: the file system has no locks, or the folder cannot be written to. The hashes
    /// of the blocks show whether the bytes are right.
    Unlocked,
    /// The thread may not read: another process evicts objects of this stripe.
    Evicting,
}

impl Locks {
    pub(super) fn new(folder: PathBuf) -> Locks {
        Locks(folder)
    }

    fn stripe(&self, key: u128) -> PathBuf {
        self.0.join(format!("{:02}", key % STRIPES))
    }

    /// Takes a shared lock, which keeps an object from being evicted while it is read. Does not wait for the lock.
    pub(super) fn read(&self, key: u128) -> Read {
        let Ok(file) = open(&self.stripe(key)) else { return Read::Unlocked };
        match file.try_lock_shared() {
            Ok(()) => Read::Held { _lock: Held(file) },
            Err(TryLockError::WouldBlock) => Read::Evicting,
            Err(TryLockError::Error(_)) => Read::Unlocked,
        }
    }

    /// Takes a shared lock, which keeps an object from being evicted while it is written. Waits for the lock.
    ///
    /// # Errors
    /// The system's; [`TimedOut`](io::ErrorKind::TimedOut) if the lock is not free within [`PATIENCE`].
    pub(super) fn write(&self, key: u128) -> io::Result<Held> {
        wait(&self.stripe(key), File::try_lock_shared)
    }

    /// Takes an exclusive lock, under which this process alone replaces tables of objects of the same stripe.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn table(&self, key: u128) -> io::Result<Held> {
        wait(&self.stripe(key).with_extension("table"), File::try_lock)
    }

    /// Takes the exclusive lock under which this process alone reserves room in the cache, and evicts objects to make
    /// room.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn room(&self) -> io::Result<Held> {
        wait(&self.0.join("room"), File::try_lock)
    }

    /// Takes an exclusive lock for evicting an object; `None` if a process reads or writes an object of the same
    /// stripe.
    pub(super) fn evict(&self, key: u128) -> Option<Held> {
        try_exclusive(&self.stripe(key)).ok().flatten()
    }
}

/// Takes the exclusive lock of the file at `path`, without waiting; `None` if it is locked already.
///
/// # Errors
/// The system's, also if the file system has no locks.
pub(super) fn try_exclusive(path: &Path) -> io::Result<Option<Held>> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Held(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn wait(path: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> io::Result<Held> {
    let file = open(path)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match lock(&file) {
            Ok(()) => return Ok(Held(file)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(io::ErrorKind::TimedOut.into()),
            Err(TryLockError::WouldBlock) => sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Opens a lock file, and makes it and its folder if they do not exist.
fn open(path: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir_all(crate::storage::local::atomic_file::folder_of(path))?;
            create()
        }
        // Opens the file of another user, or in a read-only folder, for reading, which is enough to lock it.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            File::open(path).map_err(|_| error)
        }
        file => file,
    }
}
