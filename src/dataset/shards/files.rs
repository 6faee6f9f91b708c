//! The files of a set: paths on this machine, or objects in stores and on web servers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

#[cfg(feature = "remote")]
use super::brace;
use super::listing;
#[cfg(feature = "remote")]
use crate::address::WithCredentials;
#[cfg(feature = "remote")]
use crate::dataset::address;
use crate::dataset::data_file::DataFile;
#[cfg(feature = "remote")]
use crate::dataset::remote::{ObjectMeta, Remote, RemoteOptions};
use crate::error::{Error, Result};

/// The files of a set, in order, before they are opened.
#[derive(Debug)]
pub(in crate::dataset) enum Files {
    Paths(Vec<PathBuf>),
    #[cfg(feature = "remote")]
    Objects(Remote, Vec<Object>),
}

/// An object: its address alone, or what a listing has said of it.
#[cfg(feature = "remote")]
#[derive(Debug)]
pub(in crate::dataset) enum Object {
    Address(WithCredentials<String>),
    Listed(ObjectMeta),
}

#[cfg(feature = "remote")]
impl Object {
    fn of(address: String) -> Object {
        Object::Address(WithCredentials(address))
    }
}

/// The text that a path is, if it is an address.
///
/// # Errors
/// An address that this build cannot read.
pub(in crate::dataset) fn address_of(path: &Path) -> Result<Option<&str>> {
    let address = crate::dataset::address::of(path);
    address.map(crate::dataset::address::check).transpose()?;
    Ok(address)
}

impl Files {
    /// Returns the files that a path or an address names: itself, those of a brace list, or those of a folder that end in
    /// `.ending`, sorted by name.
    ///
    /// # Errors
    /// A malformed brace list; a folder that cannot be listed, or has no such file.
    #[cfg(feature = "remote")]
    pub(in crate::dataset) fn listed(path: &Path, ending: &str, options: &RemoteOptions) -> Result<Files> {
        match address_of(path)? {
            None => Ok(Files::Paths(listing::listed(path, ending)?)),
            Some(address) => {
                let remote = Remote::new(options)?;
                let objects = objects(&remote, address, ending)?;
                Ok(Files::Objects(remote, objects))
            }
        }
    }

    /// As above, without stores.
    #[cfg(not(feature = "remote"))]
    pub(in crate::dataset) fn listed(path: &Path, ending: &str, _: &()) -> Result<Files> {
        address_of(path)?;
        Ok(Files::Paths(listing::listed(path, ending)?))
    }

    /// Returns these files. They are all paths, or all addresses.
    ///
    /// # Errors
    /// Paths and addresses together.
    pub(in crate::dataset) fn of(paths: Vec<PathBuf>, options: &super::Options) -> Result<Files> {
        let mut addresses = Vec::new();
        for path in &paths {
            addresses.extend(address_of(path)?.map(str::to_owned));
        }
        if addresses.is_empty() {
            return Ok(Files::Paths(paths));
        }
        if addresses.len() != paths.len() {
            return Err(Error::argument("shards", "some are paths and some addresses; join two sets with concat"));
        }
        Self::of_addresses(addresses, options)
    }

    #[cfg(feature = "remote")]
    fn of_addresses(addresses: Vec<String>, options: &RemoteOptions) -> Result<Files> {
        Ok(Files::Objects(Remote::new(options)?, addresses.into_iter().map(Object::of).collect()))
    }

