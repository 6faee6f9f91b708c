//! The kinds of errors, with the message of each kind and the advice that goes with it.

use super::{Error, sample_called, share_failed};
use crate::advice::{self, Advice, Reason, Rust, Setting};
use crate::quote::{Shown, ShownLines};
use std::path::PathBuf;

/// The kinds of errors that an [`Error`] can be.
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
    /// A data set of another crate failed, and to replace the sample would not help: for example, the data set gave a
    /// wrong answer, or somebody has interrupted it. The run ends, whatever the setting `on_error` is.
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
        /// The number of bytes in the file; if the file grew while it was read, the number of bytes read.
        bytes: u64,
        /// The most bytes allowed, as the data set's builder has set it.
        max_file_bytes: u64,
    },
    /// The bytes of a sample are not an image that can be decoded.
    #[error("cannot decode {format}: {}", Shown(reason))]
    Decode {
        /// The format as recognised from the bytes, or "image".
        format: &'static str,
        /// The decoder's reason.
        reason: String,
    },
    /// The bytes of an encoded image end before the image is complete.
    #[error("truncated {format}: {}", Shown(reason))]
    TruncatedImage {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// The part of the image that is missing.
        reason: String,
    },
    /// The header of an image declares more pixels than allowed.
    #[error("the image has {width}x{height} pixels, but at most {max_pixels} are decoded")]
    TooManyPixels {
        /// The width that the header declares.
        width: u64,
        /// The height that the header declares.
        height: u64,
        /// The most pixels allowed.
        max_pixels: u64,
    },
    /// Decoding an image needs more memory than allowed.
    #[error(
        "decoding this {format} of {width}x{height} pixels needs {needed} bytes of memory, but at most {max_decode_bytes} are taken"
    )]
    TooMuchMemory {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// The width of the image as it is stored, in pixels.
        width: u32,
        /// The height of the image as it is stored, in pixels.
        height: u32,
        /// Bytes that decoding needs, according to the header.
        needed: u64,
        /// The most bytes of memory allowed.
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
        /// The settings to lower, so that less memory is needed.
        settings: &'static [Setting],
    },
    /// A list of transforms needs a larger intermediate image than the memory budget allows. The image is not made.
    #[error(
        "{} on an image of {source_width}x{source_height} pixels would take {needed} bytes of memory between the stages of the plan, for {width}x{height} pixels, but the memory budget is {memory_budget} bytes",
        Shown(transforms)
    )]
    IntermediateTooLarge {
        /// The transforms of the stage that makes the largest image.
        transforms: String,
        /// The width of the image that is augmented.
        source_width: u32,
        /// The height of the image that is augmented.
        source_height: u32,
        /// The width of the largest intermediate image.
        width: u32,
        /// The height of the largest intermediate image.
        height: u32,
        /// The bytes that all intermediate images between the stages of the plan need.
        needed: u64,
        /// The memory budget in bytes.
        memory_budget: u64,
    },
    /// A transform cannot be applied to an image of this size.
    #[error("{transform} on an image of {width}x{height}: {}", Shown(reason))]
    Transform {
        /// The transform's name.
        transform: &'static str,
        /// The image's width when it comes to the transform.
        width: u32,
        /// The image's height when it comes to the transform.
        height: u32,
        /// The reason, and the argument to change.
        reason: String,
    },
    /// The WGSL of a [`CustomColor`](crate::transforms::CustomColor) cannot be used.
    #[error("the WGSL of {transform}: {}", ShownLines(reason))]
    Snippet {
        /// The transform's name, which is also the name of its WGSL function.
        transform: &'static str,
        /// The reason: naga's message with the line of the user's text, or a part that is missing or not allowed.
        reason: String,
    },
    /// Code of the user's own between the transforms ([`HostCode`](crate::transforms::HostCode)) failed, or returned what
    /// the transforms after it cannot work on.
    #[error("{}: {source}", Shown(name))]
    HostCode {
        /// The code's name.
        name: String,
        /// Its own error.
        source: Error,
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
        /// The number of samples so far that failed, counted in batch order.
        failed: u64,
        /// The number of all samples so far, counted in batch order.
        seen: u64,
        /// The share of failed samples that is allowed, 0 to 1.
        max_share: f64,
        /// The last failure.
        last: Error,
    },
    /// The machine has no GPU adapter that fits the request.
    #[error("no GPU adapter: {}", Shown(reason))]
    NoAdapter {
        /// The requested adapter, and the adapters that the machine has.
        reason: String,
    },
    /// The GPU or its driver rejected work, or was lost.
    #[error("GPU {stage}: {}", ShownLines(reason))]
    Device {
        /// The work in which the failure happened, such as "submit" or "opening the device".
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
    /// A buffer is larger than the adapter or the memory budget allows.
    #[error("{what} needs {needed} bytes, but {whose} allows {limit}")]
    DoesNotFit {
        /// The buffer, or whatever else needs the memory, such as "a batch".
        what: &'static str,
        /// The number of bytes that are needed.
        needed: u64,
        /// The number of bytes that are allowed.
        limit: u64,
        /// What sets the limit: the adapter, or the memory budget.
        whose: &'static str,
        /// The settings to lower, so that fewer bytes are needed.
        settings: &'static [Setting],
    },
    /// The caller holds every output buffer, and the memory budget allows no other.
    #[error("the caller holds all {held} output buffers, and the memory budget of {budget} bytes allows no other")]
    OutputsHeld {
        /// Output buffers that the caller holds.
        held: usize,
        /// The memory budget in bytes.
        budget: u64,
    },
    /// A data set cannot be [packed](crate::pack) at all, or cannot be packed into this folder.
    #[error("{}", super::pack_text(path, *setting, reason, &Rust))]
    Pack {
        /// The folder to pack into, or the file or sample concerned.
        path: PathBuf,
        /// The name in [`PackSettings`](crate::pack::PackSettings) of the setting that does not fit; `None` if the
        /// reason is no setting.
        setting: Option<&'static str>,
        /// The reason.
        reason: String,
    },
    /// The folder to [pack](crate::pack) into has a pack that was made with other settings.
    #[error("{}", super::other_settings_text(path, what, settings, &Rust))]
    OtherSettings {
        /// The folder to pack into.
        path: PathBuf,
        /// What the folder holds: "a pack", "an unfinished pack", "a plan".
        what: &'static str,
        /// The settings of that pack or plan: their names in [`PackSettings`](crate::pack::PackSettings), and their
        /// values.
        settings: Vec<(&'static str, String)>,
    },
    /// The caller has stopped a [pack](crate::pack).
    #[error("{what}: stopped")]
    Stopped {
        /// The work that was stopped: "packing".
        what: &'static str,
    },
    /// A thread of the pipeline panicked.
    #[error("stage {stage} panicked: {}", ShownLines(message))]
    Panic {
        /// The stage of the pipeline that panicked, such as "decode".
        stage: &'static str,
        /// The panic's message.
        message: String,
    },
}

impl ErrorKind {
    /// Returns the advice that goes with every error of this kind.
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
