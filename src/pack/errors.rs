//! Opens the folder that a pack is written to, and makes its errors: adds paths, the needed permissions, and advice.

use crate::advice::{PACK_AGAIN, PACK_SCRATCH, Reason};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Folder, Location};
use std::io;
use std::path::Path;

/// Opens the folder or the address that a pack is written to. For a store, files that wait for their upload are in a
/// folder below `scratch`.
///
/// # Errors
/// An argument error for an address that cannot be written to, and for a `scratch` with a folder of this machine, which
/// needs none.
pub(super) fn open_folder(out: &Path, scratch: Option<&Path>) -> Result<Folder> {
    let location = Location::from(out);
    if scratch.is_some() && !location.is_address() {
        return Err(Error::argument("scratch", format!("it is for packing into a store, which {location} is not")));
    }
    Folder::open(&location, scratch).map_err(permitted)
}

/// Makes an error about the folder to pack into, with this reason.
pub(super) fn there(folder: &Folder, reason: impl Into<Reason>) -> Error {
    Error::pack(folder.path(""), reason)
}

/// Adds to the error of a store that has refused permission what packing does in the store. Returns any other error as
/// it is.
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

/// Returns a function that turns an I/O error into an [`Error`] that names the file at `path`.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::io(path, error)
}

/// Returns a function for errors of writing the temporary file of the file `name`. In a folder of this machine, the
/// error names the file `name`. For a store, it names the temporary file, which is on this machine.
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

/// Adds to an error of writing the advice that the same call continues the pack later. Samples that are on the disk by
/// then are not packed again. [`ErrorKind::Stopped`] has this advice already.
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
