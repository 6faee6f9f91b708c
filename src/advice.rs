//! Represents the advice in error messages as data: which settings the user may change, and how Rust, the command and
//! Python write these settings.
//!
//! The sentence of an [`Error`](crate::Error) states only facts. The settings that the user may change come with the
//! error, as [`Advice`]. The library's own text names a setting by its builder's method, the command by its flag or its
//! key in a recipe, and the Python package by its keyword. Each of these ways to write settings is a [`Language`].

// advice/pieces.rs makes all advice of the library. The command (crates/cli/src/error_text.rs) and the Python package
// (python/src/advice.rs) write settings in their own words.

mod pieces;

#[doc(hidden)] // for tests that show all advice in each language
pub use pieces::every_piece;
pub(crate) use pieces::*;

use std::borrow::Cow;
use std::fmt;

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $rust:literal [$($keyword:literal)?],)*) => {
        /// A setting that advice can name, independent of the language in which it is written. The name of a data set's
        /// setting begins with the data set's format, as in `TarExtensions`.
        ///
        /// ```
        /// use gpufeed::advice::Setting;
        ///
        /// assert_eq!(Setting::BatchSize.in_rust(), "batch_size");
        /// assert_eq!(Setting::TarExtensions.in_rust(), "TarShardsBuilder::extensions");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $($(#[$doc])* $name,)*
        }

        impl Setting {
            /// All settings that advice names.
            pub const ALL: &[Setting] = &[$(Setting::$name),*];

            /// Returns what Rust code calls the setting: the method or the type that sets it, or words for what to
            /// change.
            pub const fn in_rust(self) -> &'static str {
                match self {
                    $(Setting::$name => $rust,)*
                }
            }

            /// Returns Python's keyword for the setting; `None` if Python has no keyword for it. A file with a loader's
            /// settings uses the same word as the key.
            pub const fn keyword(self) -> Option<&'static str> {
                match self {
                    $($(Setting::$name => Some($keyword),)?)*
                    _ => None,
                }
            }
        }
    };
}

