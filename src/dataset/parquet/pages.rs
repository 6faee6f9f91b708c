//! Holds the compressed pages that a thread has unpacked last.

use crate::advice::Reason;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use xxhash_rust::xxh3::xxh3_64;

use super::codec::Codec;
use crate::dataset::shards::Page;
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

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
