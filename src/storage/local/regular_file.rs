//! Opens and reads data files, which must be regular files. Anything else is refused before it is read: a FIFO waits
//! for its writer, and a device may never end.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// The reason of an error for a path that is not a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is {0}, not a regular file")]
struct NotRegular(&'static str);

/// Opens a regular file, or a link to one, for reading. Returns the file and its metadata. Never waits, even if the
/// path is a FIFO.
///
/// # Errors
/// Returns the system's error; [`IsADirectory`](io::ErrorKind::IsADirectory) or
/// [`InvalidInput`](io::ErrorKind::InvalidInput), which names the kind of file, if the path is not a regular file.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let opened = without_waiting(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
    let kind = match &opened {
        Ok((_, metadata)) if metadata.is_file() => return opened,
        Ok((_, metadata)) => metadata.file_type(),
        // Looks at the kind of the file, because the system's reason is misleading for kinds of files that cannot be
        // opened: "no such device" for a socket.
        Err(_) => match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => metadata.file_type(),
            _ => return opened,
        },
    };
    let error = if kind.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(error, NotRegular(name(kind))))
}

/// Reads a whole regular file.
///
/// # Errors
/// The errors of [`open`], and the system's.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.0.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file of text.
///
/// # Errors
/// The errors of [`open`]; the system's; [`InvalidData`](io::ErrorKind::InvalidData) if the text is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.0.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns true if an error of [`open`] says that the path exists, but is not a regular file.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|reason| reason.is::<NotRegular>())
}

/// Reads the whole regular file at `path` into the start of `buffer`, and returns its bytes. The buffer grows to the
/// length of the largest file and never shrinks, so that it is filled with zeros only where it grows.
///
/// # Errors
/// [`ErrorKind::Io`] as for [`open`], or if there is not enough memory; [`ErrorKind::FileTooLarge`] for a file of more
/// than `max_file_bytes`, also if it grows beyond them while it is read.
pub(crate) fn read_image<'a>(path: &Path, max_file_bytes: u64, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    match read_behind(path, max_file_bytes, buffer, 0) {
        Ok(end) => Ok(&buffer[..end]),
        Err(unread) => Err(unread.of_image(path, max_file_bytes)),
    }
}

/// The reason for which a file is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The system's error.
    Io(io::Error),
    /// It has more bytes than are read: this many.
    TooLarge(u64),
}

impl Unread {
    /// Returns the error for the file of an image.
    pub(crate) fn of_image(self, path: &Path, max_file_bytes: u64) -> Error {
        match self {
            Unread::Io(source) => Error::io(path, source),
            Unread::TooLarge(bytes) => {
                let name = path.display().to_string();
                ErrorKind::FileTooLarge { name, bytes, max_file_bytes }.into()
            }
        }
    }
}

/// Reads the whole regular file at `path` into `buffer` from byte `start` on, leaves the bytes before it as they are, and
/// returns the end of the file's bytes. The buffer grows as that of [`read_image`] does.
///
/// # Errors
/// The errors of [`open`], and a lack of memory; a file of more than `most` bytes, also if it grows beyond them while it is
/// read.
pub(crate) fn read_behind(path: &Path, most: u64, buffer: &mut Vec<u8>, start: usize) -> Result<usize, Unread> {
    let (mut file, metadata) = open(path).map_err(Unread::Io)?;
    if metadata.len() > most {
        return Err(Unread::TooLarge(metadata.len()));
    }
    // Reads one byte more than the file's length, to detect a file that grows.
    let mut length = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
    let mut filled = start;
    lengthen(buffer, start.saturating_add(length), filled).map_err(Unread::Io)?;
    loop {
        match file.read(&mut buffer[filled..start + length]) {
            Ok(0) => return Ok(filled),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Unread::Io(error)),
        }
        let read = filled - start;
        if read as u64 > most {
            return Err(Unread::TooLarge(read as u64));
        }
        if read == length {
            let limit = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
            length = length.saturating_mul(2).min(limit);
            lengthen(buffer, start.saturating_add(length), filled).map_err(Unread::Io)?;
        }
    }
}

