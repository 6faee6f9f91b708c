//! The crate's only error type: a boxed, non-exhaustive kind with numbers, paths and settings; `error/kind.rs` has the kinds.
//!
//! The sentence around a reason stands here, the reason itself where the error is made. Sentences state facts; the settings
//! to change are [`Advice`], which the command and the Python package write in their own words.

mod kind;

pub use kind::ErrorKind;

use crate::advice::{self, Advice, Language, Reason, Rust};
use crate::credentials::shown_path;
use crate::quote::Shown;
use std::any::Any;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// `Result` with gpufeed's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: its kind, the file or sample concerned, and the setting that changes it.
///
/// An `Error` has the size of a pointer; [`kind`](Self::kind) tells the cases apart, [`advice`](Self::advice) says what to set. Its text has
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
            ErrorKind::HostCode { name, source } => format!("{}: {}", Shown(name), source.in_words_of(language)),
            ErrorKind::TooManyFailures { failed, seen, max_share, last } => {
                let last = last.in_words_of(language);
                format!("{}; the last: {last}", share_failed(*failed, *seen, *max_share))
            }
            ErrorKind::Pack { path, setting, reason } => pack_text(path, *setting, reason, language),
            ErrorKind::OtherSettings { path, what, settings } => other_settings_text(path, what, settings, language),
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

    /// An [`ErrorKind::Pack`] that is about `path`, an address of which loses its credentials.
    pub(crate) fn pack(path: impl Into<PathBuf>, reason: impl Into<Reason>) -> Self {
        let Reason { text, advice } = reason.into();
        Error::from(ErrorKind::Pack { path: shown(path.into()), setting: None, reason: text }).advise_all(advice)
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

/// The text of an [`ErrorKind::Pack`].
fn pack_text(path: &Path, setting: Option<&'static str>, reason: &str, language: &dyn Language) -> String {
    let setting = setting.map_or(String::new(), |setting| format!("{}: ", language.argument(setting)));
    format!("{}: {setting}{}", Shown(path.display()), Shown(reason))
}

/// The text of an [`ErrorKind::OtherSettings`].
fn other_settings_text(
    path: &Path,
    what: &str,
    settings: &[(&'static str, String)],
    language: &dyn Language,
) -> String {
    let written: Vec<_> = settings.iter().map(|(name, value)| language.argument_with(name, value)).collect();
    let (path, written) = (Shown(path.display()), written.join(" "));
    format!("{path}: there is {what} of other settings: {}; remove it, or pack elsewhere", Shown(written))
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

/// Returns how many samples have failed, for [`ErrorKind::TooManyFailures`].
#[doc(hidden)] // the command adds to it
pub fn share_failed(failed: u64, seen: u64, max_share: f64) -> String {
    format!("{failed} of the first {seen} samples failed, more than a share of {max_share}")
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

/// For `?` in a [`Dataset`](crate::Dataset) of one's own: an [`ErrorKind::Foreign`], which has no path, unlike an
/// [`ErrorKind::Io`].
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

#[cfg(test)]
mod tests;
