//! The cases of an error, their sentences, and the advice that goes with each.

use super::{Error, sample_called, share_failed};
use crate::advice::{self, Advice, Reason, Rust, Setting};
use crate::quote::{Shown, ShownLines};
use std::path::PathBuf;

/// The cases of [`Error`].
///
/// ```
/// use gpufeed::{Backend, DataLoader, ErrorKind, InMemory};
///
/// let error = DataLoader::builder(InMemory::new()).build(&Backend::Cpu).unwrap_err();
/// match error.kind() {
///     ErrorKind::EmptyDataset { what, hint } => println!("{what} is empty: {hint}"),
///     other => panic!("{other}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or folder could not be read or written.
    #[error("{}: {}", Shown(path.display()), Shown(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A data file does not hold the data that its reader expects.
    #[error("{}, {}: {}", Shown(path.display()), Shown(place), Shown(reason))]
    DataFile {
        /// The file.
        path: PathBuf,
        /// The position in the file: "byte 4", "line 7".
        place: String,
        /// The expected data, and the data found.
        reason: String,
    },
    /// A setting or argument has a value that cannot work.
    #[error("{setting}: {}", Shown(reason))]
    Argument {
        /// The setting's name in the API.
        setting: &'static str,
        /// The reason, and the values that work.
        reason: String,
    },
    /// A data set of another crate failed, for a reason of its own.
    #[error("{}", ShownLines(source))]
    Foreign {
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A data set of another crate failed in a way that no other sample can stand in for, such as by a wrong answer or
    /// because somebody has interrupted it. The run ends, whatever `on_error` says.
    #[error("{}", ShownLines(source))]
    Fatal {
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A data set has no samples.
    #[error("{}: no samples ({})", Shown(what), Shown(hint))]
    EmptyDataset {
        /// The folder or data set.
        what: String,
        /// The files or entries that were looked for.
        hint: String,
    },
    /// An encoded image has more bytes than allowed, and is not read.
    #[error("{}: {bytes} bytes, but at most {max_file_bytes} are read", Shown(name))]
    FileTooLarge {
        /// The file's path; in an archive, the archive's path and the sample's key.
        name: String,
        /// The bytes of the file; if it grew meanwhile, the bytes that were read.
        bytes: u64,
        /// The limit in force, from the data set's builder.
        max_file_bytes: u64,
    },
    /// The bytes are not an image that can be decoded.
    #[error("cannot decode {format}: {}", Shown(reason))]
    Decode {
        /// The format as recognised from the bytes, or "image".
        format: &'static str,
        /// The decoder's reason.
        reason: String,
    },
    /// The stream ends before the image is complete.
    #[error("truncated {format}: {}", Shown(reason))]
    TruncatedImage {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// The missing part.
        reason: String,
    },
    /// The header declares more pixels than allowed.
    #[error("the image has {width}x{height} pixels, but at most {max_pixels} are decoded")]
    TooManyPixels {
        /// Declared width.
        width: u64,
        /// Declared height.
        height: u64,
        /// The limit in force.
        max_pixels: u64,
    },
    /// Decoding an image needs more memory than allowed.
    #[error(
        "decoding this {format} of {width}x{height} pixels needs {needed} bytes of memory, but at most {max_decode_bytes} are taken"
    )]
    TooMuchMemory {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// Columns as stored.
        width: u32,
        /// Rows as stored.
        height: u32,
        /// Bytes that decoding needs, according to the header.
        needed: u64,
        /// The limit in force.
        max_decode_bytes: u64,
    },
    /// The system has no memory left to decode an image.
    #[error("decoding needs {bytes} bytes of memory that the system does not have")]
    NoMemory {
        /// Bytes of the allocation that failed.
        bytes: u64,
    },
    /// The system has no memory left for something whose size a file, a recipe or a setting gives.
    #[error("{what} needs {bytes} bytes of memory that the system does not have")]
    NoHostMemory {
        /// The thing that needs the memory.
        what: &'static str,
        /// Bytes of the allocation that failed.
        bytes: u64,
        /// The settings to lower.
        settings: &'static [Setting],
    },
    /// A list of transforms makes a larger image on its way than the memory budget allows. It is not made.
    #[error(
        "{} on an image of {source_width}x{source_height} pixels would take {needed} bytes of memory between the stages of the plan, for {width}x{height} pixels, but the memory budget is {memory_budget} bytes",
        Shown(transforms)
    )]
    IntermediateTooLarge {
        /// The transforms of the stage that makes the largest image.
        transforms: String,
        /// The width of the image that is augmented.
        source_width: u32,
        /// Its height.
        source_height: u32,
        /// The width of the largest image on the way.
        width: u32,
        /// Its height.
        height: u32,
        /// Bytes of all that lies between the stages of the plan.
        needed: u64,
        /// The limit in force.
        memory_budget: u64,
    },
    /// A transform cannot be applied to an image of this size.
    #[error("{transform} on an image of {width}x{height}: {}", Shown(reason))]
    Transform {
        /// The operator's name.
        transform: &'static str,
        /// The image's width at that point.
        width: u32,
        /// The image's height at that point.
        height: u32,
        /// The reason, and the argument to change.
        reason: String,
    },
    /// The WGSL of a [`CustomColor`](crate::transforms::CustomColor) cannot be used.
    #[error("the WGSL of {transform}: {}", ShownLines(reason))]
    Snippet {
        /// The step's name.
        transform: &'static str,
        /// The reason: naga's message with the line of the user's text, or a part that is missing or not allowed.
        reason: String,
    },
    /// A sample of the data set failed.
    #[error("{}: {source}", sample_called(*id, name, source))]
    Sample {
        /// The sample's id.
        id: u64,
        /// The sample's path or name.
        name: String,
        /// The sample's own error.
        source: Error,
    },
    /// A larger share of the samples failed than `OnError::Skip` allows.
    #[error("{}; the last: {last}", share_failed(*failed, *seen, *max_share))]
    TooManyFailures {
        /// Failed samples, in batch order.
        failed: u64,
        /// Samples seen, in batch order.
        seen: u64,
        /// The share allowed, 0 to 1.
        max_share: f64,
        /// The last failure.
        last: Error,
    },
    /// No adapter fits the request.
    #[error("no GPU adapter: {}", Shown(reason))]
    NoAdapter {
        /// The request, and the adapters found.
        reason: String,
    },
    /// The GPU or its driver rejected work, or was lost.
    #[error("GPU {stage}: {}", ShownLines(reason))]
    Device {
        /// The stage in which it happened.
        stage: &'static str,
        /// The driver's or wgpu's reason.
        reason: String,
    },
    /// The GPU has no memory left for a buffer.
    #[error("the GPU is out of memory: {what} needs {bytes} bytes")]
    OutOfMemory {
        /// The buffer that needs the memory.
        what: &'static str,
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// A buffer is larger than the adapter or the budget allows.
    #[error("{what} needs {needed} bytes, but {whose} allows {limit}")]
    DoesNotFit {
        /// The buffer, or the user of the memory.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// The part that sets the limit: the adapter, or the memory budget.
        whose: &'static str,
        /// The settings to lower.
        settings: &'static [Setting],
    },
    /// The caller holds every output buffer, and the memory budget allows no other.
    #[error("the caller holds all {held} output buffers, and the memory budget of {budget} bytes allows no other")]
    OutputsHeld {
        /// Output buffers that the caller holds.
        held: usize,
        /// The budget in bytes.
        budget: u64,
    },
    /// A data set cannot be [packed](crate::pack), or not into this folder.
    #[error("{}", super::pack_text(path, *setting, reason, &Rust))]
    Pack {
        /// The folder to pack into, or the file or sample concerned.
        path: PathBuf,
        /// The setting that does not fit, by its name in [`PackSettings`](crate::pack::PackSettings), if it is one.
        setting: Option<&'static str>,
        /// The reason.
        reason: String,
    },
    /// The folder to [pack](crate::pack) into has a pack that was made with other settings.
    #[error("{}", super::other_settings_text(path, what, settings, &Rust))]
    OtherSettings {
        /// The folder.
        path: PathBuf,
        /// What is there: "a pack", "an unfinished pack", "a plan".
        what: &'static str,
        /// Its settings, by their names in [`PackSettings`](crate::pack::PackSettings), with their values.
        settings: Vec<(&'static str, String)>,
    },
    /// The caller has stopped a [pack](crate::pack).
    #[error("{what}: stopped")]
    Stopped {
        /// What was stopped.
        what: &'static str,
    },
    /// A thread of the pipeline panicked.
    #[error("stage {stage} panicked: {}", ShownLines(message))]
    Panic {
        /// The stage.
        stage: &'static str,
        /// The panic's message.
        message: String,
    },
}

impl ErrorKind {
    /// The advice that goes with every error of the kind.
    pub(super) fn advice(&self) -> Vec<Advice> {
        use Setting::{
            BatchSize, ListSizes, MaxDecodeBytes, MaxFileBytes, MaxPixels, MemoryBudget, QueueDepth, SlotBytes, Workers,
        };
        use advice::{lower, raise};
        match self {
            ErrorKind::Io { source, .. } => {
                let first = source.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static));
                let inside = std::iter::successors(first, |error| error.source());
                let reason = inside.filter_map(|error| error.downcast_ref::<Reason>()).next();
                reason.map(|reason| reason.advice.clone()).unwrap_or_default()
            }
            ErrorKind::FileTooLarge { .. } => vec![raise(MaxFileBytes)],
            ErrorKind::TruncatedImage { .. } => vec![advice::FILL],
            ErrorKind::TooManyPixels { .. } => vec![raise(MaxPixels)],
            ErrorKind::TooMuchMemory { .. } => vec![raise(MaxDecodeBytes)],
            ErrorKind::NoMemory { .. } => vec![lower(&[Workers]), advice::REFUSE_LARGE_IMAGES],
            ErrorKind::NoHostMemory { settings, .. } | ErrorKind::DoesNotFit { settings, .. } => vec![lower(settings)],
            ErrorKind::IntermediateTooLarge { .. } => vec![lower(&[ListSizes]), raise(MemoryBudget)],
            ErrorKind::TooManyFailures { .. } => vec![advice::MORE_FAILURES],
            ErrorKind::OutOfMemory { .. } => {
                vec![lower(&[BatchSize, QueueDepth, SlotBytes]), advice::RELEASE_BATCHES, advice::HOLD_FEWER]
            }
            ErrorKind::OutputsHeld { .. } => {
                vec![advice::RELEASE_BATCHES, raise(MemoryBudget), lower(&[QueueDepth, BatchSize])]
            }
            ErrorKind::Stopped { .. } => vec![advice::PACK_AGAIN],
            _ => Vec::new(),
        }
    }
}
