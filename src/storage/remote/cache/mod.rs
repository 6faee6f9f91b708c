//! A cache on disk for the blocks of remote objects, shared by the processes of a machine.
//!
//! | path in the folder | holds |
//! |---|---|
//! | `objects/KEY/data` | the object's blocks at their own offsets in a sparse file, then the hashes of all leaves |
//! | `objects/KEY/table` | which blocks are whole: a hash for each, see `table.rs` |
//! | `objects/KEY/claim-N` | locked by the process that fetches block N |
//! | `locks/NN` | shared while a process reads or writes an object of that stripe; exclusive while one is evicted |
//! | `locks/NN.table` | held while a table is replaced |
//! | `locks/room`, `room` | held while room is made; the bytes in use |
//!
//! `KEY` is the hash of address, ETag, size, time and block length: another version of an object is another object
//! here.
//!
//! A block is whole or absent, because its entry in the table is written, and renamed into place, after its bytes are
//! on the disk. The locks are not needed for that: every byte is compared with its hash whenever it is read. Without locks,
//! or in a folder that somebody deletes, blocks are fetched twice, and no wrong byte is read.
//!
//! [`CachedObject::look_up`] never waits for another process; the writer's thread does (`writer.rs`), which holds no
//! memory but that of its queue.
//!
//! `identity.rs` makes the `KEY`, `table.rs` and `data.rs` have an object's files, `claim.rs` and `locks.rs` the locks,
//! and `room.rs` evicts. `processes.rs` and `room_tests.rs` are tests.

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

/// The most bytes of an object that is cached. A server may claim any size, and the table of an object takes 8 bytes
/// for each block.
pub(crate) const LARGEST: u64 = 4 << 40;
/// The longest wait for a block that another process fetches: longer than a request takes.
const PATIENCE: Duration = Duration::from_secs(40);
/// After a failed write, nothing is written for this time.
const PAUSE: Duration = Duration::from_secs(30);
/// After a block found no room, nothing is written for this time.
const PAUSE_WITHOUT_ROOM: Duration = Duration::from_secs(2);
/// The version of the folder's layout. Objects of another version are evicted like any that nobody uses.
const VERSION: u64 = 1;

/// Counters of a cache since it was opened, in this process.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheCounts {
    /// Blocks, and parts of blocks, that were read from the cache.
    pub(crate) hits: u64,
    /// The bytes of these blocks.
    pub(crate) hit_bytes: u64,
    /// Blocks that were written.
    pub(crate) inserted: u64,
    /// Blocks that were not written because the disk is slower than the network, or has no room.
    pub(crate) left_out: u64,
    /// Blocks whose bytes had other hashes than those written.
    pub(crate) damaged: u64,
    /// Objects that made room for others.
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

/// A cache of blocks in a folder. Opening it never fails. If the folder cannot be used, the caller has to fetch every
/// block without the cache, and a warning says so once.
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
    /// Opens the cache in `folder`, which is made if it does not exist, for at most `bytes` of the disk and one block
    /// more for each process. Blocks have `block` bytes.
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

    /// Returns the object with this identity, of which the cache may have no block. Reads nothing yet.
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

    /// Warns that an object without ETag and time is not cached, because its next version could not be told from this
    /// one.
    pub(crate) fn say_unversioned(&self) {
        self.shared
            .say("the server sends neither ETag nor Last-Modified, so that a replaced object would not be noticed");
    }

    /// Warns that an object is too large for the cache.
    pub(crate) fn say_large(&self) {
        self.shared.say("an object has more than 4 TiB");
    }

    /// Waits until the blocks that were inserted so far are on the disk, or left out.
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
    /// Warns that blocks are fetched without being cached. Each opened cache warns once.
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

    /// Warns that nothing can be written, and why, and stops writing for a while.
    fn failed(&self, error: &std::io::Error) {
        // If the folder was deleted at that moment, makes it again for the next block.
        if error.kind() == std::io::ErrorKind::NotFound && std::fs::create_dir_all(&self.folder).is_ok() {
            return;
        }
        self.say(&error.to_string());
        self.pause(PAUSE);
    }
}

/// An object's blocks in the cache. Many threads may use it.
#[derive(Clone, Debug)]
pub(crate) struct CachedObject(Arc<Object>);

#[derive(Debug)]
struct Object {
    folder: PathBuf,
    key: u128,
    size: u64,
    block: u64,
    /// The table as this process last read it: for each block its hash, or [`table::ABSENT`]. If the table is old, a
    /// read takes longer, and finds the same bytes.
    known: Box<[AtomicU64]>,
    shared: Arc<Shared>,
    queue: writer::Queue,
}

/// The answer to a look-up of a block: what the caller does next.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The block's bytes.
    Hit(Vec<u8>),
    /// The caller fetches the block, and [inserts](Claim::insert) it. If the claim is dropped, others may fetch the
    /// block.
    Fetch(Claim),
    /// Another process, or another part of this process, fetches the block. The caller looks it up again a little
    /// later.
    Busy,
    /// The caller fetches the block, and the cache cannot take it.
    Stream,
}

impl CachedObject {
    /// Returns the number of the object's blocks.
    #[cfg(test)]
    pub(crate) fn blocks(&self) -> u64 {
        self.0.known.len() as u64
    }

    /// Looks up a whole block. Reads at most that from the disk, and waits for no other process: for
    /// [`Busy`](Lookup::Busy) the caller asks again after some milliseconds, and says how long it has `waited` for this
    /// block in all. The claim of a process that ends, or is killed, goes to the next that asks; after
    /// 40 seconds the caller is told to fetch the block in any case.
    ///
    /// Reads files, so the thread of asynchronous code must not call this.
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
                // The process that evicts it may have been stopped.
                OnDisk::Evicting if waited >= self.0.shared.patience => return Lookup::Stream,
                OnDisk::Evicting => return Lookup::Busy,
            };
            if let Some(result) = claim::claim(&self.0, block, damaged, waited) {
                return result;
            }
        }
        Lookup::Busy
    }

    /// Fills `buffer` from the bytes of a block at `start`. Returns false if the block is not there whole: `buffer` may
    /// then have any bytes. Reads whole leaves of 16 KiB, whose hashes are compared.
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

    /// Reads the table. Returns false if there is none.
    fn refresh(&self) -> bool {
        let table = table::read(&self.folder, self.key, self.known.len());
        for (block, known) in self.known.iter().enumerate() {
            known.store(table.as_ref().map_or(table::ABSENT, |table| table[block]), Relaxed);
        }
        table.is_some()
    }

    /// Calls `read` with the hash of a block that is whole by the table: first the table that this process knows, then
    /// the one on the disk. `read` returns false if the bytes on the disk have another hash.
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
        // The block was evicted or replaced since the table was read; or it is damaged.
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
