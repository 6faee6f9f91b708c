//! LMDB's pages in format 1 on 64-bit machines; all numbers are little-endian. Every number is checked against the
//! bytes that are there before it is used.
//!
//! | page | bytes |
//! |---|---|
//! | each | 16: its number (8), padding (2), kind (2); of nodes: end of their offsets (2) and start of the nodes (2) |
//! | meta (the first two) | magic, version, address, map size, the trees of free pages and of data (48 each), last page, transaction |
//! | branch | offsets of nodes (2 each), sorted by key; a node: the page below (6), length of the key (2), the key |
//! | leaf | as a branch, but a node: length of the value (4), flags (2), length of the key (2), the key, the value or its page |
//! | overflow | number of pages instead of the last four bytes; the value, across the following pages |

use std::ops::Range;

/// The bytes of a page's header.
pub(super) const HEADER: usize = 16;
/// The bytes of a meta page that are used.
pub(super) const META: usize = 152;
/// The page number that stands for the root of an empty tree.
pub(super) const NONE: u64 = u64::MAX;
/// The most levels of a tree, as many as LMDB's own cursors can hold.
pub(super) const DEEPEST: u16 = 32;

const MAGIC: u64 = 0xBEEF_C0DE;
const VERSION: u64 = 1;
/// Kinds of pages; a further bit marks pages that a transaction has not written yet.
const BRANCH: u64 = 1;
const LEAF: u64 = 2;
const OVERFLOW: u64 = 4;
const META_PAGE: u64 = 8;
const KINDS: u64 = 0x6F;
/// Length of a node's header. The length of its key is at byte 6, and the key follows the header.
const NODE: usize = 8;
/// Flag of a node whose value is on other pages.
const BIG: u64 = 1;

/// Returns the number of `N` bytes at `at`.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes: [u8; N] = *bytes.get(at..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// A tree as a meta page describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Sort order of the keys, and multiple values for one; 0: sorted as bytes, one value.
    pub(super) flags: u64,
    /// Levels of pages, including the leaves.
    pub(super) depth: u16,
    pub(super) entries: u64,
    pub(super) root: u64,
}

/// The content of a meta page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) page_size: usize,
    pub(super) last_page: u64,
    pub(super) transaction: u64,
    pub(super) tree: Tree,
}

impl Meta {
    /// # Errors
    /// Returns the reason if the bytes are not such a page.
    pub(super) fn read(bytes: &[u8; META]) -> Result<Meta, &'static str> {
        const NOT: &str = "not an LMDB file, or one that is cut short or damaged";
        let word = |at| number::<4>(bytes, at).unwrap_or_default();
        let long = |at| number::<8>(bytes, at).unwrap_or_default();
        let half = |at| number::<2>(bytes, at).unwrap_or_default();
        if half(10) & META_PAGE == 0 || word(16) != MAGIC {
            return Err(NOT);
        }
        if word(20) != VERSION {
            return Err("of another version of LMDB's format");
        }
        let page_size = word(40) as usize;
        if !page_size.is_power_of_two() || !(256..=1 << 15).contains(&page_size) {
            return Err(NOT);
        }
        // The tree of free pages is at byte 40, the tree of data at 88.
        let tree = Tree { flags: half(92), depth: half(94) as u16, entries: long(120), root: long(128) };
        if tree.depth > DEEPEST || (tree.depth == 0) != (tree.root == NONE) {
            return Err("damaged: its tree has an impossible depth");
        }
        Ok(Meta { page_size, last_page: long(136), transaction: long(144), tree })
    }
}

/// A page of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nodes<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// The location of the value of a leaf's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The value is in the leaf, at these bytes.
    Here(Range<usize>),
    /// The value has its own pages: the number of the first one, and the value's length in bytes.
    Pages(u64, u64),
}

