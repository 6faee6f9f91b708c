//! Counts and times what one thread of a loader does: the counters, and the clock that fills them.
//!
//! The clock divides a thread's time into sections, such as the decoding of one image. Every thread writes to counters
//! of its own, on cache lines of their own, and reads the time once where one section ends and the next begins: 46 ns a
//! section on the machine of `benches/LOG.md`. That would be noticeable for very small images, so only one in eight of
//! these is divided into stages; the other seven are timed as a whole.

use super::stage::{STAGES, Stage};
use cpu_time::ThreadTime;
use crossbeam_channel::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For one image in this number, the thread's CPU time is measured, too, which takes system calls. For short images it
/// is one image in eight times this number.
const SAMPLED: u32 = 32;
/// One short image in this number is divided into stages; the others are timed as a whole. Dividing an image takes five
/// clock readings, which are 1 % of 14 µs, the time that an image of 32x32 pixels takes.
pub(super) const DIVIDED: u32 = 8;
/// An image that takes less time than this is short.
pub(super) const SHORT: Duration = Duration::from_micros(50);

/// The counters of a thread, such as the first worker. Runs of a loader that are under way at the same time share them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::loader) struct ThreadCounters {
    pub(super) stages: [Counts; STAGES],
    /// Nanoseconds of work on images that were not divided into stages.
    pub(super) undivided: AtomicU64,
    /// Nanoseconds of work that belongs to no stage.
    pub(super) other: AtomicU64,
    /// Bytes that were written to staging slots by the clock, and the time that it took.
    pub(super) written: AtomicU64,
    pub(super) writing: AtomicU64,
    waits: Mutex<Waits>,
    /// How often the thread looked at the length of the queue that it receives from; `found` is the sum of these
    /// lengths.
    pub(super) looks: AtomicU64,
    pub(super) found: AtomicU64,
}

/// What a thread waits for: something to do, room in the next queue, or the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    Work,
    Room,
    Gpu,
}

/// The times that a thread has waited. A lock guards them: with atomics a reader could count a wait twice or miss it at
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

/// The counters of one stage: images, nanoseconds and bytes. `sampled_busy` and `sampled_cpu` are the wall time and the
/// CPU time of the images whose CPU time was measured.
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

    /// Returns the times waited until now, including the elapsed part of a wait that has not ended. Without this part,
    /// a reader that looks every tenth of a second would see a wait of one second as a whole when it has ended.
    pub(super) fn waits(&self) -> Waits {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (wait, began) in std::mem::take(&mut waits.under_way) {
            waits.add(wait, began.elapsed());
        }
        waits
    }

    /// Counts a look at the length of the queue that this thread receives from. `found` is that length.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.looks.fetch_add(1, Relaxed);
        self.found.fetch_add(found as u64, Relaxed);
    }
}

/// The delays that [`DataLoader::delay`](crate::DataLoader::delay) has set: the nanoseconds to add for every image of a
/// stage.
#[derive(Debug, Default)]
pub(super) struct Delays([AtomicU64; STAGES]);

impl Delays {
    pub(super) fn set(&self, stage: Stage, time: Duration) {
        self.0[stage as usize].store(nanoseconds(time), Relaxed);
    }

