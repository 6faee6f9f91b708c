//! Identifies a file on this machine by device and inode, whatever path leads to it.

use std::fs::{self, Metadata};
use std::path::Path;

/// Device and inode. `None` if the system has no such numbers, or they are unknown.
pub(crate) type Identity = Option<(u64, u64)>;

#[cfg(unix)]
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// Rust has no stable API for it on other systems, so links count as copies there.
#[cfg(not(unix))]
pub(crate) fn identity(_: &Metadata) -> Identity {
    None
}

/// Returns true if both paths lead to the same file.
pub(crate) fn is_one_file(a: &Path, b: &Path) -> bool {
    let of = |path: &Path| fs::metadata(path).ok().and_then(|metadata| identity(&metadata));
    let same_name = || fs::canonicalize(a).ok().zip(fs::canonicalize(b).ok()).is_some_and(|(a, b)| a == b);
    of(a).is_some_and(|a| Some(a) == of(b)) || same_name()
}

/// Returns true if standard output goes to this file, whatever its name.
#[cfg(unix)]
pub(crate) fn of_standard_output(found: &Metadata) -> bool {
    use std::os::fd::AsFd;
    let standard = std::io::stdout().as_fd().try_clone_to_owned().map(fs::File::from);
    standard.and_then(|standard| standard.metadata()).is_ok_and(|standard| identity(&standard) == identity(found))
}

#[cfg(not(unix))]
pub(crate) fn of_standard_output(_: &Metadata) -> bool {
    false
}
