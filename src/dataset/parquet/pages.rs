//! Holds the compressed pages that a thread has unpacked last.

use crate::advice::Reason;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use xxhash_rust::xxh3::xxh3_64;

use super::codec::Codec;
use super::images::{self, PREFIX};
use crate::dataset::shards::{Page, StoredImage};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;
use crate::storage::local::regular_file;

/// The most pages that a thread holds, and the most bytes of them. A page that is larger is held alone.
const PAGES: usize = 8;
const BYTES: usize = 64 << 20;

/// The number that the next set gets.
static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The pages of a thread. The page that was asked for last is at the end.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

struct Kept {
    key: Key,
    bytes: Vec<u8>,
}

/// Names a page: its set, the number of its file there, its offset in the file, and its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key(u64, usize, u64, u64);

/// Reads the pages of a set. Each thread keeps the few pages that it used last, of all sets, so no lock is needed. Pages
/// of a set that was dropped stay until others push them out, or the thread ends.
#[derive(Debug)]
pub(super) struct Pages {
    set: u64,
    max_page_bytes: Option<u64>,
}

impl Pages {
    pub(super) fn new(max_page_bytes: Option<u64>) -> Pages {
        Pages { set: NEXT.fetch_add(1, Relaxed), max_page_bytes }
    }

    /// Calls `copy` with the bytes of a page of `file`, whose number in the set this is.
    ///
    /// # Errors
    /// A page that has changed since it was indexed, or cannot be read.
    pub(super) fn read<T>(
        &self,
        number: usize,
        file: &DataFile,
        page: &Page,
        copy: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let key = Key(self.set, number, page.offset, page.hash);
        KEPT.with_borrow_mut(|kept| {
            let found = match kept.iter().position(|kept| kept.key == key) {
                Some(at) => kept.remove(at),
                None => {
                    // Makes room before the page is unpacked.
                    let mut total: usize = kept.iter().map(|kept| kept.bytes.len()).sum();
                    while !kept.is_empty() && (total + page.length as usize > BYTES || kept.len() >= PAGES) {
                        total -= kept.remove(0).bytes.len();
                    }
                    Kept { key, bytes: unpacked(file, page, self.max_page_bytes)? }
                }
            };
            let copied = copy(&found.bytes);
            kept.push(found);
            copied
        })
    }
}

impl Pages {
    /// Reads an image of `file`, whose number in the set this is, to the bytes of `buffer` after the first `at`. Returns
    /// its range there; `None` if the image has gone, because the file was changed.
    ///
    /// # Errors
    /// The system's, and those of [`read`](Self::read).
    pub(super) fn image(
        &self,
        number: usize,
        file: &DataFile,
        image: &StoredImage,
        buffer: &mut Vec<u8>,
        at: usize,
    ) -> Result<Option<Range<usize>>> {
        let failed = |source| Error::io(file.name(), source);
        let length = image.length as usize;
        if let Some(page) = &image.page {
            let range = at..at + length;
            regular_file::lengthen(buffer, range.end, at).map_err(failed)?;
            let there = self.read(number, file, page, |bytes| {
                // The index was checked against the page's length, and the page against the same length.
                let from = bytes.get(image.offset as usize..).and_then(|from| from.get(..length));
                Ok(from.map(|from| buffer[range.clone()].copy_from_slice(from)))
            })?;
            return Ok(there.map(|()| range));
        }
        // The image's length stands before it. Both are read, and the length is compared.
        let range = at..at + PREFIX + length;
        regular_file::lengthen(buffer, range.end, at).map_err(failed)?;
        match file.read_exact(&mut buffer[range.clone()], image.offset - PREFIX as u64) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(failed)?,
        }
        let same = images::check(&buffer[range.clone()]) == image.check;
        Ok(same.then_some(at + PREFIX..range.end))
    }
}

fn unpacked(file: &DataFile, page: &Page, max_page_bytes: Option<u64>) -> Result<Vec<u8>> {
    let refused = |reason: Reason| Error::data_file(file.name(), format!("byte {}", page.offset), reason);
    let bytes = file.bytes(page.offset, page.compressed as usize);
    let bytes = match bytes {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Vec::new(),
        bytes => bytes.map_err(|source| Error::io(file.name(), source))?,
    };
    if xxh3_64(&bytes) != page.hash || bytes.len() != page.compressed as usize {
        return Err(refused("a page has gone: the file was changed; open the data set again".into()));
    }
    let codec = Codec::numbered(page.codec).ok_or_else(|| refused("its compression is not known".into()))?;
    codec.unpack(bytes, page.length, max_page_bytes).map_err(refused)
}