/// Makes `buffer` at least `length` bytes long, and preserves its first `preserved` bytes.
///
/// # Errors
/// [`OutOfMemory`](io::ErrorKind::OutOfMemory), since the length comes from a file.
pub(crate) fn lengthen(buffer: &mut Vec<u8>, length: usize, preserved: usize) -> io::Result<()> {
    if buffer.len() < length {
        buffer.truncate(preserved);
        buffer.try_reserve(length - preserved)?;
        buffer.resize(length, 0);
    }
    Ok(())
}

/// Opens a file with flags that open a FIFO without waiting for a writer, and do not make a terminal the process's
/// controlling terminal.
#[cfg(unix)]
fn without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

#[cfg(not(unix))]
fn without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a FIFO (a named pipe)",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() => "a character device",
        _ if kind.is_block_device() => "a block device",
        _ => "something else",
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a device" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn whole_files_and_nothing_of_the_file_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut buffer = Vec::new();
        for content in [&[7; 1000][..], b"short", b"", &[9; 3000]] {
            fs::write(&path, content).unwrap();
            assert_eq!(read_image(&path, 3000, &mut buffer).unwrap(), content);
            assert_eq!(read(&path).unwrap(), content);
        }
        let error = read_image(&path, 2999, &mut buffer).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::FileTooLarge { bytes: 3000, max_file_bytes: 2999, .. }), "{error}");
        let text = error.to_string();
        assert!(
            ["3000", "at most 2999", "raise max_file_bytes", "file"].iter().all(|part| text.contains(part)),
            "{text}"
        );
        // Files behind each other in one buffer.
        fs::write(&path, b"second").unwrap();
        let mut buffer = b"first, and what is left over".to_vec();
        assert_eq!(read_behind(&path, 6, &mut buffer, 5).unwrap(), 11);
        assert_eq!(&buffer[..11], b"firstsecond");
        assert!(matches!(read_behind(&path, 5, &mut buffer, 5), Err(Unread::TooLarge(6))));
        let mut short = b"first".to_vec();
        assert_eq!(read_behind(&path, 6, &mut short, 5).unwrap(), 11);
        assert_eq!(&short[..11], b"firstsecond");
        let folder = open(folder.path()).unwrap_err();
        assert_eq!((folder.kind(), is_refused(&folder)), (io::ErrorKind::IsADirectory, true));
        let missing = open(&path.with_file_name("none")).unwrap_err();
        assert_eq!((missing.kind(), is_refused(&missing)), (io::ErrorKind::NotFound, false));
    }

    /// Tests a file whose length the system reports as 0, as for every file below /proc.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_longer_than_it_was_is_read_to_its_end_or_its_limit() {
        let path = Path::new("/proc/self/environ");
        let whole = read(path).unwrap();
        assert!(whole.len() > 40);
        let mut buffer = Vec::new();
        assert_eq!(read_image(path, 1 << 20, &mut buffer).unwrap(), whole);
        for limit in [0, 1, whole.len() as u64 - 1] {
            let error = read_image(path, limit, &mut Vec::new()).unwrap_err();
            let ErrorKind::FileTooLarge { bytes, .. } = error.kind() else { panic!("{error}") };
            assert_eq!(*bytes, limit + 1, "no more is read");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_refused_by_its_kind_and_links_are_followed() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("fifo")).status();
        assert!(made.is_ok_and(|made| made.success()), "mkfifo");
        let _socket = UnixListener::bind(at("socket")).unwrap();
        fs::write(at("file"), b"content").unwrap();
        for name in ["fifo", "socket", "file"] {
            symlink(at(name), at(&format!("link to {name}"))).unwrap();
        }
        for (name, says) in [("fifo", "a FIFO"), ("link to fifo", "a FIFO"), ("socket", "a socket")] {
            let error = open(&at(name)).unwrap_err();
            assert!(is_refused(&error) && error.to_string().contains(says), "{name}: {error}");
        }
        assert_eq!(read_to_string(&at("link to file")).unwrap(), "content");
    }
}
