//! File locks that keep other processes out of a folder that is packed into, or out of a part of a pack.

use super::errors::{failed, there};
use crate::error::Result;
use crate::storage::Folder;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// A lock that keeps other processes out of a folder or a part until this value is dropped. The system releases the
/// lock when the process ends in any way.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
    /// False on a file system without locks.
    pub(super) held: bool,
}

impl Lock {
    /// Takes the lock of a folder. The lock of a folder in a store keeps out only other processes of this machine.
    pub(super) fn take(folder: &Folder) -> Result<Lock> {
        let path = folder.local().join(".gpufeed-pack-lock");
        let taken = "another `gpufeed pack` is at work there; wait for its end, or pack elsewhere";
        Lock::try_at(folder, &path)?.ok_or_else(|| there(folder, taken))
    }

    /// Takes the lock whose file is `path`; `None` if another process has the lock.
    pub(super) fn try_at(folder: &Folder, path: &Path) -> Result<Option<Lock>> {
        let file = folder.lock_file(path).map_err(failed(path))?;
        let held = match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Ok(()) => true,
            // Some file systems do not support locks.
            Err(TryLockError::Error(_)) => false,
        };
        Ok(Some(Lock { path: path.to_owned(), _file: file, held }))
    }

    /// Removes the lock's file after all work is done. A process that has opened the file before, and gets the lock
    /// now, finds the complete pack.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}
