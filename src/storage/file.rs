//! Reads a file of a data set at any offset, from many threads. The file is on this machine, in a store, or on a web
//! server.

use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::backend::ObjectScan;
use super::local::{read_at, regular_file};
use super::{Address, ObjectMeta, Remote, RemoteObject};
use crate::error::{Error, Result};

/// A file that is not opened yet. It is known by its path, by its address, or from a store's listing.
#[derive(Clone, Debug)]
pub(crate) enum UnopenedFile {
    /// A file of this machine.
    Path(PathBuf),
    /// An object of which only the address is known; its store was not asked about it yet.
    Address(Remote, Address),
    /// An object that its store's listing has described.
    Listed(Remote, ObjectMeta),
}

impl UnopenedFile {
    /// Returns the path, or the address without credentials.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            UnopenedFile::Path(path) => path.clone(),
            UnopenedFile::Address(_, address) => address.to_string().into(),
            UnopenedFile::Listed(_, meta) => PathBuf::from(&meta.address),
        }
    }

    /// Returns the connection to the file's store; `None` for a file of this machine.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match self {
            UnopenedFile::Path(_) => None,
            UnopenedFile::Address(remote, _) | UnopenedFile::Listed(remote, _) => Some(remote),
        }
    }

    /// Returns the address, which may have credentials, so no error or log may show it. `None` for a file of this
    /// machine.
    pub(crate) fn address(&self) -> Option<&str> {
        match self {
            UnopenedFile::Path(_) => None,
            UnopenedFile::Address(_, address) => Some(address.with_credentials()),
            UnopenedFile::Listed(_, meta) => Some(&meta.address),
        }
    }

    /// Opens the file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file that is not there or cannot be read.
    pub(crate) fn open(&self) -> Result<DataFile> {
        match self {
            UnopenedFile::Path(path) => DataFile::open(path).map_err(|source| Error::io(path, source)),
            UnopenedFile::Address(remote, address) => {
                Ok(DataFile::of_object(remote.object(remote.head(address.with_credentials())?)))
            }
            UnopenedFile::Listed(remote, meta) => Ok(DataFile::of_object(remote.object(meta.clone()))),
        }
    }
}

/// A file with samples. Its name is its path, or its address without credentials.
#[derive(Debug)]
pub(crate) struct DataFile {
    name: Box<Path>,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(fs::File),
    /// The file is opened for each read, because a process may have only a limited number of files open.
    Closed,
    Object(RemoteObject),
    /// An object for a scan, which reads small pieces of the object from front to back. The object is fetched in large
    /// parts.
    Scanned(RemoteObject, Mutex<ObjectScan>),
}

/// The length and the time of a file. If one of them has changed, so has the file; to notice this, the file need not be
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The length of the file in bytes.
    pub(crate) length: u64,
    /// The time of the file's last change, in whole seconds since 1970.
    pub(crate) seconds: u64,
    /// The time's fraction of a second, in nanoseconds; 0 for an object in a store.
    pub(crate) nanoseconds: u64,
    /// The hash of an object's ETag; `None` for a file of this machine.
    pub(crate) tag: Option<u64>,
}

impl DataFile {
    /// Opens the regular file at `path`.
    ///
    /// # Errors
    /// The errors of [`regular_file::open`].
    pub(crate) fn open(path: &Path) -> io::Result<DataFile> {
        let (file, _) = regular_file::open(path)?;
        Ok(DataFile { name: path.into(), state: State::Open(file) })
    }

    /// Makes a `DataFile` of an object in a store. Its content cannot change: each read returns bytes of the content
    /// that was opened, or fails.
    fn of_object(object: RemoteObject) -> DataFile {
        DataFile { name: Path::new(object.name()).into(), state: State::Object(object) }
    }

    /// Returns another `DataFile` of the same object for a scan, which reads small parts of the object from front to
    /// back. `None` for a file of this machine.
    pub(crate) fn for_a_scan(&self) -> Option<DataFile> {
        match &self.state {
            State::Object(object) => {
                let state = State::Scanned(object.clone(), Mutex::default());
                Some(DataFile { name: self.name.clone(), state })
            }
            _ => None,
        }
    }

