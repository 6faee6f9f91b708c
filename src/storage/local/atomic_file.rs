//! Writes files atomically: a file is complete or does not exist.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prefix of the names of temporary files.
pub(crate) const PREFIX: &str = ".gpufeed-";
pub(crate) const SUFFIX: &str = ".part";

/// Writes a temporary file next to `path`, then renames it to `path`. Readers see the old file or the new one, and a
/// killed process leaves no file that looks whole. The new file has the permissions of an existing one, but nobody
/// except its owner may write to it.
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

/// Returns the folder of a file: "." if its path names none.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The mode of a new file beside data. Whatever the umask is, only the owner may write to a file that other programs
/// trust.
#[cfg(unix)]
const MODE: u32 = 0o644;

/// Returns the permissions of a file without the right to write for anybody but the owner.
fn of_owner(file: &fs::Metadata) -> fs::Permissions {
    #[allow(unused_mut)] // on systems without such permissions
    let mut permissions = file.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        permissions.set_mode(permissions.mode() & !0o022);
    }
    permissions
}

/// Takes the right to write a file from everybody but the owner, if others have it: an older version may have made the
/// file. A file of another user stays as it is.
pub(crate) fn take_from_others(file: &File) {
    if let Ok(metadata) = file.metadata()
        && of_owner(&metadata) != metadata.permissions()
    {
        let _ = file.set_permissions(of_owner(&metadata));
    }
}

/// Opens a file to read and write it, and creates it if it is not there, so that nobody but its owner may write to it.
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

/// Makes temporary files with the permissions of other new files, by the umask, but never writable by others. By default
/// only their owner could read them.
fn builder<'a>() -> tempfile::Builder<'a, 'a> {
    #[allow(unused_mut)] // on systems without such permissions
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(MODE));
    builder
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program with the umask 0 makes files that everybody may write. The old file here is such a file.
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
        // Runs in a process of its own under the umask 0, because all threads of a process share the umask.
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
