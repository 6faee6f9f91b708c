//! The files of a set: those that a path or an address names, or a list of files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{brace, listing};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file::{DataFile, UnopenedFile};
use crate::storage::{Address, Location, ObjectMeta, Remote, RemoteOptions, check};

/// The files of a set, in order, before they are opened. All are on this machine, or all are in stores.
#[derive(Debug)]
pub(in crate::dataset) struct FileList(pub(in crate::dataset) Vec<UnopenedFile>);

impl FileList {
    /// Returns the files that a path or an address names: itself, those of a brace list, or those of a folder that end in
    /// `.ending`, sorted by name.
    ///
    /// # Errors
    /// An address that this build cannot read; a malformed brace list; a folder that cannot be listed, or has no such file.
    pub(in crate::dataset) fn listed(location: &Location, ending: &str, options: &RemoteOptions) -> Result<FileList> {
        match location {
            Location::Path(path) => Ok(FileList::of_paths(listing::listed(path, ending)?)),
            Location::Address(address) => {
                check(address)?;
                Ok(FileList(objects(&Remote::new(options)?, address, ending)?))
            }
        }
    }

    pub(in crate::dataset) fn of_paths(paths: Vec<PathBuf>) -> FileList {
        FileList(paths.into_iter().map(UnopenedFile::Path).collect())
    }

    /// Returns these files.
    ///
    /// # Errors
    /// An address that this build cannot read; paths and addresses together.
    pub(in crate::dataset) fn of(locations: Vec<Location>, options: &RemoteOptions) -> Result<FileList> {
        let (mut paths, mut addresses) = (Vec::new(), Vec::new());
        for location in locations {
            match location {
                Location::Path(path) => paths.push(path),
                Location::Address(address) => {
                    check(&address)?;
                    addresses.push(address);
                }
            }
        }
        if addresses.is_empty() {
            return Ok(FileList::of_paths(paths));
        }
        if !paths.is_empty() {
            return Err(Error::argument("shards", "some are paths and some addresses; join two sets with concat"));
        }
        let remote = Remote::new(options)?;
        Ok(FileList(addresses.into_iter().map(|address| UnopenedFile::Address(remote.clone(), address)).collect()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the name of a file for messages.
    pub(in crate::dataset) fn name(&self, number: usize) -> Option<String> {
        self.0.get(number).map(|file| file.name().display().to_string())
    }

    /// Returns the names of all files: paths as they are, addresses without credentials.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        self.0.iter().map(UnopenedFile::name).collect()
    }

    /// Returns the connection through which the files are read, if they are in stores.
    pub(super) fn remote(&self) -> Option<&Remote> {
        self.0.first()?.remote()
    }

    /// Returns the connection, and the address of the first file with its credentials, if the files are in stores.
    pub(in crate::dataset) fn first_address(&self) -> Option<(&Remote, &str)> {
        let first = self.0.first()?;
        Some((first.remote()?, first.address()?))
    }

    /// Returns the path of the first file, if the files are on this machine.
    pub(in crate::dataset) fn first_path(&self) -> Option<&Path> {
        match self.0.first()? {
            UnopenedFile::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the name of a file that is in the list twice.
    pub(super) fn twice(&self) -> Option<String> {
        let (mut paths, mut addresses) = (HashSet::new(), HashSet::new());
        let twice = self.0.iter().position(|file| match file.address() {
            Some(address) => !addresses.insert(address),
            None => !paths.insert(file.name()),
        });
        twice.and_then(|number| self.name(number))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// A file that is not there, or cannot be read.
    pub(super) fn open(&self, number: usize) -> Result<DataFile> {
        self.0[number].open()
    }
}

/// Returns the addresses of the objects that an address names: itself, those of a brace list, or those of a folder that
/// end in `.ending`. The addresses have the credentials of the first one, so nothing may show them.
///
/// # Errors
/// An address that this build cannot read; a malformed brace list; a store that cannot be listed, or has no such object.
pub fn addresses_of(address: &Address, ending: &str) -> Result<Vec<String>> {
    check(address)?;
    let found = objects(&Remote::new(&RemoteOptions::new())?, address, ending)?;
    Ok(found.iter().filter_map(UnopenedFile::address).map(str::to_owned).collect())
}

/// Returns the objects that an address names.
fn objects(remote: &Remote, address: &Address, ending: &str) -> Result<Vec<UnopenedFile>> {
    let key = address.to_string();
    let unopened = |address| UnopenedFile::Address(remote.clone(), address);
    if key.contains(['{', '}']) {
        let expanded = brace::expand(address.with_credentials())?;
        return Ok(expanded.into_iter().map(|address| unopened(Address::new(address))).collect());
    }
    let name = key.rsplit('/').next().unwrap_or_default();
    // A name with an ending is a file. So is `x.tar.gz`, which the reader refuses by its content.
    if name.contains(&format!(".{ending}")) || [".tgz", ".gz", ".zst"].iter().any(|end| name.ends_with(end)) {
        return Ok(vec![unopened(address.clone())]);
    }
    let found = found(remote, address, ending)?;
    Ok(found.into_iter().map(|meta| UnopenedFile::Listed(remote.clone(), meta)).collect())
}

/// Lists the objects below an address that end in `.ending`. Hidden objects are left out.
///
/// # Errors
/// A store that cannot be listed, or that has no such objects.
fn found(remote: &Remote, address: &Address, ending: &str) -> Result<Vec<ObjectMeta>> {
    let mut listed = remote.list(address.with_credentials())?;
    listed.retain(|meta| {
        let name = meta.file_name();
        !name.starts_with('.') && name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end == ending)
    });
    if listed.is_empty() {
        let (what, hint) = (address.to_string(), format!("looked for *.{ending} below it"));
        return Err(ErrorKind::EmptyDataset { what, hint }.into());
    }
    Ok(listed)
}
