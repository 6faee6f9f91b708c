//! Reading an LMDB with positioned reads: its file is not mapped, so one that is damaged, or changes, gives an error or
//! other bytes, and never ends the process.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::pages::{DEEPEST, HEADER, META, Meta, NONE, Nodes, Tree, Value, check_overflow};
use super::places::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::{positioned, regular_file};

/// Branch pages that are kept in memory, the upper ones first: 16 MiB, enough for some 40 million keys.
const BRANCHES: usize = 4096;

/// An error in the content of the file.
pub(super) fn broken(path: &Path, reason: impl Into<String>) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason.into()))
}

/// An LMDB file that is open for reading, as it was then: its main database.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) path: PathBuf,
    file: File,
    page_size: usize,
    /// The number of pages that may be used; the pages after them belong to later transactions.
    pages: u64,
    tree: Tree,
    branches: HashMap<u64, Box<[u8]>>,
}

impl Reader {
    /// # Errors
    /// If the file cannot be opened, is not an LMDB, is cut short, or sorts its keys in another way than as bytes.
    pub(super) fn open(path: &Path) -> Result<Reader> {
        let (file, metadata) = regular_file::open(path).map_err(|source| Error::io(path, source))?;
        let length = metadata.len();
        if length == 0 {
            return Err(broken(path, "the file is empty: it is cut short"));
        }
        let meta = |offset: usize| {
            let mut bytes = [0; META];
            match positioned::read_exact(&file, &mut bytes, offset as u64) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Err(broken(path, "not an LMDB file, or one that is cut short or damaged"))
                }
                read => {
                    read.map_err(|source| Error::io(path, source))?;
                    Meta::read(&bytes).map_err(|reason| broken(path, reason))
                }
            }
        };
        // Transactions write them in turns, so that the one before stays whole.
        let first = meta(0)?;
        let second = meta(first.page_size)?;
        let Meta { page_size, last_page, tree, .. } =
            if second.transaction > first.transaction { second } else { first };
        let pages = last_page.saturating_add(1);
        let needed = pages.saturating_mul(page_size as u64);
        if length < needed {
            return Err(broken(path, format!("{needed} bytes are in use, but the file has {length}: it is cut short")));
        }
        // A key takes ten bytes and more.
        if tree.entries > needed / 10 {
            return Err(broken(path, format!("damaged: it claims {} keys in {needed} bytes", tree.entries)));
        }
        if tree.flags != 0 {
            let reason = format!(
                "its main database has the flags {:#x}: keys in an order of their own, or several values for one; it is not read here",
                tree.flags
            );
            return Err(broken(path, reason));
        }
        let mut reader = Reader { path: path.to_owned(), file, page_size, pages, tree, branches: HashMap::new() };
        reader.keep_branches()?;
        Ok(reader)
    }

    /// Reads the branches, level by level. One that is damaged is left out: reading what is below it says so.
    fn keep_branches(&mut self) -> Result<()> {
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
                let children = (0..nodes.len()).filter_map(|place| nodes.child(place).ok());
                next.extend(children.take(room).map(|page| (page, level + 1)));
            }
            self.branches.insert(page, buffer[..self.page_size].into());
        }
        Ok(())
    }

    /// How many keys the database has, as it says.
    pub(super) fn len(&self) -> u64 {
        self.tree.entries
    }

    /// Where the value of `key` is; `None` if there is no such key. `buffer` is for pages on the way.
    ///
    /// # Errors
    /// If a page on the way is damaged, or the system reports an error.
    pub(super) fn find(&self, key: &[u8], buffer: &mut Vec<u8>) -> Result<Option<Place>> {
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
            // The first key stands for all that are below the second.
            let child = Nodes::new(bytes, page, false).and_then(|nodes| nodes.child(nodes.last_not_above(key, 1)?));
            page = child.map_err(|reason| self.damaged(page, reason))?;
        }
        self.page(page, buffer)?;
        let search = || {
            let nodes = Nodes::new(&buffer[..self.page_size], page, true)?;
            let place = nodes.last_not_above(key, 0)?;
            if nodes.key(place)? == key { nodes.value(place).map(Some) } else { Ok(None) }
        };
        Ok(match search().map_err(|reason| self.damaged(page, reason))? {
            None => None,
            Some(Value::Here(range)) => {
                Some(Place { offset: page * self.page_size as u64 + range.start as u64, length: range.len() as u64 })
            }
            Some(Value::Pages(page, length)) => {
                // A file that is not so long cannot hold it: nothing will be allocated for it.
                let room = self.pages.saturating_sub(page).saturating_mul(self.page_size as u64);
                if length.saturating_add(HEADER as u64) > room {
                    return Err(self.damaged(page, "a value reaches behind the end of the file"));
                }
                self.bytes(page, HEADER, buffer)?;
                check_overflow(&buffer[..HEADER], page, length, self.page_size)
                    .map_err(|reason| self.damaged(page, reason))?;
                Some(Place { offset: page * self.page_size as u64 + HEADER as u64, length })
            }
        })
    }

    /// Reads the value of `key` at its place to the start of `buffer`.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooLarge`] for more than `max_bytes`; the system's error, as of a file that was cut short.
    pub(super) fn read<'b>(
        &self,
        key: &[u8],
        place: Place,
        max_bytes: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        if place.length > max_bytes {
            let name = format!("{}: {}", self.path.display(), super::shown(key));
            return Err(ErrorKind::FileTooLarge { name, bytes: place.length, max_file_bytes: max_bytes }.into());
        }
        let length = place.length as usize;
        self.at(place.offset, length, buffer)?;
        Ok(&buffer[..length])
    }

    /// The value of `key`, in `buffer`; `None` if there is no such key.
    ///
    /// # Errors
    /// Those of [`find`](Self::find) and [`read`](Self::read).
    pub(super) fn get<'b>(&self, key: &[u8], max_bytes: u64, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        match self.find(key, buffer)? {
            Some(place) => self.read(key, place, max_bytes, buffer).map(Some),
            None => Ok(None),
        }
    }

    /// Calls `then` with every key, in their order.
    ///
    /// # Errors
    /// If a page on the way is damaged, or the system reports an error.
    pub(super) fn keys(&self, mut then: impl FnMut(&[u8])) -> Result<()> {
        if self.tree.root == NONE {
            return Ok(());
        }
        // The pages on the way down, and the next place of each.
        let mut way: Vec<(u64, Vec<u8>, usize)> = Vec::with_capacity(DEEPEST.into());
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
                way.push((page, buffer, 0));
            }
            let leaf = way.len() == usize::from(self.tree.depth);
            let Some((page, bytes, place)) = way.last_mut() else { return Ok(()) };
            let mut work = || {
                let nodes = Nodes::new(&bytes[..self.page_size], *page, leaf)?;
                if leaf {
                    (0..nodes.len()).try_for_each(|place| nodes.key(place).map(&mut then))?;
                } else if *place < nodes.len() {
                    *place += 1;
                    return nodes.child(*place - 1).map(Some);
                }
                Ok(None)
            };
            let page = *page;
            match work() {
                Ok(Some(child)) => below = Some(child),
                Ok(None) => free.extend(way.pop().map(|(_, buffer, _)| buffer)),
                Err(reason) => return Err(self.damaged(page, reason)),
            }
        }
    }

    /// Reads a page to the start of `buffer`.
    fn page(&self, page: u64, buffer: &mut Vec<u8>) -> Result<()> {
        self.bytes(page, self.page_size, buffer)
    }

    /// Reads so many bytes from the start of a page to the start of `buffer`.
    fn bytes(&self, page: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        // The first two are not part of any tree.
        if !(2..self.pages).contains(&page) {
            return Err(self.damaged(page, "there is no such page"));
        }
        self.at(page * self.page_size as u64, length, buffer)
    }

    /// Reads so many bytes from `offset` on to the start of `buffer`.
    fn at(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let failed = |source| Error::io(&self.path, source);
        regular_file::lengthen(buffer, length, 0).map_err(failed)?;
        match positioned::read_exact(&self.file, &mut buffer[..length], offset) {
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
