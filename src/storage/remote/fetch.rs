//! Fetches blocks of objects, from the store or from the cache on disk, in the order that `blocks.rs` decides. Workers
//! that need a block wait here.

use super::blocks::{Arrival, BLOCK, BlockKey, BlockTable, Found, Request, block_bytes};
use super::cache::{BlockCache, CachedObject, Claim, Identity, LARGEST, Lookup};
use super::counters::count;
use super::network_error::NetworkError;
use super::request::{OpenedObject, Requests};
use super::runtime::gone;
use crate::advice::Reason;
use bytes::Bytes;
use crossbeam_channel::bounded;
use parking_lot::Mutex;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// While a worker waits, it checks at this interval that the network thread is alive.
const CHECK: Duration = Duration::from_secs(5);
/// A block that another process is fetching is looked up in the cache on disk again at this interval.
const BUSY: Duration = Duration::from_millis(20);

/// Fetches the blocks of a connection. Clones share the connection's blocks.
#[derive(Clone)]
pub(super) struct Fetcher(Arc<Shared>);

struct Shared {
    /// The table of blocks. A worker locks it once for each block of a read, and the network thread when a block comes.
    blocks: Mutex<BlockTable>,
    requests: Requests,
    handle: Handle,
    process: u32,
    /// The cache on disk, if there is one.
    cache: OnceLock<BlockCache>,
}

impl Shared {
    /// Returns the object's blocks in the cache on disk. `None` without a cache, for an object that is too large, and
    /// for an object without ETag and time, because its next version would be taken for this one.
    fn cached<'a>(&self, source: &'a OpenedObject) -> Option<&'a CachedObject> {
        let cache = self.cache.get()?;
        if source.etag.is_none() && source.modified.is_none() {
            cache.say_unversioned();
            return None;
        }
        if source.size > LARGEST {
            cache.say_large();
            return None;
        }
        Some(source.cached.get_or_init(|| {
            cache.object(&Identity {
                address: &source.address,
                etag: source.etag.as_deref(),
                size: source.size,
                modified: source.modified.map_or(0, |seconds| seconds as i64 * 1000),
                // With an ETag the query is left out: the ETag tells versions apart by itself, and the query may be a
                // signature, which changes each time.
                query: if source.etag.is_some() { 0 } else { source.query },
            })
        }))
    }
}

impl Fetcher {
    pub(super) fn new(budget: u64, requests: Requests, handle: Handle) -> Self {
        let blocks = Mutex::new(BlockTable::new(budget, requests.settings.requests));
        let (process, cache) = (std::process::id(), OnceLock::new());
        Fetcher(Arc::new(Shared { blocks, requests, handle, process, cache }))
    }

