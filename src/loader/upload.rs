//! The end of the line when the GPU augments: grants ranges of mapped slots in batch order, and turns each full slot into
//! one submission (copy, then the plan's passes).
//!
//! One thread, one loop: it hears the workers, grants what it can, and waits for whatever is missing, which is either a
//! message, a buffer that the caller returns, or the GPU. It never waits for a worker while it could grant, so a slow
//! or huge sample delays its own batch and nothing else.

mod kept;

use super::assembly::{Assembly, Grant, Judge, Message, Request};
use super::batch::{Batch, Store};
use super::cache::DeviceClaim;
use super::line::Line;
use super::outputs::{Outputs, ROUND, Run, Stuck};
use super::stats::{Clock, Stage};
use crate::error::{ErrorKind, Result};
use crate::gpu::kernel::{Item, Keep, Kernels, Target};
use crate::gpu::submission::{Part, Resources};
use crate::plan::params::Source;
use crate::plan::program::Program;
use crossbeam_channel::{Receiver, Sender, never, select};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A slot that is being filled.
#[derive(Debug)]
struct Filling {
    slot: usize,
    used: u64,
    /// Ranges that workers still write.
    outstanding: usize,
    contents: Vec<Placed>,
    /// No further range is granted.
    sealed: bool,
}

/// A finished range.
#[derive(Debug)]
struct Placed {
    batch: u64,
    place: usize,
    views: Vec<(Source, Program)>,
    claim: Option<DeviceClaim>,
}

pub(super) struct Uploader<'a> {
    pub(super) line: &'a Line,
    pub(super) kernels: &'a Kernels,
    pub(super) outputs: &'a Arc<Outputs<Target>>,
    pub(super) run: &'a Arc<Run>,
    pub(super) resources: &'a mut Resources,
    pub(super) ready: &'a Sender<Result<Batch>>,
    pub(super) stop: &'a AtomicBool,
    clock: Clock<'a>,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    filling: Vec<Filling>,
    batches: BTreeMap<u64, Assembly>,
    /// Requests by the sample's number, and further ones of samples that failed.
    pending: BTreeMap<u64, Request>,
    again: VecDeque<Request>,
    next_order: u64,
    judge: Judge,
    stuck: Stuck,
}

/// What is missing to grant the next request.
#[derive(Debug, PartialEq)]
enum Missing {
    Nothing,
    Request,
    Output,
    Slot,
}

impl<'a> Uploader<'a> {
    pub(super) fn new(
        line: &'a Line,
        kernels: &'a Kernels,
        (outputs, run): (&'a Arc<Outputs<Target>>, &'a Arc<Run>),
        resources: &'a mut Resources,
        ready: &'a Sender<Result<Batch>>,
        stop: &'a AtomicBool,
    ) -> Self {
        line.stats.gpu.name(&kernels.plan().pass_list());
        let clock = line.stats.upload();
        Uploader { line, kernels, outputs, run, resources, ready, stop, clock, state: State::default() }
    }

    /// Works until the workers are gone, the caller is, or an error ends the run.
    pub(super) fn run(mut self, (inbox, announced): (&Receiver<Message>, &Receiver<()>)) -> Result<()> {
        let result = self.serve(inbox, announced);
        // Slots that were being filled stay mapped; their ranges are dropped when the workers have ended.
        for filling in &self.state.filling {
            self.resources.staging.give_back(filling.slot);
        }
        result
    }

