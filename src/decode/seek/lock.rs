//! The lock that lets one process at a time write a file of seek indexes.

use crate::storage::local::atomic_file;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two attempts to take the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// Result of asking for the lock.
#[derive(Debug)]
pub(super) enum Lock {
    /// No other process writes while this lives. The system frees the lock when the process ends, even if it is killed.
    Held { _file: File },
    /// The file system has no locks.
    Unsupported(io::Error),
    /// Other processes held the lock during the whole waiting time.
    Busy,
}

/// Returns the path of the lock file next to `index`. The lock file stays there, empty, since the index itself may be
/// replaced while a process waits for the lock.
fn path_of(index: &Path) -> PathBuf {
    let mut name = index.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    index.with_file_name(name)
}

/// Takes the lock of the file `index`, waiting at most `patience`.
///
/// # Errors
/// If the lock file cannot be created or opened.
pub(super) fn take(index: &Path, patience: Duration) -> io::Result<Lock> {
    let path = path_of(index);
    let file = match atomic_file::create_or_open(&path) {
        // A lock file of another user can be locked without write permission.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(&path).map_err(|_| error)?,
        file => file?,
    };
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock::Held { _file: file }),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(Lock::Busy),
            Err(TryLockError::WouldBlock) => sleep(PAUSE.min(patience)),
            Err(TryLockError::Error(error)) => return Ok(Lock::Unsupported(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_for_no_longer_than_asked() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        let held = take(&index, Duration::ZERO).unwrap();
        assert!(matches!(held, Lock::Held { .. }));
        let start = Instant::now();
        assert!(matches!(take(&index, Duration::from_millis(30)).unwrap(), Lock::Busy));
        assert!(start.elapsed() >= Duration::from_millis(30));
        drop(held);
        // Until it executes its program, a process started by another test has the lock too.
        assert!(matches!(take(&index, Duration::from_secs(10)).unwrap(), Lock::Held { .. }));
        assert!(take(&folder.path().join("no such folder/index"), Duration::ZERO).is_err());
        assert!(!index.exists());
    }
}
