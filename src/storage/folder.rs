//! A folder on this machine or in an object store, into which files are written. A file in it is complete or absent.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::local::regular_file;
use super::{Address, Location, Remote, RemoteOptions};
use crate::error::{Error, ErrorKind, Result};

/// A folder on this machine or in an object store, into which files are written. A file has a temporary name on this
/// machine until it is complete; then it is renamed, or uploaded.
///
/// [Packs](crate::pack) are written through this type. A clone is the same folder.
///
/// ```
/// use gpufeed::storage::{Folder, Location};
///
/// # let scratch = tempfile::tempdir()?;
/// # let path = scratch.path().join("out");
/// let folder = Folder::open(&Location::from(&*path), None)?; // or "s3://bucket/out"
/// folder.create()?;
/// folder.write("classes.txt", b"cat\ndog\n")?;
/// assert_eq!(folder.names()?, ["classes.txt"]);
/// assert_eq!(folder.read("classes.txt")?.as_deref(), Some(&b"cat\ndog\n"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Folder {
    at: LocalOrStore,
    /// A random part of temporary names, so that several processes may write the same file; `None` if only one process
    /// writes.
    writer: Option<String>,
}

/// Where the files of a folder are: on this machine, or in a store.
#[derive(Clone)]
enum LocalOrStore {
    Local(PathBuf),
    Store(StoreFolder),
}

/// A folder of a store: the objects whose keys begin with the folder's key and a slash.
#[derive(Clone)]
struct StoreFolder {
    remote: Remote,
    address: Address,
    /// The folder of this machine in which files are kept until they are uploaded.
    scratch: PathBuf,
}

/// The most bytes of an object that is read as a whole. The limit is high, because a pack reads objects that list all
/// samples.
const LARGEST: u64 = 4 << 30;

impl StoreFolder {
    /// Returns the address of an object, with its credentials.
    fn at(&self, name: &str) -> String {
        self.address.join(name).with_credentials().to_owned()
    }

    /// Returns the name and the length in bytes of each object in the folder and in its subfolders.
    fn list(&self) -> Result<Vec<(String, u64)>> {
        self.remote.list_names(&self.at(""))
    }

    /// Returns the length in bytes of each object in the folder, by name, without the objects in subfolders.
    fn lengths(&self) -> Result<HashMap<String, u64>> {
        Ok(self.list()?.into_iter().filter(|(name, _)| !name.contains('/')).collect())
    }
}

/// The files of a [`Folder`] with their lengths. In a store, one listing has given all lengths. On this machine, each
/// length is looked up when it is asked for.
#[derive(Debug)]
pub struct Contents(Listing);

#[derive(Debug)]
enum Listing {
    Local(PathBuf),
    Objects(HashMap<String, u64>),
}

impl Contents {
    /// Returns the length of a file in bytes; `None` if there is no such file.
    pub fn length(&self, name: &str) -> Option<u64> {
        match &self.0 {
            Listing::Local(folder) => fs::metadata(folder.join(name)).ok().map(|file| file.len()),
            Listing::Objects(lengths) => lengths.get(name).copied(),
        }
    }

    /// Returns true if the folder has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.length(name).is_some()
    }
}

impl Folder {
    /// Opens a folder of this machine or of a store. The folder need not exist, and nothing is sent to the store yet.
    ///
    /// Files that wait for their upload to a store are in a folder of their own below `scratch`, or below the system's
    /// folder of temporary files. The name of that folder depends on the address alone, so a program that is started
    /// again finds what a killed one has left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an address that cannot be written to: that of a web
    /// server, one with an unknown scheme, or any address in a build without the feature `remote`.
    pub fn open(location: &Location, scratch: Option<&Path>) -> Result<Folder> {
        Self::open_with(location, scratch, &RemoteOptions::new())
    }

