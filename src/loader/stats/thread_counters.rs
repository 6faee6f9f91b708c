//! The counters of one thread, and the clock that fills them.
//!
//! Every thread writes to counters of its own, on cache lines of their own, and reads the clock once where one section ends and
//! the next begins: 46 ns a section on the machine of `benches/LOG.md`. That would be noticeable for very small images,
//! so one in eight of them is divided into stages; the other seven are timed as a whole.

use super::stage::{STAGES, Stage};
use cpu_time::ThreadTime;
use crossbeam_channel::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One image in this number (of short ones, in eight times this number) is also measured on the thread's own CPU clock,
/// which takes a system call.
const SAMPLED: u32 = 32;
/// One short image in this number is divided into stages: five clock readings are 1 % of 14 µs.
pub(super) const DIVIDED: u32 = 8;
/// An image that takes less time than this is short.
pub(super) const SHORT: Duration = Duration::from_micros(50);

/// The counters of a thread; concurrent runs share them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::loader) struct ThreadCounters {
    pub(super) stages: [Counts; STAGES],
    /// Time at work on images that were not divided into stages.
    pub(super) undivided: AtomicU64,
    /// Time at work outside any stage.
    pub(super) other: AtomicU64,
    /// Bytes that were written to staging slots by the clock, and the time that it took.
    pub(super) written: AtomicU64,
    pub(super) writing: AtomicU64,
    waits: Mutex<Waits>,
    /// The number of times that the thread looked at the queue that it receives from, and the sum of the lengths that
    /// it found.
    pub(super) looks: AtomicU64,
    pub(super) found: AtomicU64,
}

/// The reason for which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    Work,
    Room,
    Gpu,
}

/// The time that a thread has waited. It needs a lock: with atomics a reader could count a wait twice or miss it at
/// the moment when it ends. The lock costs 20 ns, only when a thread waits anyway.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    pub(super) starved: Duration,
    pub(super) blocked: Duration,
    /// The part of `blocked` in which the thread waited for the GPU.
    pub(super) for_gpu: Duration,
    /// Waits that have not ended, and the times at which they began.
    under_way: Vec<(Wait, Instant)>,
}

impl Waits {
    fn add(&mut self, wait: Wait, time: Duration) {
        match wait {
            Wait::Work => self.starved += time,
            Wait::Room => self.blocked += time,
            Wait::Gpu => {
                self.blocked += time;
                self.for_gpu += time;
            }
        }
    }
}

/// The counters of one stage.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) items: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) sampled_busy: AtomicU64,
    pub(super) sampled_cpu: AtomicU64,
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl ThreadCounters {
    pub(in crate::loader) fn busy(&self, stage: Stage, items: u64, time: Duration) {
        let counts = &self.stages[stage as usize];
        counts.items.fetch_add(items, Relaxed);
        counts.busy.fetch_add(nanoseconds(time), Relaxed);
    }

    pub(in crate::loader) fn bytes(&self, stage: Stage, bytes: u64) {
        self.stages[stage as usize].bytes.fetch_add(bytes, Relaxed);
    }

    pub(in crate::loader) fn starved(&self, time: Duration) {
        self.change(|waits| waits.add(Wait::Work, time));
    }

    fn change(&self, change: impl FnOnce(&mut Waits)) {
        change(&mut self.waits.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The waits until now, including the elapsed part of a wait that has not ended. Otherwise all of a wait of one
    /// second would count for the tenth of a second in which it ends.
    pub(super) fn waits(&self) -> Waits {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (wait, began) in std::mem::take(&mut waits.under_way) {
            waits.add(wait, began.elapsed());
        }
        waits
    }

    /// Counts a look at the queue that this thread receives from, which had `found` entries.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.looks.fetch_add(1, Relaxed);
        self.found.fetch_add(found as u64, Relaxed);
    }
}

/// Delays that [`DataLoader::delay`](crate::DataLoader::delay) adds, for every image of a stage.
#[derive(Debug, Default)]
pub(super) struct Delays([AtomicU64; STAGES]);

impl Delays {
    pub(super) fn set(&self, stage: Stage, time: Duration) {
        self.0[stage as usize].store(nanoseconds(time), Relaxed);
    }

    /// Reading and the consumer sleep, as a disk and a caller leave the core to others; the other stages compute.
    pub(super) fn pass(&self, stage: Stage, items: u64) {
        let time = Duration::from_nanos(self.0[stage as usize].load(Relaxed).saturating_mul(items));
        if time.is_zero() {
            return;
        }
        if matches!(stage, Stage::Read | Stage::Consume) {
            return std::thread::sleep(time);
        }
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }
}

/// Divides a thread's time into sections without a gap.
#[derive(Debug)]
pub(in crate::loader) struct Clock<'a> {
    counters: &'a ThreadCounters,
    delays: &'a Delays,
    last: Cell<Instant>,
    stage: Cell<Stage>,
    items: Cell<u32>,
    /// True if the present image is divided into stages.
    divided: Cell<bool>,
    /// The time that the last divided image took.
    pub(super) image: Cell<Duration>,
    /// The thread's CPU time when the last section ended, for a sampled image.
    cpu: Cell<Option<ThreadTime>>,
}

impl<'a> Clock<'a> {
    pub(super) fn new(counters: &'a ThreadCounters, delays: &'a Delays) -> Self {
        Clock {
            counters,
            delays,
            last: Cell::new(Instant::now()),
            stage: Cell::new(Stage::Read),
            items: Cell::new(0),
            divided: Cell::new(true),
            // The first image is treated as a long one.
            image: Cell::new(SHORT),
            cpu: Cell::new(None),
        }
    }

