//! The time that passes take, and copies of slots, by the device's own timestamps.
//!
//! Every submission writes to its own query set. The next submission resolves the set (some drivers return zeros within
//! the same one, gfx-rs/wgpu#6406) and copies it to a buffer that is then mapped. If no set is free, a submission is
//! not timed: no thread waits for a clock.

use super::Gpu;
use super::mock::Clock;
use crate::error::Result;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Query sets of a ring: one is being written, one is being resolved, the others are being read.
const SETS: usize = 4;
/// The most passes and copies of a submission that is timed.
const PASSES: u32 = 64;
/// The bytes of a set's timestamps: two for each pass or copy, 8 bytes each.
const SET_BYTES: u64 = 2 * PASSES as u64 * 8;

/// The summed times of a loader's passes and copies.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Nanoseconds and dispatches of the plan's passes, in their order.
    passes: [(AtomicU64, AtomicU64); SUMS],
    names: std::sync::OnceLock<Vec<String>>,
    /// Bytes and nanoseconds of the copies of slots that were timed.
    copies: (AtomicU64, AtomicU64),
    submissions: AtomicU64,
    timed: AtomicU64,
    impossible: AtomicU64,
}

/// The most passes that are timed separately; the last entry has the sum of all further ones.
const SUMS: usize = 16;

impl Times {
    /// The number of submissions: all, the timed ones, and those with impossible times.
    pub(crate) fn submissions(&self) -> [u64; 3] {
        [&self.submissions, &self.timed, &self.impossible].map(|counter| counter.load(Relaxed))
    }

    /// Name, time and number of dispatches of every pass that was timed.
    pub(crate) fn passes(&self) -> Vec<(String, Duration, u64)> {
        let names = self.names.get().map_or(&[][..], Vec::as_slice);
        let sums = names
            .iter()
            .zip(&self.passes)
            .map(|(name, (time, count))| (name.clone(), Duration::from_nanos(time.load(Relaxed)), count.load(Relaxed)));
        sums.filter(|(_, _, count)| *count > 0).collect()
    }

    /// Bytes and time of the copies of slots that were timed.
    pub(crate) fn copies(&self) -> (u64, Duration) {
        (self.copies.0.load(Relaxed), Duration::from_nanos(self.copies.1.load(Relaxed)))
    }

    pub(crate) fn name(&self, passes: Vec<String>) {
        let _ = self.names.set(passes);
    }
}

/// What two timestamps of a set are taken around.
#[derive(Clone, Copy, Debug)]
enum Around {
    /// The plan's pass of this number.
    Pass(usize),
    /// A copy of so many bytes.
    Copy(u64),
}

/// The passes and copies that are timed with a query set.
#[derive(Debug)]
struct Timed {
    /// The number of the set.
    set: usize,
    passes: Vec<Around>,
}

/// The end of a mapping.
struct Mapped {
    /// The number of the set.
    set: usize,
    /// True if its times can be read.
    succeeded: bool,
}

/// The query sets of a run; without sets on a device without timestamps, where nothing is timed.
#[derive(Debug)]
pub(super) struct Timing {
    sets: Vec<Set>,
    free: Vec<usize>,
    /// The set to which the submission being recorded writes, and the passes that it has timed.
    open: Option<Timed>,
    /// The set that the last submission wrote.
    written: Option<Timed>,
    /// The set that the submission being recorded resolves.
    resolving: Option<Timed>,
    /// Sets whose buffers are being mapped.
    reading: VecDeque<Timed>,
    mapped: (Sender<Mapped>, Receiver<Mapped>),
    /// The nanoseconds of one tick of the GPU's clock.
    period: f64,
    clock: Clock,
}

#[derive(Debug)]
struct Set {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    read: wgpu::Buffer,
}

impl Default for Timing {
    fn default() -> Self {
        let (sets, free, reading) = (Vec::new(), Vec::new(), VecDeque::new());
        Timing {
            sets,
            free,
            open: None,
            written: None,
            resolving: None,
            reading,
            mapped: unbounded(),
            period: 0.0,
            clock: Clock::True,
        }
    }
}

impl Timing {
    /// Bytes of the sets' buffers.
    pub(super) const BYTES: u64 = 2 * SETS as u64 * SET_BYTES;

