//! The crate's only error type: a boxed, non-exhaustive kind with numbers, paths and settings.
//!
//! The sentence around a reason stands here, the reason itself where the error is made. Sentences state facts; the settings
//! to change are [`Advice`], which the command and the Python package write in their own words.

use crate::advice::{self, Advice, Language, Reason, Rust, Setting};
use crate::credentials::shown_path;
use crate::quote::{Shown, ShownLines};
use std::any::Any;
use std::borrow::Cow;
use std::path::PathBuf;

/// `Result` with gpufeed's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: its kind, the file or sample concerned, and the setting that changes it.
///
/// The size of a pointer; [`kind`](Self::kind) tells the cases apart, [`advice`](Self::advice) says what to set. Its text has
/// both, with settings as Rust writes them; [`in_words_of`](Self::in_words_of) has other languages. The text is for people: characters in the names
/// and texts of files that a terminal would obey are shown as escapes (`\u{1b}`), while the fields of the case hold
/// them unchanged.
///
/// ```
/// use gpufeed::{ErrorKind, ImageFolder};
///
/// let error = ImageFolder::open("/no/such/folder").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Io { .. }));
/// assert!(error.to_string().contains("/no/such/folder"));
/// ```
#[derive(Debug)]
pub struct Error(Box<Advised>);

/// A kind, and what to set.
#[derive(Debug)]
struct Advised {
    kind: ErrorKind,
    advice: Vec<Advice>,
}

impl Error {
    /// Returns a reference to the kind of error, for matching.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the kind of error by value; the [`advice`](Self::advice) is lost.
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// What to set so that the error goes away. The error of a sample has its own advice inside of [`ErrorKind::Sample`].
    pub fn advice(&self) -> &[Advice] {
        &self.0.advice
    }

    /// The text of the error, with settings as `language` writes them. `to_string` has them as Rust does.
    pub fn in_words_of(&self, language: &dyn Language) -> String {
        let text = match self.kind() {
            ErrorKind::Argument { setting, reason } => format!("{}: {}", language.argument(setting), Shown(reason)),
            ErrorKind::Sample { id, name, source } => {
                let source = source.in_words_of(language);
                format!("{}: {source}", sample_called(*id, name, &source))
            }
            ErrorKind::TooManyFailures { failed, seen, max_share, last } => {
                let last = last.in_words_of(language);
                format!(
                    "{failed} of the first {seen} samples failed, more than a share of {max_share}; the last: {last}"
                )
            }
            kind => kind.to_string(),
        };
        advice::advised(&text, self.advice(), language)
    }

    /// Adds advice, after that which the kind has.
    pub(crate) fn advise(mut self, advice: Advice) -> Self {
        self.0.advice.push(advice);
        self
    }

    fn advise_all(mut self, advice: Vec<Advice>) -> Self {
        self.0.advice.extend(advice);
        self
    }

    /// True for an [`ErrorKind::Fatal`], which ends a run.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self.kind(), ErrorKind::Fatal { .. })
    }

    /// An [`ErrorKind::Argument`]: the value of `setting` cannot work, for `reason`.
    pub(crate) fn argument(setting: &'static str, reason: impl Into<Reason>) -> Self {
        let Reason { text, advice } = reason.into();
        Error::from(ErrorKind::Argument { setting, reason: text }).advise_all(advice)
    }

    /// An [`ErrorKind::Io`] at `path`, an address of which loses its credentials.
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        ErrorKind::Io { path: shown(path.into()), source }.into()
    }

    /// An [`ErrorKind::DataFile`]: `path` does not hold the expected data at `place`.
    pub(crate) fn data_file(
        path: impl Into<PathBuf>,
        place: impl std::fmt::Display,
        reason: impl Into<Reason>,
    ) -> Self {
        let Reason { text, advice } = reason.into();
        let kind = ErrorKind::DataFile { path: shown(path.into()), place: place.to_string(), reason: text };
        Error::from(kind).advise_all(advice)
    }

    /// An [`ErrorKind::Panic`]: a thread has panicked at `stage` with this payload.
    pub(crate) fn panic(stage: &'static str, payload: &(dyn Any + Send)) -> Self {
        ErrorKind::Panic { stage, message: panic_text(payload).to_owned() }.into()
    }
}

