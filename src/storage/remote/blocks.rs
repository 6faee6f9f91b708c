//! Decides which blocks of remote objects are fetched next, which stay in memory, and which leave it. This module uses
//! no thread and no network.
//!
//! An object is read in blocks of [`BLOCK`] bytes. Before samples are read, their blocks are announced. An announced
//! block is *expected*: it waits in a queue until a request is free and the budget has room. A block that a worker
//! waits for is fetched before all others, and exceeds the budget if no block can leave. The first blocks to leave are
//! those whose announced reads have all been made, and of these the least recently used. Memory holds at most the
//! budget, and in addition one block for each worker that waits.

mod known;

use super::request::OpenedObject;
use crate::advice::Reason;
use crossbeam_channel::Sender;
use known::{BlockState, KnownBlock, Ranked};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a block. The last block of an object may be shorter.
pub(crate) const BLOCK: u64 = 8 << 20;
/// The default budget: the most bytes of blocks that are in memory or being fetched.
pub(crate) const READ_AHEAD: u64 = 256 << 20;
/// The most neighbouring blocks that one request fetches.
const NEIGHBOURS: u64 = 4;
/// The most buffers that are kept from blocks that left memory. New blocks use these buffers again.
const SPARE: usize = 8;
/// A block's announced reads are given up once a worker has made a read that was announced more than this many reads
/// later: the block leaves the queue, or may leave memory.
const PASSED: u64 = 4096;

/// The bytes of a block, or the kind of the error and the reason why the bytes did not come.
pub(super) type Arrival = Result<Arc<Vec<u8>>, (io::ErrorKind, Reason)>;

/// Names a block: the number of its object, and its own number in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockKey {
    pub(super) object: u64,
    pub(super) block: u64,
}

/// The answer to a worker that reads a block.
pub(super) enum Found {
    /// The bytes of the block, and true if no other read of the block is announced: then its memory may go to another
    /// block.
    Ready(Arc<Vec<u8>>, bool),
    /// The block is not in memory, and comes through the worker's channel later. Until then the worker starts the
    /// requests that [`BlockTable::next`] returns.
    Later,
}

/// Neighbouring blocks that one request fetches.
pub(super) struct Request {
    pub(super) source: Arc<OpenedObject>,
    pub(super) blocks: Range<u64>,
}

/// The table of all blocks that a connection expects, fetches or has in memory.
#[derive(Default)]
pub(super) struct BlockTable {
    /// The most bytes of blocks that are in memory or being fetched. After the budget is lowered, blocks beyond it
    /// leave only when new blocks are fetched.
    pub(super) budget: u64,
    /// The bytes of the blocks that are in memory or being fetched.
    held: u64,
    entries: HashMap<BlockKey, KnownBlock>,
    /// The blocks in memory, sorted by the order in which they leave memory.
    ranked: Ranked,
    waiting: HashMap<BlockKey, Vec<Sender<Arrival>>>,
    urgent: VecDeque<BlockKey>,
    queue: VecDeque<BlockKey>,
    /// The number of requests under way, and the number below which a request may start for blocks that no worker waits
    /// for.
    requests: usize,
    most_requests: usize,
    /// The number of reads that were announced, and the number of reads that were made.
    expected: u64,
    reads: u64,
    /// The number of the latest announced read that a worker has made, in the order of announcement.
    passed: u64,
    spare: Vec<Vec<u8>>,
    evicted_unread: u64,
}

impl BlockTable {
    pub(super) fn new(budget: u64, most_requests: usize) -> Self {
        BlockTable { budget, most_requests, ..BlockTable::default() }
    }

    /// Returns how many blocks left memory before all their announced reads were made.
    pub(super) fn evicted_unread(&self) -> u64 {
        self.evicted_unread
    }

    /// Announces one read that will be made, which needs these blocks of an object.
    pub(super) fn expect(&mut self, source: &Arc<OpenedObject>, blocks: Range<u64>) {
        self.expected += 1;
        for block in blocks {
            let key = BlockKey { object: source.number, block };
            let entry = self.entries.entry(key).or_insert_with(|| {
                self.queue.push_back(key);
                KnownBlock::new(source)
            });
            self.ranked.change(key, entry, |entry| {
                if entry.expected == 0 {
                    entry.first = self.expected;
                }
                (entry.expected, entry.last) = (entry.expected.saturating_add(1), self.expected);
            });
        }
    }

