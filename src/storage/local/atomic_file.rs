//! Writes files atomically: a file is complete or does not exist.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The beginning of the names of temporary files.
pub(crate) const PREFIX: &str = ".gpufeed-";
pub(crate) const SUFFIX: &str = ".part";

/// Writes a temporary file next to `path`, then renames it to `path`. Readers see the old file or the new one, and a
/// killed process leaves no file that looks complete. The new file gets the permissions of the old one, if there is
/// one, but nobody except the owner may write to it.
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
        temporary.as_file().set_permissions(of_owner(&old))?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    Ok(())
}

/// Returns the folder of a file; "." if the path has no folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The permission bits of a new file, such as an index next to the data. Whatever the umask is, only the owner may
/// write to the file, because other programs trust its content.
#[cfg(unix)]
const MODE: u32 = 0o644;

/// Returns the permissions of a file, reduced so that only the owner may write to it.
fn of_owner(file: &fs::Metadata) -> fs::Permissions {
    #[allow(unused_mut)] // `mut` is not needed on systems without Unix's permissions
    let mut permissions = file.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        permissions.set_mode(permissions.mode() & !0o022);
    }
    permissions
}

/// Changes the permissions of a file so that only the owner may write to it. This is for files that an older version of
/// gpufeed has made. The permissions of another user's file stay as they are.
pub(crate) fn take_from_others(file: &File) {
    if let Ok(metadata) = file.metadata()
        && of_owner(&metadata) != metadata.permissions()
    {
        let _ = file.set_permissions(of_owner(&metadata));
    }
}

/// Opens a file to read and write it. If the file does not exist, creates it with permissions by which only the owner
/// may write to it.
///
/// # Errors
/// The system's error.
pub(crate) fn create_or_open(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, MODE);
    options.open(path)
}

/// Returns a builder of temporary files that other users may read, if the umask allows it, and only the owner may
/// write. By default, only the owner could read temporary files.
fn builder<'a>() -> tempfile::Builder<'a, 'a> {
    #[allow(unused_mut)] // `mut` is not needed on systems without Unix's permissions
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(MODE));
    builder
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program with umask 0 makes files that everybody may write. This test replaces and opens files with such
    /// permissions.
    #[test]
    fn nobody_but_the_owner_may_write_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        for old in [0o666, 0o640, 0o777] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(old)).unwrap();
            replace(&path, |out| out.write_all(b"new")).unwrap();
            assert_eq!(mode(), old & 0o755);
            fs::set_permissions(&path, fs::Permissions::from_mode(old)).unwrap();
            take_from_others(&create_or_open(&path).unwrap());
            assert_eq!(mode(), old & 0o755);
        }
        // Runs the test below with umask 0, in a process of its own, because all threads of a process share the umask.
        let text = "umask 0; exec \"$0\" --exact storage::local::atomic_file::tests::makes_files --ignored";
        let program = std::env::current_exe().unwrap();
        let mut made = std::process::Command::new("sh");
        made.args(["-c", text]).arg(program).env("GPUFEED_MADE", folder.path());
        assert!(made.output().unwrap().status.success());
        for name in ["replaced", "created"] {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o644, "{name}");
        }
    }

    #[test]
    #[ignore = "runs in a process that the test above starts"]
    fn makes_files() {
        let Some(folder) = std::env::var_os("GPUFEED_MADE") else { return };
        replace(&Path::new(&folder).join("replaced"), |out| out.write_all(b"new")).unwrap();
        create_or_open(&Path::new(&folder).join("created")).unwrap();
    }
}
