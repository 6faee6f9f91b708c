//! Opens the folder to pack into, and adds to errors what packing needs in that folder.

use crate::advice::{PACK_AGAIN, PACK_SCRATCH, Reason};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Folder, Location};
use std::io;
use std::path::Path;

/// Opens the folder or the address to pack into. Files that wait for their upload to a store are in a folder below
/// `scratch`.
///
/// # Errors
/// An address that cannot be written to; `scratch` for a folder of this machine, which needs none.
pub(super) fn open_folder(out: &Path, scratch: Option<&Path>) -> Result<Folder> {
    let location = Location::from(out);
    if scratch.is_some() && !location.is_address() {
        return Err(Error::argument("scratch", format!("it is for packing into a store, which {location} is not")));
    }
    Folder::open(&location, scratch).map_err(permitted)
}

/// Makes an error about a folder, with this reason.
pub(super) fn there(folder: &Folder, reason: impl Into<Reason>) -> Error {
    Error::pack(folder.path(""), reason)
}

/// If a store has refused permission, adds to its error what packing does in the store.
pub(super) fn permitted(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Io { path, source }
            if source.kind() == io::ErrorKind::PermissionDenied && Location::from(&**path).is_address() =>
        {
            let advice = error.advice().to_vec();
            let text = format!("{source}; packing lists, reads, writes and removes objects there");
            Error::io(path, io::Error::new(source.kind(), Reason { text, advice }))
        }
        _ => error,
    }
}

/// Returns a function that adds a file's path to an error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::io(path, error)
}

/// Returns a function that names the file in an error of writing its temporary file. If the folder is in a store, the
/// error names the temporary file, which is on this machine.
pub(super) fn failed_to_write<'a>(
    folder: &'a Folder,
    name: &'a str,
    temporary: &'a Path,
) -> impl Fn(io::Error) -> Error {
    move |error| match folder.is_in_store() {
        true => Error::io(temporary, error).advise(PACK_SCRATCH),
        false => Error::io(folder.path(name), error),
    }
}

/// Adds to an error of writing that the same call goes on later. Samples that are on the disk by then stay there.
pub(super) fn resumable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Stopped { .. } => error,
        _ => error.advise(PACK_AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_for_stores_alone() {
        let error = open_folder(Path::new("out"), Some(Path::new("scratch"))).unwrap_err().to_string();
        assert!(error.contains("scratch: it is for packing into a store, which out is not"), "{error}");
    }

    #[test]
    fn a_refusal_says_which_permissions_are_needed() {
        let denied = |path: &str| {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, "status 403");
            permitted(ErrorKind::Io { path: path.into(), source }.into()).to_string()
        };
        let needs = "s3://bucket/a: status 403; packing lists, reads, writes and removes objects there";
        assert_eq!(denied("s3://bucket/a"), needs);
        assert_eq!(denied("/a"), "/a: status 403");
    }

    #[test]
    fn an_address_that_cannot_be_written_is_refused() {
        let error = open_folder(Path::new("ftp://user:secret@host/a"), None).unwrap_err().to_string();
        assert!(error.contains("ftp://host/a: this scheme is not known") && !error.contains("secret"), "{error}");
    }
}
