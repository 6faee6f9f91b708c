//! Files that are whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The beginning and the end of the names of files that are not whole yet.
pub(crate) const PREFIX: &str = ".gpufeed-";
pub(crate) const SUFFIX: &str = ".part";

/// Has a file written beside `path`, then puts it in its place: whoever reads sees the old file or the new one, and a
/// process that is killed leaves no file that looks whole. A file that is there keeps its permissions.
///
/// # Errors
/// What the system says, as of a folder that cannot be written to or a full disk, or what `write` returns. The old file stays as it was.
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

/// The folder that a file lies in: "." where its path names none.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files are their owner's alone; this one becomes a file as others are, as the umask has it.
fn builder<'a>() -> tempfile::Builder<'a, 'a> {
    #[allow(unused_mut)] // where there are no such permissions
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}