    #[cfg(not(feature = "remote"))]
    fn of_addresses(_: Vec<String>, _: &()) -> Result<Files> {
        Ok(Files::Paths(Vec::new()))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Files::Paths(paths) => paths.len(),
            #[cfg(feature = "remote")]
            Files::Objects(_, objects) => objects.len(),
        }
    }

    /// Returns the name of a file, for people.
    pub(in crate::dataset) fn name(&self, number: usize) -> Option<String> {
        match self {
            Files::Paths(paths) => paths.get(number).map(|path| path.display().to_string()),
            #[cfg(feature = "remote")]
            Files::Objects(_, objects) => objects.get(number).map(|object| match object {
                Object::Address(address) => address::without_credentials(&address.0),
                Object::Listed(meta) => meta.address.clone(),
            }),
        }
    }

    /// Returns the names of all files: paths as they are, addresses without credentials.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        match self {
            Files::Paths(paths) => paths.clone(),
            #[cfg(feature = "remote")]
            Files::Objects(..) => (0..self.len()).filter_map(|number| self.name(number)).map(PathBuf::from).collect(),
        }
    }

    /// Returns the address of the first file, with its credentials, if the files are objects.
    #[cfg(feature = "remote")]
    pub(super) fn first_object(&self) -> Option<(&Remote, &str)> {
        match self {
            Files::Paths(_) => None,
            Files::Objects(remote, objects) => match objects.first()? {
                Object::Address(address) => Some((remote, &address.0)),
                Object::Listed(meta) => Some((remote, &meta.address)),
            },
        }
    }

    /// Returns the name of a file that is listed twice.
    pub(super) fn twice(&self) -> Option<String> {
        match self {
            Files::Paths(paths) => {
                let mut names = HashSet::new();
                paths.iter().find(|path| !names.insert(*path)).map(|path| path.display().to_string())
            }
            #[cfg(feature = "remote")]
            Files::Objects(_, objects) => {
                let mut names = HashSet::new();
                let twice = objects.iter().position(|object| match object {
                    Object::Address(address) => !names.insert(address.0.as_str()),
                    Object::Listed(meta) => !names.insert(meta.address.as_str()),
                });
                twice.and_then(|number| self.name(number))
            }
        }
    }

    /// Opens a file.
    ///
    /// # Errors
    /// A file that is not there, or cannot be read.
    pub(super) fn open(&self, number: usize) -> Result<DataFile> {
        match self {
            Files::Paths(paths) => DataFile::open(&paths[number]).map_err(|source| Error::io(&paths[number], source)),
            #[cfg(feature = "remote")]
            Files::Objects(remote, objects) => {
                let meta = match &objects[number] {
                    Object::Address(address) => remote.head(&address.0)?,
                    Object::Listed(meta) => meta.clone(),
                };
                Ok(DataFile::remote(remote.object(meta)))
            }
        }
    }

    /// Returns true if the files are not on this machine.
    pub(super) fn are_remote(&self) -> bool {
        !matches!(self, Files::Paths(_))
    }
}

/// Returns the addresses of the objects that an address names: itself, those of a brace list, or those of a folder that
/// end in `.ending`. They have its credentials, so they are not to be shown.
///
/// # Errors
/// A malformed brace list; a store that cannot be listed, or has no such object.
#[cfg(feature = "remote")]
pub fn addresses_of(address: &str, ending: &str) -> Result<Vec<String>> {
    let remote = Remote::new(&RemoteOptions::new())?;
    let address_of = |object| match object {
        Object::Address(address) => address.0,
        Object::Listed(meta) => meta.address,
    };
    Ok(objects(&remote, address, ending)?.into_iter().map(address_of).collect())
}

/// Returns the objects that an address names.
#[cfg(feature = "remote")]
fn objects(remote: &Remote, address: &str, ending: &str) -> Result<Vec<Object>> {
    let key = address::without_credentials(address);
    if key.contains(['{', '}']) {
        return Ok(brace::expand(address)?.into_iter().map(Object::of).collect());
    }
    let name = key.rsplit('/').next().unwrap_or_default();
    // A name with an ending is a file's; also `x.tar.gz`, which the reader refuses by its content.
    if name.contains(&format!(".{ending}")) || [".tgz", ".gz", ".zst"].iter().any(|end| name.ends_with(end)) {
        return Ok(vec![Object::of(address.to_owned())]);
    }
    Ok(found(remote, address, ending)?.into_iter().map(Object::Listed).collect())
}

/// Lists the objects below an address that end in `.ending`, but for hidden ones.
///
/// # Errors
/// A store that cannot be listed, and one without such objects.
#[cfg(feature = "remote")]
fn found(remote: &Remote, address: &str, ending: &str) -> Result<Vec<ObjectMeta>> {
    let mut listed = remote.list(address)?;
    listed.retain(|meta| {
        let name = meta.file_name();
        !name.starts_with('.') && name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end == ending)
    });
    if listed.is_empty() {
        let (what, hint) = (address::without_credentials(address), format!("looked for *.{ending} below it"));
        return Err(crate::error::ErrorKind::EmptyDataset { what, hint }.into());
    }
    Ok(listed)
}
