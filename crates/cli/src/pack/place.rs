//! The folder to pack into, in which a file is there whole or not at all.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A folder whose files have temporary names until they are whole.
pub(super) struct Place {
    folder: PathBuf,
    /// In temporary names, if several processes may write the same file.
    writer: Option<String>,
}

impl Place {
    pub(super) fn new(folder: &Path) -> Place {
        Place { folder: folder.to_owned(), writer: None }
    }

    /// The folder with temporary names of this process's own. Two machines may be given the same part; where a file
    /// system has no locks, neither sees the other, and both write the same bytes.
    pub(super) fn shared(folder: &Path) -> Place {
        // Process ids are equal on machines that run one container each.
        let random = RandomState::new().build_hasher().finish();
        Place { folder: folder.to_owned(), writer: Some(format!("{random:016x}")) }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path at which a file is written before it is whole.
    pub(super) fn temporary(&self, name: &str) -> PathBuf {
        match &self.writer {
            Some(writer) => part_of(&self.path(&format!("{name}.{writer}"))),
            None => part_of(&self.path(name)),
        }
    }

    /// Gives a file that is on the disk its name.
    pub(super) fn keep(&self, temporary: &Path, name: &str) -> io::Result<()> {
        fs::rename(temporary, self.path(name))
    }

    /// Writes a small file completely or not at all.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let part = self.temporary(name);
        let write = || {
            let mut file = File::create(&part)?;
            file.write_all(content)?;
            file.sync_all()?;
            self.keep(&part, name)
        };
        write().map_err(failed(&self.path(name)))
    }

    /// Removes what killed processes left of files whose names begin with `prefix`.
    pub(super) fn remove_left(&self, prefix: &str) -> Result<(), String> {
        let begin = format!(".{}", prefix.trim_start_matches('.'));
        for name in self.names()?.iter().filter(|name| name.starts_with(&begin) && name.ends_with(".part")) {
            let path = self.path(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the names of the files, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed(&self.folder))? {
            let entry = entry.map_err(failed(&self.folder))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Returns a function that adds the file's name to an error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    |error| format!("{}: {error}", path.display())
}

/// Returns a file's temporary name.
fn part_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{}.part", name.trim_start_matches('.')))
}
