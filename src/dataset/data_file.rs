//! A file of a data set, which many threads read at any offset.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

#[cfg(feature = "remote")]
use parking_lot::Mutex;
#[cfg(feature = "remote")]
use xxhash_rust::xxh3::xxh3_64;

#[cfg(feature = "remote")]
use super::remote::RemoteObject;
use crate::{read_at, regular_file};

/// A file with samples. Its name is its path.
#[derive(Debug)]
pub(super) struct DataFile {
    name: Box<Path>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Open(File),
    /// Opened for each read, because a process may open only a limited number of files.
    Closed,
    #[cfg(feature = "remote")]
    Remote(RemoteObject),
    /// For a scan, which reads small parts from front to back: fetched in large ones.
    #[cfg(feature = "remote")]
    Stream(RemoteObject, Mutex<Stream>),
}

/// Length and time of a file, which tell one content of it from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Bytes of the file.
    pub(super) length: u64,
    /// Modification time since 1970: seconds and nanoseconds.
    pub(super) seconds: u64,
    pub(super) nanoseconds: u64,
    /// Hash of what a store calls this content, if it is an object.
    pub(super) tag: Option<u64>,
}

impl DataFile {
    /// Opens the regular file at `path`.
    ///
    /// # Errors
    /// The errors of [`regular_file::open`].
    pub(super) fn open(path: &Path) -> io::Result<DataFile> {
        let (file, _) = regular_file::open(path)?;
        Ok(DataFile { name: path.into(), source: Source::Open(file) })
    }

    /// An object, whose content cannot change: each read is of the one that was opened.
    #[cfg(feature = "remote")]
    pub(super) fn remote(object: RemoteObject) -> DataFile {
        DataFile { name: Path::new(object.name()).into(), source: Source::Remote(object) }
    }

    /// Returns the file for a scan, which reads small parts of it from front to back.
    pub(super) fn for_a_scan(&self) -> Option<DataFile> {
        match &self.source {
            #[cfg(feature = "remote")]
            Source::Remote(object) => {
                let source = Source::Stream(object.clone(), Mutex::default());
                Some(DataFile { name: self.name.clone(), source })
            }
            _ => None,
        }
    }

    /// Returns the object that the file is, if it is one.
    #[cfg(feature = "remote")]
    pub(super) fn object(&self) -> Option<&RemoteObject> {
        match &self.source {
            Source::Remote(object) | Source::Stream(object, _) => Some(object),
            _ => None,
        }
    }

    /// Says that these bytes are read soon, by one read; for files on this machine that is nothing.
    #[cfg(feature = "remote")]
    pub(super) fn expect(&self, range: std::ops::Range<u64>) {
        if let Source::Remote(object) = &self.source {
            object.expect(range);
        }
    }

    /// Returns the file's length and time as they are now.
    pub(super) fn stamp(&self) -> io::Result<Stamp> {
        match &self.source {
            Source::Open(file) => Stamp::of(&file.metadata()?),
            Source::Closed => Stamp::of(&regular_file::open(&self.name)?.1),
            #[cfg(feature = "remote")]
            Source::Remote(object) | Source::Stream(object, _) => {
                let meta = object.meta();
                let tag = Some(xxh3_64(meta.etag.as_deref().unwrap_or_default().as_bytes()));
                Ok(Stamp { length: meta.size, seconds: meta.modified.unwrap_or(0), nanoseconds: 0, tag })
            }
        }
    }

    /// Closes the file; from now on each read opens it.
    pub(super) fn close(&mut self) {
        if let Source::Open(_) = self.source {
            self.source = Source::Closed;
        }
    }

    /// The name that errors have.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// Fills `buffer` from the bytes at `offset`.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends too early; the system's errors.
    pub(super) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.source {
            Source::Open(file) => read_at::read_exact(file, buffer, offset),
            Source::Closed => read_at::read_exact(&regular_file::open(&self.name)?.0, buffer, offset),
            #[cfg(feature = "remote")]
            Source::Remote(object) => object.read_exact(buffer, offset),
            #[cfg(feature = "remote")]
            Source::Stream(object, stream) => stream.lock().read(object, buffer, offset),
        }
    }

    /// Returns the `length` bytes at `offset`.
    ///
    /// # Errors
    /// The errors of [`read_exact`](Self::read_exact), and [`OutOfMemory`](io::ErrorKind::OutOfMemory).
    pub(super) fn bytes(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        regular_file::lengthen(&mut bytes, length, 0)?;
        self.read_exact(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Returns a reader of the first `length` bytes, with a position of its own.
    pub(super) fn reader(&self, length: u64) -> DataReader<'_> {
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

/// The parts of an object that a scan has read last.
#[cfg(feature = "remote")]
#[derive(Debug, Default)]
struct Stream {
    /// Parts by their numbers, the last one at the end.
    parts: Vec<(u64, Vec<u8>)>,
    /// The first part that was not expected yet.
    expected: u64,
}

#[cfg(feature = "remote")]
impl Stream {
    /// Bytes of a part, and how many follow on their way. Parts are the blocks that a connection fetches.
    const PART: u64 = 8 << 20;
    const AHEAD: u64 = 4;

    fn read(&mut self, object: &RemoteObject, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > object.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !buffer.is_empty() {
            let number = offset / Self::PART;
            let at = self.part(object, number)?;
            let part = &self.parts[at].1[(offset % Self::PART) as usize..];
            let count = part.len().min(buffer.len());
            buffer[..count].copy_from_slice(&part[..count]);
            (buffer, offset) = (&mut buffer[count..], offset + count as u64);
        }
        Ok(())
    }

    /// Returns the place of a part, which is fetched if it is not here.
    fn part(&mut self, object: &RemoteObject, number: u64) -> io::Result<usize> {
        if let Some(at) = self.parts.iter().position(|(known, _)| *known == number) {
            return Ok(at);
        }
        let range = |number: u64| number * Self::PART..((number + 1) * Self::PART).min(object.len());
        // A scan that goes on from part to part is told to the connection ahead.
        let goes_on = self.parts.last().is_some_and(|(last, _)| last + 1 == number);
        let last = if goes_on { number + Self::AHEAD } else { number };
        for part in self.expected.max(number)..=last {
            if part * Self::PART < object.len() {
                object.expect(range(part));
                self.expected = part + 1;
            }
        }
        object.remote().fetch_expected();
        let mut bytes = if self.parts.len() == 3 { self.parts.remove(0).1 } else { Vec::new() };
        let range = range(number);
        bytes.resize((range.end - range.start) as usize, 0);
        object.read_exact(&mut bytes, range.start)?;
        self.parts.push((number, bytes));
        Ok(self.parts.len() - 1)
    }
}

/// Reads a [`DataFile`] from a position of its own.
pub(super) struct DataReader<'a> {
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