    fn serve(&mut self, inbox: &Receiver<Message>, announced: &Receiver<()>) -> Result<()> {
        // Feeder and workers have ended.
        let mut ended = false;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut missing = self.grant_all()?;
            if !self.submit_kept()? && missing != Missing::Slot {
                missing = Missing::Output;
            }
            self.submit_full()?;
            if !self.deliver(announced)? {
                return Ok(());
            }
            self.clock.spent(Stage::Submit, 0);
            let message = match missing {
                Missing::Slot if self.filling_is_idle() && self.resources.staging.waits_for_gpu() => {
                    let staging = &mut self.resources.staging;
                    self.clock.waited_for_gpu(|| staging.wait_oldest())?;
                    continue;
                }
                Missing::Output => {
                    self.outputs.check(self.run, &mut self.state.stuck)?;
                    let inbox = if ended { &never() } else { inbox };
                    match self.clock.blocked(|| self.for_output(inbox)) {
                        Some(message) => message,
                        None => continue,
                    }
                }
                Missing::Slot | Missing::Request | Missing::Nothing => {
                    self.clock.look(inbox.len());
                    self.clock.starved(|| inbox.recv()).ok()
                }
            };
            match message {
                Some(message) => self.hear(message)?,
                None if ended => return Ok(()),
                // What is left is submitted and delivered.
                None => {
                    ended = true;
                    self.state.filling.iter_mut().for_each(|filling| filling.sealed = true);
                }
            }
            while let Ok(message) = inbox.try_recv() {
                self.hear(message)?;
            }
        }
    }

    /// Waits for an output buffer, and hears what arrives meanwhile: `None` if that is no message, `Some(None)` if
    /// there will be none any more.
    fn for_output(&self, inbox: &Receiver<Message>) -> Option<Option<Message>> {
        select! {
            recv(inbox) -> message => Some(message.ok()),
            recv(self.outputs.returns(self.run)) -> buffer => {
                if let Ok(buffer) = buffer {
                    // Where the next round takes it.
                    self.outputs.put_back(buffer);
                }
                None
            }
            recv(self.run.left()) -> _ => None,
            default(ROUND) => None,
        }
    }

    fn hear(&mut self, message: Message) -> Result<()> {
        let state = &mut self.state;
        match message {
            Message::Batch(announced) => {
                state.batches.insert(announced.number, Assembly::new(announced));
            }
            Message::Request(request) => match request.order {
                Some(order) => {
                    state.pending.insert(order, request);
                }
                None => state.again.push_back(request),
            },
            Message::GiveBack { slot } => {
                if let Some(filling) = state.filling.iter_mut().find(|filling| filling.slot == slot) {
                    filling.outstanding -= 1;
                }
            }
            Message::Uploaded { batch, place, facts, failures, slot, views, claim } => {
                if let Some(assembly) = state.batches.get_mut(&batch) {
                    assembly.set_facts(place, [facts], failures);
                }
                if let Some(filling) = state.filling.iter_mut().find(|filling| filling.slot == slot) {
                    filling.outstanding -= 1;
                    filling.contents.push(Placed { batch, place, views, claim });
                }
            }
            Message::Augmented { .. } => {
                let reason = "a worker of the CPU line sent to the GPU line".to_owned();
                return Err(ErrorKind::Device { stage: "upload", reason }.into());
            }
            Message::Fatal(error) => return Err(error),
        }
        Ok(())
    }

    /// Grants requests in batch order until something is missing.
    fn grant_all(&mut self) -> Result<Missing> {
        loop {
            // A sample that failed belongs to a batch that is due before any other.
            let further = !self.state.again.is_empty();
            let next = if further { self.state.again.front() } else { self.state.pending.get(&self.state.next_order) };
            let Some(request) = next else {
                return Ok(if self.state.batches.is_empty() { Missing::Nothing } else { Missing::Request });
            };
            let (batch, bytes) = (request.batch, request.bytes);
            if !self.has_output(batch)? {
                return Ok(Missing::Output);
            }
            let Some(open) = self.open_slot(bytes)? else { return Ok(Missing::Slot) };
            let request = if further {
                self.state.again.pop_front()
            } else {
                self.state.next_order += 1;
                self.state.pending.remove(&(self.state.next_order - 1))
            };
            let Some(request) = request else { return Ok(Missing::Request) };
            let filling = &mut self.state.filling[open];
            let range = self.resources.staging.range(filling.slot, filling.used, bytes);
            let grant = Grant { range, slot: filling.slot, offset: filling.used };
            // In whole `vec4<f32>`s, as each view counts its bytes.
            filling.used += bytes;
            filling.outstanding += 1;
            if let Some(assembly) = self.state.batches.get_mut(&batch) {
                assembly.granted += usize::from(!further);
                // A batch's last place (or what replaces it) seals the slot: the batch need not wait for the next one.
                filling.sealed |= assembly.granted == assembly.announced.places;
            }
            if request.reply.send(grant).is_err() {
                // The worker has ended; so does the run.
                filling.outstanding -= 1;
            }
        }
    }

    /// Whether the batch has its output buffer; takes one if there is one. Batches before it come first, or a later one
    /// could have the last buffer while the caller waits for an earlier one.
    fn has_output(&mut self, batch: u64) -> Result<bool> {
        let (gpu, plan, bytes) = (self.kernels.gpu(), &self.line.plan, self.line.batch_bytes());
        for (_, assembly) in self.state.batches.range_mut(..=batch).filter(|(_, batch)| batch.target.is_none()) {
            assembly.target = self.outputs.try_take(self.run, || Target::new(gpu, plan, bytes))?;
            if assembly.target.is_none() {
                return Ok(false);
            }
        }
        Ok(self.state.batches.contains_key(&batch))
    }

    /// The slot with room for `bytes`, sealing one that has none.
    fn open_slot(&mut self, bytes: u64) -> Result<Option<usize>> {
        let state = &mut self.state;
        let most = self.line.slot_samples();
        if let Some(open) = state.filling.iter().position(|filling| !filling.sealed) {
            let filling = &mut state.filling[open];
            if filling.used + bytes <= self.resources.slot_bytes && filling.contents.len() + filling.outstanding < most
            {
                return Ok(Some(open));
            }
            filling.sealed = true;
        }
        let Some(slot) = self.resources.staging.try_take()? else { return Ok(None) };
        state.filling.push(Filling { slot, used: 0, outstanding: 0, contents: Vec::new(), sealed: false });
        Ok(Some(state.filling.len() - 1))
    }

    /// Whether no worker is writing into a sealed slot, so that only the GPU can bring one back.
    fn filling_is_idle(&self) -> bool {
        self.state.filling.iter().all(|filling| filling.outstanding == 0)
    }

    /// Submits every sealed slot that nobody writes any more.
    fn submit_full(&mut self) -> Result<()> {
        while let Some(at) = self.state.filling.iter().position(|filling| filling.sealed && filling.outstanding == 0) {
            let filling = self.state.filling.swap_remove(at);
            let images = (filling.contents.len() * self.line.views) as u64;
            let bytes = if images > 0 { filling.used } else { 0 };
            // What was heard and granted before counts as well.
            let _span = tracing::trace_span!("upload", images, bytes).entered();
            let computing = self.submit(filling)?;
            self.clock.spent_with_gpu(Stage::Submit, images, computing);
            self.clock.bytes(Stage::Submit, bytes);
        }
        Ok(())
    }

    /// One slot, one submission: the copy, the passes of each batch in it, and what completes a batch. Returns how long the
    /// driver computed on this thread.
    fn submit(&mut self, filling: Filling) -> Result<Duration> {
        let Filling { slot, used, mut contents, .. } = filling;
        if contents.is_empty() {
            self.resources.staging.give_back(slot);
            return Ok(Duration::ZERO);
        }
        contents.sort_by_key(|placed| (placed.batch, placed.place));
        for placed in &contents {
            if let Some(assembly) = self.state.batches.get_mut(&placed.batch) {
                assembly.remaining -= 1;
            }
        }
        let pages = self.pages();
        let mut parts = Vec::new();
        for of_batch in contents.chunk_by(|a, b| a.batch == b.batch) {
            let assembly = self.state.batches.get(&of_batch[0].batch);
            let Some((assembly, target)) = assembly.and_then(|batch| Some((batch, batch.target.as_ref()?))) else {
                let reason = "a sample of a batch without a buffer was uploaded".to_owned();
                return Err(ErrorKind::Device { stage: "upload", reason }.into());
            };
            let mut items = Vec::with_capacity(of_batch.len() * self.line.views);
            for Placed { place, views, claim, .. } in of_batch {
                let first = place * self.line.views;
                let mut keep = claim
                    .as_ref()
                    .map(DeviceClaim::place)
                    .map(|place| Keep { page: pages[place.page].clone(), place: place.clone() });
                items.extend((first..).zip(views).map(|(index, (source, program))| Item {
                    program,
                    source: *source,
                    index,
                    // The head is the same in every view.
                    keep: keep.take(),
                }));
            }
            let elements = self.line.sample_elements() * assembly.announced.places as u64;
            parts.push(Part { items, target, complete: (assembly.remaining == 0).then_some(elements) });
        }
        let computing = self.resources.submit(self.kernels, slot, used, parts, &self.line.stats.gpu)?;
        contents.into_iter().filter_map(|placed| placed.claim).for_each(DeviceClaim::keep);
        Ok(computing)
    }

    /// Hands complete batches on, in order; `false` once the caller is gone.
    fn deliver(&mut self, announced: &Receiver<()>) -> Result<bool> {
        while let Some(entry) = self.state.batches.first_entry().filter(|entry| entry.get().remaining == 0) {
            let mut assembly = entry.remove();
            let Some(target) = assembly.target.take() else {
                let reason = "a batch without a buffer was complete".to_owned();
                return Err(ErrorKind::Device { stage: "upload", reason }.into());
            };
            let store = Store::Gpu { gpu: self.kernels.gpu().clone(), target };
            let _ = announced.try_recv();
            self.line.stats.ready(assembly.announced.at.elapsed());
            let mut batch = assembly.finish(self.line, store);
            self.state.judge.judge(self.line, &mut batch)?;
            self.clock.spent(Stage::Submit, 0);
            if self.clock.blocked(|| self.ready.send(Ok(batch)).is_err()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
