//! The end of the line when the CPU executor augments: joins the pieces of each batch and hands the batches on in order,
//! either as they are or copied into GPU buffers (software adapters).

use super::assembly::{Assembly, Judge, Message};
use super::batch::{Batch, Store};
use super::host::HostBuffer;
use super::line::Line;
use super::outputs::{Lease, Outputs, Run};
use super::stats::{Clock, Stage};
use crate::error::{ErrorKind, Result};
use crate::gpu::Gpu;
use crate::gpu::kernel::Target;
use crate::gpu::staging::Staging;
use crossbeam_channel::{Receiver, Sender};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Copies finished batches into GPU buffers.
pub(super) struct CopyUp<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) outputs: &'a Arc<Outputs<Target>>,
    pub(super) run: &'a Arc<Run>,
    pub(super) staging: &'a mut Staging,
}

/// Assembles batches until the workers are gone, the caller is, or an error ends the run.
pub(super) fn run(
    line: &Line,
    (inbox, announced): (&Receiver<Message>, &Receiver<()>),
    ready: &Sender<Result<Batch>>,
    stop: &AtomicBool,
    mut up: Option<CopyUp<'_>>,
) -> Result<()> {
    let mut batches: BTreeMap<u64, Assembly> = BTreeMap::new();
    let mut judge = Judge::default();
    let clock = line.stats.upload();
    loop {
        clock.spent(Stage::Submit, 0);
        clock.look(inbox.len());
        let Ok(message) = clock.starved(|| inbox.recv()) else { return Ok(()) };
        match message {
            Message::Batch(announced) => {
                batches.insert(announced.number, Assembly::new(announced));
            }
            Message::Augmented { batch, place, facts, failures, piece } => {
                if let Some(assembly) = batches.get_mut(&batch) {
                    assembly.set_piece(place, facts.len(), piece);
                    assembly.set_facts(place, facts, failures);
                }
            }
            Message::Fatal(error) => return Err(error),
            Message::Uploaded { .. } | Message::Request(_) | Message::GiveBack { .. } => {
                let reason = "a worker of the GPU line sent to the CPU line".to_owned();
                return Err(ErrorKind::Device { stage: "assembling", reason }.into());
            }
        }
        while let Some(entry) = batches.first_entry().filter(|entry| entry.get().remaining == 0) {
            let mut assembly = entry.remove();
            let Some(lease) = assembly.join() else { continue };
            let store = match &mut up {
                None => Store::Host(lease),
                Some(up) => match up.copy(line, &lease, stop, &clock)? {
                    Some(target) => Store::Gpu { gpu: up.gpu.clone(), target },
                    None => return Ok(()),
                },
            };
            let _ = announced.try_recv();
            line.stats.ready(assembly.announced.at.elapsed());
            let mut batch = assembly.finish(line, store);
            judge.judge(line, &mut batch)?;
            clock.spent(Stage::Submit, 0);
            if clock.blocked(|| ready.send(Ok(batch)).is_err()) {
                return Ok(());
            }
        }
    }
}

impl CopyUp<'_> {
    /// `None` once the run is stopped.
    fn copy(
        &mut self,
        line: &Line,
        host: &HostBuffer,
        stop: &AtomicBool,
        clock: &Clock<'_>,
    ) -> Result<Option<Lease<Target>>> {
        let bytes = line.batch_bytes();
        clock.spent(Stage::Submit, 0);
        let taken = clock.blocked(|| self.outputs.take(self.run, stop, || Target::plain(self.gpu, bytes)))?;
        let Some(target) = taken else { return Ok(None) };
        let slot = clock.waited_for_gpu(|| self.staging.take())?;
        let bytes = host.batch().len();
        let images = (bytes / line.plan.image_bytes(line.size).max(1)) as u64;
        let _span = tracing::trace_span!("upload", images, bytes).entered();
        self.staging.upload(slot, host.batch(), &target.output)?;
        clock.spent(Stage::Submit, images);
        clock.bytes(Stage::Submit, bytes as u64);
        Ok(Some(target))
    }
}
