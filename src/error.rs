//! The crate's one error type: a boxed, non-exhaustive kind that carries numbers, paths and settings.

use crate::quote::{Shown, ShownLines};
use std::any::Any;
use std::path::PathBuf;

/// `Result` with gpufeed's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and which setting changes it.
///
/// One pointer wide; [`kind`](Self::kind) tells the cases apart. Its text is for people: what a terminal would obey in
/// the names and texts of files is shown as an escape (`\u{1b}`), while the fields of the case hold them as they are.
///
/// ```
/// use gpufeed::{ErrorKind, ImageFolder};
///
/// let error = ImageFolder::open("/no/such/folder").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Io { .. }));
/// assert!(error.to_string().contains("/no/such/folder"));
/// ```
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// The case, for matching.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The case, by value.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// An [`ErrorKind::Argument`]: `setting` has a value that cannot work, for `reason`.
    pub(crate) fn argument(setting: &'static str, reason: impl Into<String>) -> Self {
        ErrorKind::Argument { setting, reason: reason.into() }.into()
    }

    /// An [`ErrorKind::Io`] at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        ErrorKind::Io { path: path.into(), source }.into()
    }

    /// An [`ErrorKind::DataFile`]: `path` does not hold what was expected at `place`.
    pub(crate) fn data_file(
        path: impl Into<PathBuf>,
        place: impl std::fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        ErrorKind::DataFile { path: path.into(), place: place.to_string(), reason: reason.into() }.into()
    }

    /// An [`ErrorKind::Panic`]: a thread at `stage` has panicked with this payload.
    pub(crate) fn panic(stage: &'static str, payload: &(dyn Any + Send)) -> Self {
        ErrorKind::Panic { stage, message: panic_text(payload).to_owned() }.into()
    }
}