impl<'a> Nodes<'a> {
    /// Reads the page `page`, a leaf or a branch.
    ///
    /// # Errors
    /// Returns the reason if the bytes are not such a page.
    pub(super) fn new(bytes: &'a [u8], page: u64, leaf: bool) -> Result<Nodes<'a>, &'static str> {
        const SHORT: &str = "a page without its header";
        if number::<8>(bytes, 0).ok_or(SHORT)? != page {
            return Err("another page is at its offset");
        }
        let kind = if leaf { LEAF } else { BRANCH };
        if number::<2>(bytes, 10).ok_or(SHORT)? & KINDS != kind {
            return Err("a page of another kind than expected");
        }
        let [lower, upper] = [12, 14].map(|at| number::<2>(bytes, at).unwrap_or_default() as usize);
        if lower <= HEADER || lower > upper || upper > bytes.len() || !lower.is_multiple_of(2) {
            return Err("a page whose header contradicts itself");
        }
        Ok(Nodes { bytes, count: (lower - HEADER) / 2 })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the offset of a node, and its key's bytes in the page.
    fn node(&self, index: usize) -> Option<(usize, Range<usize>)> {
        let at = number::<2>(self.bytes, HEADER + 2 * index)? as usize;
        let begin = at + NODE;
        let end = begin + number::<2>(self.bytes, at + 6)? as usize;
        (at >= HEADER + 2 * self.count && end <= self.bytes.len()).then_some((at, begin..end))
    }

    /// # Errors
    /// The node reaches outside the page.
    pub(super) fn key(&self, index: usize) -> Result<&'a [u8], &'static str> {
        const OUTSIDE: &str = "a key reaches outside its page";
        let (_, key) = self.node(index).ok_or(OUTSIDE)?;
        self.bytes.get(key).ok_or(OUTSIDE)
    }

    /// Returns the child page of a branch's node.
    ///
    /// # Errors
    /// The node reaches outside the page.
    pub(super) fn child(&self, index: usize) -> Result<u64, &'static str> {
        let page = self.node(index).and_then(|(at, _)| number::<6>(self.bytes, at));
        page.ok_or("a node reaches outside its page")
    }

    /// Returns the location of a leaf's value.
    ///
    /// # Errors
    /// The value reaches outside the page.
    pub(super) fn value(&self, index: usize) -> Result<Value, &'static str> {
        let value = || {
            let (at, key) = self.node(index)?;
            let length = number::<4>(self.bytes, at)?;
            if number::<2>(self.bytes, at + 4)? & BIG != 0 {
                return Some(Value::Pages(number::<8>(self.bytes, key.end)?, length));
            }
            let end = key.end.checked_add(usize::try_from(length).ok()?)?;
            (end <= self.bytes.len()).then_some(Value::Here(key.end..end))
        };
        value().ok_or("a value reaches outside its page")
    }

    /// Returns the index of the last key from `first` on that is not above `key`. If there is none, returns the index
    /// before `first`, or 0.
    ///
    /// # Errors
    /// A key reaches outside its page.
    pub(super) fn last_not_above(&self, key: &[u8], first: usize) -> Result<usize, &'static str> {
        let (mut low, mut high) = (first, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle)? <= key { low = middle + 1 } else { high = middle }
        }
        Ok(low.saturating_sub(1))
    }
}

/// Checks that `header` is the header of page `page`, and that a value of `length` bytes can follow it.
///
/// # Errors
/// Returns the reason if it is not.
pub(super) fn check_overflow(header: &[u8], page: u64, length: u64, page_size: usize) -> Result<(), &'static str> {
    if number::<8>(header, 0) != Some(page) {
        return Err("another page is at its offset");
    }
    let pages = number::<4>(header, 12).unwrap_or_default();
    if number::<2>(header, 10).unwrap_or_default() & KINDS != OVERFLOW
        || pages.saturating_mul(page_size as u64) < length.saturating_add(HEADER as u64)
    {
        return Err("a page that cannot hold a value of this length");
    }
    Ok(())
}