settings! {
    /// The number of samples in a batch.
    BatchSize = "batch_size" ["batch_size"],
    /// The most finished batches that wait for the caller.
    QueueDepth = "queue_depth" ["queue_depth"],
    /// The number of images that a batch has of each sample.
    Views = "views" ["views"],
    /// The number of threads that read and decode samples.
    Workers = "workers" ["workers"],
    /// The size in bytes of a staging slot: a buffer through which pixels are copied to the GPU.
    SlotBytes = "slot_bytes" ["slot_bytes"],
    /// The most bytes that a loader's buffers may take.
    MemoryBudget = "memory_budget" ["memory_budget"],
    /// The number of batches that the caller's program holds at once.
    HeldBatches = "drop batches earlier" [],
    /// The size of the images that a list of transforms makes.
    OutputSize = "the output size" [],
    /// The sizes that images have between the transforms of a list.
    ListSizes = "the sizes in the list of transforms" [],
    /// The number of images that the caller gives to one call of a `Processor`.
    ImagesAtOnce = "the number of images given at once" [],
    /// The kind of order in which an epoch reads the samples: fully shuffled, or shuffled in blocks.
    Order = "order" ["order"],
    /// The number of lanes of an order of blocks. A lane is one of the equal runs into which the order is cut for the
    /// ranks.
    Lanes = "lanes" ["lanes"],
    /// The rank of this process, and the number of ranks.
    Shard = ".shard(rank, world)" [],
    /// What happens to an epoch's last batch if it is incomplete.
    LastBatch = "last_batch" ["last_batch"],
    /// The device of a loader: a GPU or the CPU.
    Backend = "Backend" ["backend"],
    /// What augments the images: shaders on a GPU, or native code on the CPU.
    Execute = "Execute" ["execute"],
    /// The number type of a batch's elements, such as float32.
    DType = "DType" ["dtype"],
    /// How the images of a batch lie, where their sizes may differ.
    Arrangement = "Arrangement" ["arrangement"],
    /// The arithmetic of the transforms: floats, or 8-bit numbers.
    Semantics = "Semantics" ["semantics"],
    /// The size in bytes of the loader's cache of decoded samples.
    CacheBytes = "the bytes of the cache" ["cache"],
    /// Whether JPEGs are decoded at a smaller scale before they are resized.
    ScaledDecode = "scaled_decode" ["scaled_decode"],
    /// What happens to an image whose file ends early.
    Truncated = "Truncated" ["truncated"],
    /// What happens to a sample that cannot be used: it ends the run, or another sample replaces it.
    OnError = "on_error" ["on_error"],
    /// The most pixels that an image may have.
    MaxPixels = "max_pixels" ["max_pixels"],
    /// The most memory that decoding an image may take.
    MaxDecodeBytes = "max_decode_bytes" ["max_decode_bytes"],
    /// The most bytes that an image's file may have.
    MaxFileBytes = "max_file_bytes" ["max_file_bytes"],
    /// The most bytes that the value of a field may have.
    MaxFieldBytes = "max_field_bytes" ["max_field_bytes"],
    /// Where the seek indexes of JPEGs are stored.
    SeekIndexes = "SeekIndexes" ["seek_indexes"],
    /// The number of classes of soft labels.
    NumClasses = "num_classes" ["num_classes"],
    /// The number of channels that a data set says its images have.
    Channels = "Dataset::channels" [],
    /// The method that returns the labels of a batch, of whatever kind.
    BatchLabels = "Batch::labels()" [],
    /// The call that completes an LMDB.
    LmdbFinish = "LmdbWriter::finish" [],
    /// The layout of an LMDB's keys.
    LmdbLayout = "LmdbBuilder::layout" ["data_layout"],
    /// Whether an LMDB may have samples without a label.
    LmdbAllowUnlabelled = "LmdbBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The file name endings of the images in tar shards.
    TarExtensions = "TarShardsBuilder::extensions" ["extensions"],
    /// Whether the `.txt` members of tar shards are labels or captions.
    TarTextLabels = "TarShardsBuilder::text_labels" ["text_labels"],
    /// Whether tar shards may have samples without a label.
    TarAllowUnlabelled = "TarShardsBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The names of the classes of tar shards.
    TarClasses = "TarShardsBuilder::classes" ["class_names"],
    /// The names of the classes of Parquet files.
    ParquetClasses = "ParquetBuilder::classes" ["class_names"],
    /// The split that is read of Parquet files, such as train or test.
    ParquetSplit = "ParquetBuilder::split" ["split"],
    /// The column of Parquet files that has the labels.
    ParquetLabelColumn = "ParquetBuilder::label_column" ["label_column"],
    /// Whether Parquet files may have rows without a label.
    ParquetAllowUnlabelled = "ParquetBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The most bytes that a compressed page of a Parquet file may become.
    ParquetMaxPageBytes = "max_page_bytes" ["max_page_bytes"],
    /// Whether all images below a folder are samples without a label.
    FolderUnlabelled = "ImageFolder::builder().unlabelled" ["unlabelled"],
    /// Whether class folders may have no images.
    FolderAllowEmpty = "ImageFolder::builder().allow_empty" ["allow_empty"],
    /// Whether the labels in a list of image files are names of classes, even if they are numbers.
    ListClassNames = "ImageList::builder().class_names" ["class_names"],
    /// The columns of a list of image files that have the labels.
    ListLabelColumns = "ImageList::builder().label_columns" ["label_column"],
    /// The character between the columns of a list of image files.
    ListDelimiter = "ImageList::builder().delimiter" ["delimiter"],
    /// Whether the first line of a list of image files names its columns.
    ListHeader = "ImageList::builder().header" ["header"],
    /// The part of the data set EMNIST that is read, such as its letters.
    EmnistPart = "Idx::emnist" ["part"],
    /// The names of the arrays with the images and the labels in a NumPy archive (`.npz`).
    NumpyArrays = "Numpy::new().npz(path, images, labels)" [],
    /// The position of the channels in arrays of images: before height and width, or last.
    ArraysLayout = "Numpy::new().layout" ["data_layout"],
    /// The longest time for which a store may send nothing before a request is made again.
    RemoteTimeout = "RemoteOptions::timeout" ["remote_timeout"],
    /// How many times a failed request to a store is made again.
    RemoteRetries = "RemoteOptions::retries" ["remote_retries"],
    /// The least rate, in bytes a second, at which a store has to send its answer.
    RemoteMinRate = "RemoteOptions::min_rate" ["remote_min_rate"],
    /// The certificates that are trusted besides the system's.
    RemoteCertificates = "RemoteOptions::certificates" ["remote_certificates"],
    /// The credentials of a store, and its other settings that environment variables can set.
    RemoteStore = "RemoteOptions::store" ["remote_store"],
    /// The call that makes a plan to pack a data set in parts.
    PackPlan = "Packer::plan" [],
    /// The call that packs one part of a plan.
    PackPart = "Packer::part" [],
    /// The call that joins all packed parts into one data set.
    PackJoin = "Packer::join" [],
    /// Whether a packed data set is compared with its source.
    PackVerify = "PackSettings::verify" ["verify"],
    /// The folder of this machine in which packed files wait for their upload to a store.
    PackScratch = "PackSettings::scratch" ["scratch"],
    /// The longest side in pixels that a packed image may have. Images with a longer side are reduced.
    PackMaxSide = "PackSettings::max_side" ["max_side"],
    /// The call that was stopped while it packed, to be made again.
    PackAgain = "the same call" [],
}

