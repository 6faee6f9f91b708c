//! A cache on disk for the blocks of remote objects, shared by the processes of a machine.
//!
//! | path in the folder | holds |
//! |---|---|
//! | `objects/KEY/data` | the object's blocks at their own offsets in a sparse file, then the hashes of all leaves |
//! | `objects/KEY/table` | which blocks are whole: a hash for each whole block, see `table.rs` |
//! | `objects/KEY/claim-N` | locked by the process that fetches block N |
//! | `locks/NN` | the lock of many objects: shared while one is read or written, exclusive while one is evicted |
//! | `locks/NN.table` | locked while the table of one of these objects is replaced |
//! | `locks/room`, `room` | the first is locked while room is made; the second holds the number of bytes in use |
//!
//! `KEY` is the hash of the address, ETag, size and time of an object, and of the block length: another version of an
//! object is another object in the cache.
//!
//! A block is whole or absent, because a table with an entry for the block is written, and renamed into place, only
//! after the block's bytes are on the disk. No wrong byte is read even without locks, or if somebody deletes the
//! folder, because all bytes are checked by hashes whenever they are read; blocks may then be fetched twice.
//!
//! [`CachedObject::look_up`] never waits for another process. Only the writer's thread (`writer.rs`) waits; it holds no
//! memory except that of its queue.
//!
//! `identity.rs` makes the `KEY`; `table.rs` and `data.rs` read and write the files of an object; `claim.rs` and
//! `locks.rs` have the locks; `room.rs` evicts objects. `processes.rs` and `room_tests.rs` are tests.

mod claim;
mod data;
mod identity;
mod locks;
#[cfg(test)]
mod processes;
mod room;
#[cfg(test)]
mod room_tests;
mod table;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

pub(crate) use claim::Claim;
use data::OnDisk;
pub(crate) use identity::Identity;
use locks::Locks;
use room::Room;
use writer::Writer;

/// The most bytes that an object in the cache may have. A server may claim any size, and the table of an object takes 8
/// bytes of memory for each block.
pub(crate) const LARGEST: u64 = 4 << 40;
/// The longest wait for a block that another process fetches: longer than a request takes.
const PATIENCE: Duration = Duration::from_secs(40);
/// After a failed write, nothing is written for this time.
const PAUSE: Duration = Duration::from_secs(30);
/// After a block could not be written because there was no room for it, nothing is written for this time.
const PAUSE_WITHOUT_ROOM: Duration = Duration::from_secs(2);
/// The version of the folder's layout. Objects of another version are evicted like other objects that nobody uses.
const VERSION: u64 = 1;

/// Counters of a cache since it was opened, in this process.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheCounts {
    /// The number of reads of a block, or of a part of a block, from the cache.
    pub(crate) hits: u64,
    /// The number of bytes that were read from the cache.
    pub(crate) hit_bytes: u64,
    /// The number of blocks that were written.
    pub(crate) inserted: u64,
    /// The number of blocks that were not written because the disk is slower than the network, or has no room.
    pub(crate) left_out: u64,
    /// The number of blocks whose bytes did not have the hashes that were written with them.
    pub(crate) damaged: u64,
    /// The number of objects that were evicted to make room for others.
    pub(crate) evicted: u64,
}

#[derive(Debug, Default)]
struct CacheCounters {
    hits: AtomicU64,
    hit_bytes: AtomicU64,
    inserted: AtomicU64,
    left_out: AtomicU64,
    damaged: AtomicU64,
    evicted: AtomicU64,
}

/// A cache of blocks in a folder. Opening the cache never fails. If the folder cannot be used, the caller has to fetch
/// every block without the cache, and one warning says so.
#[derive(Debug)]
pub(crate) struct BlockCache {
    shared: Arc<Shared>,
    writer: Writer,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    block: u64,
    locks: Locks,
    room: Room,
    counters: CacheCounters,
    warned: AtomicBool,
    opened: Instant,
    /// The time at which writing begins again, in milliseconds after `opened`.
    paused_until: AtomicU64,
    patience: Duration,
}

impl BlockCache {
    /// Opens the cache in `folder`, which is made if it does not exist. The cache takes at most `bytes` bytes of the
    /// disk, and one block more for each process. Blocks have `block` bytes.
    pub(crate) fn open(folder: &Path, bytes: u64, block: u64) -> BlockCache {
        BlockCache::with_patience(folder, bytes, block, PATIENCE)
    }

