//! Replaces the module `remote` in a build without the feature `remote`. It has the same API, but every function that
//! takes an address returns an error.
//!
//! A [`Remote`] cannot be made in such a build, so the methods that need one are never called.

use super::{Address, RemoteOptions, RemoteStats};
use crate::error::{Error, Result};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A type without values. A struct that has a field of this type cannot be made.
#[derive(Clone, Debug)]
enum Never {}

const REASON: &str = "this build reads and writes no store; build it with the feature remote";

/// Returns an error for every address: about the scheme if it is unknown, else about the missing feature.
///
/// # Errors
/// An argument error.
pub(crate) fn check(address: &Address) -> Result<()> {
    refused(address)
}

fn refused<T>(address: &Address) -> Result<T> {
    address.check_scheme()?;
    Err(address.refused(REASON))
}

/// Returns false: in this build no error comes from a store or a web server.
pub fn is_network_failure(_: &Error) -> bool {
    false
}

/// The connection of a data set to the stores of its objects. A build without the feature `remote` has none.
#[derive(Clone, Debug)]
pub struct Remote(Never);

/// Stands for a run of a loader that announces its reads to a connection. Cannot be made in this build.
#[derive(Debug)]
pub(crate) enum RemoteRun {}

/// A store's description of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectMeta {
    pub(crate) address: String,
    pub(crate) size: u64,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<u64>,
}

impl ObjectMeta {
    pub(crate) fn file_name(&self) -> &str {
        &self.address
    }
}

/// An object in a store that is open for reading. Cannot be made in this build.
#[derive(Clone, Debug)]
pub(crate) struct RemoteObject(Never);

/// The state of reading an object in a store from front to back.
#[derive(Debug, Default)]
pub(crate) struct ObjectScan;

/// Writes the methods of a type that has no values. They are never called, but the code that names them compiles.
macro_rules! never {
    ($(fn $name:ident(&self $(, $argument:ty)*) $(-> $result:ty)?;)*) => {
        $(pub(crate) fn $name(&self $(, _: $argument)*) $(-> $result)? { match self.0 {} })*
    };
}

impl Remote {
    pub(crate) fn new(_: &RemoteOptions) -> Result<Remote> {
        Err(Error::argument("address", REASON))
    }

    pub(crate) fn to_write(address: &Address, _: &RemoteOptions) -> Result<Remote> {
        refused(address)
    }

    pub(crate) fn beside_address(_: &str, _: &str) -> Result<Option<String>> {
        Err(Error::argument("address", REASON))
    }

    pub(crate) fn percent_decoded(_: &str) -> Option<String> {
        None
    }

    never! {
        fn list(&self, &str) -> Result<Vec<ObjectMeta>>;
        fn head(&self, &str) -> Result<ObjectMeta>;
        fn get_small(&self, &str, u64) -> Result<Option<(Vec<u8>, ObjectMeta)>>;
        fn put(&self, &str, Vec<u8>) -> Result<()>;
        fn put_file(&self, &str, &Path) -> Result<()>;
        fn remove(&self, &[String]) -> Result<()>;
        fn list_names(&self, &str) -> Result<Vec<(String, u64)>>;
        fn beside(&self, &ObjectMeta, &str) -> Option<String>;
        fn object(&self, ObjectMeta) -> RemoteObject;
        fn stats(&self) -> RemoteStats;
        fn set_read_ahead(&self, u64);
        fn read_ahead(&self) -> u64;
        fn cache(&self) -> Option<(PathBuf, u64)>;
        fn set_cache(&self, &Path, u64);
        fn samples_ahead(&self, u64) -> usize;
        fn fetch_expected(&self);
        fn begin_run(&self) -> RemoteRun;
        fn is(&self, &Remote) -> bool;
    }
}

impl RemoteObject {
    never! {
        fn remote(&self) -> &Remote;
        fn name(&self) -> &str;
        fn meta(&self) -> &ObjectMeta;
        fn read_exact(&self, &mut [u8], u64) -> io::Result<()>;
        fn expect(&self, Range<u64>);
    }
}

impl ObjectScan {
    pub(crate) fn read(&mut self, object: &RemoteObject, _: &mut [u8], _: u64) -> io::Result<()> {
        match object.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_in_says_which_feature_is_missing() {
        let address = Address::new("s3://key:secret@bucket/a");
        for error in [
            check(&address).unwrap_err(),
            Remote::new(&RemoteOptions::new()).unwrap_err(),
            Remote::beside_address("s3://bucket/a", "b").unwrap_err(),
            Remote::to_write(&address, &RemoteOptions::new()).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains("feature remote") && !error.contains("secret"), "{error}");
        }
        let error = check(&Address::new("ftp://host/a")).unwrap_err().to_string();
        assert!(error.contains("this scheme is not known"), "{error}");
    }
}