/// The value that advice gives a setting.
///
/// ```
/// use gpufeed::advice::{Setting, Value, in_rust};
///
/// assert_eq!(in_rust(Setting::ScaledDecode, Some(Value::Flag(true))), "scaled_decode(true)");
/// let fill = Value::Word { rust: "Truncated::Fill", word: "fill" };
/// assert_eq!(in_rust(Setting::Truncated, Some(fill)), "Truncated::Fill");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A switch that is on or off.
    Flag(bool),
    /// A number, for example of samples, bytes or threads.
    Number(u64),
    /// One of the fixed values that a setting may have.
    Word {
        /// The value in Rust code: a variant of an enum, or a call.
        rust: &'static str,
        /// The word for the value in Python, in flags of the command and in files of settings.
        word: &'static str,
    },
    /// [`Order::Blocks`](crate::Order::Blocks) with these numbers.
    Blocks {
        /// The number of samples in a block.
        samples: u64,
        /// The number of blocks in a window, within which samples are shuffled.
        window: u64,
    },
    /// [`Order::Blocks`](crate::Order::Blocks) with any numbers.
    AnyBlocks,
}

/// Returns a setting as Rust code writes it, with its value if `value` is given.
pub fn in_rust(setting: Setting, value: Option<Value>) -> Cow<'static, str> {
    let name = setting.in_rust();
    match value {
        None => name.into(),
        Some(Value::Number(parts)) if setting == Setting::PackPart => format!("{name}(I, {parts})").into(),
        // The settings of packs are fields of a struct, not methods.
        Some(Value::Flag(flag)) if name.starts_with("PackSettings::") => format!("{name} = {flag}").into(),
        Some(Value::Flag(flag)) => format!("{name}({flag})").into(),
        Some(Value::Number(number)) => format!("{name}({number})").into(),
        Some(Value::Word { rust, .. }) => rust.into(),
        Some(Value::Blocks { samples, window }) => {
            format!("Order::Blocks {{ samples: {samples}, window: {window} }}").into()
        }
        Some(Value::AnyBlocks) => "Order::Blocks { .. }".into(),
    }
}

/// A way to write settings in error messages, such as the command's flags or Python's keywords.
///
/// ```
/// use gpufeed::advice::{Language, Setting, Value};
/// use gpufeed::{Error, ErrorKind};
/// use std::borrow::Cow;
///
/// struct Toml;
///
/// impl Language for Toml {
///     fn argument(&self, name: &'static str) -> Cow<'static, str> {
///         name.into()
///     }
///
///     fn setting(&self, setting: Setting, _value: Option<Value>) -> Option<Cow<'static, str>> {
///         (setting == Setting::MaxPixels).then(|| "max-pixels".into())
///     }
/// }
///
/// let error = Error::from(ErrorKind::TooManyPixels { width: 9, height: 9, max_pixels: 80 });
/// assert!(error.in_words_of(&Toml).ends_with("; raise max-pixels"));
/// assert!(error.to_string().ends_with("; raise max_pixels"));
/// ```
pub trait Language {
    /// Returns this language's name of the argument that an [`ErrorKind::Argument`](crate::ErrorKind::Argument) is
    /// about. `name` is the argument's name in Rust.
    fn argument(&self, name: &'static str) -> Cow<'static, str>;

    /// Returns an argument with its value, as an item of a list.
    fn argument_with(&self, name: &'static str, value: &str) -> String {
        format!("{}={value}", self.argument(name))
    }

    /// Returns a setting, with its value if `value` is given, as a part of a sentence. Returns `None` if this language
    /// cannot set it: the error then leaves the advice out.
    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>>;
}

/// The library's own language: settings are written as in Rust code.
pub(crate) struct Rust;

impl Language for Rust {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        name.into()
    }

    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>> {
        Some(in_rust(setting, value))
    }
}

/// A language that cannot set anything, so that errors in it are facts without advice. Texts that are stored for users
/// of every language, such as the reasons in a pack's manifest, are written in it.
pub(crate) struct FactsAlone;

