//! The folder to pack into: which one the options name, and the command's words for its errors.

use crate::error_text;
use gpufeed::storage::{Folder, Location};
use gpufeed::{Error, ErrorKind};
use std::io;
use std::path::Path;

/// Opens the folder or the address to pack into. Files on their way to a store are in a folder below `scratch`.
///
/// # Errors
/// An address that cannot be written to; `scratch` where none is needed.
pub(super) fn open(out: &Path, scratch: Option<&Path>) -> Result<Folder, String> {
    let location = Location::from(out);
    if scratch.is_some() && !location.is_address() {
        return Err(format!("{location}: --scratch is for packing into a store, which this is not"));
    }
    Folder::open(&location, scratch).map_err(told)
}

/// Describes an error of the folder. Where a store refuses something, that says what packing does there.
pub(super) fn told(error: Error) -> String {
    let text = error_text::describe(&error);
    match error.kind() {
        ErrorKind::Io { path, source }
            if source.kind() == io::ErrorKind::PermissionDenied && Location::from(&**path).is_address() =>
        {
            format!("{text}; packing lists, reads, writes and removes objects there")
        }
        _ => text,
    }
}

/// Returns a function that adds the file's name to an error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    |error| format!("{}: {error}", path.display())
}

/// Returns a function that names the file in an error of writing its temporary file. On its way to a store it is that
/// file, which is on this machine.
pub(super) fn failed_to_write<'a>(
    folder: &'a Folder,
    name: &'a str,
    temporary: &'a Path,
) -> impl Fn(io::Error) -> String {
    move |error| match folder.is_in_store() {
        true => {
            let hint = "--scratch names another folder of this machine for files on their way";
            format!("{}: {error} ({hint})", temporary.display())
        }
        false => failed(&folder.path(name))(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_for_stores_alone() {
        let error = open(Path::new("out"), Some(Path::new("scratch"))).err().unwrap();
        assert!(error.contains("out: --scratch is for packing into a store"), "{error}");
    }

    #[test]
    fn a_refusal_says_which_permissions_are_needed() {
        let denied = |path: &str| {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, "status 403");
            told(ErrorKind::Io { path: path.into(), source }.into())
        };
        let needs = "s3://bucket/a: status 403; packing lists, reads, writes and removes objects there";
        assert_eq!(denied("s3://bucket/a"), needs);
        assert_eq!(denied("/a"), "/a: status 403");
    }

    #[test]
    fn an_address_that_cannot_be_written_is_refused() {
        let error = open(Path::new("ftp://user:secret@host/a"), None).err().unwrap();
        assert!(error.contains("ftp://host/a: this scheme is not known") && !error.contains("secret"), "{error}");
    }
}
