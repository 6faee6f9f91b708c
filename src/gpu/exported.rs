//! Buffers of batches that another API imports: which submission waits for its work, and which one tells it that a batch is
//! ready. `external/vulkan.rs` has the calls.
//!
//! A buffer takes turns. In each, gpufeed fills it, a batch hands it out, and it comes back: released by the other API,
//! unused, or never.

use super::Gpu;
use super::errors::CALLBACK_PATIENCE;
use super::external::{self, ExternalBuffer, ExternalHandle, Handover, Point, Refused, Semaphore};
use crate::error::{Error, ErrorKind, Result};
use crossbeam_channel::{Receiver, bounded};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether the memory of a loader's batches can be imported by another API.
///
/// ```no_run
/// use gpufeed::{Backend, DataLoader, Export, ImageFolder, recipe};
///
/// let loader = DataLoader::builder(ImageFolder::open("photos")?)
///     .recipe(recipe::imagenet_train())
///     .batch_size(256)
///     .export(Export::Auto)
///     .build(&Backend::require_gpu()?)?;
/// for batch in loader.epoch(0)? {
///     let batch = batch?;
///     let external = batch.group("image").expect("a loader without groups has this one").external()?;
///     println!("{} bytes, by {}", external.bytes(), external.handover());
///     // The other API imports the memory once for each `external.id()`, waits for `external.ready()`, reads, and signals
///     // `external.free()`.
///     batch.release();
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Export {
    /// No. The batches are in wgpu's own memory.
    #[default]
    Off,
    /// Yes, by the handles of the system (file descriptors on Linux, handles on Windows), and by the best [`Handover`] that
    /// the driver has.
    Auto,
}

/// The memory of a batch's images in one group, for another API: CUDA, HIP, another device of Vulkan.
///
/// [`BatchGroup::external`](crate::BatchGroup::external) gives it. The other API
///
/// 1. imports [`memory`](Self::memory) on the device that has [`uuid`](Self::uuid): once for each [`id`](Self::id), as the
///    buffers of a loader come back;
/// 2. waits for [`ready`](Self::ready) before it reads;
/// 3. signals [`free`](Self::free) after it has read;
/// 4. calls [`Batch::release`](crate::Batch::release) once that signal is among the work of its device. A batch that is
///    dropped without is lost to the loader, which ends with
///    [`ErrorKind::OutputsHeld`](crate::ErrorKind::OutputsHeld) when it has no other buffer.
///
/// With [`Handover::HostWaits`] there are no semaphores: the batch is ready when this is returned, and whatever reads it has
/// to have ended before the batch is released.
///
/// [`Export`] has an example.
#[derive(Debug)]
pub struct External<'a> {
    exported: &'a Exported,
    bytes: u64,
    turn: u64,
}

/// A semaphore that two APIs share, at a batch: a part of [`External`].
///
/// ```no_run
/// # fn show(external: gpufeed::External<'_>) -> Result<(), gpufeed::Error> {
/// if let Some(ready) = external.ready() {
///     let handle = ready.export()?; // to be imported once, as the memory
///     println!("{handle:?}, which is to reach {:?}", ready.value());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SharedSemaphore<'a> {
    exported: &'a Exported,
    semaphore: Semaphore,
    value: Option<u64>,
}

impl External<'_> {
    /// The number of the buffer; no other one of this process has it, ever.
    pub fn id(&self) -> u64 {
        self.exported.id
    }

    /// A new handle of the memory, to be imported as a dedicated allocation.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) with what the driver says.
    pub fn memory(&self) -> Result<ExternalHandle> {
        self.exported.external.export_memory().map_err(device_error)
    }

    /// Bytes of the whole memory, which an import names.
    pub fn allocation(&self) -> u64 {
        self.exported.external.allocation
    }

    /// The byte of the memory at which the images begin.
    pub fn offset(&self) -> u64 {
        0
    }

    /// Bytes of the images.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the buffer has for images, from [`offset`](Self::offset) on: an import has to map all of them, as a smaller
    /// batch may be the first one in a buffer.
    pub fn capacity(&self) -> u64 {
        self.exported.buffer.size()
    }

    /// The UUID of the device, as [`Identity::uuid`](crate::Identity::uuid) has it. CUDA gives NVIDIA's cards the same one.
    pub fn uuid(&self) -> Option<&str> {
        self.exported.gpu.identity().uuid.as_deref()
    }

    /// How the two APIs know of each other's work.
    pub fn handover(&self) -> Handover {
        self.exported.handover
    }

    /// The semaphore that says that the images are there; `None` where the host has waited for them. A binary semaphore has to be waited for,
    /// once for each batch, and in the order of the batches: the next one may be handed out before this wait has ended.
    pub fn ready(&self) -> Option<SharedSemaphore<'_>> {
        Some(self.shared(self.exported.external.ready()?))
    }

    /// The semaphore that says that the images were read; `None` where [`Batch::release`](crate::Batch::release) says it. A binary
    /// semaphore has to be signalled, once.
    pub fn free(&self) -> Option<SharedSemaphore<'_>> {
        Some(self.shared(self.exported.external.free()?))
    }

    /// Says that the other API has not waited for this batch, and will neither read it nor signal that it has: such as where
    /// its import has failed.
    pub fn unused(self) {
        self.exported.turns.lock().handed_out = false;
    }

    fn shared(&self, semaphore: Semaphore) -> SharedSemaphore<'_> {
        SharedSemaphore { exported: self.exported, semaphore, value: self.exported.value(self.turn) }
    }
}

