//! A place for each sample of a data set, filled once and then read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug)]
pub(super) struct Table<T> {
    entries: Box<[OnceLock<Box<T>>]>,
    /// Whether somebody is about to fill the place, or has.
    claimed: Box<[AtomicBool]>,
    filled: AtomicU64,
}

impl<T> Table<T> {
    pub(super) fn new(len: usize) -> Self {
        Table {
            entries: (0..len).map(|_| OnceLock::new()).collect(),
            claimed: (0..len).map(|_| AtomicBool::new(false)).collect(),
            filled: AtomicU64::new(0),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.entries.get(index)?.get().map(|entry| &**entry)
    }

    /// Whether nobody has claimed the place; it may be claimed in the next moment.
    pub(super) fn is_free(&self, index: usize) -> bool {
        self.claimed.get(index).is_some_and(|claimed| !claimed.load(Relaxed))
    }

    /// Whether the caller is the one to fill the place; `unclaim` if it does not.
    pub(super) fn claim(&self, index: usize) -> bool {
        self.claimed.get(index).is_some_and(|claimed| !claimed.swap(true, Relaxed))
    }

    pub(super) fn unclaim(&self, index: usize) {
        self.claimed[index].store(false, Relaxed);
    }

    pub(super) fn fill(&self, index: usize, entry: T) {
        if self.entries[index].set(Box::new(entry)).is_ok() {
            self.filled.fetch_add(1, Relaxed);
        }
    }

    /// Places that are filled.
    pub(super) fn filled(&self) -> u64 {
        self.filled.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_claimed_by_one() {
        let table = Table::new(2);
        assert!(table.is_free(1) && table.claim(1) && !table.is_free(1) && !table.claim(1) && !table.claim(2));
        table.unclaim(1);
        assert!(table.claim(1));
        table.fill(1, "pixels");
        assert_eq!((table.get(0), table.get(1), table.get(2)), (None, Some(&"pixels"), None));
        assert_eq!(table.filled(), 1);
    }
}
