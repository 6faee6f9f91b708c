//! A block of the table, and its rank among those that may leave memory.

use super::{BlockKey, PASSED, block_bytes};
use crate::storage::remote::request::Source;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A block that is expected, under way or in memory.
pub(super) struct KnownBlock {
    pub(super) source: Arc<Source>,
    pub(super) state: BlockState,
    /// Expected reads that were not made yet.
    pub(super) expected: u32,
    /// The numbers of the first and last of them, as they were expected.
    pub(super) first: u64,
    pub(super) last: u64,
    /// When it was last read.
    pub(super) used: u64,
}

pub(super) enum BlockState {
    Queued,
    UnderWay,
    Ready(Arc<Vec<u8>>),
}

/// The order in which blocks leave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// No read is expected. The least recently used leaves first; among those that were never read, the one that was
    /// expected first.
    Read { used: u64, last: u64 },
    /// Reads are expected, the last of which has this number.
    Expected { last: u64 },
}

impl KnownBlock {
    /// A block of which nothing is known.
    pub(super) fn new(source: &Arc<Source>) -> Self {
        KnownBlock { source: source.clone(), state: BlockState::Queued, expected: 0, first: 0, last: 0, used: 0 }
    }

    /// Returns true if reads of this block are still to come, where the workers have come to the expected read `passed`.
    pub(super) fn reads_ahead(&self, passed: u64) -> bool {
        self.expected > 0 && self.last + PASSED >= passed
    }

    /// The block's bytes.
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

/// The blocks in memory, by their ranks: finding the one that leaves next takes no walk over the table, which also has
/// all that are expected.
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

    /// Forgets a block, which leaves the table.
    pub(super) fn remove(&mut self, key: BlockKey, entry: &KnownBlock) {
        if let Some(rank) = entry.rank() {
            self.0.remove(&(rank, key));
        }
    }

    /// The block that leaves next: one of which no read is to come.
    pub(super) fn leaving(&self, passed: u64) -> Option<BlockKey> {
        let (rank, key) = *self.0.first()?;
        match rank {
            Rank::Read { .. } => Some(key),
            Rank::Expected { last } => (last + PASSED < passed).then_some(key),
        }
    }

    /// All blocks in memory.
    pub(super) fn keys(&self) -> impl Iterator<Item = BlockKey> {
        self.0.iter().map(|(_, key)| *key)
    }
}