    fn with_patience(folder: &Path, bytes: u64, block: u64, patience: Duration) -> BlockCache {
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            block: block.max(1),
            room: Room::new(folder, bytes),
            locks: Locks::new(folder.join("locks")),
            counters: CacheCounters::default(),
            warned: AtomicBool::new(false),
            opened: Instant::now(),
            paused_until: AtomicU64::new(0),
            patience,
        });
        BlockCache { writer: Writer::start(Arc::clone(&shared)), shared }
    }

    /// Returns the object with this identity. The cache may have none of its blocks. This reads nothing yet.
    pub(crate) fn object(&self, identity: &Identity<'_>) -> CachedObject {
        let key = identity.key(self.shared.block);
        let blocks = identity.size.div_ceil(self.shared.block);
        CachedObject(Arc::new(Object {
            folder: self.shared.folder.join("objects").join(format!("{key:032x}")),
            key,
            size: identity.size,
            block: self.shared.block,
            known: (0..blocks).map(|_| AtomicU64::new(table::ABSENT)).collect(),
            shared: Arc::clone(&self.shared),
            queue: self.writer.queue(),
        }))
    }

    /// Warns that an object without ETag and time is not cached, because a later version of the object could not be
    /// told from the present one.
    pub(crate) fn say_unversioned(&self) {
        self.shared
            .say("the server sends neither ETag nor Last-Modified, so that a replaced object would not be noticed");
    }

    /// Warns that an object is too large for the cache.
    pub(crate) fn say_large(&self) {
        self.shared.say("an object has more than 4 TiB");
    }

    /// Waits until each block that was inserted so far is on the disk, or was left out.
    #[cfg(test)]
    pub(crate) fn flush(&self) {
        self.writer.flush();
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> CacheCounts {
        let counters = &self.shared.counters;
        CacheCounts {
            hits: counters.hits.load(Relaxed),
            hit_bytes: counters.hit_bytes.load(Relaxed),
            inserted: counters.inserted.load(Relaxed),
            left_out: counters.left_out.load(Relaxed),
            damaged: counters.damaged.load(Relaxed),
            evicted: counters.evicted.load(Relaxed),
        }
    }
}

impl Shared {
    /// Warns that blocks are fetched without being cached, for this reason. Each opened cache warns once.
    fn say(&self, reason: &str) {
        if !self.warned.swap(true, Relaxed) {
            let folder = crate::quote::Shown(self.folder.display());
            tracing::warn!(%folder, reason, "the cache of remote data is not written; blocks that it does not have are fetched each time");
        }
    }

    fn is_paused(&self) -> bool {
        (self.opened.elapsed().as_millis() as u64) < self.paused_until.load(Relaxed)
    }

    fn pause(&self, time: Duration) {
        self.paused_until.store((self.opened.elapsed() + time).as_millis() as u64, Relaxed);
    }

    /// Warns that nothing can be written, because of this error, and stops writing for a while.
    fn failed(&self, error: &std::io::Error) {
        // If somebody has deleted the cache's folder, makes it again for the next block, without a warning.
        if error.kind() == std::io::ErrorKind::NotFound && std::fs::create_dir_all(&self.folder).is_ok() {
            return;
        }
        self.say(&error.to_string());
        self.pause(PAUSE);
    }
}

/// An object whose blocks may be in the cache. Many threads may use this value at once.
#[derive(Clone, Debug)]
pub(crate) struct CachedObject(Arc<Object>);

#[derive(Debug)]
struct Object {
    folder: PathBuf,
    key: u128,
    size: u64,
    block: u64,
    /// The object's table as this process last read it: for each block its hash, or [`table::ABSENT`]. If this copy is
    /// out of date, a read takes longer, but finds the same bytes.
    known: Box<[AtomicU64]>,
    shared: Arc<Shared>,
    queue: writer::Queue,
}

/// The answer to a look-up of a block, which tells the caller what to do next.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The block's bytes.
    Hit(Vec<u8>),
    /// The caller has to fetch the block and [insert](Claim::insert) it into the cache. If the caller drops the claim
    /// instead, others may fetch the block.
    Fetch(Claim),
    /// Another process, or another part of this process, fetches the block, or a process evicts an object with the same
    /// lock. The caller has to look the block up again a little later.
    Busy,
    /// The caller has to fetch the block, and cannot insert it: the cache does not take it.
    Stream,
}

