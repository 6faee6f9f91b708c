//! A file without a name, for the indexes that have no path on this machine.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;

use crate::storage::local::{read_at, regular_file};

/// Indexes of objects, one after the other, in the system's folder for temporary files. The file has no name, so it
/// disappears with the set or with the process. All indexes of a set share one file, because a process may open only a
/// limited number of files.
#[derive(Debug)]
pub(super) struct Spool {
    /// The file, and its length, which is the offset of the next index.
    file: Mutex<(File, u64)>,
}

impl Spool {
    /// # Errors
    /// The system's, with the folder.
    pub(super) fn new() -> io::Result<Spool> {
        Ok(Spool { file: Mutex::new((tempfile::tempfile()?, 0)) })
    }

    /// Returns the folder that the file is in.
    pub(super) fn folder() -> PathBuf {
        std::env::temp_dir()
    }

    /// Appends bytes. Returns where they begin.
    ///
    /// # Errors
    /// The system's, for example for a full disk. Then nothing was appended.
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let (file, length) = &mut *self.file.lock();
        read_at::write_all(file, bytes, *length)?;
        let begin = *length;
        *length += bytes.len() as u64;
        Ok(begin)
    }

    /// Returns the `length` bytes at `offset`.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        regular_file::lengthen(&mut bytes, length, 0)?;
        read_at::read_exact(&self.file.lock().0, &mut bytes, offset)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back_from_where_they_begin() {
        let spool = Spool::new().unwrap();
        let begins = [&b"abc"[..], b"", b"defg"].map(|bytes| spool.append(bytes).unwrap());
        assert_eq!(begins, [0, 3, 3]);
        assert_eq!(spool.read(3, 4).unwrap(), b"defg");
        assert_eq!(spool.append(b"h").unwrap(), 7);
        assert_eq!(spool.read(1, 7).unwrap(), b"bcdefgh");
        assert_eq!(spool.read(5, 9).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