/// A path as errors hold it: an address without credentials.
fn shown(path: PathBuf) -> PathBuf {
    match shown_path(&path) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => path,
    }
}

/// The message of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.in_words_of(&Rust))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind().source()
    }
}

/// Returns what an error calls a sample: by its id and its name, but by neither twice.
#[doc(hidden)] // the command words the errors of samples anew
pub fn sample_called(id: u64, name: &str, source: &impl std::fmt::Display) -> String {
    let (number, name) = (format!("sample {id}"), Shown(name).to_string());
    if name == number || source.to_string().starts_with(&name) { number } else { format!("{number} ({name})") }
}

/// For an error that is the reason of another.
impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        let Advised { kind, advice } = *error.0;
        Reason { text: kind.to_string(), advice }
    }
}

/// With the advice that goes with the kind.
impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        let advice = kind.advice();
        Error(Box::new(Advised { kind, advice }))
    }
}

/// For `?` in a [`Dataset`](crate::Dataset) of one's own: an [`ErrorKind::Foreign`]. It has no path; an
/// [`ErrorKind::Io`] has one.
///
/// ```
/// fn read(path: &std::path::Path) -> gpufeed::Result<Vec<u8>> {
///     Ok(std::fs::read(path)?)
/// }
///
/// assert!(matches!(read("no such file".as_ref()).unwrap_err().kind(), gpufeed::ErrorKind::Foreign { .. }));
/// ```
impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        ErrorKind::Foreign { source: Box::new(source) }.into()
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
    /// An encoded image has more bytes than allowed. It is not read.
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
        /// What needs the memory.
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
    #[error("{failed} of the first {seen} samples failed, more than a share of {max_share}; the last: {last}")]
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
    fn advice(&self) -> Vec<Advice> {
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
            ErrorKind::NoAdapter { .. } => vec![advice::OTHER_BACKENDS],
            ErrorKind::OutOfMemory { .. } => {
                vec![lower(&[BatchSize, QueueDepth, SlotBytes]), advice::RELEASE_BATCHES, advice::HOLD_FEWER]
            }
            ErrorKind::OutputsHeld { .. } => {
                vec![advice::RELEASE_BATCHES, raise(MemoryBudget), lower(&[QueueDepth, BatchSize])]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn no_error_holds_the_credentials_of_an_address() {
        let address = "https://user:secret@host/a.tar?sig=secret";
        for error in [Error::io(address, io::Error::other("no")), Error::data_file(address, "byte 4", "no")] {
            assert!(error.to_string().starts_with("https://host/a.tar"), "{error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }

    /// Names, reasons and places come from files that others wrote.
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
            ErrorKind::Foreign { source: text().into() },
            ErrorKind::Fatal { source: text().into() },
            ErrorKind::Device { stage: "submission", reason: text() },
            ErrorKind::Panic { stage: "decode", message: text() },
        ] {
            let shown = Error::from(kind).to_string();
            assert!(shown.contains("a\\u{1b}[2J\n\\u{7}\\u{202e}"), "{shown:?}");
        }
    }

    #[test]
    fn a_sample_is_called_once() {
        let error = |name: &str| {
            let source = Error::io("/data/a.jpg", std::io::Error::other("gone"));
            Error::from(ErrorKind::Sample { id: 2, name: name.to_owned(), source }).to_string()
        };
        assert_eq!(error("sample 2"), "sample 2: /data/a.jpg: gone");
        assert_eq!(error("/data/a.jpg"), "sample 2: /data/a.jpg: gone");
        assert_eq!(error("x.npy, image 2"), "sample 2 (x.npy, image 2): /data/a.jpg: gone");
    }
}
