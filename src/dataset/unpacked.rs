//! Reads a data file once, from its start to its end. The file may be raw, compressed by gzip, or a member of an
//! archive.

use crate::advice::Reason;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};
use crate::storage::local::regular_file;

/// The most bytes that one byte of Deflate data can become when it is unpacked.
const MOST_PER_BYTE: u64 = 1032;

/// Reads the unpacked bytes of a file, one after the other.
pub(super) struct Unpacked<'a> {
    path: PathBuf,
    /// The member's name, if the source is a member of an archive.
    member: Option<String>,
    reader: Box<dyn Read + 'a>,
    offset: u64,
    /// The unpacked length, or its upper bound.
    length: Length,
}

#[derive(Clone, Copy)]
enum Length {
    Exactly(u64),
    /// The length is not known, but is at most this number. Used for compressed files.
    AtMost(u64),
}

impl<'a> Unpacked<'a> {
    /// Opens the file at `path`. Unpacks it if it begins with the first two bytes of gzip's format.
    pub(super) fn open(path: &Path) -> Result<Unpacked<'static>> {
        let io = |source| Error::io(path, source);
        let (mut file, metadata) = regular_file::open(path).map_err(io)?;
        let length = metadata.len();
        let mut magic = Vec::new();
        file.by_ref().take(2).read_to_end(&mut magic).map_err(io)?;
        file.rewind().map_err(io)?;
        let (reader, length): (Box<dyn Read>, _) = match magic[..] {
            [0x1F, 0x8B] => {
                let most = length.saturating_mul(MOST_PER_BYTE);
                (Box::new(MultiGzDecoder::new(BufReader::new(file))), Length::AtMost(most))
            }
            _ => (Box::new(file), Length::Exactly(length)),
        };
        Ok(Unpacked { path: path.to_owned(), member: None, reader, offset: 0, length })
    }

    /// Reads a member of the archive at `path`. `reader` returns the member's unpacked bytes, and `packed` is the
    /// number of bytes that the member takes in the archive.
    pub(super) fn member(path: &Path, name: &str, reader: impl Read + 'a, packed: u64) -> Self {
        let length = Length::AtMost(packed.saturating_mul(MOST_PER_BYTE));
        Unpacked { path: path.to_owned(), member: Some(name.to_owned()), reader: Box::new(reader), offset: 0, length }
    }

    /// Returns the number of unpacked bytes that were read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns an error about the byte at `offset`.
    pub(super) fn error_at(&self, offset: u64, reason: impl Into<Reason>) -> Error {
        let packed = if matches!(self.length, Length::AtMost(_)) { " (unpacked)" } else { "" };
        let position = match &self.member {
            Some(member) => format!("{member}, byte {offset}{packed}"),
            None => format!("byte {offset}{packed}"),
        };
        Error::data_file(&self.path, position, reason)
    }

    /// Returns an error about the byte that is read next.
    pub(super) fn error(&self, reason: impl Into<Reason>) -> Error {
        self.error_at(self.offset, reason)
    }

    /// Reads the next `N` bytes. Errors call these bytes `what`.
    pub(super) fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.bytes(N as u64, what)?);
        Ok(bytes)
    }

    /// Reads the next `count` bytes, which errors call `what`. If the unpacked length is not known, memory grows with
    /// the bytes that are read, since `count` may be wrong.
    pub(super) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        let left = match self.length {
            Length::Exactly(length) | Length::AtMost(length) => length.saturating_sub(self.offset),
        };
        let short = |there: String| format!("{what} takes {count} bytes from here on, but {there}");
        if count > left {
            let reason = match self.length {
                Length::Exactly(_) => short(format!("the file has {left} more")),
                Length::AtMost(_) => short(format!("a packed file as small as this cannot hold more than {left}")),
            };
            return Err(self.error(reason));
        }
        let mut bytes = Vec::new();
        if matches!(self.length, Length::Exactly(_)) {
            let no_memory = |_| self.error(short("there is not enough memory".to_owned()));
            usize::try_from(count)
                .ok()
                .and_then(|count| bytes.try_reserve_exact(count).ok())
                .ok_or(())
                .map_err(no_memory)?;
        }
        let read = self.reader.by_ref().take(count).read_to_end(&mut bytes);
        let start = self.offset;
        self.offset += bytes.len() as u64;
        match read {
            Ok(read) if read as u64 == count => {
                bytes.shrink_to_fit();
                Ok(bytes)
            }
            Ok(read) => Err(self.error_at(start, short(format!("the file ends after {read}")))),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Reads the rest of the file, which has to be exactly `count` bytes. Errors call these bytes `what`.
    pub(super) fn rest(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        if let Length::Exactly(length) = self.length
            && self.offset.checked_add(count) != Some(length)
        {
            let left = length.saturating_sub(self.offset);
            return Err(self.error(format!("{what} takes {count} bytes from here on, but the file has {left} more")));
        }
        let bytes = self.bytes(count, what)?;
        self.end(what)?;
        Ok(bytes)
    }

    /// Reads the rest of the file, which may have at most `limit` bytes. Errors call these bytes `what`.
    pub(super) fn all(&mut self, limit: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(limit).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        read.map_err(|source| self.failed(source))?;
        self.end(what)?;
        Ok(bytes)
    }

    /// Returns an error unless all bytes of the file have been read. For a compressed file this also compares the
    /// checksum.
    fn end(&mut self, what: &str) -> Result<()> {
        let mut more = Vec::new();
        match self.reader.by_ref().take(1).read_to_end(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.error(format!("more bytes, but {what} should end here"))),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Turns an I/O error of the reader into an error that names the file.
    fn failed(&self, source: io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match source.kind() {
            InvalidData | InvalidInput => self.error(format!("cannot be unpacked: {source}")),
            UnexpectedEof => self.error(format!("the file ends too early: {source}")),
            _ => Error::io(&self.path, source),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ErrorKind;
    use flate2::{Compression, write::GzEncoder};
    use std::fs;
    use std::io::Write;

    pub(in crate::dataset) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn raw_and_packed_files_read_alike_and_end_where_they_should() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for (packed, content) in [(false, b"abcdef".to_vec()), (true, gzip(b"abcdef"))] {
            fs::write(&path, &content).unwrap();
            let mut source = Unpacked::open(&path).unwrap();
            assert_eq!(source.take("the head").unwrap(), *b"ab");
            assert_eq!(source.rest(4, "the rest").unwrap(), b"cdef");
            for (count, reason) in [(3, "should end here"), (5, "the file ends after 4"), (1 << 40, "1099511627776")] {
                let mut source = Unpacked::open(&path).unwrap();
                source.take::<2>("the head").unwrap();
                let error = source.rest(count, "the rest").unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::DataFile { path: p, .. } if *p == path), "{error}");
                let text = error.to_string();
                let expected = if packed { reason } else { "but the file has 4 more" };
                assert!(text.contains(expected), "{text}");
                assert!(text.contains("byte 2") || text.contains("byte 5 (unpacked)"), "{text}");
            }
            assert_eq!(Unpacked::open(&path).unwrap().all(6, "all").unwrap(), b"abcdef");
            assert!(Unpacked::open(&path).unwrap().all(5, "all").is_err());
        }
        assert!(matches!(
            Unpacked::open(folder.path().join("none").as_path()).err().unwrap().kind(),
            ErrorKind::Io { .. }
        ));
    }

    #[test]
    fn damaged_gzip_is_noticed_at_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.gz");
        let whole = gzip(&[7; 300]);
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Unpacked::open(&path).unwrap().rest(300, "the data")
        };
        assert_eq!(read(&whole).unwrap(), [7; 300]);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut to {end} bytes");
        }
        for at in whole.len() - 8..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(read(&damaged).is_err(), "checksum or length, byte {at}");
        }
    }
}
