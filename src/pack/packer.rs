//! Defines the packer, which writes a data set as tar shards or an LMDB. It has a source, a folder to pack into,
//! settings, and a listener.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::storage::Folder;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::events::{Event, Listener, Watch, watched};
use super::number::PartNumber;
use super::packed::{PackPlan, Packed};
use super::settings::PackSettings;
use super::source::PackSource;
use super::task::Task;
use super::{parts, whole};

/// Packs a data set: writes its samples as tar shards or an LMDB.
///
/// ```no_run
/// use gpufeed::pack::{Event, PackSettings, Packer};
/// use std::ops::ControlFlow;
///
/// let mut settings = PackSettings::default();
/// settings.shard_bytes = 512 << 20;
/// settings.verify = true;
/// let packer = Packer::new("imagenet/train", "s3://photos/train").settings(settings).listen(|event| {
///     if let Event::Packed { done, all } = event {
///         eprintln!("{done} of {all}");
///     }
///     ControlFlow::Continue(()) // `Break` stops; the same call, made again, continues
/// });
/// let packed = packer.pack()?;
/// println!("{} shards, {} samples left out", packed.shards, packed.skipped.len());
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub struct Packer<'a> {
    task: Task,
    listener: Listener<'a>,
}

impl<'a> Packer<'a> {
    /// Makes a packer for the data set at a path or an address, which may be any that
    /// [`dataset::open`](crate::dataset::open) opens. `out` is the folder or the address to pack into. Samples need not
    /// have a label.
    pub fn new(source: impl AsRef<Path>, out: impl AsRef<Path>) -> Packer<'a> {
        Packer::from_source(PackSource::Path(source.as_ref().to_owned()), out.as_ref())
    }

    /// Makes a packer for a data set that is open already, which may be of a type of the caller's own. `out` is the
    /// folder or the address to pack into.
    ///
    /// If the source changes between two calls, the later call notices it by the sizes and times of the files that
    /// [`Dataset::stored`] names. If the data set has no such files, only the names of the samples are compared. If an
    /// open data set is packed in parts, the call for each part needs the whole data set.
    pub fn of(data: impl Dataset + 'static, out: impl AsRef<Path>) -> Packer<'a> {
        Packer::from_source(PackSource::Data(Arc::new(data)), out.as_ref())
    }

    fn from_source(source: PackSource, out: &Path) -> Packer<'a> {
        let task = Task { source, out: out.to_owned(), settings: PackSettings::default() };
        Packer { task, listener: Box::new(|_| ControlFlow::Continue(())) }
    }

    /// Replaces all settings by these.
    #[must_use]
    pub fn settings(mut self, settings: PackSettings) -> Packer<'a> {
        self.task.settings = settings;
        self
    }

    /// Calls `listener` about 20 times a second while a step ([`pack`](Self::pack), `plan`, `part` or `join`) is at
    /// work, on the thread that called the step. If the listener returns `Break`, the step stops within a second, with
    /// an [`ErrorKind::Stopped`](crate::ErrorKind::Stopped); the same step, called again later, continues. An upload
    /// that is under way then ends in the background, and holds the folder's lock until it has ended.
    #[must_use]
    pub fn listen(mut self, listener: impl FnMut(Event) -> ControlFlow<()> + Send + 'a) -> Packer<'a> {
        self.listener = Box::new(listener);
        self
    }

    /// Packs all samples, or those that an earlier call has not packed. A complete pack is not packed again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a setting that cannot work;
    /// [`ErrorKind::Pack`](crate::ErrorKind::Pack) and [`ErrorKind::OtherSettings`](crate::ErrorKind::OtherSettings)
    /// for a folder that holds something else, or a source that cannot be packed;
    /// [`ErrorKind::Io`](crate::ErrorKind::Io); and the errors of opening the source.
    pub fn pack(self) -> Result<Packed> {
        self.step(whole::pack)
    }

    /// Makes a plan to pack in this number of parts: lists the samples once, and packs nothing. The plan holds the
    /// settings of all parts. If the folder has a plan already, that plan is returned.
    ///
    /// # Errors
    ///
    /// Those of [`pack`](Self::pack).
    pub fn plan(self, parts: usize) -> Result<PackPlan> {
        self.step(move |task, out, watch| parts::plan(task, out, parts, watch))
    }

    /// Packs one part of a plan. `part` is its number, from 0 on, and `parts` is the number of all parts. The call may
    /// be stopped or killed, and then repeated. While another process is at work on the same part, the call waits.
    /// Returns `None` if all parts were joined already.
    ///
    /// # Errors
    ///
    /// Those of [`pack`](Self::pack).
    pub fn part(self, part: usize, parts: usize) -> Result<Option<Packed>> {
        self.step(move |task, out, watch| parts::part(task, out, PartNumber { part, parts }, watch))
    }

    /// Joins all packed parts into one data set.
    ///
    /// # Errors
    ///
    /// Those of [`pack`](Self::pack); [`ErrorKind::Pack`](crate::ErrorKind::Pack) names the parts that are missing.
    pub fn join(self) -> Result<Packed> {
        self.step(parts::join)
    }

    /// Returns the number of parts, and whether the parts were joined. The number is that of the plan in the folder, or
    /// of the pack if its parts were joined.
    ///
    /// # Errors
    ///
    /// Those of [`pack`](Self::pack), also if there is no plan.
    pub fn parts(&self) -> Result<(usize, bool)> {
        parts::planned(&self.task.open_out()?)
    }

    /// Runs a step, such as packing one part, in a thread of its own. This thread calls the listener meanwhile.
    fn step<T: Send + 'static>(
        mut self,
        step: impl FnOnce(&Task, &Folder, &Watch) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let task = self.task;
        task.settings.check()?;
        watched(&mut self.listener, task.settings.threads(), move |watch| {
            let out = task.open_out()?;
            let done = task.prepare(&out).and_then(|()| step(&task, &out, watch));
            out.remove_scratch();
            done
        })
    }
}

impl std::fmt::Debug for Packer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Task { source, out, settings } = &self.task;
        let out = crate::storage::Location::from(out);
        f.debug_struct("Packer").field("source", source).field("out", &out).field("settings", settings).finish()
    }
}
