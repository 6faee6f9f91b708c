//! Devices that misbehave, for tests: a driver that loses its device at a given submission, refuses memory or mappings,
//! or has a clock that is wrong. Lower limits and missing features are not here: wgpu enforces them, so tests open devices
//! with those.
//!
//! A device has no mock but in tests: there an `Option` is looked at for each submission, buffer and mapping.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::ThreadId;

/// The faults of a device. Those of calls can be changed while it is used.
#[derive(Debug, Default)]
pub struct Mock {
    /// The device is lost just before the first of these submissions.
    pub submissions: Fault,
    /// The device is lost just after the first of these submissions.
    pub finished_submissions: Fault,
    /// Memory for these buffers is refused.
    pub buffers: Fault,
    /// Memory is refused for these probes, the buffers of 4 bytes by which a device is known to be alive.
    pub probes: Fault,
    /// These mappings of buffers fail.
    pub maps: Fault,
    /// Changes the information that the adapter gives about itself.
    pub(super) info: Option<fn(&mut wgpu::AdapterInfo)>,
    /// The clock of timestamps.
    pub(super) clock: Clock,
    /// True once the device was lost on purpose.
    lost: AtomicBool,
    /// Threads to which a buffer was refused, in a call that has not ended.
    refused: Mutex<Vec<ThreadId>>,
    /// Held for reading while mapped memory is used, and for writing while the device is destroyed.
    mapped: RwLock<()>,
}

/// The clock of a device's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// As the device has it.
    #[default]
    True,
    /// Every timestamp is 0 (Metal, gfx-rs/wgpu#9414).
    Zero,
    /// Later timestamps are smaller.
    Backwards,
}

impl Clock {
    /// Falsifies the timestamps of a submission.
    pub(super) fn falsify(self, ticks: &mut [u64]) {
        match self {
            Clock::True => {}
            Clock::Zero => ticks.fill(0),
            Clock::Backwards => ticks.reverse(),
        }
    }
}

/// Calls of one kind, counted from 0, and the numbers of those that fail.
#[derive(Debug, Default)]
pub struct Fault {
    calls: AtomicU64,
    failing: Mutex<Range<u64>>,
}

impl Fault {
    /// Sets the numbers of the calls that will fail, and counts from 0 again.
    pub fn at(&self, failing: Range<u64>) {
        let mut current = lock(&self.failing);
        self.calls.store(0, Ordering::SeqCst);
        *current = failing;
    }

    /// The number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Counts a call; true if it fails.
    fn fails(&self) -> bool {
        let failing = lock(&self.failing);
        failing.contains(&self.calls.fetch_add(1, Ordering::SeqCst))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mock {
    /// A device with this clock.
    pub fn with_clock(clock: Clock) -> Mock {
        Mock { clock, ..Mock::default() }
    }

    /// A device whose adapter's information is changed.
    pub fn with_info(info: fn(&mut wgpu::AdapterInfo)) -> Mock {
        Mock { info: Some(info), ..Mock::default() }
    }

    /// To be held while mapped memory is used. wgpu frees the mapped memory of a lost device at its next poll, even
    /// while it is used (gfx-rs/wgpu#10256); the mock waits with the loss until it is not.
    pub(super) fn using_mapped(&self) -> RwLockReadGuard<'_, ()> {
        self.mapped.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a buffer.
    pub(super) fn count_buffer(&self) {
        if self.buffers.fails() {
            lock(&self.refused).push(std::thread::current().id());
        }
    }

    /// Counts a probe; true if memory for it is refused.
    pub(super) fn refuses_probe(&self) -> bool {
        self.probes.fails()
    }

    /// True if a buffer was refused to this thread since it last asked.
    pub(super) fn was_refused(&self) -> bool {
        let (mut refused, this) = (lock(&self.refused), std::thread::current().id());
        let before = refused.len();
        refused.retain(|thread| *thread != this);
        refused.len() < before
    }

    /// Counts a submission that is about to be made, and loses the device if it is to be lost before it.
    pub(super) fn before_submission(&self, device: &wgpu::Device) {
        if self.submissions.fails() {
            self.lose(device);
        }
    }

    /// Counts a submission that was made, and loses the device if it is to be lost after it.
    pub(super) fn after_submission(&self, device: &wgpu::Device) {
        if self.finished_submissions.fails() {
            self.lose(device);
        }
    }

    /// Counts a mapping; true if it fails.
    pub(super) fn refuses_map(&self) -> bool {
        self.maps.fails()
    }

    /// Destroys the device: the loss that wgpu has for every driver. The poll frees all mapped memory and calls the
    /// lost callback before any thread goes on.
    fn lose(&self, device: &wgpu::Device) {
        let _nobody_uses_it = self.mapped.write().unwrap_or_else(PoisonError::into_inner);
        if !self.lost.swap(true, Ordering::SeqCst) {
            device.destroy();
            let _ = device.poll(wgpu::PollType::wait_indefinitely());
        }
    }
}
