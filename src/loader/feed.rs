//! The start of the line: announces each batch, and hands its places to the workers.
//!
//! Samples that lie in GPU memory take no worker: their numbers are drawn here, many at once, and the batch is
//! announced with them.

use super::assembly::{Announced, KeptPlace, Message};
use super::cache::{DeviceCache, DeviceEntry, Store};
use super::drafted::is_reduced;
use super::line::{Line, Runs};
use super::prepare::Facts;
use super::stats::{Clock, Stage};
use super::worker::Job;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::limits::is_for_cpu;
use crate::random::ahead::Ahead;
use crate::random::lanes::LANES;
use crate::sampler::{Position, State};
use crate::transforms::Key;
use crossbeam_channel::Sender;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A larger sample is a job of its own: 64 of these are a quarter of a megabyte.
pub(super) const SMALL: u64 = 4 << 10;
/// Small samples of one job at the most.
const MOST: usize = 64;

/// Places whose samples lie in GPU memory, and the jobs with their first places.
type Divided = (Vec<KeptPlace>, Vec<(usize, Vec<Position>)>);

pub(super) struct Feeder<'a> {
    pub(super) line: &'a Line,
    pub(super) runs: &'a Runs,
    pub(super) jobs: &'a Sender<Job>,
    pub(super) out: &'a Sender<Message>,
    /// Takes one for each batch that is announced and not yet finished.
    pub(super) announce: &'a Sender<()>,
    pub(super) stop: &'a AtomicBool,
}

