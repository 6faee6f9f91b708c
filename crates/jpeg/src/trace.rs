//! Which MCUs a thread has read, for the picture of what a crop decodes: feature `trace`, which nothing else turns on.

use std::cell::RefCell;

/// MCUs of one row that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The row of MCUs.
    pub row: usize,
    /// The first column of MCUs.
    pub start: usize,
    /// The column after the last.
    pub end: usize,
    /// True if their pixels were decoded, false if only their Huffman codes were read.
    pub decoded: bool,
}

thread_local! {
    static READ: RefCell<Vec<Read>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn record(read: Read) {
    READ.with_borrow_mut(|all| all.push(read));
}

/// Returns the ranges that this thread has read since the last call, in their order.
pub fn take() -> Vec<Read> {
    READ.take()
}