    /// Returns the object in a store that this file is; `None` for a file of this machine.
    pub(crate) fn object(&self) -> Option<&RemoteObject> {
        match &self.state {
            State::Object(object) | State::Scanned(object, _) => Some(object),
            State::Open(_) | State::Closed => None,
        }
    }

    /// Announces that one read will take these bytes soon, so that they are fetched ahead. Does nothing for a file of
    /// this machine.
    pub(crate) fn expect(&self, range: Range<u64>) {
        if let State::Object(object) = &self.state {
            object.expect(range);
        }
    }

    /// Returns the file's length and time: for a file of this machine as they are now, for an object as they were when
    /// it was opened.
    pub(crate) fn stamp(&self) -> io::Result<Stamp> {
        match &self.state {
            State::Open(file) => Stamp::of(&file.metadata()?),
            State::Closed => Stamp::of(&regular_file::open(&self.name)?.1),
            State::Object(object) | State::Scanned(object, _) => {
                let meta = object.meta();
                let tag = Some(xxh3_64(meta.etag.as_deref().unwrap_or_default().as_bytes()));
                Ok(Stamp { length: meta.size, seconds: meta.modified.unwrap_or(0), nanoseconds: 0, tag })
            }
        }
    }

    /// Closes the file. From now on each read opens it anew. Does nothing for an object in a store.
    pub(crate) fn close(&mut self) {
        if let State::Open(_) = self.state {
            self.state = State::Closed;
        }
    }

    /// Returns the file's name for errors: its path, or its address without credentials.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Fills `buffer` from the bytes at `offset`.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends too early; the system's errors.
    pub(crate) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.state {
            State::Open(file) => read_at::read_exact(file, buffer, offset),
            State::Closed => read_at::read_exact(&regular_file::open(&self.name)?.0, buffer, offset),
            State::Object(object) => object.read_exact(buffer, offset),
            State::Scanned(object, scan) => scan.lock().read(object, buffer, offset),
        }
    }

    /// Returns the `length` bytes at `offset`.
    ///
    /// # Errors
    /// The errors of [`read_exact`](Self::read_exact), and [`OutOfMemory`](io::ErrorKind::OutOfMemory).
    pub(crate) fn bytes(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        regular_file::lengthen(&mut bytes, length, 0)?;
        self.read_exact(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Returns a reader of the first `length` bytes, which has a position of its own.
    pub(crate) fn reader(&self, length: u64) -> DataReader<'_> {
        DataReader { file: self, at: 0, length }
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> io::Result<Stamp> {
        let written = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanoseconds) = (written.as_secs(), written.subsec_nanos().into());
        Ok(Stamp { length: metadata.len(), seconds, nanoseconds, tag: None })
    }
}

/// Reads a [`DataFile`] from a position of its own.
pub(crate) struct DataReader<'a> {
    file: &'a DataFile,
    at: u64,
    length: u64,
}

impl Read for DataReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.at);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        self.file.read_exact(&mut buffer[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for DataReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_file_reads_as_an_open_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let mut file = DataFile::open(&path).unwrap();
        assert_eq!(file.name(), &*path);
        for _ in 0..2 {
            assert_eq!(file.stamp().unwrap().length, 10);
            assert_eq!(file.bytes(3, 4).unwrap(), b"3456");
            assert_eq!(file.bytes(8, 3).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            let mut reader = file.reader(9);
            let mut rest = Vec::new();
            assert_eq!(reader.seek(SeekFrom::End(-4)).unwrap(), 5);
            assert_eq!(reader.seek(SeekFrom::Current(1)).unwrap(), 6);
            assert!(reader.seek(SeekFrom::Current(-7)).is_err());
            reader.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"678");
            assert_eq!(reader.seek(SeekFrom::Start(100)).unwrap(), 100);
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
            file.close();
        }
    }
}
