//! A folder of a store that is written to: the place that `gpufeed pack` packs into.

use super::address::Address;
use super::{Remote, RemoteOptions};
use crate::address::WithCredentials;
use crate::dataset::address::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use std::io;
use std::path::{Path, PathBuf};

/// The largest object that is read whole: the listing of a plan.
const LARGEST: u64 = 4 << 30;

/// A folder of a store: the objects whose keys begin with its own and a slash. Each object is there entirely or not at
/// all.
#[derive(Clone, Debug)]
pub struct StoreFolder {
    remote: Remote,
    /// Without a slash at its end.
    address: WithCredentials<String>,
}

impl StoreFolder {
    /// Connects to the store of an address. Nothing is sent yet.
    ///
    /// # Errors
    /// An argument error for an address that is none, or of a web server.
    pub fn open(address: &Path) -> Result<StoreFolder> {
        let text = address.to_str().unwrap_or_default();
        if Address::parse(text)?.is_web() {
            let shown = without_credentials(text);
            let reason =
                "a web server cannot be written to; name a bucket (s3://, gs:// or az://), or a folder to copy from";
            return Err(Error::argument("address", format!("{shown}: {reason}")));
        }
        let remote = Remote::new(&RemoteOptions::new())?;
        remote.store(text)?;
        Ok(StoreFolder { remote, address: WithCredentials(text.trim_end_matches('/').to_owned()) })
    }

    /// Returns the folder in it that has this name.
    pub fn within(&self, name: &str) -> StoreFolder {
        StoreFolder { remote: self.remote.clone(), address: WithCredentials(self.address(name)) }
    }

    /// Returns the address of an object without credentials.
    pub fn shown(&self, name: &str) -> PathBuf {
        match name.is_empty() {
            true => without_credentials(&self.address.0).into(),
            false => without_credentials(&self.address(name)).into(),
        }
    }

    fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.address.0)
    }

    /// Lists the objects of the folder, those of folders in it too: the names below it, and the bytes.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub fn list(&self) -> Result<Vec<(String, u64)>> {
        let prefix = Address::parse(&self.address.0)?.key;
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        let found = self.remote.list_all(&self.address.0).map_err(|error| match error.into_kind() {
            ErrorKind::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let reason = "there is no such bucket; make it, or name another";
                Error::io(path, io::Error::new(io::ErrorKind::NotFound, reason))
            }
            kind => kind.into(),
        })?;
        let name = |key: &str| key.strip_prefix(&prefix).map(str::to_owned);
        Ok(found.iter().filter_map(|meta| Some((name(meta.key.as_ref())?, meta.size))).collect())
    }

    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.remote.get_small(&self.address(name), LARGEST)?.map(|(bytes, _)| bytes))
    }

    /// Writes an object, and replaces one that is there.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.remote.put(&self.address(name), bytes)
    }

    /// Writes a file of this machine as an object.
    ///
    /// # Errors
    /// An I/O error with the file, or with the address.
    pub fn upload(&self, name: &str, file: &Path) -> Result<()> {
        self.remote.put_file(&self.address(name), file)
    }

    /// Removes objects, if they are there.
    ///
    /// # Errors
    /// An I/O error with an address.
    pub fn remove<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let addresses: Vec<_> = names.into_iter().map(|name| self.address(name)).collect();
        self.remote.remove(&addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_server_is_no_folder_to_write_to_and_no_credentials_are_shown() {
        let error = StoreFolder::open(Path::new("https://user:secret@host/a?sig=secret")).unwrap_err().to_string();
        assert!(error.contains("https://host/a: a web server cannot be written to"), "{error}");
        let error = StoreFolder::open(Path::new("s3://key:secret@bucket/a/")).unwrap_err().to_string();
        assert!(error.contains("AWS_ACCESS_KEY_ID") && !error.contains("secret"), "{error}");
        let folder = StoreFolder::open(Path::new("s3://bucket/a/")).unwrap();
        assert_eq!(folder.within("b").shown("c").to_str(), Some("s3://bucket/a/b/c"));
        assert_eq!(folder.shown("").to_str(), Some("s3://bucket/a"));
        let folder = StoreFolder { address: WithCredentials("https://u:secret@host/a".to_owned()), ..folder };
        assert!(!format!("{folder:?}").contains("secret"), "{folder:?}");
    }
}
