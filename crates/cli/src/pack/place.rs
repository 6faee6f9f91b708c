//! The folder to pack into, on this machine or in a store, in which a file is there whole or not at all.

use gpufeed::internals::is_remote_path;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[cfg(feature = "remote")]
use super::store::Store;

/// A folder whose files have temporary names until they are whole.
#[derive(Clone)]
pub(super) struct Place {
    at: At,
    /// In temporary names, if several processes may write the same file.
    writer: Option<String>,
}

#[derive(Clone)]
enum At {
    Folder(PathBuf),
    #[cfg(feature = "remote")]
    Store(Store),
}

/// The files that a place has.
pub(super) enum Contents {
    /// Each is looked up when it is asked for.
    Folder(PathBuf),
    #[cfg(feature = "remote")]
    Listed(std::collections::HashMap<String, u64>),
}

impl Contents {
    /// Returns the bytes of a file; `None` if there is none.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        match self {
            Contents::Folder(folder) => fs::metadata(folder.join(name)).ok().map(|file| file.len()),
            #[cfg(feature = "remote")]
            Contents::Listed(lengths) => lengths.get(name).copied(),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.length(name).is_some()
    }
}

impl Place {
    /// A folder of this machine.
    pub(super) fn new(folder: &Path) -> Place {
        Place { at: At::Folder(folder.to_owned()), writer: None }
    }

    /// The folder or the address to pack into. Files on their way to a store lie in a folder below `scratch`.
    ///
    /// # Errors
    /// An address that cannot be written to.
    pub(super) fn of(out: &Path, scratch: Option<&Path>) -> Result<Place, String> {
        if !is_remote_path(out) {
            return match scratch {
                Some(_) => Err(format!("{}: --scratch is for packing into a store, which this is not", out.display())),
                None => Ok(Place::new(out)),
            };
        }
        #[cfg(feature = "remote")]
        return Ok(Place { at: At::Store(Store::open(out, scratch)?), writer: None });
        #[cfg(not(feature = "remote"))]
        return Err(format!(
            "{}: this command writes to no store; install it with --features remote, or pack into a folder and copy it",
            gpufeed::internals::shown_path(out).display()
        ));
    }

    /// The place with temporary names of this process's own. Two machines may be given the same part; where a file
    /// system has no locks, neither sees the other, and both write the same bytes.
    pub(super) fn shared(&self) -> Place {
        // Process ids are equal on machines that run one container each.
        let random = RandomState::new().build_hasher().finish();
        Place { at: self.at.clone(), writer: Some(format!("{random:016x}")) }
    }

    /// The folder in it that has this name.
    pub(super) fn within(&self, name: &str) -> Place {
        let at = match &self.at {
            At::Folder(folder) => At::Folder(folder.join(name)),
            #[cfg(feature = "remote")]
            At::Store(store) => At::Store(store.within(name)),
        };
        Place { at, writer: self.writer.clone() }
    }

    /// Makes the folder, or that of the files on their way, unless it is there. Looks whether a store can be reached.
    pub(super) fn create(&self) -> Result<(), String> {
        let folder = self.local();
        fs::create_dir_all(folder).map_err(failed(folder))?;
        self.contents().map(|_| ())
    }

    /// Returns true if the place is in a store.
    pub(super) fn is_in_store(&self) -> bool {
        !matches!(self.at, At::Folder(_))
    }

