//! Writes files atomically: a file is complete or does not exist.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prefix of the names of temporary files.
pub(crate) const PREFIX: &str = ".gpufeed-";
pub(crate) const SUFFIX: &str = ".part";

/// Writes a temporary file next to `path`, then renames it to `path`. Readers see the old file or the new one, and a
/// killed process leaves no file that looks whole. The new file has the permissions of an existing one.
///
/// # Errors
/// The system's error, for example for a folder that cannot be written to or a full disk, or the error of `write`. The
/// old file stays unchanged.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>) -> io::Result<()> {
    let mut temporary = builder().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder_of(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Ok(old) = fs::metadata(path) {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    Ok(())
}

/// Returns the folder of a file: "." if its path names none.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files are readable by their owner alone. This makes one with the permissions of other new files, by the
/// umask.
fn builder<'a>() -> tempfile::Builder<'a, 'a> {
    #[allow(unused_mut)] // on systems without such permissions
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}
