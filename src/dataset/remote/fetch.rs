//! Fetching what the table of blocks asks for, and the workers' wait for it.

use super::blocks::{Arrival, BLOCK, BlockKey, Blocks, Found, Request, block_bytes};
use super::request::{Requests, Source};
use super::runtime::gone;
use crossbeam_channel::bounded;
use parking_lot::Mutex;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// A worker looks so often whether the thread that fetches is still there.
const LOOK: Duration = Duration::from_secs(5);

/// The blocks of a connection, and what fetches them. Clones are the same.
#[derive(Clone)]
pub(super) struct Fetcher(Arc<Shared>);

struct Shared {
    /// Taken by workers and the network's thread once for a block of a read, and when one comes.
    blocks: Mutex<Blocks>,
    requests: Requests,
    handle: Handle,
    process: u32,
}

impl Fetcher {
    pub(super) fn new(budget: u64, requests: Requests, handle: Handle) -> Self {
        let blocks = Mutex::new(Blocks::new(budget));
        Fetcher(Arc::new(Shared { blocks, requests, handle, process: std::process::id() }))
    }

    /// The table, for what needs no request.
    pub(super) fn blocks(&self) -> parking_lot::MutexGuard<'_, Blocks> {
        self.0.blocks.lock()
    }

    /// Expects reads of these blocks, and starts requests for them.
    pub(super) fn expect(&self, source: &Arc<Source>, blocks: Range<u64>) {
        self.0.blocks.lock().expect(source, blocks);
        self.pump();
    }

    /// Expects reads of those of these blocks that are not there or on their way.
    pub(super) fn expect_missing(&self, source: &Arc<Source>, blocks: Range<u64>) {
        self.0.blocks.lock().expect_missing(source, blocks);
        self.pump();
    }

    /// Returns a block; waits until it is there.
    ///
    /// # Errors
    /// The request's, which names the bytes.
    pub(super) fn block(&self, source: &Arc<Source>, block: u64) -> io::Result<Arc<Vec<u8>>> {
        let mut receiver = None;
        let found = self.0.blocks.lock().want(source, block, || {
            let (sender, waiting) = bounded(1);
            receiver = Some(waiting);
            sender
        });
        let receiver = match (found, receiver) {
            (Found::Ready(bytes), _) => return Ok(bytes),
            (Found::Later, Some(receiver)) => receiver,
            (Found::Later, None) => return Err(gone()),
        };
        let begin = Instant::now();
        self.pump();
        let arrival: Arrival = loop {
            match receiver.recv_timeout(LOOK) {
                Ok(arrival) => break arrival,
                // A process that was forked has no thread that fetches.
                Err(crossbeam_channel::RecvTimeoutError::Timeout) if std::process::id() == self.0.process => {}
                Err(_) => return Err(gone()),
            }
        };
        self.0.requests.counters.waited(begin.elapsed());
        arrival.map_err(|(kind, reason)| io::Error::new(kind, reason))
    }

    /// Starts all requests that are to be started now.
    fn pump(&self) {
        loop {
            let Some(request) = self.0.blocks.lock().next() else { return };
            let under_way = UnderWay { fetcher: self.clone(), request, next: 0, ended: false };
            self.0.handle.spawn(under_way.fetch());
        }
    }
}

/// A request that was started. If it is dropped before its end, those who wait for its blocks get an error.
struct UnderWay {
    fetcher: Fetcher,
    request: Request,
    /// Blocks that have come.
    next: u64,
    /// The request has ended, well or not; else it was dropped.
    ended: bool,
}

impl UnderWay {
    async fn fetch(mut self) {
        let Request { source, blocks } = &self.request;
        let (source, shared) = (source.clone(), self.fetcher.0.clone());
        let range = blocks.start * BLOCK..source.size.min(blocks.end * BLOCK);
        let mut buffer = self.buffer();
        let result = shared.requests.read(&source, range, |mut part| {
            while !part.is_empty() {
                let room = self.len() - buffer.len();
                let (now, rest) = part.split_at(part.len().min(room));
                buffer.extend_from_slice(now);
                part = rest;
                if buffer.len() == self.len() {
                    let bytes = std::mem::take(&mut buffer);
                    self.arrived(bytes);
                    buffer = self.buffer();
                }
            }
        });
        let result = result.await;
        if let Err(error) = result {
            self.fail(error.kind(), &error.to_string());
        }
        self.ended = true;
    }

    fn key(&self) -> BlockKey {
        BlockKey { object: self.request.source.number, block: self.request.blocks.start + self.next }
    }

    /// Bytes of the block that comes next.
    fn len(&self) -> usize {
        block_bytes(self.request.source.size, self.key().block) as usize
    }

    /// Memory for the block that comes next, if there is one.
    fn buffer(&self) -> Vec<u8> {
        match self.key().block < self.request.blocks.end {
            true => self.fetcher.blocks().buffer(self.len()),
            false => Vec::new(),
        }
    }

    fn arrived(&mut self, bytes: Vec<u8>) {
        self.fetcher.blocks().arrived(self.key(), bytes);
        self.fetcher.0.requests.counters.blocks.fetch_add(1, Relaxed);
        self.next += 1;
    }

    /// Those who wait for the blocks that have not come get this error.
    fn fail(&mut self, kind: io::ErrorKind, reason: &str) {
        let mut blocks = self.fetcher.blocks();
        for block in self.key().block..self.request.blocks.end {
            blocks.failed(BlockKey { block, ..self.key() }, kind, reason);
        }
        drop(blocks);
        self.next = self.request.blocks.end - self.request.blocks.start;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.key().block < self.request.blocks.end {
            self.fail(gone().kind(), &gone().to_string());
        }
        self.fetcher.blocks().ended();
        // Where it was dropped, the thread ends: others would be dropped too.
        if self.ended {
            self.fetcher.pump();
        }
    }
}
