//! The type [`Location`], which says where data is: a path of this machine, or an address in a store or on a web
//! server.

use crate::credentials::{is_address, without_credentials};
use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// The schemes of addresses that can be read. The last five are other names of some of the first five. Errors name only
/// the first five.
const SCHEMES: [&str; 10] = ["s3", "gs", "az", "https", "http", "s3a", "abfs", "abfss", "adl", "azure"];

/// The place of data: a path of this machine, or an address in a store or on a web server.
///
/// A path that begins with a scheme and `://` is an address in every build. Opening it needs the feature `remote`.
/// `Display` and `Debug` show no credentials.
///
/// ```
/// use gpufeed::storage::Location;
///
/// let train = Location::from("https://user:secret@host/train.tar?signature=secret");
/// assert!(train.is_address());
/// assert_eq!(train.to_string(), "https://host/train.tar");
/// assert!(!Location::from("data/train.tar").is_address());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// A path of this machine.
    Path(PathBuf),
    /// An address in a store or on a web server.
    Address(Address),
}

impl Location {
    /// Returns true for an address in a store or on a web server.
    pub fn is_address(&self) -> bool {
        matches!(self, Location::Address(_))
    }

    /// Returns the path, or the address without credentials, as messages show it.
    pub fn shown(&self) -> PathBuf {
        match self {
            Location::Path(path) => path.clone(),
            Location::Address(address) => address.to_string().into(),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    fn from(path: &P) -> Self {
        let path = path.as_ref();
        match path.to_str() {
            Some(text) if is_address(text) => Location::Address(Address(text.to_owned())),
            _ => Location::Path(path.to_owned()),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Location::from(&path)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Path(path) => path.display().fmt(f),
            Location::Address(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(f)
    }
}

/// An address in a store or on a web server, with its credentials, which `Display` and `Debug` do not show.
///
/// ```
/// use gpufeed::storage::Location;
///
/// let Location::Address(address) = Location::from("s3://bucket/train.tar") else { panic!("it has a scheme") };
/// assert_eq!(address.to_string(), "s3://bucket/train.tar");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address(String);

impl Address {
    /// Makes an address of any text, without a check.
    pub(crate) fn new(text: impl Into<String>) -> Address {
        Address(text.into())
    }

    /// Returns the whole text, with its credentials. It is for requests alone: nothing may show it.
    pub(crate) fn with_credentials(&self) -> &str {
        &self.0
    }

    /// Returns the address of the file `name` in the folder at this address. For the name "", returns the folder's
    /// address, without a slash at the end.
    pub(super) fn join(&self, name: &str) -> Address {
        let folder = self.0.trim_end_matches('/');
        Address(if name.is_empty() { folder.to_owned() } else { format!("{folder}/{name}") })
    }

    /// Returns an error for an address whose scheme is not supported.
    ///
    /// # Errors
    /// An argument error.
    pub(super) fn check_scheme(&self) -> Result<()> {
        let scheme = self.0.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        if scheme == "file" {
            return Err(self.refused("a file on this machine is opened by its path, without file://"));
        }
        if !SCHEMES.contains(&scheme.as_str()) {
            let known = SCHEMES[..5].join("://, ");
            return Err(
                self.refused(&format!("this scheme is not known; data sets are read from {known}:// and paths"))
            );
        }
        Ok(())
    }

    /// Makes the error that this address cannot be used, with the reason.
    pub(crate) fn refused(&self, reason: &str) -> Error {
        Error::argument("address", format!("{self}: {reason}"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_credentials(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        without_credentials(&self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_refused() {
        let refused = |address: &str| Address::new(address).check_scheme().unwrap_err().to_string();
        assert!(refused("ftp://user:secret@host/a").contains("ftp://host/a: this scheme is not known"));
        assert!(refused("file:///a").contains("without file://"));
        assert!(!refused("hdfs://user:secret@host/a?secret").contains("secret"));
        assert!(Address::new("S3://bucket/a").check_scheme().is_ok());
    }

    #[test]
    fn debug_shows_no_credentials() {
        let address = Location::from("https://u:secret@host/a?sig=secret");
        assert_eq!(
            (format!("{address:?}"), address.to_string()),
            ("\"https://host/a\"".into(), "https://host/a".into())
        );
        assert_eq!(address.shown().to_str(), Some("https://host/a"));
        let path = Location::from(PathBuf::from("/a?b"));
        assert_eq!((format!("{path:?}"), path.to_string()), ("\"/a?b\"".into(), "/a?b".into()));
        assert!(address.is_address() && !path.is_address());
    }
}
