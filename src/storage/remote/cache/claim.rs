//! Claims: a process that fetches a block has a claim on it, so that no other process fetches it at the same time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::locks::{self, Held};
use super::{Lookup, Object, data, table};

/// The right to fetch a block, until it is dropped or the process ends. Then the next process that looks the block up
/// fetches it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(super) object: Arc<Object>,
    pub(super) block: u64,
    path: PathBuf,
    /// `None` once the claim has ended.
    held: Option<Held>,
}

impl Claim {
    /// Hands the block to the writer's thread, without waiting. If [`QUEUED`](super::writer::QUEUED) bytes wait to be
    /// written already, because blocks come faster than the disk takes them, the block is not cached.
    pub(crate) fn insert(self, bytes: Bytes) {
        let queue = self.object.queue.clone();
        queue.push(self, bytes);
    }

    /// Ends the claim on a block that is in the table now, and removes the claim's file. A process that waits for the
    /// lock of that file gets it, and finds the block in the table.
    pub(super) fn done(mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.held = None;
    }
}

/// Claims a block that was not found, or that was found `damaged`. Returns `None` if the block is in the table by now.
pub(super) fn claim(object: &Arc<Object>, block: u64, damaged: Option<u64>, waited: Duration) -> Option<Lookup> {
    let shared = &object.shared;
    if !shared.room.fits(data::stored(object.length(block))) {
        shared.say("the bound of remote_cache is smaller than a block");
        return Some(Lookup::Stream);
    }
    if shared.is_paused() {
        return Some(Lookup::Stream);
    }
    let path = object.folder.join(format!("claim-{block}"));
    let held = match locks::try_exclusive(&path) {
        Ok(Some(held)) => held,
        Ok(None) if waited >= shared.patience => return Some(Lookup::Stream),
        Ok(None) => return Some(Lookup::Busy),
        Err(error) => {
            shared.failed(&error);
            return Some(Lookup::Stream);
        }
    };
    let claim = Claim { object: Arc::clone(object), block, path, held: Some(held) };
    let entry = table::read(&object.folder, object.key, object.known.len()).map(|table| table[block as usize]);
    match entry {
        Some(hash) if hash != table::ABSENT && damaged != Some(hash) => {
            claim.done();
            None
        }
        _ => {
            if damaged.is_some() {
                shared.counters.damaged.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            Some(Lookup::Fetch(claim))
        }
    }
}