impl SharedSemaphore<'_> {
    /// A new handle of the semaphore. It is the same semaphore for each batch in this buffer.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) with what the driver says.
    pub fn export(&self) -> Result<ExternalHandle> {
        self.exported.external.export(self.semaphore).map_err(device_error)
    }

    /// The value of this batch, of a timeline semaphore; `None` of a binary one.
    pub fn value(&self) -> Option<u64> {
        self.value
    }
}

fn device_error(reason: String) -> Error {
    ErrorKind::Device { stage: "exporting a batch", reason }.into()
}

/// A buffer that another API imports.
#[derive(Debug)]
pub(crate) struct Exported {
    gpu: Gpu,
    /// The memory lives as long as this.
    buffer: wgpu::Buffer,
    external: ExternalBuffer,
    id: u64,
    handover: Handover,
    turns: Mutex<Turns>,
}

/// A small buffer, which shows whether another API can import memory of this device. A part of `internals`.
#[derive(Debug)]
pub struct Trial(Exported);

impl Trial {
    /// Makes a buffer of 4 KiB, which can be imported.
    ///
    /// # Errors
    /// Those of a loader that exports.
    pub fn new(gpu: &Gpu) -> Result<Trial> {
        gpu.exported("gpufeed trial", 4096).map(Trial)
    }

    /// The buffer's memory. Nothing is ever written there, and no semaphore is signalled.
    pub fn external(&self) -> External<'_> {
        External { exported: &self.0, bytes: self.0.buffer.size(), turn: 0 }
    }
}

/// Where a buffer is in its turn.
#[derive(Debug, Default)]
struct Turns {
    /// The turn of the last complete batch, from 1: the value of the timelines.
    complete: u64,
    /// True if the next submission that writes waits for the other API's work.
    wait: bool,
    /// True from a batch's last submission until the buffer comes back.
    ready: bool,
    /// True from when another API may use the batch until it says that it has.
    handed_out: bool,
    /// Receives when the batch is there, where no semaphore says so.
    done: Option<Receiver<()>>,
}

/// Whether a buffer may be written again once its batch was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ComesBack {
    /// It may: nobody else uses it, or says by a semaphore when that ends.
    Free,
    /// It may not. Its binary semaphore was signalled, and nobody has waited for that: a second signal is not allowed, and if
    /// this device waited for the first one, the other API could take it away with its wait for the second. A new buffer
    /// has new semaphores.
    Spent,
    /// Another API may still use it, and will not say when that ends.
    Never,
}