    /// Returns the path of a file, or its address without credentials.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        match &self.at {
            // Joined with nothing, a path gets a slash.
            At::Folder(folder) if name.is_empty() => folder.clone(),
            At::Folder(folder) => folder.join(name),
            #[cfg(feature = "remote")]
            At::Store(store) => store.shown(name),
        }
    }

    /// Returns the folder on this machine that has temporary files and locks.
    pub(super) fn local(&self) -> &Path {
        match &self.at {
            At::Folder(folder) => folder,
            #[cfg(feature = "remote")]
            At::Store(store) => store.scratch(),
        }
    }

    /// Returns the path at which a file is written before it is whole.
    pub(super) fn temporary(&self, name: &str) -> PathBuf {
        let path = match &self.writer {
            Some(writer) => self.local().join(format!("{name}.{writer}")),
            None => self.local().join(name),
        };
        part_of(&path)
    }

    /// Returns a function that names the file in an error of writing its temporary file. In a store's case that is the
    /// temporary file, which is on this machine.
    pub(super) fn failed_to_write<'a>(&'a self, name: &'a str, temporary: &'a Path) -> impl Fn(io::Error) -> String {
        move |error| match self.is_in_store() {
            true => {
                let hint = "--scratch names another folder of this machine for files on their way";
                format!("{}: {error} ({hint})", temporary.display())
            }
            false => failed(&self.path(name))(error),
        }
    }

    /// Gives a file that is on the disk its name. Into a store it is uploaded, and leaves the disk.
    pub(super) fn keep(&self, temporary: &Path, name: &str) -> io::Result<()> {
        match &self.at {
            At::Folder(folder) => fs::rename(temporary, folder.join(name)),
            #[cfg(feature = "remote")]
            At::Store(store) => {
                store.upload(name, temporary)?;
                fs::remove_file(temporary)
            }
        }
    }

    /// Writes a small file completely or not at all.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let write = || {
            #[cfg(feature = "remote")]
            if let At::Store(store) = &self.at {
                return store.write(name, content);
            }
            let part = self.temporary(name);
            let mut file = File::create(&part)?;
            file.write_all(content)?;
            file.sync_all()?;
            self.keep(&part, name)
        };
        write().map_err(failed(&self.path(name)))
    }

    /// Reads a file; `None` if there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let read = match &self.at {
            At::Folder(folder) => match gpufeed::internals::regular_file::read(&folder.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                read => read.map(Some),
            },
            #[cfg(feature = "remote")]
            At::Store(store) => store.read(name),
        };
        read.map_err(failed(&self.path(name)))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> Result<(), String> {
        let removed = match &self.at {
            At::Folder(folder) => fs::remove_file(folder.join(name)),
            #[cfg(feature = "remote")]
            At::Store(store) => store.remove([name]),
        };
        unless_missing(removed).map_err(failed(&self.path(name)))
    }

    /// Removes the folder with all its files, if it is there.
    pub(super) fn remove_all(&self) -> Result<(), String> {
        let removed = match &self.at {
            At::Folder(folder) => fs::remove_dir_all(folder),
            #[cfg(feature = "remote")]
            At::Store(store) => store.remove_all(),
        };
        unless_missing(removed).map_err(failed(&self.path("")))
    }

    /// Removes what killed processes left of files whose names begin with `prefix`.
    pub(super) fn remove_left(&self, prefix: &str) -> Result<(), String> {
        let begin = format!(".{}", prefix.trim_start_matches('.'));
        let folder = self.local();
        for name in names_in(folder)?.iter().filter(|name| name.starts_with(&begin) && name.ends_with(".part")) {
            let path = folder.join(name);
            unless_missing(fs::remove_file(&path)).map_err(failed(&path))?;
        }
        Ok(())
    }

    /// Returns the names of the files, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        match &self.at {
            At::Folder(folder) => names_in(folder),
            #[cfg(feature = "remote")]
            At::Store(store) => {
                let mut names: Vec<_> = store.lengths().map_err(failed(&self.path("")))?.into_keys().collect();
                names.sort_unstable();
                Ok(names)
            }
        }
    }

    /// Returns the files that are there.
    pub(super) fn contents(&self) -> Result<Contents, String> {
        match &self.at {
            At::Folder(folder) => Ok(Contents::Folder(folder.clone())),
            #[cfg(feature = "remote")]
            At::Store(store) => Ok(Contents::Listed(store.lengths().map_err(failed(&self.path("")))?)),
        }
    }

    /// Makes the file of a lock, on this machine.
    pub(super) fn lock_file(&self, path: &Path) -> io::Result<File> {
        match File::create(path) {
            // Another process has found the folder of the files on their way empty, and has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_in_store() => {
                fs::create_dir_all(self.local())?;
                File::create(path)
            }
            made => made,
        }
    }

    /// Removes the folder of the files on their way to a store, unless another process has some there.
    pub(super) fn remove_scratch(&self) {
        if self.is_in_store() {
            let _ = fs::remove_dir(self.local());
        }
    }
}

fn names_in(folder: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_for_stores_alone() {
        let error = Place::of(Path::new("out"), Some(Path::new("scratch"))).err().unwrap();
        assert!(error.contains("out: --scratch is for packing into a store"), "{error}");
    }

    #[test]
    fn a_folder_says_which_files_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        place.write("a", b"abc").unwrap();
        assert_eq!(place.contents().unwrap().length("a"), Some(3));
        assert_eq!((place.read("a").unwrap().as_deref(), place.read("b").unwrap()), (Some(&b"abc"[..]), None));
        assert!(!place.contents().unwrap().has("b"));
        place.remove("a").unwrap();
        place.remove("a").unwrap();
        assert_eq!(place.names().unwrap(), Vec::<String>::new());
        place.within("c").remove_all().unwrap();
    }
}
