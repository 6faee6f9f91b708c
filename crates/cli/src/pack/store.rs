//! A folder of a store to pack into, and the folder of this machine in which its files are written first.

use gpufeed::internals::{StoreFolder, is_remote_path};
use gpufeed::{Error, ErrorKind};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

use crate::error_text;

/// A folder of a store.
#[derive(Clone)]
pub(super) struct Store {
    folder: StoreFolder,
    scratch: PathBuf,
}

impl Store {
    /// Opens the folder at an address. `scratch` is the folder of this machine in which files are written first; without
    /// it the system's folder of temporary files is. Their own folder in it is named by the address, so that a command
    /// that is repeated removes what a killed one has left.
    ///
    /// # Errors
    /// An address that is none, and that of a web server.
    pub(super) fn open(address: &Path, scratch: Option<&Path>) -> Result<Store, String> {
        let folder = StoreFolder::open(address).map_err(|error| error_text::describe(&error))?;
        let hash = xxh3_64(folder.shown("").as_os_str().as_encoded_bytes());
        let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned).join(format!("gpufeed-pack-{hash:016x}"));
        Ok(Store { folder, scratch })
    }

    pub(super) fn within(&self, name: &str) -> Store {
        Store { folder: self.folder.within(name), scratch: self.scratch.clone() }
    }

    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Returns the address of an object without credentials.
    pub(super) fn shown(&self, name: &str) -> PathBuf {
        self.folder.shown(name)
    }

    pub(super) fn upload(&self, name: &str, file: &Path) -> io::Result<()> {
        self.folder.upload(name, file).map_err(reason)
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.folder.write(name, content.to_vec()).map_err(reason)
    }

    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.folder.read(name).map_err(reason)
    }

    pub(super) fn remove<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        self.folder.remove(names).map_err(reason)
    }

    pub(super) fn remove_all(&self) -> io::Result<()> {
        let found = self.folder.list().map_err(reason)?;
        self.remove(found.iter().map(|(name, _)| &**name))
    }

    /// Returns the bytes of the objects, but for those of folders in the folder.
    pub(super) fn lengths(&self) -> io::Result<HashMap<String, u64>> {
        let found = self.folder.list().map_err(reason)?;
        Ok(found.into_iter().filter(|(name, _)| !name.contains('/')).collect())
    }
}

/// Returns the reason of an error, without the address, which the caller names.
fn reason(error: Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            let needs = "packing lists, reads, writes and removes objects there";
            io::Error::new(source.kind(), format!("{source}; {needs}"))
        }
        // A file on its way to the store.
        ErrorKind::Io { path, source } if !is_remote_path(&path) => {
            io::Error::new(source.kind(), format!("{}: {source}", path.display()))
        }
        ErrorKind::Io { source, .. } => source,
        kind => io::Error::other(error_text::describe(&kind.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_unfinished_files_is_named_by_the_address() {
        let scratch = |address: &str| Store::open(Path::new(address), Some(Path::new("disk"))).unwrap().scratch;
        assert_eq!(scratch("s3://bucket/a"), scratch("s3://bucket/a/"));
        assert_ne!(scratch("s3://bucket/a"), scratch("s3://bucket/b"));
        assert!(scratch("s3://bucket/a").starts_with("disk"));
        assert!(Store::open(Path::new("s3://bucket/a"), None).unwrap().scratch.starts_with(std::env::temp_dir()));
    }

    #[test]
    fn an_address_that_cannot_be_written_is_refused() {
        for (address, says) in [
            ("https://user:secret@host/a?secret", "https://host/a: a web server cannot be written to"),
            ("ftp://user:secret@host/a", "ftp://host/a: this scheme is not known"),
        ] {
            let error = Store::open(Path::new(address), None).err().unwrap();
            assert!(error.contains(says) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_refusal_says_which_permissions_are_needed() {
        let kind = io::ErrorKind::PermissionDenied;
        let denied = ErrorKind::Io { path: "s3://bucket/a".into(), source: io::Error::new(kind, "status 403") };
        let error = reason(denied.into()).to_string();
        assert_eq!(error, "status 403; packing lists, reads, writes and removes objects there");
    }
}