impl Language for FactsAlone {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        name.into()
    }

    fn setting(&self, _: Setting, _: Option<Value>) -> Option<Cow<'static, str>> {
        None
    }
}

/// Advice on an error: a phrase that says what to set so that the error goes away, and the settings in the phrase.
///
/// ```
/// use gpufeed::{Error, ErrorKind};
///
/// let error = Error::from(ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() });
/// let advice: Vec<String> = error.advice().iter().map(|advice| advice.to_string()).collect();
/// assert_eq!(advice, ["Truncated::Fill accepts such images"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    phrase: &'static str,
    settings: Cow<'static, [(Setting, Option<Value>)]>,
}

/// Marks the place of one setting in a phrase. A phrase has as many of these marks as it has settings.
const ONE: &str = "{}";

/// Marks the place in a phrase where all its settings are listed that the reader's language can set.
const SOME: &str = "{..}";

impl Advice {
    const fn new(phrase: &'static str, settings: &'static [(Setting, Option<Value>)]) -> Advice {
        Advice { phrase, settings: Cow::Borrowed(settings) }
    }

    fn of(phrase: &'static str, settings: Vec<(Setting, Option<Value>)>) -> Advice {
        Advice { phrase, settings: Cow::Owned(settings) }
    }

    /// Returns the phrase in the words of a language; `None` if the language cannot set what the phrase advises.
    pub fn in_words_of(&self, language: &dyn Language) -> Option<String> {
        let mut names = self.settings.iter().map(|(setting, value)| language.setting(*setting, *value));
        if let Some((before, after)) = self.phrase.split_once(SOME) {
            let mut known = Vec::new();
            for name in names.flatten() {
                // Several settings may have the same name in a language; the name is listed once.
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            let last = known.pop()?;
            let list = if known.is_empty() { last } else { format!("{} or {last}", known.join(", ")).into() };
            return Some(format!("{before}{list}{after}"));
        }
        let mut text = String::new();
        let mut parts = self.phrase.split(ONE);
        text += parts.next().unwrap_or_default();
        for part in parts {
            text += &names.next().flatten()?;
            text += part;
        }
        Some(text)
    }
}

/// Shows the advice in Rust's words.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words_of(&Rust).unwrap_or_default())
    }
}

/// The reason of an error, with its advice.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub(crate) text: String,
    pub(crate) advice: Vec<Advice>,
}

impl Reason {
    pub(crate) fn new(text: impl Into<String>) -> Reason {
        Reason { text: text.into(), advice: Vec::new() }
    }

    /// Returns the reason with `words` in front of its text.
    pub(crate) fn after(mut self, words: &str) -> Reason {
        self.text.insert_str(0, words);
        self
    }

    pub(crate) fn advise(mut self, advice: Advice) -> Reason {
        self.advice.push(advice);
        self
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Reason::new(text)
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Reason::new(text)
    }
}

/// Returns the facts of an error, followed by its advice in the words of a language. A phrase of advice that begins
/// with a bracket or a comma continues the sentence of the facts; any other phrase follows a semicolon.
///
/// ```
/// use gpufeed::advice::{Language, Setting, Value, advised};
/// use gpufeed::{Error, ErrorKind};
/// use std::borrow::Cow;
///
/// struct Nothing;
///
/// impl Language for Nothing {
///     fn argument(&self, name: &'static str) -> Cow<'static, str> {
///         name.into()
///     }
///
///     fn setting(&self, _: Setting, _: Option<Value>) -> Option<Cow<'static, str>> {
///         None
///     }
/// }
///
/// let error = Error::from(ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() });
/// assert_eq!(advised("it is cut", error.advice(), &Nothing), "it is cut");
/// ```
pub fn advised(facts: &str, advice: &[Advice], language: &dyn Language) -> String {
    let mut text = facts.to_owned();
    for phrase in advice.iter().filter_map(|advice| advice.in_words_of(language)) {
        text += match phrase.as_bytes().first() {
            Some(b'(') => " ",
            Some(b',') => "",
            _ => "; ",
        };
        text += &phrase;
    }
    text
}

/// Shows the text alone. An [`Error`](crate::Error) that holds the reason shows the advice, too.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Lets a reason be the source of an [`std::io::Error`]. An [`ErrorKind::Io`](crate::ErrorKind::Io) that is made of
/// such an I/O error takes over the reason's advice.
impl std::error::Error for Reason {}

#[cfg(test)]
mod tests;
