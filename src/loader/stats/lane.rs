//! What one thread of the line counts, and the clock that it counts with.
//!
//! Every thread writes to a lane of its own, on cache lines of its own, and reads the clock once where one section ends
//! and the next begins: 46 ns a section on the machine of `benches/LOG.md`. Images so small that this would be felt are
//! divided into stages one in eight; the other seven are timed as a whole.

use super::stage::{STAGES, Stage};
use cpu_time::ThreadTime;
use crossbeam_channel::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Of so many images (of short ones, eight times as many) one is measured on the thread's own CPU clock too, which takes a
/// system call.
const SAMPLED: u32 = 32;
/// Of so many short images one is divided into stages: five clock readings are 1 % of 14 µs.
pub(super) const DIVIDED: u32 = 8;
/// A shorter image is a short one.
pub(super) const SHORT: Duration = Duration::from_micros(50);

/// The counters of a thread; runs beside each other share them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::loader) struct Lane {
    pub(super) stages: [Counts; STAGES],
    /// At work on images that were not divided into stages.
    pub(super) undivided: AtomicU64,
    /// At work on what is no stage.
    pub(super) other: AtomicU64,
    waits: Mutex<Waits>,
    /// How often the queue that it takes from was looked at, and what was in it, summed.
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

/// The time that a thread has waited. Behind a lock instead of atomics: otherwise a reader could count a wait that is just
/// ending twice, or miss it. The lock costs 20 ns, only where a thread waits anyway.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    pub(super) starved: Duration,
    pub(super) blocked: Duration,
    /// The part of `blocked` that it waited for the GPU.
    pub(super) for_gpu: Duration,
    /// Waits that have not ended, and when they began.
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

/// Of one stage.
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

impl Lane {
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

    /// Until now: a wait that has not ended counts as far as it has come. Without that a wait of a second would belong, as a
    /// whole, to the tenth of a second in which it ends.
    pub(super) fn waits(&self) -> Waits {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (wait, began) in std::mem::take(&mut waits.under_way) {
            waits.add(wait, began.elapsed());
        }
        waits
    }

    /// What was in the queue that this thread takes from.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.looks.fetch_add(1, Relaxed);
        self.found.fetch_add(found as u64, Relaxed);
    }
}

/// Times added on purpose, for every image of a stage.
#[derive(Debug, Default)]
pub(super) struct Delays([AtomicU64; STAGES]);

impl Delays {
    pub(super) fn set(&self, stage: Stage, time: Duration) {
        self.0[stage as usize].store(nanoseconds(time), Relaxed);
    }

    /// A disk and a consumer leave their core to others while they take their time; the rest is work.
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
    lane: &'a Lane,
    delays: &'a Delays,
    last: Cell<Instant>,
    stage: Cell<Stage>,
    items: Cell<u32>,
    /// Whether the present image is divided into stages.
    divided: Cell<bool>,
    /// What the last divided image took.
    pub(super) image: Cell<Duration>,
    /// The thread's CPU time when the last section ended, for a sampled image.
    cpu: Cell<Option<ThreadTime>>,
}

impl<'a> Clock<'a> {
    pub(super) fn new(lane: &'a Lane, delays: &'a Delays) -> Self {
        Clock {
            lane,
            delays,
            last: Cell::new(Instant::now()),
            stage: Cell::new(Stage::Read),
            items: Cell::new(0),
            divided: Cell::new(true),
            // Long, until one is known.
            image: Cell::new(SHORT),
            cpu: Cell::new(None),
        }
    }

    fn lap(&self) -> Duration {
        let now = Instant::now();
        now.duration_since(self.last.replace(now))
    }

