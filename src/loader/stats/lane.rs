//! What one thread of the line counts, and the clock that it counts with.
//!
//! Every thread writes to a lane of its own, on cache lines of its own, and reads the clock once where one section ends and the
//! next begins: 46 ns a section on the machine of `benches/LOG.md`.

use super::stage::{STAGES, Stage};
use cpu_time::ThreadTime;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Of so many images one is measured on the thread's own CPU clock too, which takes a system call.
const SAMPLED: u32 = 32;

/// The counters of a thread; runs beside each other share them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::loader) struct Lane {
    pub(super) stages: [Counts; STAGES],
    /// At work on what is no stage.
    pub(super) other: AtomicU64,
    pub(super) starved: AtomicU64,
    pub(super) blocked: AtomicU64,
    /// The part of `blocked` that it waited for the GPU.
    pub(super) waited_for_gpu: AtomicU64,
    /// How often the queue that it takes from was looked at, and what was in it, summed.
    pub(super) looks: AtomicU64,
    pub(super) found: AtomicU64,
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
        self.starved.fetch_add(nanoseconds(time), Relaxed);
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
        self.cpu.set(if number.is_multiple_of(SAMPLED) { ThreadTime::try_now().ok() } else { None });
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
        let time = self.lap();
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
        self.lane.blocked.fetch_add(nanoseconds(gpu), Relaxed);
        self.lane.waited_for_gpu.fetch_add(nanoseconds(gpu), Relaxed);
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

    /// Waits for something to do.
    pub(in crate::loader) fn starved<T>(&self, wait: impl FnOnce() -> T) -> T {
        let result = wait();
        self.lane.starved(self.lap());
        result
    }

    /// Waits until the next stage has room.
    pub(in crate::loader) fn blocked<T>(&self, wait: impl FnOnce() -> T) -> T {
        let result = wait();
        self.lane.blocked.fetch_add(nanoseconds(self.lap()), Relaxed);
        result
    }

    /// Waits for the GPU to finish something.
    pub(in crate::loader) fn waited_for_gpu<T>(&self, wait: impl FnOnce() -> T) -> T {
        let result = wait();
        let time = nanoseconds(self.lap());
        self.lane.blocked.fetch_add(time, Relaxed);
        self.lane.waited_for_gpu.fetch_add(time, Relaxed);
        result
    }
}