    /// Opens a folder as [`open`](Self::open) does, with the credentials, timeouts and retries that `options` has for a
    /// store.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn open_with(location: &Location, scratch: Option<&Path>, options: &RemoteOptions) -> Result<Folder> {
        let at = match location {
            Location::Path(path) => LocalOrStore::Local(path.clone()),
            Location::Address(address) => {
                let remote = Remote::to_write(address, options)?;
                let address = address.join("");
                let hash = xxh3_64(address.to_string().as_bytes());
                let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
                let scratch = scratch.join(format!("gpufeed-upload-{hash:016x}"));
                LocalOrStore::Store(StoreFolder { remote, address, scratch })
            }
        };
        Ok(Folder { at, writer: None })
    }

    /// Returns the same folder, but with temporary names that no other process uses. This is for work that two machines
    /// may do at once: on a file system without locks, neither machine notices the other, and each writes the same
    /// bytes.
    #[must_use]
    pub fn shared(&self) -> Folder {
        // Process ids would not be unique: two containers on two machines often have the same ones.
        let random = RandomState::new().build_hasher().finish();
        Folder { at: self.at.clone(), writer: Some(format!("{random:016x}")) }
    }

    /// Returns the folder `name` in this folder.
    #[must_use]
    pub fn within(&self, name: &str) -> Folder {
        let at = match &self.at {
            LocalOrStore::Local(folder) => LocalOrStore::Local(folder.join(name)),
            LocalOrStore::Store(folder) => {
                LocalOrStore::Store(StoreFolder { address: folder.address.join(name), ..folder.clone() })
            }
        };
        Folder { at, writer: self.writer.clone() }
    }

    /// Makes the folder if it does not exist. For a store, makes the local folder of files that wait for their upload,
    /// and lists the store to see whether it can be reached.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn create(&self) -> Result<()> {
        let folder = self.local();
        fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        self.contents().map(|_| ())
    }

    /// Returns true if the folder is in a store.
    pub fn is_in_store(&self) -> bool {
        matches!(self.at, LocalOrStore::Store(_))
    }

    /// Returns the path of a file, or its address without credentials. For the name "", returns the path or the address
    /// of the folder itself.
    pub fn path(&self, name: &str) -> PathBuf {
        match &self.at {
            // A path that is joined with an empty name would get a slash at its end.
            LocalOrStore::Local(folder) if name.is_empty() => folder.clone(),
            LocalOrStore::Local(folder) => folder.join(name),
            LocalOrStore::Store(folder) => folder.address.join(name).to_string().into(),
        }
    }

    /// Returns the folder of this machine that has temporary files and locks.
    pub fn local(&self) -> &Path {
        match &self.at {
            LocalOrStore::Local(folder) => folder,
            LocalOrStore::Store(folder) => &folder.scratch,
        }
    }

    /// Returns the temporary path at which a file is written until it is complete.
    pub fn temporary(&self, name: &str) -> PathBuf {
        let path = match &self.writer {
            Some(writer) => self.local().join(format!("{name}.{writer}")),
            None => self.local().join(name),
        };
        part_of(&path)
    }

    /// Gives the file at the path [`temporary`](Self::temporary), which is complete, its final name. For a store,
    /// uploads the file, and then removes it from this machine.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn finish(&self, temporary: &Path, name: &str) -> Result<()> {
        match &self.at {
            LocalOrStore::Local(_) => {
                fs::rename(temporary, self.path(name)).map_err(|source| self.failed(name, source))
            }
            LocalOrStore::Store(folder) => {
                folder.remote.put_file(&folder.at(name), temporary)?;
                fs::remove_file(temporary).map_err(|source| Error::io(temporary, source))
            }
        }
    }

    /// Writes a small file, completely or not at all. Replaces a file of the same name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        if let LocalOrStore::Store(folder) = &self.at {
            return folder.remote.put(&folder.at(name), content.to_vec());
        }
        let part = self.temporary(name);
        let write = || {
            let mut file = File::create(&part)?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(|source| self.failed(name, source))?;
        self.finish(&part, name)
    }

    /// Reads a file; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match &self.at {
            LocalOrStore::Local(_) => match regular_file::read(&self.path(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                read => read.map(Some).map_err(|source| self.failed(name, source)),
            },
            LocalOrStore::Store(folder) => {
                Ok(folder.remote.get_small(&folder.at(name), LARGEST)?.map(|(bytes, _)| bytes))
            }
        }
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn remove(&self, name: &str) -> Result<()> {
        match &self.at {
            LocalOrStore::Local(_) => {
                unless_missing(fs::remove_file(self.path(name))).map_err(|source| self.failed(name, source))
            }
            LocalOrStore::Store(folder) => nothing_missing(folder.remote.remove(&[folder.at(name)])),
        }
    }

    /// Removes the folder with all its files, if it is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn remove_all(&self) -> Result<()> {
        match &self.at {
            LocalOrStore::Local(folder) => {
                unless_missing(fs::remove_dir_all(folder)).map_err(|source| self.failed("", source))
            }
            LocalOrStore::Store(folder) => nothing_missing(folder.list().and_then(|found| {
                folder.remote.remove(&found.iter().map(|(name, _)| folder.at(name)).collect::<Vec<_>>())
            })),
        }
    }

    /// Removes the temporary files that killed processes have left, for files whose names begin with `prefix`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path.
    pub fn remove_left(&self, prefix: &str) -> Result<()> {
        let begin = format!(".{}", prefix.trim_start_matches('.'));
        let folder = self.local();
        for name in names_in(folder)?.iter().filter(|name| name.starts_with(&begin) && name.ends_with(".part")) {
            let path = folder.join(name);
            unless_missing(fs::remove_file(&path)).map_err(|source| Error::io(&path, source))?;
        }
        Ok(())
    }

    /// Returns the names of the folder's files, sorted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the path or the address.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = match &self.at {
            LocalOrStore::Local(folder) => names_in(folder)?,
            LocalOrStore::Store(folder) => folder.lengths()?.into_keys().collect(),
        };
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the files that the folder has now, with their lengths.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) with the address, for a store that cannot be listed.
    pub fn contents(&self) -> Result<Contents> {
        Ok(Contents(match &self.at {
            LocalOrStore::Local(folder) => Listing::Local(folder.clone()),
            LocalOrStore::Store(folder) => Listing::Objects(folder.lengths()?),
        }))
    }

    /// Creates the file of a lock at `path`, which is on this machine.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn lock_file(&self, path: &Path) -> io::Result<File> {
        match File::create(path) {
            // Another process has found the local folder of files that wait for their upload empty, and has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_in_store() => {
                fs::create_dir_all(self.local())?;
                File::create(path)
            }
            made => made,
        }
    }

    /// Removes the local folder of files that wait for their upload to a store, unless another process has files in it.
    pub fn remove_scratch(&self) {
        if self.is_in_store() {
            let _ = fs::remove_dir(self.local());
        }
    }

    fn failed(&self, name: &str, source: io::Error) -> Error {
        Error::io(self.path(name), source)
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path("")).finish()
    }
}

fn names_in(folder: &Path) -> Result<Vec<String>> {
    let failed = |source| Error::io(folder, source);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned())).collect()
}

/// Turns the error that an object to remove, or its bucket, does not exist into success.
fn nothing_missing(removed: Result<()>) -> Result<()> {
    match removed {
        Err(error) if matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::NotFound) => {
            Ok(())
        }
        removed => removed,
    }
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the path that a file has until it is complete: `.NAME.part` in the same folder.
fn part_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{}.part", name.trim_start_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_which_files_it_has() {
        let path = tempfile::tempdir().unwrap();
        let folder = Folder::open(&path.path().into(), None).unwrap();
        folder.write("a", b"abc").unwrap();
        assert_eq!(folder.contents().unwrap().length("a"), Some(3));
        assert_eq!((folder.read("a").unwrap().as_deref(), folder.read("b").unwrap()), (Some(&b"abc"[..]), None));
        assert!(!folder.contents().unwrap().has("b"));
        folder.remove("a").unwrap();
        folder.remove("a").unwrap();
        assert_eq!(folder.names().unwrap(), Vec::<String>::new());
        folder.within("c").remove_all().unwrap();
    }
}