    /// Locks and returns the table of blocks, for uses after which no request has to be started.
    pub(super) fn blocks(&self) -> parking_lot::MutexGuard<'_, BlockTable> {
        self.0.blocks.lock()
    }

    /// Puts a cache on disk between the stores and memory, unless this connection has one already.
    pub(super) fn set_cache(&self, open: impl FnOnce() -> BlockCache) {
        self.0.cache.get_or_init(open);
    }

    /// Announces one read of each of these blocks, but starts no request: [`start`](Self::start) does. Blocks in the
    /// cache on disk, which are read there, are announced only if the table of blocks knows them already.
    pub(super) fn expect(&self, source: &Arc<OpenedObject>, blocks: Range<u64>) {
        match self.0.cached(source) {
            None => self.0.blocks.lock().expect(source, blocks),
            Some(cached) => {
                for block in blocks {
                    let key = BlockKey { object: source.number, block };
                    let known = self.0.blocks.lock().knows(key);
                    if known || !cached.has(block) {
                        self.0.blocks.lock().expect(source, block..block + 1);
                    }
                }
            }
        }
    }

    /// Fills `buffer` with the bytes of a block from `begin` on. Waits until the block has come.
    ///
    /// # Errors
    /// The error of the request, which names the bytes that did not come.
    pub(super) fn read(
        &self,
        source: &Arc<OpenedObject>,
        block: u64,
        begin: usize,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        if self.read_from_disk(source, block, begin, buffer) {
            return Ok(());
        }
        let block = self.block(source, block)?;
        buffer.copy_from_slice(&block[begin..begin + buffer.len()]);
        Ok(())
    }

    /// Reads a part of a block from the cache on disk, unless the block is in memory or on its way into memory. Returns
    /// true if the part was read.
    fn read_from_disk(&self, source: &Arc<OpenedObject>, block: u64, begin: usize, buffer: &mut [u8]) -> bool {
        let Some(cached) = self.0.cached(source) else { return false };
        let key = BlockKey { object: source.number, block };
        if self.blocks().has(key) {
            return false;
        }
        let found = cached.read(block, begin as u64, buffer);
        if found {
            count(&self.0.requests.counters.cache_hits);
            self.blocks().passed_by(key);
        }
        found
    }

    /// Announces those of these blocks that are not in memory, not on their way into memory, and not in the cache on
    /// disk, and starts requests for them.
    pub(super) fn expect_missing(&self, source: &Arc<OpenedObject>, blocks: Range<u64>) {
        let cached = self.0.cached(source);
        for block in blocks.filter(|block| !cached.is_some_and(|cached| cached.has(*block))) {
            self.0.blocks.lock().expect_missing(source, block..block + 1);
        }
        self.start();
    }

    /// Returns the bytes of a block. Waits until they have come.
    ///
    /// # Errors
    /// The error of the request, which names the bytes that did not come.
    fn block(&self, source: &Arc<OpenedObject>, block: u64) -> io::Result<Arc<Vec<u8>>> {
        let mut receiver = None;
        let found = self.0.blocks.lock().want(source, block, || {
            let (sender, waiting) = bounded(1);
            receiver = Some(waiting);
            sender
        });
        let receiver = match (found, receiver) {
            (Found::Ready(bytes, done), _) => {
                if done {
                    self.start();
                }
                return Ok(bytes);
            }
            (Found::Later, Some(receiver)) => receiver,
            (Found::Later, None) => return Err(gone()),
        };
        let begin = Instant::now();
        self.start();
        let arrival: Arrival = loop {
            match receiver.recv_timeout(CHECK) {
                Ok(arrival) => break arrival,
                // Goes on waiting, unless this process is a forked child, which has no network thread.
                Err(crossbeam_channel::RecvTimeoutError::Timeout) if std::process::id() == self.0.process => {}
                Err(_) => return Err(gone()),
            }
        };
        self.0.requests.counters.waited(begin.elapsed());
        arrival.map_err(|(kind, reason)| io::Error::new(kind, NetworkError(reason)))
    }

    /// Starts the requests that the table of blocks returns, until it returns none.
    pub(super) fn start(&self) {
        loop {
            let Some(request) = self.0.blocks.lock().next() else { return };
            let Request { source, blocks } = request;
            let under_way = UnderWay { fetcher: self.clone(), source, blocks, ended: false };
            self.0.handle.spawn(under_way.fetch());
        }
    }
}

/// A request that was started. If this value is dropped before the request ends, workers that wait for its blocks get
/// an error.
struct UnderWay {
    fetcher: Fetcher,
    source: Arc<OpenedObject>,
    /// The blocks that have not come yet.
    blocks: Range<u64>,
    /// True once the request has succeeded or failed. False if it was dropped.
    ended: bool,
}

/// Neighbouring blocks that one request fetches, beginning with the next block that has not come. For each there is the
/// claim by which the cache on disk gets the block, or `None` if the cache does not get it.
type Neighbours = Vec<Option<Claim>>;

impl UnderWay {
    async fn fetch(mut self) {
        if let Err(error) = self.fetch_all().await {
            self.fail(error.kind(), &NetworkError::reason_of(&error));
        }
        self.ended = true;
    }