    pub(super) fn new(gpu: &Gpu) -> Result<Timing> {
        use wgpu::BufferUsages as Usage;
        let there = gpu.caps().timestamps;
        let sets = gpu.create_checked("gpufeed timestamps", Self::BYTES, || {
            let set = |_| Set {
                queries: gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("gpufeed timestamps"),
                    ty: wgpu::QueryType::Timestamp,
                    count: 2 * PASSES,
                }),
                resolved: gpu.buffer("gpufeed timestamps", SET_BYTES, Usage::QUERY_RESOLVE | Usage::COPY_SRC, false),
                read: gpu.buffer("gpufeed timestamps", SET_BYTES, Usage::MAP_READ | Usage::COPY_DST, false),
            };
            (0..if there { SETS } else { 0 }).map(set).collect::<Vec<_>>()
        })?;
        let period = f64::from(gpu.queue().get_timestamp_period());
        let clock = gpu.mock().map_or(Clock::True, |mock| mock.clock);
        Ok(Timing { free: (0..sets.len()).collect(), sets, period, clock, ..Timing::default() })
    }

    /// Begins a submission: takes a free set, and resolves the last one's.
    pub(super) fn begin(&mut self, encoder: &mut wgpu::CommandEncoder, times: &Times) {
        times.submissions.fetch_add(1, Relaxed);
        self.collect(times);
        self.resolving = self.written.take();
        if let Some(Timed { set, passes }) = &self.resolving {
            let Set { queries, resolved, read } = &self.sets[*set];
            let used = 2 * passes.len() as u32;
            encoder.resolve_query_set(queries, 0..used, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, read, 0, Some(u64::from(used) * 8));
        }
        // An abandoned submission may have left its set.
        self.free.extend(self.open.take().map(|open| open.set));
        self.open = self.free.pop().map(|set| Timed { set, passes: Vec::with_capacity(PASSES as usize) });
    }

    /// The open set, and its first timestamp for one more pass or copy.
    fn around(&mut self, around: Around) -> Option<(&wgpu::QuerySet, u32)> {
        let Timed { set, passes } = self.open.as_mut()?;
        if passes.len() as u32 == PASSES {
            // There are too many passes: time none of them, as a part would mislead.
            self.free.push(*set);
            self.open = None;
            return None;
        }
        let first = 2 * passes.len() as u32;
        passes.push(around);
        Some((&self.sets[*set].queries, first))
    }

    /// The timestamp writes for the descriptor of the plan's pass `number`.
    pub(super) fn pass(&mut self, number: usize) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let (query_set, first) = self.around(Around::Pass(number))?;
        Some(wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Records a copy of `bytes` bytes between two timestamps, which passes without a dispatch take: timestamps outside of
    /// passes are a feature of their own.
    pub(super) fn copy(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        bytes: u64,
        copy: impl FnOnce(&mut wgpu::CommandEncoder),
    ) {
        let Some((query_set, first)) = self.around(Around::Copy(bytes)) else { return copy(encoder) };
        let mark = |encoder: &mut wgpu::CommandEncoder, index| {
            let timestamp_writes = Some(wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: Some(index),
                end_of_pass_write_index: None,
            });
            let label = Some("gpufeed clock");
            drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes }));
        };
        mark(encoder, first);
        copy(encoder);
        mark(encoder, first + 1);
    }

    /// The recorded work was submitted: maps the resolved set.
    pub(super) fn submitted(&mut self, gpu: &Gpu) {
        match self.open.take() {
            Some(Timed { set, passes }) if passes.is_empty() => self.free.push(set),
            open => self.written = open,
        }
        if let Some(Timed { set, passes }) = self.resolving.take() {
            let sender = self.mapped.0.clone();
            let used = 0..2 * passes.len() as u64 * 8;
            gpu.map(self.sets[set].read.slice(used), wgpu::MapMode::Read, move |result| {
                // The run may have ended by then.
                let _ = sender.send(Mapped { set, succeeded: result.is_ok() });
            });
            self.reading.push_back(Timed { set, passes });
        }
    }

    /// Adds up the times that have been mapped since the last call.
    fn collect(&mut self, times: &Times) {
        while let Ok(Mapped { set, succeeded }) = self.mapped.1.try_recv() {
            let Some(at) = self.reading.iter().position(|reading| reading.set == set) else { continue };
            let Some(Timed { passes, .. }) = self.reading.remove(at) else { continue };
            if succeeded {
                self.add(set, &passes, times);
                self.sets[set].read.unmap();
            }
            self.free.push(set);
        }
    }

    fn add(&self, set: usize, passes: &[Around], times: &Times) {
        let Ok(view) = self.sets[set].read.get_mapped_range(0..2 * passes.len() as u64 * 8) else { return };
        let mut ticks: Vec<u64> = view.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        self.clock.falsify(&mut ticks);
        let pairs = passes.iter().zip(ticks.as_chunks::<2>().0);
        times.timed.fetch_add(1, Relaxed);
        // Zeros, or an end before its beginning: the clock is broken. A driver may lack those of passes without a dispatch
        // alone.
        let impossible = |[begin, end]: &[u64; 2]| *begin == 0 || end < begin;
        if pairs.clone().any(|(around, pair)| matches!(around, Around::Pass(_)) && impossible(pair)) {
            times.impossible.fetch_add(1, Relaxed);
            return;
        }
        for (around, pair) in pairs.filter(|(_, pair)| !impossible(pair)) {
            let time = ((pair[1] - pair[0]) as f64 * self.period) as u64;
            let (sum, added, nanoseconds) = match *around {
                Around::Pass(number) => {
                    let (time, count) = &times.passes[number.min(SUMS - 1)];
                    (count, 1, time)
                }
                Around::Copy(bytes) => (&times.copies.0, bytes, &times.copies.1),
            };
            sum.fetch_add(added, Relaxed);
            nanoseconds.fetch_add(time, Relaxed);
        }
    }
}