    fn lap(&self) -> Duration {
        let now = Instant::now();
        now.duration_since(self.last.replace(now))
    }

    /// Begins a new image.
    pub(in crate::loader) fn item(&self) {
        let number = self.items.replace(self.items.get().wrapping_add(1));
        let long = self.image.get() >= SHORT;
        if long || number.is_multiple_of(DIVIDED) {
            // The time between two images is outside any stage: handing an image on may wake another thread.
            if self.divided.replace(true) {
                self.other()
            } else {
                self.undivided()
            }
            self.image.set(Duration::ZERO);
        } else {
            self.divided.set(false);
        }
        let sampled = number.is_multiple_of(if long { SAMPLED } else { DIVIDED * SAMPLED });
        self.cpu.set(if sampled { ThreadTime::try_now().ok() } else { None });
    }

    /// Counts the time since the last section as work on undivided images.
    fn undivided(&self) {
        self.counters.undivided.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Ends an undivided section before a wait.
    fn before(&self) {
        if !self.divided.get() {
            self.undivided();
        }
    }

    /// The current stage, or the last one.
    pub(in crate::loader) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Runs and times the work of `stage` on a sample of `images` images.
    pub(in crate::loader) fn work<T>(&self, stage: Stage, images: usize, work: impl FnOnce() -> T) -> T {
        self.stage.set(stage);
        let result = {
            let _span = stage.span().entered();
            let result = work();
            self.delays.pass(stage, images as u64);
            result
        };
        if !self.divided.get() {
            self.counters.stages[stage as usize].items.fetch_add(images as u64, Relaxed);
            return result;
        }
        let time = self.lap();
        self.image.set(self.image.get() + time);
        self.counters.busy(stage, images as u64, time);
        if let Some(before) = self.cpu.get() {
            let now = ThreadTime::try_now().ok();
            let counts = &self.counters.stages[stage as usize];
            if let Some(now) = now {
                counts.sampled_busy.fetch_add(nanoseconds(time), Relaxed);
                counts.sampled_cpu.fetch_add(nanoseconds(now.duration_since(before)), Relaxed);
            }
            self.cpu.set(now);
        }
        result
    }

    /// Runs the copy of a sample's pixels, `bytes` bytes for `images` images, to a staging slot. The write itself is timed
    /// with the images that are divided into stages.
    pub(in crate::loader) fn write<T>(&self, images: usize, bytes: u64, write: impl FnOnce() -> T) -> T {
        let timed = self.divided.get();
        self.work(Stage::Copy, images, || {
            let start = timed.then(Instant::now);
            let result = write();
            if let Some(start) = start {
                self.counters.writing.fetch_add(nanoseconds(start.elapsed()), Relaxed);
                self.counters.written.fetch_add(bytes, Relaxed);
            }
            result
        })
    }

    /// Counts the time since the last section as work of `stage` on `items` images.
    pub(in crate::loader) fn spent(&self, stage: Stage, items: u64) {
        self.delays.pass(stage, items);
        self.counters.busy(stage, items, self.lap());
    }

    /// Counts the time since the last section as work of `stage`, except `gpu`, the time in which this thread computed
    /// the GPU's work.
    pub(in crate::loader) fn spent_with_gpu(&self, stage: Stage, items: u64, gpu: Duration) {
        self.delays.pass(stage, items);
        self.counters.busy(stage, items, self.lap().saturating_sub(gpu));
        self.counters.change(|waits| waits.add(Wait::Gpu, gpu));
    }

    /// Counts the time since the last section as work outside any stage.
    pub(in crate::loader) fn other(&self) {
        self.counters.other.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Counts bytes that a stage has moved.
    pub(in crate::loader) fn bytes(&self, stage: Stage, bytes: u64) {
        self.counters.bytes(stage, bytes);
    }

    /// Counts a look at the queue that this thread receives from, which had `found` entries.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.counters.look(found);
    }

    /// Receives from a queue. Only a wait is timed: an entry that is there at once belongs to the section that follows.
    pub(in crate::loader) fn receive<T>(&self, queue: &Receiver<T>) -> Result<T, RecvError> {
        self.look(queue.len());
        match queue.try_recv() {
            Ok(next) => Ok(next),
            Err(TryRecvError::Empty) => self.starved(|| queue.recv()),
            Err(TryRecvError::Disconnected) => Err(RecvError),
        }
    }

    /// Sends to a queue. Only a wait for room is timed.
    pub(in crate::loader) fn send<T>(&self, queue: &Sender<T>, next: T) -> Result<(), SendError<T>> {
        match queue.try_send(next) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(next)) => self.blocked(|| queue.send(next)),
            Err(TrySendError::Disconnected(next)) => Err(SendError(next)),
        }
    }

    /// Waits for something to do.
    pub(in crate::loader) fn starved<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.before();
        self.wait(Wait::Work, wait)
    }

    /// Waits until the next stage has room.
    pub(in crate::loader) fn blocked<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.before();
        self.wait(Wait::Room, wait)
    }

    /// Waits for the GPU.
    pub(in crate::loader) fn waited_for_gpu<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.wait(Wait::Gpu, wait)
    }

    fn wait<T>(&self, kind: Wait, wait: impl FnOnce() -> T) -> T {
        let under_way = (kind, self.last.get());
        self.counters.change(|waits| waits.under_way.push(under_way));
        let result = wait();
        self.counters.change(|waits| {
            // Concurrent runs share the counters: any one of several equal waits may be removed.
            if let Some(place) = waits.under_way.iter().position(|other| *other == under_way) {
                waits.under_way.swap_remove(place);
            }
            waits.add(kind, self.lap());
        });
        result
    }
}

#[cfg(test)]
mod tests;