    async fn fetch_all(&mut self) -> io::Result<()> {
        let Some(cached) = self.fetcher.0.cached(&self.source).cloned() else {
            let uncached = self.blocks.clone().map(|_| None).collect();
            return self.fetch_neighbours(uncached).await;
        };
        let mut next = Neighbours::new();
        let mut waited = Duration::ZERO;
        while self.blocks.start + (next.len() as u64) < self.blocks.end {
            let block = self.blocks.start + next.len() as u64;
            let looker = cached.clone();
            let found = self.fetcher.0.handle.spawn_blocking(move || looker.look_up(block, waited)).await;
            match found.map_err(io::Error::other)? {
                Lookup::Fetch(claim) => next.push(Some(claim)),
                Lookup::Stream => next.push(None),
                Lookup::Hit(bytes) => {
                    self.fetch_neighbours(std::mem::take(&mut next)).await?;
                    count(&self.fetcher.0.requests.counters.cache_hits);
                    self.arrived(bytes, None);
                }
                // First fetches the blocks on which there is a claim already, as other processes may wait for them.
                Lookup::Busy if !next.is_empty() => self.fetch_neighbours(std::mem::take(&mut next)).await?,
                Lookup::Busy => {
                    tokio::time::sleep(BUSY).await;
                    waited += BUSY;
                    continue;
                }
            }
            waited = Duration::ZERO;
        }
        self.fetch_neighbours(next).await
    }

    /// Fetches the next blocks, as many as `next` has, from the store by one request.
    async fn fetch_neighbours(&mut self, next: Neighbours) -> io::Result<()> {
        if next.is_empty() {
            return Ok(());
        }
        let end = self.blocks.start + next.len() as u64;
        let range = self.blocks.start * BLOCK..self.source.size.min(end * BLOCK);
        let (source, requests) = (self.source.clone(), self.fetcher.0.requests.clone());
        let mut claims = next.into_iter();
        let mut buffer = self.buffer(end);
        let read = requests.read(&source, range, |mut part| {
            while !part.is_empty() {
                let room = self.len() - buffer.len();
                let (now, rest) = part.split_at(part.len().min(room));
                buffer.extend_from_slice(now);
                part = rest;
                if buffer.len() == self.len() {
                    self.arrived(std::mem::take(&mut buffer), claims.next().flatten());
                    buffer = self.buffer(end);
                }
            }
        });
        read.await
    }

    /// Returns the length in bytes of the block that comes next.
    fn len(&self) -> usize {
        block_bytes(self.source.size, self.blocks.start) as usize
    }

    /// Returns a buffer for the block that comes next. The buffer is empty if that is block `end` or a later one.
    fn buffer(&self, end: u64) -> Vec<u8> {
        match self.blocks.start < end {
            true => self.fetcher.blocks().buffer(self.len()),
            false => Vec::new(),
        }
    }

    /// Takes the bytes of the next block, and gives them to the workers that wait for the block. Also gives them to the
    /// cache on disk, if there is a claim.
    fn arrived(&mut self, bytes: Vec<u8>, claim: Option<Claim>) {
        let bytes = Arc::new(bytes);
        let key = BlockKey { object: self.source.number, block: self.blocks.start };
        // Counts the block before a worker gets it, because the worker may read the counters right after.
        count(&self.fetcher.0.requests.counters.blocks);
        self.fetcher.blocks().arrived(key, bytes.clone());
        if let Some(claim) = claim {
            claim.insert(Bytes::from_owner(SharedBlock(bytes)));
        }
        self.blocks.start += 1;
    }

    /// Gives this error to the workers that wait for blocks that have not come.
    fn fail(&mut self, kind: io::ErrorKind, reason: &Reason) {
        let mut blocks = self.fetcher.blocks();
        for block in self.blocks.clone() {
            blocks.failed(BlockKey { object: self.source.number, block }, kind, reason);
        }
        drop(blocks);
        self.blocks.start = self.blocks.end;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.fail(gone().kind(), &NetworkError::reason_of(&gone()));
        self.fetcher.blocks().ended();
        // Starts the next requests. If a request is dropped before its end, the network thread is ending, and would
        // drop new requests, too.
        if self.ended {
            self.fetcher.start();
        }
    }
}

/// Lets the cache on disk share the memory of a block, by [`Bytes::from_owner`].
struct SharedBlock(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBlock {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
