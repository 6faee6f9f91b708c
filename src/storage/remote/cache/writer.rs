//! The thread that writes blocks into the cache on disk. It writes one block at a time, so a process exceeds the
//! cache's bound by one block at most.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};

use super::{Claim, PAUSE_WITHOUT_ROOM, Shared, data, table};

/// The most bytes that wait to be written.
pub(super) const QUEUED: u64 = 64 << 20;

#[derive(Debug)]
enum Message {
    Insert(Claim, Bytes),
    #[cfg(test)]
    Flush(Sender<()>),
    Stop,
}

/// The queue through which blocks are handed to the writer's thread.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    sender: Sender<Message>,
    bytes: Arc<AtomicU64>,
}

impl Queue {
    pub(super) fn push(&self, claim: Claim, bytes: Bytes) {
        let length = bytes.len() as u64;
        let before = self.bytes.fetch_add(length, Relaxed);
        let left_out = claim.object.shared.clone();
        // An empty queue takes a block of any size.
        if (before > 0 && before + length > QUEUED) || self.sender.send(Message::Insert(claim, bytes)).is_err() {
            self.bytes.fetch_sub(length, Relaxed);
            left_out.counters.left_out.fetch_add(1, Relaxed);
        }
    }
}

/// The thread that writes blocks, and the queue from which it takes them.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Queue,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. If the system can start no thread, no block is written, and a warning says so.
    pub(super) fn start(shared: Arc<Shared>) -> Writer {
        let (sender, receiver) = unbounded();
        let queue = Queue { sender, bytes: Arc::default() };
        let bytes = Arc::clone(&queue.bytes);
        let for_thread = Arc::clone(&shared);
        let thread = Builder::new().name("gpufeed-cache".to_owned()).spawn(move || run(&for_thread, &receiver, &bytes));
        if let Err(error) = &thread {
            shared.failed(error);
        }
        Writer { queue, thread: thread.ok() }
    }

    pub(super) fn queue(&self) -> Queue {
        self.queue.clone()
    }

    #[cfg(test)]
    pub(super) fn flush(&self) {
        let (sender, receiver) = unbounded();
        self.queue.sender.send(Message::Flush(sender)).unwrap();
        receiver.recv().unwrap();
    }
}

impl Drop for Writer {
    /// Waits until all blocks in the queue are written.
    fn drop(&mut self) {
        let _ = self.queue.sender.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, receiver: &Receiver<Message>, queued: &AtomicU64) {
    for message in receiver {
        match message {
            Message::Insert(claim, bytes) => {
                let result = if shared.is_paused() { Ok(false) } else { insert(shared, &claim, &bytes) };
                queued.fetch_sub(bytes.len() as u64, Relaxed);
                drop(bytes);
                match result {
                    Ok(true) => {
                        shared.counters.inserted.fetch_add(1, Relaxed);
                        claim.done();
                    }
                    Ok(false) => {
                        shared.counters.left_out.fetch_add(1, Relaxed);
                    }
                    Err(error) => {
                        shared.counters.left_out.fetch_add(1, Relaxed);
                        shared.failed(&error);
                    }
                }
            }
            #[cfg(test)]
            Message::Flush(done) => {
                let _ = done.send(());
            }
            Message::Stop => return,
        }
    }
}

/// Writes a block to the disk, then its hash to the table. Returns false if the cache has no room for the block.
fn insert(shared: &Shared, claim: &Claim, bytes: &[u8]) -> io::Result<bool> {
    let (object, block) = (&*claim.object, claim.block);
    if bytes.len() as u64 != object.length(block) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a block has another length than its object says"));
    }
    let room = data::stored(object.length(block));
    let Some(evicted) = shared.room.reserve(&shared.locks, object.key, room)? else {
        shared.say("no room is left within the bound of remote_cache, and what it holds is in use");
        shared.pause(PAUSE_WITHOUT_ROOM);
        return Ok(false);
    };
    shared.counters.evicted.fetch_add(evicted, Relaxed);
    let written = put(shared, claim, bytes);
    if written.is_err() {
        shared.room.give_back(&shared.locks, room);
    }
    written.map(|()| true)
}

fn put(shared: &Shared, claim: &Claim, bytes: &[u8]) -> io::Result<()> {
    let (object, block) = (&*claim.object, claim.block as usize);
    let _used = shared.locks.write(object.key)?;
    // Makes the object's folder again if the object was evicted or deleted since the block was claimed.
    std::fs::create_dir_all(&object.folder)?;
    let hash = data::write(object, claim.block, bytes)?;
    let _alone = shared.locks.table(object.key)?;
    let blocks = object.known.len();
    let mut table = table::read(&object.folder, object.key, blocks).unwrap_or_else(|| vec![table::ABSENT; blocks]);
    table[block] = hash;
    table::write(&object.folder, object.key, &table)?;
    object.known[block].store(hash, Relaxed);
    Ok(())
}
