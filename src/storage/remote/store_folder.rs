//! A folder of a store that is written to, as `gpufeed pack` does.

use super::address::ObjectAddress;
use super::{Address, Remote, RemoteOptions};
use crate::error::{Error, ErrorKind, Result};
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of an object that is read as a whole: the plan of a pack lists every sample.
const LARGEST: u64 = 4 << 30;

/// A folder of a store: the objects whose keys begin with the folder's key and a slash. Each object is there whole or not at
/// all.
#[derive(Clone, Debug)]
pub(crate) struct StoreFolder {
    remote: Remote,
    /// Without a slash at its end.
    address: Address,
}

impl StoreFolder {
    /// Opens the folder at an address. Sends nothing yet.
    ///
    /// # Errors
    /// An argument error for an address that is none, or of a web server.
    pub(crate) fn open(address: &Address, options: &RemoteOptions) -> Result<StoreFolder> {
        let text = address.with_credentials();
        if ObjectAddress::parse(text)?.is_web() {
            let reason =
                "a web server cannot be written to; name a bucket (s3://, gs:// or az://), or a folder to copy from";
            return Err(address.refused(reason));
        }
        let remote = Remote::new(options)?;
        remote.store(text)?;
        Ok(StoreFolder { remote, address: Address::new(text.trim_end_matches('/')) })
    }

    /// Returns the folder in it that has this name.
    pub(crate) fn within(&self, name: &str) -> StoreFolder {
        StoreFolder { remote: self.remote.clone(), address: Address::new(self.address_of(name)) }
    }

    /// Returns the address of an object without credentials.
    pub(crate) fn shown(&self, name: &str) -> PathBuf {
        match name.is_empty() {
            true => self.address.to_string().into(),
            false => Address::new(self.address_of(name)).to_string().into(),
        }
    }

    /// Returns the address of an object, with its credentials.
    fn address_of(&self, name: &str) -> String {
        format!("{}/{name}", self.address.with_credentials())
    }

    /// Lists the objects of the folder and of folders in it: their names below the folder, and their bytes.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn list(&self) -> Result<Vec<(String, u64)>> {
        let prefix = ObjectAddress::parse(self.address.with_credentials())?.key;
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        let found = self.remote.list_all(self.address.with_credentials()).map_err(|error| match error.kind() {
            ErrorKind::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let reason = "there is no such bucket; make it, or name another";
                Error::io(path, io::Error::new(io::ErrorKind::NotFound, reason))
            }
            _ => error,
        })?;
        let name = |key: &str| key.strip_prefix(&prefix).map(str::to_owned);
        Ok(found.iter().filter_map(|meta| Some((name(meta.key.as_ref())?, meta.size))).collect())
    }

    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.remote.get_small(&self.address_of(name), LARGEST)?.map(|(bytes, _)| bytes))
    }

    /// Writes an object, and replaces one that is there.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.remote.put(&self.address_of(name), bytes)
    }

    /// Writes a file of this machine as an object.
    ///
    /// # Errors
    /// An I/O error with the file, or with the address.
    pub(crate) fn upload(&self, name: &str, file: &Path) -> Result<()> {
        self.remote.put_file(&self.address_of(name), file)
    }

    /// Removes objects, if they are there.
    ///
    /// # Errors
    /// An I/O error with an address.
    pub(crate) fn remove(&self, names: &[&str]) -> Result<()> {
        let addresses: Vec<_> = names.iter().map(|name| self.address_of(name)).collect();
        self.remote.remove(&addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Folder, Location};

    fn open(address: &str) -> Result<StoreFolder> {
        StoreFolder::open(&Address::new(address), &RemoteOptions::new())
    }

    #[test]
    fn a_web_server_is_no_folder_to_write_to_and_no_credentials_are_shown() {
        let error = open("https://user:secret@host/a?sig=secret").unwrap_err().to_string();
        assert!(error.contains("https://host/a: a web server cannot be written to"), "{error}");
        let error = open("s3://key:secret@bucket/a/").unwrap_err().to_string();
        assert!(error.contains("AWS_ACCESS_KEY_ID") && !error.contains("secret"), "{error}");
        let folder = open("s3://bucket/a/").unwrap();
        assert_eq!(folder.within("b").shown("c").to_str(), Some("s3://bucket/a/b/c"));
        assert_eq!(folder.shown("").to_str(), Some("s3://bucket/a"));
        let folder = StoreFolder { address: Address::new("https://u:secret@host/a"), ..folder };
        assert!(!format!("{folder:?}").contains("secret"), "{folder:?}");
    }

    #[test]
    fn the_folder_of_unfinished_files_is_named_by_the_address() {
        let scratch = |address: &str, scratch: Option<&str>| {
            let folder = Folder::open(&Location::from(address), scratch.map(Path::new)).unwrap();
            folder.local().to_owned()
        };
        let disk = Some("disk");
        assert_eq!(scratch("s3://bucket/a", disk), scratch("s3://bucket/a/", disk));
        assert_ne!(scratch("s3://bucket/a", disk), scratch("s3://bucket/b", disk));
        assert!(scratch("s3://bucket/a", disk).starts_with("disk"));
        assert!(scratch("s3://bucket/a", None).starts_with(std::env::temp_dir()));
    }
}