    /// A new image.
    pub(in crate::loader) fn item(&self) {
        let number = self.items.replace(self.items.get().wrapping_add(1));
        let long = self.image.get() >= SHORT;
        if long || number.is_multiple_of(DIVIDED) {
            // What lies between two images: handing one on may wake another thread.
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

    /// What has passed since the last section was work on images that are not divided.
    fn undivided(&self) {
        self.lane.undivided.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Before a wait: ends what is not divided.
    fn before(&self) {
        if !self.divided.get() {
            self.undivided();
        }
    }

    /// The stage that is under way, or was the last.
    pub(in crate::loader) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// The work on a sample of so many images.
    pub(in crate::loader) fn work<T>(&self, stage: Stage, images: usize, work: impl FnOnce() -> T) -> T {
        self.stage.set(stage);
        let result = {
            let _span = stage.span().entered();
            let result = work();
            self.delays.pass(stage, images as u64);
            result
        };
        if !self.divided.get() {
            self.lane.stages[stage as usize].items.fetch_add(images as u64, Relaxed);
            return result;
        }
        let time = self.lap();
        self.image.set(self.image.get() + time);
        self.lane.busy(stage, images as u64, time);
        if let Some(before) = self.cpu.get() {
            let now = ThreadTime::try_now().ok();
            let counts = &self.lane.stages[stage as usize];
            if let Some(now) = now {
                counts.sampled_busy.fetch_add(nanoseconds(time), Relaxed);
                counts.sampled_cpu.fetch_add(nanoseconds(now.duration_since(before)), Relaxed);
            }
            self.cpu.set(now);
        }
        result
    }

    /// What has passed since the last section was work of `stage` on so many images.
    pub(in crate::loader) fn spent(&self, stage: Stage, items: u64) {
        self.delays.pass(stage, items);
        self.lane.busy(stage, items, self.lap());
    }

    /// The same, but for the time that the GPU's work took on this thread.
    pub(in crate::loader) fn spent_with_gpu(&self, stage: Stage, items: u64, gpu: Duration) {
        self.delays.pass(stage, items);
        self.lane.busy(stage, items, self.lap().saturating_sub(gpu));
        self.lane.change(|waits| waits.add(Wait::Gpu, gpu));
    }

    /// What has passed since the last section was work, but not of a stage.
    pub(in crate::loader) fn other(&self) {
        self.lane.other.fetch_add(nanoseconds(self.lap()), Relaxed);
    }

    /// Bytes that a stage has moved.
    pub(in crate::loader) fn bytes(&self, stage: Stage, bytes: u64) {
        self.lane.bytes(stage, bytes);
    }

    /// What was in the queue that this thread takes from.
    pub(in crate::loader) fn look(&self, found: usize) {
        self.lane.look(found);
    }

    /// The next of a queue. Only a wait is timed: what is there at once belongs to the section that follows.
    pub(in crate::loader) fn receive<T>(&self, queue: &Receiver<T>) -> Result<T, RecvError> {
        self.look(queue.len());
        match queue.try_recv() {
            Ok(next) => Ok(next),
            Err(TryRecvError::Empty) => self.starved(|| queue.recv()),
            Err(TryRecvError::Disconnected) => Err(RecvError),
        }
    }

    /// Puts something into a queue. Only a wait for room is timed.
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

    /// Waits for the GPU to finish something.
    pub(in crate::loader) fn waited_for_gpu<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.wait(Wait::Gpu, wait)
    }

    fn wait<T>(&self, kind: Wait, wait: impl FnOnce() -> T) -> T {
        let under_way = (kind, self.last.get());
        self.lane.change(|waits| waits.under_way.push(under_way));
        let result = wait();
        self.lane.change(|waits| {
            // Runs beside each other share the lane: one of equal waits may go.
            if let Some(place) = waits.under_way.iter().position(|other| *other == under_way) {
                waits.under_way.swap_remove(place);
            }
            waits.add(kind, self.lap());
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::stats::{Capacities, Counters, StageStats};

    fn spin(time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    /// The workers' stages and pool after images of which decoding takes `time`, and augmenting three times as long; and the
    /// time that all of it took.
    fn worked(time: Duration, images: u64) -> ([StageStats; 2], Duration, Duration) {
        let counters = Counters::new(1);
        let start = Instant::now();
        let clock = counters.worker(0);
        for _ in 0..images {
            clock.item();
            clock.work(Stage::Decode, 1, || spin(time));
            clock.work(Stage::Augment, 1, || spin(3 * time));
        }
        clock.before();
        let all = start.elapsed();
        let stats = counters.read(Capacities { jobs: 1, inbox: 1, ready: 1, announced: 1 });
        let stage = |stage| stats.stages[stage as usize].clone();
        ([stage(Stage::Decode), stage(Stage::Augment)], stats.pools[1].busy, all)
    }

    #[test]
    fn no_time_is_lost_and_every_image_is_counted() {
        // Divided each, and one in eight.
        for time in [Duration::from_micros(20), Duration::from_micros(2)] {
            let ([decode, augment], busy, all) = worked(time, 2000);
            assert_eq!((decode.items, augment.items), (2000, 2000));
            assert!(busy <= all && busy >= all.mul_f64(0.98), "{busy:?} of {all:?}");
            assert!(decode.busy + augment.busy <= busy + Duration::from_micros(1), "{decode:?} {augment:?} {busy:?}");
            assert!(decode.busy + augment.busy >= 2000 * 4 * time.mul_f64(0.9), "{decode:?} {augment:?}");
        }
    }

    #[test]
    fn a_wait_counts_while_it_lasts() {
        let counters = Counters::new(1);
        let blocked = || counters.read(Capacities { jobs: 1, inbox: 1, ready: 1, announced: 1 }).pools[1].blocked;
        let time = Duration::from_millis(20);
        let clock = counters.worker(0);
        let (before, during) = clock.blocked(|| {
            let before = blocked();
            std::thread::sleep(time);
            (before, blocked())
        });
        let after = blocked();
        assert!(during - before >= time && after >= during, "{before:?} {during:?} {after:?}");
        // Ended, and not counted once more.
        std::thread::sleep(time);
        assert_eq!(blocked(), after);
    }

    #[test]
    fn short_images_are_divided_one_in_eight() {
        let counters = Counters::new(1);
        let clock = counters.worker(0);
        let mut divided = 0;
        for _ in 0..80 {
            clock.image.set(Duration::from_micros(1));
            clock.item();
            divided += u32::from(clock.divided.get());
        }
        assert_eq!(divided, 10);
        clock.image.set(SHORT);
        clock.item();
        assert!(clock.divided.get());
    }
}