impl CachedObject {
    /// Returns the number of the object's blocks.
    #[cfg(test)]
    pub(crate) fn blocks(&self) -> u64 {
        self.0.known.len() as u64
    }

    /// Looks up a whole block. Waits for no other process: if the answer is [`Busy`](Lookup::Busy), the caller asks
    /// again after some milliseconds, and says how long it has `waited` for this block in all. If the process that has
    /// claimed the block ends or is killed, the claim goes to the next caller that asks. After 40 seconds, the caller
    /// is told to fetch the block in any case.
    ///
    /// This reads files (at most one block), so a thread that runs asynchronous code must not call it.
    pub(crate) fn look_up(&self, block: u64, waited: Duration) -> Lookup {
        let mut bytes = Vec::new();
        // A second look finds a block that another process inserted between the first look and the claim.
        for _ in 0..2 {
            let found = self.0.read_whole(block, |hash| {
                bytes = vec![0; self.0.length(block) as usize];
                data::read(&self.0, block, hash, 0, &mut bytes)
            });
            let damaged = match found {
                OnDisk::Whole => {
                    self.0.count_hit(bytes.len());
                    return Lookup::Hit(bytes);
                }
                OnDisk::Absent => None,
                OnDisk::Damaged(hash) => Some(hash),
                // The process that evicts an object may be suspended for ever, so the caller waits only for a limited
                // time.
                OnDisk::Evicting if waited >= self.0.shared.patience => return Lookup::Stream,
                OnDisk::Evicting => return Lookup::Busy,
            };
            if let Some(result) = claim::claim(&self.0, block, damaged, waited) {
                return result;
            }
        }
        Lookup::Busy
    }

    /// Fills `buffer` with the bytes of a block from offset `start` on. Returns false if the cache does not have these
    /// bytes undamaged; then `buffer` may have any bytes. Reads whole leaves of 16 KiB, and compares their hashes.
    pub(crate) fn read(&self, block: u64, start: u64, buffer: &mut [u8]) -> bool {
        let found = self.0.read_whole(block, |hash| data::read(&self.0, block, hash, start, buffer));
        let whole = matches!(found, OnDisk::Whole);
        if whole {
            self.0.count_hit(buffer.len());
        }
        whole
    }

    /// Returns true if the table has the block. The block is not read, so it may be damaged.
    pub(crate) fn has(&self, block: u64) -> bool {
        self.0.is_known(block) || (self.0.refresh() && self.0.is_known(block))
    }
}

impl Object {
    /// Returns the length in bytes of block `block`. The last block may be shorter than the others.
    fn length(&self, block: u64) -> u64 {
        self.block.min(self.size.saturating_sub(block * self.block))
    }

    fn is_known(&self, block: u64) -> bool {
        self.known[block as usize].load(Relaxed) != table::ABSENT
    }

    fn count_hit(&self, bytes: usize) {
        let counters = &self.shared.counters;
        counters.hits.fetch_add(1, Relaxed);
        counters.hit_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Reads the object's table from the disk into `known`. Returns false if there is no valid table.
    fn refresh(&self) -> bool {
        let table = table::read(&self.folder, self.key, self.known.len());
        for (block, known) in self.known.iter().enumerate() {
            known.store(table.as_ref().map_or(table::ABSENT, |table| table[block]), Relaxed);
        }
        table.is_some()
    }

    /// Calls `read`, which reads a block, with the hash that the table has for the block: first the hash in this
    /// process's copy of the table, then the hash in the table on the disk. `read` returns false if the bytes have
    /// another hash.
    fn read_whole(&self, block: u64, mut read: impl FnMut(u64) -> bool) -> OnDisk {
        let lock = self.shared.locks.read(self.key);
        if matches!(lock, locks::Read::Evicting) {
            return OnDisk::Evicting;
        }
        let mut failed = None;
        let known = &self.known[block as usize];
        let hash = known.load(Relaxed);
        if hash != table::ABSENT {
            if read(hash) {
                return OnDisk::Whole;
            }
            failed = Some(hash);
        }
        // The copy of the table may be out of date, because the block was written, evicted or replaced since the copy
        // was read. Or the block is damaged.
        self.refresh();
        let hash = known.load(Relaxed);
        if hash == table::ABSENT {
            return OnDisk::Absent;
        }
        if failed != Some(hash) && read(hash) {
            return OnDisk::Whole;
        }
        known.store(table::ABSENT, Relaxed);
        OnDisk::Damaged(hash)
    }
}