/// What a panic says.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

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
    /// A data file that does not hold what its reader expects.
    #[error("{}, {}: {}", Shown(path.display()), Shown(place), Shown(reason))]
    DataFile {
        /// The file.
        path: PathBuf,
        /// Where in it: "byte 4", "line 7".
        place: String,
        /// What was expected and what is there.
        reason: String,
    },
    /// A setting or argument that cannot work.
    #[error("{setting}: {}", Shown(reason))]
    Argument {
        /// The setting's name in the API.
        setting: &'static str,
        /// Why it cannot work and what would.
        reason: String,
    },
    /// A data set with nothing in it.
    #[error("{}: no samples ({})", Shown(what), Shown(hint))]
    EmptyDataset {
        /// The folder or data set.
        what: String,
        /// What was looked for.
        hint: String,
    },
    /// An encoded image of more bytes than allowed. It is not read.
    #[error("{}: {bytes} bytes, more than max_file_bytes = {max_file_bytes} allows", Shown(name))]
    FileTooLarge {
        /// The file's path, or the archive's and the sample's key in it.
        name: String,
        /// Its bytes, or those that were read of a file that grew meanwhile.
        bytes: u64,
        /// The limit in force: of the data set's builder.
        max_file_bytes: u64,
    },
    /// Bytes that are no image that can be decoded.
    #[error("cannot decode {format}: {}", Shown(reason))]
    Decode {
        /// The format as recognised from the bytes, or "image".
        format: &'static str,
        /// The decoder's reason.
        reason: String,
    },
    /// The stream ends before the image does.
    #[error("truncated {format}: {} (Truncated::Fill keeps such images)", Shown(reason))]
    TruncatedImage {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// What is missing.
        reason: String,
    },
    /// The header declares more pixels than allowed.
    #[error("image of {width}x{height} pixels exceeds max_pixels = {max_pixels}")]
    TooManyPixels {
        /// Declared width.
        width: u64,
        /// Declared height.
        height: u64,
        /// The limit in force.
        max_pixels: u64,
    },
    /// Decoding an image takes more memory than allowed.
    #[error(
        "decoding this {format} of {width}x{height} pixels takes {needed} bytes of memory, more than max_decode_bytes = {max_decode_bytes}"
    )]
    TooMuchMemory {
        /// The format as recognised from the bytes.
        format: &'static str,
        /// Columns as stored.
        width: u32,
        /// Rows as stored.
        height: u32,
        /// Bytes that decoding takes, by the header.
        needed: u64,
        /// The limit in force.
        max_decode_bytes: u64,
    },
    /// The system has no memory to decode an image.
    #[error(
        "there are no {bytes} bytes of memory to decode it; lower workers, or max_decode_bytes to refuse such images"
    )]
    NoMemory {
        /// Bytes asked for at once.
        bytes: u64,
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
        /// Why, and which argument to change.
        reason: String,
    },
    /// The WGSL of a [`CustomColor`](crate::transforms::CustomColor) cannot be used.
    #[error("the WGSL of {transform}: {}", ShownLines(reason))]
    Snippet {
        /// The step's name.
        transform: &'static str,
        /// Why: naga's message with the line of the user's text, or what is missing or not allowed in it.
        reason: String,
    },
    /// A sample of the data set failed.
    #[error("sample {id} ({}): {source}", Shown(name))]
    Sample {
        /// The sample's id.
        id: u64,
        /// The sample's path or name.
        name: String,
        /// What happened to it.
        source: Error,
    },
    /// More samples failed than `OnError::Skip` allows.
    #[error(
        "{failed} of the first {seen} samples failed, more than OnError::Skip {{ max_share: {max_share} }} allows; the last: {last}"
    )]
    TooManyFailures {
        /// Failed samples, in batch order.
        failed: u64,
        /// Samples seen, in batch order.
        seen: u64,
        /// The share allowed.
        max_share: f64,
        /// The last failure.
        last: Error,
    },
    /// No adapter fits the request.
    #[error("no GPU adapter: {} (Backend::auto() falls back to the CPU; Backend::Cpu asks for it)", Shown(reason))]
    NoAdapter {
        /// What was asked for and what was found.
        reason: String,
    },
    /// The GPU or its driver refused or vanished.
    #[error("GPU {stage}: {}", ShownLines(reason))]
    Device {
        /// The stage in which it happened.
        stage: &'static str,
        /// The driver's or wgpu's reason.
        reason: String,
    },
    /// The GPU has no memory left for a buffer.
    #[error(
        "the GPU is out of memory: no {bytes} bytes for {what}; lower batch_size, queue_depth or slot_bytes, drop batches earlier, or lower memory_budget so that fewer can be held"
    )]
    OutOfMemory {
        /// What there is no memory for.
        what: &'static str,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A buffer that the adapter or the budget cannot hold.
    #[error("{what} needs {needed} bytes but {limit} are {whose}; change {setting}")]
    DoesNotFit {
        /// What does not fit.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        limit: u64,
        /// Whose limit it is.
        whose: &'static str,
        /// Which settings change it.
        setting: &'static str,
    },
    /// The caller holds every output buffer and the memory budget allows no more.
    #[error(
        "all {held} output buffers are held by the caller and memory_budget = {budget} bytes allows no further one: drop batches earlier, or raise memory_budget or lower queue_depth or batch_size"
    )]
    OutputsHeld {
        /// Batches that are alive.
        held: usize,
        /// The budget in bytes.
        budget: u64,
    },
    /// A thread of the line panicked.
    #[error("stage {stage} panicked: {}", ShownLines(message))]
    Panic {
        /// The stage.
        stage: &'static str,
        /// The panic's message.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Names, reasons and places of files are what somebody else wrote.
    #[test]
    fn no_error_shows_what_a_terminal_obeys() {
        let text = || "a\u{1b}[2J\n\u{7}\u{202e}".to_owned();
        let path = || PathBuf::from(text());
        let failed = || Error::io(path(), io::Error::other(text()));
        let kinds = [
            failed().into_kind(),
            ErrorKind::DataFile { path: path(), place: text(), reason: text() },
            ErrorKind::Argument { setting: "shards", reason: text() },
            ErrorKind::EmptyDataset { what: text(), hint: text() },
            ErrorKind::Decode { format: "PNG", reason: text() },
            ErrorKind::TruncatedImage { format: "PNG", reason: text() },
            ErrorKind::Transform { transform: "Pad", width: 1, height: 1, reason: text() },
            ErrorKind::Sample { id: 7, name: text(), source: failed() },
            ErrorKind::TooManyFailures { failed: 1, seen: 1, max_share: 0.5, last: failed() },
            ErrorKind::NoAdapter { reason: text() },
        ];
        for kind in kinds {
            let shown = Error::from(kind).to_string();
            assert!(shown.contains(r"a\u{1b}[2J\n\u{7}\u{202e}") && !shown.contains(['\u{1b}', '\n']), "{shown:?}");
        }
        // Compilers and drivers write several lines.
        for kind in [
            ErrorKind::Snippet { transform: "own", reason: text() },
            ErrorKind::Device { stage: "submission", reason: text() },
            ErrorKind::Panic { stage: "decode", message: text() },
        ] {
            let shown = Error::from(kind).to_string();
            assert!(shown.contains("a\\u{1b}[2J\n\\u{7}\\u{202e}"), "{shown:?}");
        }
    }
}
