//! An entry for each sample of a data set, inserted once and then read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What a cache holds of each sample of the data set.
#[derive(Debug)]
pub(super) struct CacheTable<T> {
    entries: Box<[OnceLock<Box<T>>]>,
    /// True once a thread has reserved the entry.
    reserved: Box<[AtomicBool]>,
    inserted: AtomicU64,
}

impl<T> CacheTable<T> {
    pub(super) fn new(len: usize) -> Self {
        CacheTable {
            entries: (0..len).map(|_| OnceLock::new()).collect(),
            reserved: (0..len).map(|_| AtomicBool::new(false)).collect(),
            inserted: AtomicU64::new(0),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.entries.get(index)?.get().map(|entry| &**entry)
    }

    /// True if the entry is neither inserted nor reserved. Another thread may reserve it at the next moment.
    pub(super) fn lacks(&self, index: usize) -> bool {
        self.reserved.get(index).is_some_and(|reserved| !reserved.load(Relaxed))
    }

    /// True for the one caller that may insert the entry; it calls `release` if it gives up.
    pub(super) fn reserve(&self, index: usize) -> bool {
        self.reserved.get(index).is_some_and(|reserved| !reserved.swap(true, Relaxed))
    }

    pub(super) fn release(&self, index: usize) {
        self.reserved[index].store(false, Relaxed);
    }

    pub(super) fn insert(&self, index: usize, entry: T) {
        if self.entries[index].set(Box::new(entry)).is_ok() {
            self.inserted.fetch_add(1, Relaxed);
        }
    }

    /// The number of inserted entries.
    pub(super) fn inserted(&self) -> u64 {
        self.inserted.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_reserved_by_one() {
        let table = CacheTable::new(2);
        assert!(table.lacks(1) && table.reserve(1) && !table.lacks(1) && !table.reserve(1) && !table.reserve(2));
        table.release(1);
        assert!(table.reserve(1));
        table.insert(1, "pixels");
        assert_eq!((table.get(0), table.get(1), table.get(2)), (None, Some(&"pixels"), None));
        assert_eq!(table.inserted(), 1);
    }
}
