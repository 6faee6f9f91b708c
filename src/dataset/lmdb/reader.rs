//! Reads an LMDB with positioned reads. A map would end the process if the file were cut short; with reads, a damaged
//! or changing file causes errors or wrong bytes.

use crate::advice::Reason;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::locations::Location;
use super::pages::{DEEPEST, HEADER, META, Meta, NONE, Nodes, Tree, Value, check_overflow};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::local::{read_at, regular_file};

/// Branch pages in memory, the upper ones first: 16 MiB, enough for some 40 million keys.
const BRANCHES: usize = 4096;

/// Returns an error in the content of the file.
pub(super) fn broken(path: &Path, reason: impl Into<Reason>) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason.into()))
}

/// The main database of an LMDB file, as it was when the file was opened.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) path: PathBuf,
    file: File,
    page_size: usize,
    /// Number of pages in use; pages after them belong to later transactions.
    pages: u64,
    tree: Tree,
    branches: HashMap<u64, Box<[u8]>>,
}

impl Reader {
    /// # Errors
    /// If the file cannot be opened, is not an LMDB, is cut short, or does not sort its keys as bytes.
    pub(super) fn open(path: &Path) -> Result<Reader> {
        let (file, metadata) = regular_file::open(path).map_err(|source| Error::io(path, source))?;
        let length = metadata.len();
        if length == 0 {
            return Err(broken(path, "the file is empty: it is cut short"));
        }
        let meta = |offset: usize| {
            let mut bytes = [0; META];
            match read_at::read_exact(&file, &mut bytes, offset as u64) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Err(broken(path, "not an LMDB file, or one that is cut short or damaged"))
                }
                read => {
                    read.map_err(|source| Error::io(path, source))?;
                    Meta::read(&bytes).map_err(|reason| broken(path, reason))
                }
            }
        };
        // Transactions write the two meta pages in turns, so that the previous one stays whole.
        let first = meta(0)?;
        let second = meta(first.page_size)?;
        let Meta { page_size, last_page, tree, .. } =
            if second.transaction > first.transaction { second } else { first };
        let pages = last_page.saturating_add(1);
        let needed = pages.saturating_mul(page_size as u64);
        if length < needed {
            return Err(broken(path, format!("{needed} bytes are in use, but the file has {length}: it is cut short")));
        }
        // A key takes at least ten bytes in the file.
        if tree.entries > needed / 10 {
            return Err(broken(path, format!("damaged: it claims {} keys in {needed} bytes", tree.entries)));
        }
        if tree.flags != 0 {
            let reason = format!(
                "its main database has the flags {:#x}: a special order of keys, or several values for one; it \
                cannot be read",
                tree.flags
            );
            return Err(broken(path, reason));
        }
        let mut reader = Reader { path: path.to_owned(), file, page_size, pages, tree, branches: HashMap::new() };
        reader.cache_branches()?;
        Ok(reader)
    }

    /// Reads the branches, level by level. Damaged ones are left out; reading a sample below them returns the error.
    fn cache_branches(&mut self) -> Result<()> {
        let mut next = VecDeque::from([(self.tree.root, 1)]);
        let mut buffer = Vec::new();
        while let Some((page, level)) = next.pop_front().filter(|_| self.branches.len() < BRANCHES) {
            if level >= self.tree.depth || self.branches.contains_key(&page) {
                continue;
            }
            if let Err(error) = self.page(page, &mut buffer) {
                match error.kind() {
                    ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData => continue,
                    _ => return Err(error),
                }
            }
            let Ok(nodes) = Nodes::new(&buffer[..self.page_size], page, false) else { continue };
            if level + 1 < self.tree.depth {
                let room = BRANCHES.saturating_sub(next.len());
                let children = (0..nodes.len()).filter_map(|location| nodes.child(location).ok());
                next.extend(children.take(room).map(|page| (page, level + 1)));
            }
            self.branches.insert(page, buffer[..self.page_size].into());
        }
        Ok(())
    }

    /// Returns the number of keys that the database states.
    pub(super) fn len(&self) -> u64 {
        self.tree.entries
    }

    /// Finds the value of `key`; returns `None` if there is no such key. `buffer` holds the pages of the search.
    ///
    /// # Errors
    /// If a page of the search is damaged, or the system reports an error.
    pub(super) fn find(&self, key: &[u8], buffer: &mut Vec<u8>) -> Result<Option<Location>> {
        if self.tree.root == NONE {
            return Ok(None);
        }
        let mut page = self.tree.root;
        for _ in 1..self.tree.depth {
            let bytes = match self.branches.get(&page) {
                Some(bytes) => &bytes[..],
                None => {
                    self.page(page, buffer)?;
                    &buffer[..self.page_size]
                }
            };
            // The first node has no key: it leads to all keys below the second node's.
            let child = Nodes::new(bytes, page, false).and_then(|nodes| nodes.child(nodes.last_not_above(key, 1)?));
            page = child.map_err(|reason| self.damaged(page, reason))?;
        }
        self.page(page, buffer)?;
        let search = || {
            let nodes = Nodes::new(&buffer[..self.page_size], page, true)?;
            let index = nodes.last_not_above(key, 0)?;
            if nodes.key(index)? == key { nodes.value(index).map(Some) } else { Ok(None) }
        };
        Ok(match search().map_err(|reason| self.damaged(page, reason))? {
            None => None,
            Some(Value::Here(range)) => {
                Some(Location { offset: page * self.page_size as u64 + range.start as u64, length: range.len() as u64 })
            }
            Some(Value::Pages(page, length)) => {
                // Checks that the file is long enough for the value before memory is allocated for it.
                let room = self.pages.saturating_sub(page).saturating_mul(self.page_size as u64);
                if length.saturating_add(HEADER as u64) > room {
                    return Err(self.damaged(page, "a value reaches beyond the end of the file"));
                }
                self.bytes(page, HEADER, buffer)?;
                check_overflow(&buffer[..HEADER], page, length, self.page_size)
                    .map_err(|reason| self.damaged(page, reason))?;
                Some(Location { offset: page * self.page_size as u64 + HEADER as u64, length })
            }
        })
    }

    /// Reads a value to the start of `buffer`.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooLarge`] for more than `max_bytes`; the system's error, for example if the file was cut
    /// short.
    pub(super) fn read<'b>(
        &self,
        key: &[u8],
        location: Location,
        max_bytes: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        if location.length > max_bytes {
            return Err(self.too_large(key, location, max_bytes));
        }
        let length = location.length as usize;
        self.at(location.offset, 0..length, buffer)?;
        Ok(&buffer[..length])
    }

    /// Reads a value into `buffer` from byte `begin` on, and preserves the bytes before. Returns where the value ends.
    ///
    /// # Errors
    /// The system's error, for example if the file was cut short.
    pub(super) fn read_behind(&self, location: Location, begin: usize, buffer: &mut Vec<u8>) -> Result<usize> {
        let end = begin.saturating_add(location.length as usize);
        self.at(location.offset, begin..end, buffer)?;
        Ok(end)
    }

    /// Returns the error for an image of more than `max_bytes`.
    pub(super) fn too_large(&self, key: &[u8], location: Location, max_bytes: u64) -> Error {
        let name = format!("{}: {}", self.path.display(), super::shown(key));
        ErrorKind::FileTooLarge { name, bytes: location.length, max_file_bytes: max_bytes }.into()
    }

    /// Reads the value of `key` into `buffer`; returns `None` if there is no such key.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find) and [`read`](Self::read).
    pub(super) fn get<'b>(&self, key: &[u8], max_bytes: u64, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        match self.find(key, buffer)? {
            Some(location) => self.read(key, location, max_bytes, buffer).map(Some),
            None => Ok(None),
        }
    }

    /// Calls `then` with every key, in order.
    ///
    /// # Errors
    /// If a page of the tree is damaged, or the system reports an error.
    pub(super) fn keys(&self, mut then: impl FnMut(&[u8])) -> Result<()> {
        if self.tree.root == NONE {
            return Ok(());
        }
        // The pages from the root down to the current one, and the index of the next node in each.
        let mut path_down: Vec<(u64, Vec<u8>, usize)> = Vec::with_capacity(DEEPEST.into());
        let (mut free, mut read) = (Vec::new(), 0);
        let mut below = Some(self.tree.root);
        loop {
            if let Some(page) = below.take() {
                read += 1;
                if read > self.pages {
                    return Err(self.damaged(page, "more pages are in its tree than in the file"));
                }
                let mut buffer: Vec<u8> = free.pop().unwrap_or_default();
                self.page(page, &mut buffer)?;
                path_down.push((page, buffer, 0));
            }
            let leaf = path_down.len() == usize::from(self.tree.depth);
            let Some((page, bytes, next)) = path_down.last_mut() else { return Ok(()) };
            let mut work = || {
                let nodes = Nodes::new(&bytes[..self.page_size], *page, leaf)?;
                if leaf {
                    (0..nodes.len()).try_for_each(|index| nodes.key(index).map(&mut then))?;
                } else if *next < nodes.len() {
                    *next += 1;
                    return nodes.child(*next - 1).map(Some);
                }
                Ok(None)
            };
            let page = *page;
            match work() {
                Ok(Some(child)) => below = Some(child),
                Ok(None) => free.extend(path_down.pop().map(|(_, buffer, _)| buffer)),
                Err(reason) => return Err(self.damaged(page, reason)),
            }
        }
    }

    /// Returns the first key that is not below `from`; `None` if there is none.
    ///
    /// # Errors
    /// If a page of the search is damaged, or the system reports an error.
    pub(super) fn first_not_below(&self, from: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.tree.root == NONE {
            return Ok(None);
        }
        // In a whole tree every leaf has keys, so that no branch leads to more than two pages.
        let mut pages = 2 * u32::from(self.tree.depth);
        self.first_below((self.tree.root, 1), from, &mut pages)
    }

    /// Searches below a page at this level. `pages` is the number of pages that the search may still read.
    fn first_below(&self, (page, level): (u64, u16), from: &[u8], pages: &mut u32) -> Result<Option<Vec<u8>>> {
        let damaged = |reason: &str| self.damaged(page, reason);
        *pages = pages.checked_sub(1).ok_or_else(|| damaged("its tree has leaves without keys"))?;
        let mut bytes = Vec::new();
        self.page(page, &mut bytes)?;
        let is_leaf = level == self.tree.depth;
        let nodes = Nodes::new(&bytes[..self.page_size], page, is_leaf).map_err(damaged)?;
        // The first node of a branch has no key: it leads to all keys below the second node's.
        let near = nodes.last_not_above(from, usize::from(!is_leaf)).map_err(damaged)?;
        for index in near..nodes.len() {
            let found = match is_leaf {
                true => Some(nodes.key(index).map_err(damaged)?).filter(|key| *key >= from).map(<[u8]>::to_vec),
                false => {
                    let child = nodes.child(index).map_err(damaged)?;
                    self.first_below((child, level + 1), from, pages)?
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Reads a page to the start of `buffer`.
    fn page(&self, page: u64, buffer: &mut Vec<u8>) -> Result<()> {
        self.bytes(page, self.page_size, buffer)
    }

    /// Reads `length` bytes from the start of a page to the start of `buffer`.
    fn bytes(&self, page: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        // The first two pages are not part of any tree.
        if !(2..self.pages).contains(&page) {
            return Err(self.damaged(page, "there is no such page"));
        }
        self.at(page * self.page_size as u64, 0..length, buffer)
    }

    /// Reads the bytes at `offset` into these bytes of `buffer`, and preserves those before.
    fn at(&self, offset: u64, into: Range<usize>, buffer: &mut Vec<u8>) -> Result<()> {
        let failed = |source| Error::io(&self.path, source);
        regular_file::lengthen(buffer, into.end, into.start).map_err(failed)?;
        match read_at::read_exact(&self.file, &mut buffer[into], offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(broken(&self.path, format!("at byte {offset}: the file was cut short while it was open")))
            }
            read => read.map_err(failed),
        }
    }

    fn damaged(&self, page: u64, reason: &str) -> Error {
        broken(&self.path, format!("page {page}: {reason}; it is damaged, or was written to while it was open"))
    }
}
