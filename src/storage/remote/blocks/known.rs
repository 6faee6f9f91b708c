//! Defines a block in the table of blocks, and the order in which blocks leave memory. A block is a piece of a remote
//! object.

use super::{BlockKey, PASSED, block_bytes};
use crate::storage::remote::request::OpenedObject;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A block of a remote object that is expected (its reads were announced), under way from the store, or in memory.
pub(super) struct KnownBlock {
    pub(super) source: Arc<OpenedObject>,
    pub(super) state: BlockState,
    /// The number of announced reads of this block that were not made yet.
    pub(super) expected: u32,
    /// The number of the first of these reads. All reads are numbered in the order in which they are announced.
    pub(super) first: u64,
    /// The number of the last announced read of this block.
    pub(super) last: u64,
    /// The time of the last read of this block, as the number of reads of all blocks until then.
    pub(super) used: u64,
}

pub(super) enum BlockState {
    Queued,
    UnderWay,
    Ready(Arc<Vec<u8>>),
}

/// The place of a block in the order in which blocks leave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// No announced read of the block is still to come. Of such blocks, the least recently used one leaves first; of
    /// those that were never read, the one that was announced first.
    Read { used: u64, last: u64 },
    /// Announced reads of the block are still to come. `last` is the number of the last of these reads.
    Expected { last: u64 },
}

impl KnownBlock {
    /// Makes a block that nobody has announced or read.
    pub(super) fn new(source: &Arc<OpenedObject>) -> Self {
        KnownBlock { source: source.clone(), state: BlockState::Queued, expected: 0, first: 0, last: 0, used: 0 }
    }

    /// Returns true if announced reads of this block are still to come. `passed` is the number of the latest announced
    /// read that a worker has made. Reads that lie more than [`PASSED`] behind it no longer count.
    pub(super) fn reads_ahead(&self, passed: u64) -> bool {
        self.expected > 0 && self.last + PASSED >= passed
    }

    /// Returns the length of the block in bytes.
    pub(super) fn bytes(&self, key: BlockKey) -> u64 {
        block_bytes(self.source.size, key.block)
    }

    /// Returns the rank of the block; `None` if the block is not in memory.
    fn rank(&self) -> Option<Rank> {
        let KnownBlock { expected, last, used, .. } = *self;
        match (&self.state, expected) {
            (BlockState::Ready(_), 0) => Some(Rank::Read { used, last }),
            (BlockState::Ready(_), _) => Some(Rank::Expected { last }),
            _ => None,
        }
    }
}

/// The blocks in memory, sorted by their ranks. So the block that leaves next is found without a walk over the whole
/// table, which has the blocks that are not in memory, too.
#[derive(Default)]
pub(super) struct Ranked(BTreeSet<(Rank, BlockKey)>);

impl Ranked {
    /// Calls `change` with a block of the table, and then updates the block's rank. Returns the result of `change`.
    pub(super) fn change<T>(
        &mut self,
        key: BlockKey,
        entry: &mut KnownBlock,
        change: impl FnOnce(&mut KnownBlock) -> T,
    ) -> T {
        self.remove(key, entry);
        let result = change(entry);
        self.0.extend(entry.rank().map(|rank| (rank, key)));
        result
    }

    /// Removes a block that leaves the table from this order.
    pub(super) fn remove(&mut self, key: BlockKey, entry: &KnownBlock) {
        if let Some(rank) = entry.rank() {
            self.0.remove(&(rank, key));
        }
    }

    /// Returns the block that leaves memory next; `None` if announced reads of all blocks are still to come. `passed`
    /// is the number of the latest announced read that a worker has made.
    pub(super) fn leaving(&self, passed: u64) -> Option<BlockKey> {
        let (rank, key) = *self.0.first()?;
        match rank {
            Rank::Read { .. } => Some(key),
            Rank::Expected { last } => (last + PASSED < passed).then_some(key),
        }
    }

    /// Returns the keys of all blocks in memory.
    pub(super) fn keys(&self) -> impl Iterator<Item = BlockKey> {
        self.0.iter().map(|(_, key)| *key)
    }
}
