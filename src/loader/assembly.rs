//! A batch in the making: what is known of each place, in whatever order the workers finish.

use super::OnError;
use super::batch::{Batch, Failure, Store};
use super::cache::DeviceClaim;
use super::host::HostBuffer;
use super::line::Line;
use super::outputs::Lease;
use super::prepare::Facts;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::kernel::Target;
use crate::gpu::staging::MappedRange;
use crate::plan::params::Source;
use crate::plan::program::Program;
use bytes::BytesMut;
use crossbeam_channel::Sender;
use std::collections::BTreeMap;
use std::time::Instant;

/// What the threads tell the one that assembles batches.
#[derive(Debug)]
pub(super) enum Message {
    /// A batch's places are about to be handed to the workers.
    Batch(Announced),
    /// A worker knows how many bytes its sample needs in a slot.
    Request(Request),
    /// A worker could not use what it was granted.
    GiveBack { slot: usize },
    /// Samples of neighbouring places, from `place` on, are augmented, in their piece of the batch's memory.
    Augmented { batch: u64, place: usize, facts: Vec<Facts>, failures: Vec<Failure>, piece: BytesMut },
    /// A sample is in a slot, to be augmented by the GPU: each view's pixels and program.
    Uploaded {
        batch: u64,
        place: usize,
        facts: Facts,
        failures: Vec<Failure>,
        slot: usize,
        views: Vec<(Source, Program)>,
        /// Where to keep it.
        claim: Option<DeviceClaim>,
    },
    /// The line cannot go on.
    Fatal(Error),
}

#[derive(Debug)]
pub(super) struct Announced {
    /// The batch's number in this run.
    pub(super) number: u64,
    pub(super) epoch: u64,
    /// Its number in the epoch.
    pub(super) index: u64,
    pub(super) places: usize,
    pub(super) valid: usize,
    pub(super) at: Instant,
    /// The memory that the workers fill, when they augment themselves.
    pub(super) buffer: Option<Lease<HostBuffer>>,
    /// Samples that lie in GPU memory and take no worker.
    pub(super) kept: Vec<KeptPlace>,
}

/// A place whose sample lies in GPU memory.
#[derive(Debug)]
pub(super) struct KeptPlace {
    pub(super) place: usize,
    pub(super) facts: Facts,
    /// Its page's number.
    pub(super) page: usize,
    pub(super) source: Source,
    /// Each view's.
    pub(super) programs: Vec<Program>,
}

#[derive(Debug)]
pub(super) struct Request {
    /// The sample's number in this run; `None` for a further one of the same sample.
    pub(super) order: Option<u64>,
    pub(super) batch: u64,
    pub(super) bytes: u64,
    pub(super) reply: Sender<Grant>,
}

/// A range of a mapped slot, for one worker.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) range: MappedRange,
    pub(super) slot: usize,
    /// First byte in the slot.
    pub(super) offset: u64,
}

#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) announced: Announced,
    facts: Vec<Option<Facts>>,
    /// By their first places.
    pieces: BTreeMap<usize, BytesMut>,
    failures: Vec<Failure>,
    /// Places that are not yet augmented (or submitted to be).
    pub(super) remaining: usize,
    /// Places that were granted a range of a slot, or need none.
    pub(super) granted: usize,
    pub(super) target: Option<Lease<Target>>,
}

impl Assembly {
    pub(super) fn new(announced: Announced) -> Self {
        let (places, granted) = (announced.places, announced.kept.len());
        Assembly {
            announced,
            facts: (0..places).map(|_| None).collect(),
            pieces: BTreeMap::new(),
            failures: Vec::new(),
            remaining: places,
            granted,
            target: None,
        }
    }

    /// Of the places from `place` on.
    pub(super) fn set_facts(&mut self, place: usize, facts: impl IntoIterator<Item = Facts>, failures: Vec<Failure>) {
        for (known, facts) in self.facts[place..].iter_mut().zip(facts) {
            *known = Some(facts);
        }
        self.failures.extend(failures);
    }

    pub(super) fn set_piece(&mut self, place: usize, places: usize, piece: BytesMut) {
        self.pieces.insert(place, piece);
        self.remaining -= places;
    }

    /// The batch's memory with every piece back in its place.
    pub(super) fn join(&mut self) -> Option<Lease<HostBuffer>> {
        let mut lease = self.announced.buffer.take()?;
        let pieces = std::mem::take(&mut self.pieces);
        lease.with(|buffer| buffer.join(pieces.into_values()));
        Some(lease)
    }

    /// The finished batch.
    pub(super) fn finish(mut self, line: &Line, store: Store) -> Batch {
        self.failures.sort_by_key(|failure| failure.place);
        let images = self.facts.len() * line.views;
        let mut batch = Batch {
            store,
            output: line.plan.output(),
            size: line.size,
            channels: line.plan.channels(),
            views: line.views,
            labels: Vec::with_capacity(images),
            ids: Vec::with_capacity(images),
            params: Vec::with_capacity(images),
            failures: self.failures,
            valid: self.announced.valid * line.views,
            epoch: self.announced.epoch,
            index: self.announced.index,
        };
        for Facts { id, label, params } in self.facts.into_iter().flatten() {
            batch.ids.extend(params.iter().map(|_| id));
            batch.labels.extend(params.iter().map(|_| label.clone()));
            batch.params.extend(params);
        }
        batch
    }
}

/// Judges the share of failures, batch by batch in order, so that every run with the same seed judges alike.
#[derive(Debug, Default)]
pub(super) struct Judge {
    seen: u64,
    failed: u64,
}

/// Samples before the share is judged: one bad file among the first two is no half of the data set.
const JUDGED_FROM: u64 = 100;

impl Judge {
    pub(super) fn judge(&mut self, line: &Line, batch: &mut Batch) -> Result<()> {
        self.seen += (batch.len() / line.views) as u64;
        self.failed += batch.failures.len() as u64;
        let OnError::Skip { max_share } = line.on_error else { return Ok(()) };
        if self.seen < JUDGED_FROM || self.failed as f64 <= max_share * self.seen as f64 {
            return Ok(());
        }
        let Some(Failure { id, name, error, .. }) = batch.failures.pop() else { return Ok(()) };
        let last = ErrorKind::Sample { id, name, source: error }.into();
        Err(ErrorKind::TooManyFailures { failed: self.failed, seen: self.seen, max_share, last }.into())
    }
}
