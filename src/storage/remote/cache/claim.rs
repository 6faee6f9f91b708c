//! Defines claims on blocks of the cache on disk. A process that fetches a block holds a claim on it, so that no other
//! process fetches the block at the same time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::locks::{self, Held};
use super::{Lookup, Object, data, table};

/// The right to fetch a block. It ends when the claim is dropped or the process ends; then the next process that looks
/// up the block may fetch it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(super) object: Arc<Object>,
    pub(super) block: u64,
    path: PathBuf,
    /// The lock on the claim's file; `None` once the claim has ended.
    held: Option<Held>,
}

impl Claim {
    /// Hands the bytes of the block to the writer's thread, without waiting. The block is not cached if
    /// [`QUEUED`](super::writer::QUEUED) bytes wait to be written already, because blocks come faster than the disk
    /// takes them.
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

/// Tries to claim a block that is not in the cache, or whose bytes are `damaged` (its hash in the table). Returns what
/// the caller has to do next; `None` if another process has written the block by now, so that the caller has to look it
/// up again. `waited` is how long the caller has waited for this block so far.
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