    /// Spends the delay of `stage` for `items` images. In the stages `Read` and `Consume` the thread sleeps, as a disk
    /// and a caller leave the core to others; in any other stage it keeps the core busy.
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

/// Divides a thread's time into sections without a gap, and adds each section to the thread's counters.
#[derive(Debug)]
pub(in crate::loader) struct Clock<'a> {
    counters: &'a ThreadCounters,
    delays: &'a Delays,
    last: Cell<Instant>,
    stage: Cell<Stage>,
    items: Cell<u32>,
    /// True if the current image is divided into stages.
    divided: Cell<bool>,
    /// The time that the stages of the last divided image have taken so far.
    pub(super) image: Cell<Duration>,
    /// The thread's CPU time at the end of the last section; `None` if the CPU time of the current image is not
    /// measured.
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
            // The first image is treated as a long one, as no time is known yet.
            image: Cell::new(SHORT),
            cpu: Cell::new(None),
        }
    }

    fn lap(&self) -> Duration {
        let now = Instant::now();
        now.duration_since(self.last.replace(now))
    }

    /// Begins a new image: decides whether it is divided into stages, and whether its CPU time is measured.
    pub(in crate::loader) fn item(&self) {
        let number = self.items.replace(self.items.get().wrapping_add(1));
        let long = self.image.get() >= SHORT;
        if long || number.is_multiple_of(DIVIDED) {
            // The time since the last section belongs to no stage: handing an image on may wake another thread. After
            // undivided images it counts as work on them.
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

    /// Counts the time since the last section as work on images that are not divided into stages.
    fn undivided(&self) {
        self.counters.undivided.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Call this before a wait: if the current image is not divided into stages, counts its time so far as work.
    fn before(&self) {
        if !self.divided.get() {
            self.undivided();
        }
    }

    /// Returns the stage that the thread is in, or the last one that it was in.
    pub(in crate::loader) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Runs `work`, and counts its time as work of `stage` on one sample, which has `images` images.
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

    /// Counts the time since the last section as work of `stage`, except for the time `gpu`, in which the driver
    /// computed the GPU's work on this thread. That time counts as a wait for the GPU.
    pub(in crate::loader) fn spent_with_gpu(&self, stage: Stage, items: u64, gpu: Duration) {
        self.delays.pass(stage, items);
        self.counters.busy(stage, items, self.lap().saturating_sub(gpu));
        self.counters.change(|waits| waits.add(Wait::Gpu, gpu));
    }

    /// Counts the time since the last section as work that belongs to no stage.
    pub(in crate::loader) fn other(&self) {
        self.counters.other.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Counts bytes that a stage has moved.
    pub(in crate::loader) fn bytes(&self, stage: Stage, bytes: u64) {
        self.counters.bytes(stage, bytes);
    }

    /// Counts a look at the length of the queue that this thread receives from. `found` is that length.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.counters.look(found);
    }

    /// Receives from a queue. Only a wait is timed: if an entry is there at once, receiving it belongs to the next
    /// section.
    pub(in crate::loader) fn receive<T>(&self, queue: &Receiver<T>) -> Result<T, RecvError> {
        self.look(queue.len());
        match queue.try_recv() {
            Ok(next) => Ok(next),
            Err(TryRecvError::Empty) => self.starved(|| queue.recv()),
            Err(TryRecvError::Disconnected) => Err(RecvError),
        }
    }

    /// Sends to a queue. Only a wait is timed, which happens if the queue has no room.
    pub(in crate::loader) fn send<T>(&self, queue: &Sender<T>, next: T) -> Result<(), SendError<T>> {
        match queue.try_send(next) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(next)) => self.blocked(|| queue.send(next)),
            Err(TrySendError::Disconnected(next)) => Err(SendError(next)),
        }
    }

    /// Runs `wait`, and counts its time as waiting for something to do.
    pub(in crate::loader) fn starved<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.before();
        self.wait(Wait::Work, wait)
    }

    /// Runs `wait`, and counts its time as waiting until the next stage has room.
    pub(in crate::loader) fn blocked<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.before();
        self.wait(Wait::Room, wait)
    }

    /// Runs `wait`, and counts its time as waiting for the GPU.
    pub(in crate::loader) fn waited_for_gpu<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.wait(Wait::Gpu, wait)
    }

    fn wait<T>(&self, kind: Wait, wait: impl FnOnce() -> T) -> T {
        let under_way = (kind, self.last.get());
        self.counters.change(|waits| waits.under_way.push(under_way));
        let result = wait();
        self.counters.change(|waits| {
            // Concurrent runs share these counters, so several equal waits may be under way. Any one of them may be
            // removed.
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