/// The number of the next buffer.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Exported {
    /// The buffer, as `Target::output`.
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    fn value(&self, turn: u64) -> Option<u64> {
        (self.handover == Handover::TimelineSemaphores).then_some(turn)
    }

    fn point(&self, semaphore: Option<Semaphore>, turn: u64) -> Option<Point> {
        semaphore.map(|semaphore| Point { semaphore, value: self.value(turn) })
    }

    /// The point for which a submission that writes to the buffer has to wait. Only the first one of a turn waits.
    fn wait(&self) -> Option<Point> {
        let mut turns = self.turns.lock();
        let waits = std::mem::take(&mut turns.wait);
        self.point(self.external.free().filter(|_| waits), turns.complete)
    }

    /// Counts a complete batch, and returns the point that its last submission signals.
    fn complete(&self) -> Option<Point> {
        let mut turns = self.turns.lock();
        turns.complete += 1;
        turns.ready = true;
        self.point(self.external.ready(), turns.complete)
    }

    /// Without semaphores, notes the end of the submission that has completed the batch.
    fn submitted(&self) {
        if self.handover == Handover::HostWaits {
            let (sender, receiver) = bounded(1);
            self.gpu.queue().on_submitted_work_done(move || {
                // The receiver may have gone with its batch.
                let _ = sender.send(());
            });
            self.turns.lock().done = Some(receiver);
        }
    }

    /// Hands the batch out to another API.
    pub(crate) fn hand_out(&self, bytes: u64) -> Result<External<'_>> {
        let (turn, done) = {
            let mut turns = self.turns.lock();
            turns.handed_out = true;
            (turns.complete, turns.done.take())
        };
        let waited = done.map_or(Ok(()), |done| self.wait_for(&done));
        waited.inspect_err(|_| self.turns.lock().handed_out = false)?;
        Ok(External { exported: self, bytes, turn })
    }

    fn wait_for(&self, done: &Receiver<()>) -> Result<()> {
        while done.try_recv().is_err() {
            self.gpu.wait(None)?;
            // A poll can return before the work is done, and another thread may be about to run the callback.
            if done.recv_timeout(CALLBACK_PATIENCE).is_ok() {
                break;
            }
            // A lost device may have dropped the callback.
            self.gpu.alive("handing a batch over")?;
        }
        Ok(())
    }

    /// Takes the batch back from the API that it was handed out to.
    pub(crate) fn release(&self) {
        let mut turns = self.turns.lock();
        if std::mem::take(&mut turns.handed_out) {
            turns.ready = false;
            turns.wait = true;
        }
    }

    /// Whether the buffer may be written again.
    pub(crate) fn comes_back(&self) -> ComesBack {
        let mut turns = self.turns.lock();
        turns.done = None;
        let unheard = std::mem::take(&mut turns.ready) && self.handover == Handover::BinarySemaphores;
        match (turns.handed_out, unheard) {
            (true, _) => ComesBack::Never,
            (false, true) => ComesBack::Spent,
            (false, false) => ComesBack::Free,
        }
    }
}

impl Gpu {
    /// How batches of this device are handed over to another API; an error of the setting `export` if they are not.
    pub(crate) fn handover(&self) -> Result<Handover> {
        let reason = match self.exports() {
            Ok(handover) => return Ok(handover),
            Err(reason) => reason,
        };
        Err(Error::argument(
            "export",
            format!("{self}: {reason}, so that no other API can share the memory of batches"),
        ))
    }

    /// A storage buffer that copies can read and write, and that another API can import.
    pub(super) fn exported(&self, label: &'static str, size: u64) -> Result<Exported> {
        let handover = self.handover()?;
        self.exported_by(label, size, handover, true)
    }

    /// As [`exported`](Self::exported), with semaphores that only this device knows unless they are `shared`: for tests on
    /// drivers that export none.
    fn exported_by(&self, label: &'static str, size: u64, handover: Handover, shared: bool) -> Result<Exported> {
        let made = self.create_checked(label, size, || {
            self.count_buffer();
            ExternalBuffer::new(self.device(), label, size, handover, shared)
        })?;
        let (buffer, external) = made.map_err(|refused| match refused {
            Refused::NoMemory => ErrorKind::OutOfMemory { what: label, bytes: size },
            Refused::Other(reason) => ErrorKind::Device { stage: "allocating buffers", reason },
        })?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Exported { gpu: self.clone(), buffer, external, id, handover, turns: Mutex::default() })
    }

    /// Submits commands that write to these buffers, and complete a batch in some: waits for the other API before, and tells
    /// it after.
    pub(super) fn submit_exported<'a>(
        &self,
        commands: wgpu::CommandBuffer,
        written: impl IntoIterator<Item = &'a Exported>,
        completed: &[&Exported],
    ) -> wgpu::SubmissionIndex {
        let waiting = |exported: &'a Exported| Some((exported, exported.wait()?));
        let (waiting, waits): (Vec<_>, Vec<_>) = written.into_iter().filter_map(waiting).unzip();
        let signals: Vec<Point> = completed.iter().filter_map(|exported| exported.complete()).collect();
        let releases = completed.iter().map(|exported| exported.external.release());
        let commands: Vec<_> = std::iter::once(commands).chain(releases).collect();
        let _alone = self.submitting();
        external::stage(self.queue(), &waits, &signals);
        let submission = self.submit_alone(commands);
        // wgpu refuses a submission with an error before it reaches Vulkan's queue, and the next one would take these.
        if external::unstage(self.queue(), &waits, &signals) {
            waiting.iter().for_each(|exported| exported.turns.lock().wait = true);
            completed.iter().for_each(|exported| exported.turns.lock().handed_out = true);
        }
        completed.iter().for_each(|exported| exported.submitted());
        submission
    }
}

#[cfg(test)]
mod tests;