impl Feeder<'_> {
    /// Feeds from `state` to epoch `end`, or until the run stops.
    pub(super) fn run(&self, state: State, end: u64) -> Result<()> {
        let line = self.line;
        let clock = line.stats.feed();
        let mut ahead = line.plan.ahead();
        let (mut number, mut order) = (0, 0);
        for epoch in state.epoch..end {
            let samples = line.sampler.epoch(epoch);
            let first = if epoch == state.epoch { state.batch } else { 0 };
            for index in first as usize..samples.batches() {
                let positions: Vec<Position> = samples.batch(index).collect();
                let places = positions.len();
                let valid = positions.iter().filter(|position| !position.padding).count();
                clock.other();
                if clock.blocked(|| self.announce.send(()).is_err()) {
                    return Ok(());
                }
                let (kept, groups) = self.divide(epoch, positions, &mut ahead, &clock)?;
                let Some(buffer) = clock.blocked(|| line.take_host_buffer(self.runs, self.stop))? else {
                    return Ok(());
                };
                let mut pieces = Vec::new();
                let buffer = buffer.map(|mut lease| {
                    let bytes = groups.iter().map(|(_, positions)| positions.len() * line.sample_bytes());
                    lease.with(|buffer| pieces = buffer.split(bytes));
                    lease
                });
                let at = Instant::now();
                let announced = Announced { number, epoch, index: index as u64, places, valid, at, buffer, kept };
                if clock.blocked(|| self.out.send(Message::Batch(announced)).is_err()) {
                    return Ok(());
                }
                let mut pieces = pieces.into_iter();
                for (place, positions) in groups {
                    let samples = positions.len() as u64;
                    let job = Job { order, batch: number, place, epoch, positions, piece: pieces.next() };
                    if self.stop.load(Ordering::Relaxed) || clock.send(self.jobs, job).is_err() {
                        return Ok(());
                    }
                    order += samples;
                }
                number += 1;
            }
        }
        Ok(())
    }

    /// Divides a batch's places.
    fn divide(&self, epoch: u64, positions: Vec<Position>, ahead: &mut Ahead, clock: &Clock<'_>) -> Result<Divided> {
        let line = self.line;
        if let Store::Device(cache) = &line.cache {
            return self.divide_by_cache(cache, epoch, positions, ahead, clock);
        }
        let mut groups: Vec<(usize, Vec<Position>)> = Vec::new();
        // Every worker is to have several jobs of a batch.
        let most = if line.augments_on_cpu() { (positions.len() / (4 * line.workers)).clamp(1, MOST) } else { 1 };
        let mut open = false;
        for (place, position) in positions.into_iter().enumerate() {
            let small = most > 1 && self.is_small(position.index);
            match groups.last_mut() {
                Some((_, group)) if small && open && group.len() < most => group.push(position),
                _ => {
                    let mut group = Vec::with_capacity(if small { most } else { 1 });
                    group.push(position);
                    groups.push((place, group));
                }
            }
            open = small;
        }
        Ok((Vec::new(), groups))
    }

    /// The same where samples are kept in GPU memory: theirs are drawn at once, the others are jobs.
    fn divide_by_cache(
        &self,
        cache: &DeviceCache,
        epoch: u64,
        positions: Vec<Position>,
        ahead: &mut Ahead,
        clock: &Clock<'_>,
    ) -> Result<Divided> {
        let line = self.line;
        let (mut kept, mut groups, mut found): (_, _, Vec<_>) = (Vec::new(), Vec::new(), Vec::new());
        for (place, position) in positions.into_iter().enumerate() {
            match cache.get(position.index) {
                Some(entry) => found.push((place, position, entry)),
                None => groups.push((place, vec![position])),
            }
        }
        let at_once = (LANES / line.views).max(1);
        let mut keys = Vec::with_capacity(at_once * line.views);
        for some in found.chunks(at_once) {
            keys.clear();
            for (_, position, _) in some {
                let (_, key) = line.candidate(epoch, position, 0);
                keys.extend((0..line.views as u32).map(|view| Key { view, ..key }));
            }
            ahead.draw(&keys);
            for (&(place, position, entry), first) in some.iter().zip((0..).step_by(line.views)) {
                let views = first..first + line.views;
                // A panic is an operator's, as in a worker.
                let params =
                    catch_unwind(AssertUnwindSafe(|| self.kept_place(place, entry, &keys, views.clone(), ahead)));
                let params = params.map_err(|payload| {
                    let source = Error::panic(Stage::Params.name(), payload.as_ref());
                    ErrorKind::Sample { id: keys[first].sample, name: line.dataset.name(position.index), source }
                })?;
                match params {
                    Some(place) => kept.push(place),
                    None => groups.push((place, vec![position])),
                }
            }
        }
        // Jobs are handed out in the batch's order, those that were found here and went to a worker after all among them.
        groups.sort_by_key(|(place, _)| *place);
        let images = kept.len() * line.views;
        clock.spent(Stage::Params, images as u64);
        line.stats.kept(kept.len());
        line.stats.images(images);
        Ok((kept, groups))
    }

    /// Whether the sample takes a worker so little time that handing it on would be felt.
    fn is_small(&self, index: usize) -> bool {
        match &self.line.cache {
            Store::Host(cache) => cache.get(index).map_or(self.line.small_in_memory, |entry| entry.bytes() <= SMALL),
            _ => self.line.small_in_memory,
        }
    }

    /// A sample that lies in GPU memory, drawn; `None` where it takes a worker.
    fn kept_place(
        &self,
        place: usize,
        entry: &DeviceEntry,
        keys: &[Key],
        views: Range<usize>,
        ahead: &Ahead,
    ) -> Option<KeptPlace> {
        let (plan, known) = (&self.line.plan, &entry.known);
        // Stages of the kernels that are left out.
        let first_stage = if plan.rounds() { 0 } else { plan.first_stage() };
        let id = keys[views.start].sample;
        let (mut params, mut programs) = (Vec::with_capacity(views.len()), Vec::with_capacity(views.len()));
        for view in views {
            // What cannot be drawn for this size is replaced as ever.
            let numbers = plan.make_params_ahead(known.size, &keys[view], (ahead, view)).ok()?;
            let whole = || plan.undivided().program(&numbers).ok();
            // What is kept is no more than a GPU may read; where the source is not, that may be more.
            let (program, reduced) = if plan.rounds() {
                (plan.program(&numbers).ok()?.divided(plan.first_stage()).1, false)
            } else if let Some((_, rest)) = plan.around_head(&numbers).ok()? {
                (rest, is_reduced(&whole()?, known.from_floats))
            } else if first_stage > 0 {
                (plan.program(&numbers).ok()?, is_for_cpu(&whole()?, 0, known.from_floats))
            } else {
                (whole()?, false)
            };
            if reduced || (first_stage == 0 && is_for_cpu(&program, 0, known.from_floats)) {
                return None;
            }
            programs.push(if first_stage == 0 { program.relative_to(known.region) } else { program });
            params.push(numbers);
        }
        let facts = Facts { id, label: known.label.clone(), params };
        Some(KeptPlace { place, facts, page: entry.place.page, source: entry.source(first_stage), programs })
    }
}