    /// Announces a read for each of these blocks that is not in the table: neither in memory, nor being fetched, nor
    /// expected.
    pub(super) fn expect_missing(&mut self, source: &Arc<OpenedObject>, blocks: Range<u64>) {
        for block in blocks {
            if !self.entries.contains_key(&BlockKey { object: source.number, block }) {
                self.expect(source, block..block + 1);
            }
        }
    }

    /// Forgets all announced reads.
    pub(super) fn forget(&mut self) {
        for (key, entry) in &mut self.entries {
            self.ranked.change(*key, entry, |entry| entry.expected = 0);
        }
    }

    /// Counts an announced read of a block as made, because the cache on disk had the block.
    pub(super) fn passed_by(&mut self, key: BlockKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            self.passed = self.passed.max(entry.first);
            self.ranked.change(key, entry, |entry| entry.expected = entry.expected.saturating_sub(1));
        }
    }

    /// Returns true if the block is in memory, being fetched or expected.
    pub(super) fn knows(&self, key: BlockKey) -> bool {
        self.entries.contains_key(&key)
    }

    /// Returns true if the block is in memory or being fetched.
    pub(super) fn has(&self, key: BlockKey) -> bool {
        self.entries.get(&key).is_some_and(|entry| !matches!(entry.state, BlockState::Queued))
    }

    /// Reads a block for a worker. If the block is not in memory, calls `arrival` to make a channel: the block is sent
    /// into it later, and the worker has to wait at its other end.
    pub(super) fn want(
        &mut self,
        source: &Arc<OpenedObject>,
        block: u64,
        arrival: impl FnOnce() -> Sender<Arrival>,
    ) -> Found {
        let key = BlockKey { object: source.number, block };
        self.reads += 1;
        let entry = self.entries.entry(key).or_insert_with(|| KnownBlock::new(source));
        if entry.expected > 0 {
            self.passed = self.passed.max(entry.first);
        }
        self.ranked.change(key, entry, |entry| {
            (entry.expected, entry.used) = (entry.expected.saturating_sub(1), self.reads);
        });
        match &entry.state {
            BlockState::Ready(bytes) => return Found::Ready(bytes.clone(), entry.expected == 0),
            BlockState::UnderWay => {}
            BlockState::Queued if self.waiting.contains_key(&key) => {}
            BlockState::Queued => self.urgent.push_back(key),
        }
        self.waiting.entry(key).or_default().push(arrival());
        Found::Later
    }

    /// Returns the next request to start, if there is one.
    pub(super) fn next(&mut self) -> Option<Request> {
        while let Some(key) = self.urgent.pop_front() {
            if self.is_queued(key) {
                // A worker waits for this block, so the block may exceed the budget.
                self.make_room(key, true);
                return Some(self.begin(key, true));
            }
        }
        while self.requests < self.most_requests {
            let key = *self.queue.front()?;
            let wanted = self.is_queued(key) && self.is_expected(key);
            if wanted && !self.make_room(key, false) {
                return None;
            }
            self.queue.pop_front();
            if wanted {
                return Some(self.begin(key, false));
            }
            if self.is_queued(key) && !self.waiting.contains_key(&key) {
                self.entries.remove(&key);
            }
        }
        None
    }

    fn is_wanted(&self, key: BlockKey) -> bool {
        self.is_queued(key) && (self.is_expected(key) || self.waiting.contains_key(&key))
    }

    /// Makes a request for the block `key`, for which there is room, and for the neighbours of this block that are
    /// wanted and for which there is room, too. If `key` is urgent (a worker waits for it), it is the first block of
    /// the request, so that it comes first.
    fn begin(&mut self, key: BlockKey, urgent: bool) -> Request {
        self.start(key);
        let (mut first, mut end) = (key.block, key.block + 1);
        while end - first < NEIGHBOURS && self.start_neighbour(BlockKey { block: end, ..key }) {
            end += 1;
        }
        while !urgent
            && first > 0
            && end - first < NEIGHBOURS
            && self.start_neighbour(BlockKey { block: first - 1, ..key })
        {
            first -= 1;
        }
        self.requests += 1;
        Request { source: self.entries[&key].source.clone(), blocks: first..end }
    }

    fn start_neighbour(&mut self, key: BlockKey) -> bool {
        let starts = self.is_wanted(key) && self.make_room(key, false);
        if starts {
            self.start(key);
        }
        starts
    }

    fn start(&mut self, key: BlockKey) {
        self.held += self.bytes(key);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.state = BlockState::UnderWay;
        }
    }

    /// Takes a block that was fetched, and gives it to the workers that wait for it.
    pub(super) fn arrived(&mut self, key: BlockKey, bytes: Arc<Vec<u8>>) {
        for worker in self.waiting.remove(&key).unwrap_or_default() {
            let _ = worker.send(Ok(bytes.clone()));
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            self.ranked.change(key, entry, |entry| entry.state = BlockState::Ready(bytes));
        }
    }

    /// Drops a block that could not be fetched. Workers that wait for the block get the error. The next read of the
    /// block requests it again.
    pub(super) fn failed(&mut self, key: BlockKey, kind: io::ErrorKind, reason: &Reason) {
        for worker in self.waiting.remove(&key).unwrap_or_default() {
            let _ = worker.send(Err((kind, reason.clone())));
        }
        if self.has(key) {
            self.remove(key);
        }
    }

    /// Notes that a request has ended.
    pub(super) fn ended(&mut self) {
        self.requests -= 1;
    }

    /// Returns an empty buffer with room for a block of `len` bytes.
    pub(super) fn buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.reserve_exact(len);
        buffer
    }

    /// Returns the bytes of the blocks that are in memory or being fetched.
    #[cfg(test)]
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    fn is_queued(&self, key: BlockKey) -> bool {
        self.entries.get(&key).is_some_and(|entry| matches!(entry.state, BlockState::Queued))
    }

    fn is_expected(&self, key: BlockKey) -> bool {
        self.entries.get(&key).is_some_and(|entry| entry.reads_ahead(self.passed))
    }

    fn bytes(&self, key: BlockKey) -> u64 {
        self.entries.get(&key).map_or(0, |entry| entry.bytes(key))
    }

    /// Lets blocks leave memory until the block `key` fits the budget. Returns false if `key` does not fit and has to
    /// wait; an urgent block never has to wait. For an urgent block, blocks may leave although reads of them are still
    /// to come: the first to leave is the one whose first announced read comes latest.
    fn make_room(&mut self, key: BlockKey, urgent: bool) -> bool {
        let bytes = self.bytes(key);
        while self.held + bytes > self.budget {
            let last = || {
                let ahead = self.ranked.keys().filter(|_| urgent);
                ahead.max_by_key(|key| self.entries.get(key).map(|entry| entry.first))
            };
            match self.ranked.leaving(self.passed).or_else(last) {
                Some(key) => self.evict(key),
                // One block is allowed however small the budget is. Otherwise no read would ever end.
                None => return urgent || self.held == 0,
            }
        }
        true
    }

    fn evict(&mut self, key: BlockKey) {
        let Some(entry) = self.remove(key) else { return };
        self.evicted_unread += u64::from(entry.reads_ahead(self.passed));
        if let BlockState::Ready(bytes) = entry.state
            && self.spare.len() < SPARE
            && let Ok(bytes) = Arc::try_unwrap(bytes)
        {
            self.spare.push(bytes);
        }
    }

    /// Removes a block that is in memory or being fetched from the table.
    fn remove(&mut self, key: BlockKey) -> Option<KnownBlock> {
        let entry = self.entries.remove(&key)?;
        self.held -= entry.bytes(key);
        self.ranked.remove(key, &entry);
        Some(entry)
    }
}

/// Returns the number of bytes in a block of an object that has `size` bytes.
pub(super) fn block_bytes(size: u64, block: u64) -> u64 {
    BLOCK.min(size.saturating_sub(block * BLOCK))
}

/// Returns the numbers of the blocks that hold the bytes `range` of an object.
pub(super) fn blocks_of(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK..(range.end - 1) / BLOCK + 1 }
}

#[cfg(test)]
mod tests;
