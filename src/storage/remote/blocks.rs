//! Decides which blocks are fetched next, which stay in memory, and which leave it. Has no thread and no network.
//!
//! An object is read in blocks of [`BLOCK`] bytes. Before samples are read, their blocks are announced. An announced
//! block is *expected*: it waits in a queue until a request is free and the budget has room. A block that a worker
//! waits for is fetched before all others, and exceeds the budget if no block can leave. The first blocks to leave are
//! those whose announced reads have all been made, and of these the least recently used. Memory holds at most the
//! budget, and one block for each worker that waits.

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
/// The default budget: the most bytes of blocks in memory and under way.
pub(crate) const READ_AHEAD: u64 = 256 << 20;
/// The most neighbouring blocks of one request.
const NEIGHBOURS: u64 = 4;
/// The most buffers of blocks that left memory. New blocks use these buffers again.
const SPARE: usize = 8;
/// A block is dropped from the queue once its announced reads lie this many reads in the past.
const PASSED: u64 = 4096;

/// The bytes of a block, or the reason why they did not come.
pub(super) type Arrival = Result<Arc<Vec<u8>>, (io::ErrorKind, Reason)>;

/// Names a block: the number of its object, and its own number in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockKey {
    pub(super) object: u64,
    pub(super) block: u64,
}

/// The answer to a worker that reads a block.
pub(super) enum Found {
    /// The bytes of the block. True if no other read of the block is expected: its memory may go to another block.
    Ready(Arc<Vec<u8>>, bool),
    /// The block comes through the worker's channel later. Until then the worker starts the requests that
    /// [`BlockTable::next`] returns.
    Later,
}

/// Neighbouring blocks that one request fetches.
pub(super) struct Request {
    pub(super) source: Arc<OpenedObject>,
    pub(super) blocks: Range<u64>,
}

/// The table of blocks of a connection.
#[derive(Default)]
pub(super) struct BlockTable {
    /// The most bytes of blocks in memory and under way. If it was lowered, blocks beyond it leave only as others come.
    pub(super) budget: u64,
    /// Bytes of blocks in memory and under way.
    held: u64,
    entries: HashMap<BlockKey, KnownBlock>,
    /// The blocks in memory, by the order in which they leave.
    ranked: Ranked,
    waiting: HashMap<BlockKey, Vec<Sender<Arrival>>>,
    urgent: VecDeque<BlockKey>,
    queue: VecDeque<BlockKey>,
    /// The requests under way, and the most that may be under way for blocks that nobody waits for yet.
    requests: usize,
    most_requests: usize,
    /// The number of reads that were announced, and the number that were made.
    expected: u64,
    reads: u64,
    /// The latest announced read that a worker has made, as its number among the announced ones.
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

    /// Announces one read, which takes these blocks of an object.
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

    /// Announces a read of each of these blocks that is not in the table: not in memory, not under way and not
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

    /// Counts a read of a block that was made from the cache on disk.
    pub(super) fn passed_by(&mut self, key: BlockKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            self.passed = self.passed.max(entry.first);
            self.ranked.change(key, entry, |entry| entry.expected = entry.expected.saturating_sub(1));
        }
    }

    /// Returns true if the block is in memory, under way or expected.
    pub(super) fn knows(&self, key: BlockKey) -> bool {
        self.entries.contains_key(&key)
    }

    /// Returns true if the block is in memory or under way.
    pub(super) fn has(&self, key: BlockKey) -> bool {
        self.entries.get(&key).is_some_and(|entry| !matches!(entry.state, BlockState::Queued))
    }

    /// Reads a block for a worker. If the block is not in memory, the worker has to wait at the other end of the
    /// channel that `arrival` makes.
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
                // A worker waits, so this may exceed the budget.
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

    /// Makes a request for `key`, which has room, and for those of its neighbours that are wanted and have room. If the
    /// block is urgent, it is the first of the request, so that it comes first.
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

    /// Takes a block that has come, and gives it to the workers that wait for it.
    pub(super) fn arrived(&mut self, key: BlockKey, bytes: Arc<Vec<u8>>) {
        for worker in self.waiting.remove(&key).unwrap_or_default() {
            let _ = worker.send(Ok(bytes.clone()));
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            self.ranked.change(key, entry, |entry| entry.state = BlockState::Ready(bytes));
        }
    }

    /// Drops a block that was under way and does not come. Workers that wait for the block get the error. The next read
    /// of the block requests it again.
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

    /// Returns memory for a block of `len` bytes.
    pub(super) fn buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.reserve_exact(len);
        buffer
    }

    /// Returns the bytes of blocks in memory and under way.
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

    /// Lets blocks leave until `key` fits, too. Returns `false` if it still does not fit. For an urgent block, blocks
    /// may leave although reads of them are still to come: first the one whose last read comes latest.
    fn make_room(&mut self, key: BlockKey, urgent: bool) -> bool {
        let bytes = self.bytes(key);
        while self.held + bytes > self.budget {
            let last = || {
                let ahead = self.ranked.keys().filter(|_| urgent);
                ahead.max_by_key(|key| self.entries.get(key).map(|entry| entry.first))
            };
            match self.ranked.leaving(self.passed).or_else(last) {
                Some(key) => self.evict(key),
                // One block is allowed whatever the budget is. Otherwise no read would ever end.
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

    /// Removes a block that is in memory or under way.
    fn remove(&mut self, key: BlockKey) -> Option<KnownBlock> {
        let entry = self.entries.remove(&key)?;
        self.held -= entry.bytes(key);
        self.ranked.remove(key, &entry);
        Some(entry)
    }
}

/// Returns the bytes of a block of an object of `size` bytes.
pub(super) fn block_bytes(size: u64, block: u64) -> u64 {
    BLOCK.min(size.saturating_sub(block * BLOCK))
}

/// Returns the blocks in which a range of an object lies.
pub(super) fn blocks_of(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK..(range.end - 1) / BLOCK + 1 }
}

#[cfg(test)]
mod tests;
