//! A block in the table, and the order in which blocks leave memory.

use super::{BlockKey, PASSED, block_bytes};
use crate::storage::remote::request::OpenedObject;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A block that is expected, under way or in memory.
pub(super) struct KnownBlock {
    pub(super) source: Arc<OpenedObject>,
    pub(super) state: BlockState,
    /// The number of announced reads that were not made yet.
    pub(super) expected: u32,
    /// The numbers of the first and the last of these reads, in the order in which reads were announced.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The count of reads at which the block was last read.
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
    /// No read is to come. The least recently used block leaves first. Among blocks that nobody has read, the one that
    /// was announced first leaves first.
    Read { used: u64, last: u64 },
    /// Reads are to come, and the last of them has this number.
    Expected { last: u64 },
}

impl KnownBlock {
    /// Makes a block that nobody has announced or read.
    pub(super) fn new(source: &Arc<OpenedObject>) -> Self {
        KnownBlock { source: source.clone(), state: BlockState::Queued, expected: 0, first: 0, last: 0, used: 0 }
    }

    /// Returns true if reads of this block are still to come. `passed` is the latest announced read that a worker has
    /// made.
    pub(super) fn reads_ahead(&self, passed: u64) -> bool {
        self.expected > 0 && self.last + PASSED >= passed
    }

    /// Returns the length of the block in bytes.
    pub(super) fn bytes(&self, key: BlockKey) -> u64 {
        block_bytes(self.source.size, key.block)
    }

    /// The rank of a block that is in memory.
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
/// table, which has all expected blocks, too.
#[derive(Default)]
pub(super) struct Ranked(BTreeSet<(Rank, BlockKey)>);

impl Ranked {
    /// Changes a block of the table, and its rank with it.
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

    /// Forgets a block that leaves the table.
    pub(super) fn remove(&mut self, key: BlockKey, entry: &KnownBlock) {
        if let Some(rank) = entry.rank() {
            self.0.remove(&(rank, key));
        }
    }

    /// Returns the block that leaves next; `None` if reads of all blocks are still to come.
    pub(super) fn leaving(&self, passed: u64) -> Option<BlockKey> {
        let (rank, key) = *self.0.first()?;
        match rank {
            Rank::Read { .. } => Some(key),
            Rank::Expected { last } => (last + PASSED < passed).then_some(key),
        }
    }

    /// Returns all blocks in memory.
    pub(super) fn keys(&self) -> impl Iterator<Item = BlockKey> {
        self.0.iter().map(|(_, key)| *key)
    }
}
