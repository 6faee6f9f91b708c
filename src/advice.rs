//! Advice in errors as data: which settings change an error, and how Rust, the command and Python write them.
//!
//! The sentence of an [`Error`](crate::Error) states facts. The settings that change the error come with it, as
//! [`Advice`]. The library's own text names them as methods of its builders, the command as its flags and keys of
//! recipes, and the Python package as its keywords. Each of these ways is a [`Language`].

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
        /// A setting that advice names, whichever language sets it. Settings of data sets have the name of their format.
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

            /// Returns the words for the setting in Rust: the method that sets it, or what to change.
            pub const fn in_rust(self) -> &'static str {
                match self {
                    $(Setting::$name => $rust,)*
                }
            }

            /// Returns the keyword for the setting in Python; `None` for a setting that has none. A file with a
            /// loader's settings has the same word as its key.
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
    /// The samples of a batch.
    BatchSize = "batch_size" ["batch_size"],
    /// The batches that wait for the caller.
    QueueDepth = "queue_depth" ["queue_depth"],
    /// The images that a batch has of each sample.
    Views = "views" ["views"],
    /// The threads that decode.
    Workers = "workers" ["workers"],
    /// The bytes of a staging slot.
    SlotBytes = "slot_bytes" ["slot_bytes"],
    /// The bytes that a loader may take.
    MemoryBudget = "memory_budget" ["memory_budget"],
    /// The batches that a program holds.
    HeldBatches = "drop batches earlier" [],
    /// The size of the images that a list of transforms makes.
    OutputSize = "the output size" [],
    /// The sizes of images on their way through a list of transforms.
    ListSizes = "the sizes in the list of transforms" [],
    /// The images that a call gives at once.
    ImagesAtOnce = "the number of images given at once" [],
    /// The kind of the epochs' order.
    Order = "order" ["order"],
    /// The lanes of an order of blocks.
    Lanes = "lanes" ["lanes"],
    /// The rank of this process, and the number of ranks.
    Shard = ".shard(rank, world)" [],
    /// The treatment of an epoch's last batch.
    LastBatch = "last_batch" ["last_batch"],
    /// The GPU or the CPU.
    Backend = "Backend" ["backend"],
    /// The executor that augments: shaders or native code.
    Execute = "Execute" ["execute"],
    /// The type of a batch's numbers.
    DType = "DType" ["dtype"],
    /// The arithmetic of the operators.
    Semantics = "Semantics" ["semantics"],
    /// The bytes of the cache.
    CacheBytes = "the bytes of the cache" ["cache"],
    /// Decoding at a smaller scale.
    ScaledDecode = "scaled_decode" ["scaled_decode"],
    /// The treatment of images whose file ends early.
    Truncated = "Truncated" ["truncated"],
    /// The treatment of samples that fail.
    OnError = "on_error" ["on_error"],
    /// The most pixels of an image.
    MaxPixels = "max_pixels" ["max_pixels"],
    /// The most memory that decoding an image may take.
    MaxDecodeBytes = "max_decode_bytes" ["max_decode_bytes"],
    /// The most bytes of an image's file.
    MaxFileBytes = "max_file_bytes" ["max_file_bytes"],
    /// The place of seek indexes.
    SeekIndexes = "SeekIndexes" ["seek_indexes"],
    /// The classes of soft labels.
    NumClasses = "num_classes" ["num_classes"],
    /// The channels that a data set promises.
    Channels = "Dataset::channels" [],
    /// The labels of a batch, whatever they are.
    BatchLabels = "Batch::labels()" [],
    /// The call that completes an LMDB.
    LmdbFinish = "LmdbWriter::finish" [],
    /// The layout of an LMDB's keys.
    LmdbLayout = "LmdbBuilder::layout" ["data_layout"],
    /// Accepts samples of an LMDB without a label.
    LmdbAllowUnlabelled = "LmdbBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The endings of images in tar shards.
    TarExtensions = "TarShardsBuilder::extensions" ["extensions"],
    /// Takes texts in tar shards as labels, or as captions.
    TarTextLabels = "TarShardsBuilder::text_labels" ["text_labels"],
    /// Accepts samples of tar shards without a label.
    TarAllowUnlabelled = "TarShardsBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The names of the classes of tar shards.
    TarClasses = "TarShardsBuilder::classes" ["class_names"],
    /// The names of the classes of Parquet files.
    ParquetClasses = "ParquetBuilder::classes" ["class_names"],
    /// The split of Parquet files.
    ParquetSplit = "ParquetBuilder::split" ["split"],
    /// The column of labels of Parquet files.
    ParquetLabelColumn = "ParquetBuilder::label_column" ["label_column"],
    /// Accepts rows of Parquet files without a label.
    ParquetAllowUnlabelled = "ParquetBuilder::allow_unlabelled" ["allow_unlabelled"],
    /// The most bytes of a page of Parquet files.
    ParquetMaxPageBytes = "max_page_bytes" ["max_page_bytes"],
    /// Reads a folder of images without classes.
    FolderUnlabelled = "ImageFolder::builder().unlabelled" ["unlabelled"],
    /// Accepts class folders without images.
    FolderAllowEmpty = "ImageFolder::builder().allow_empty" ["allow_empty"],
    /// Takes the labels of a list as names of classes.
    ListClassNames = "ImageList::builder().class_names" ["class_names"],
    /// The columns of labels of a list.
    ListLabelColumns = "ImageList::builder().label_columns" ["label_column"],
    /// The character between the columns of a list.
    ListDelimiter = "ImageList::builder().delimiter" ["delimiter"],
    /// Takes the first line of a list as names of its columns.
    ListHeader = "ImageList::builder().header" ["header"],
    /// The part of EMNIST.
    EmnistPart = "Idx::emnist" ["part"],
    /// The names of a NumPy archive's arrays.
    NumpyArrays = "Numpy::new().npz(path, images, labels)" [],
    /// The position of the channels in arrays.
    ArraysLayout = "Numpy::new().layout" ["data_layout"],
    /// The longest time for which a request to a store may stand still.
    RemoteTimeout = "RemoteOptions::timeout" ["remote_timeout"],
    /// The number of retries of a request to a store.
    RemoteRetries = "RemoteOptions::retries" ["remote_retries"],
    /// The least rate at which bytes of a store have to come.
    RemoteMinRate = "RemoteOptions::min_rate" ["remote_min_rate"],
    /// The certificates that are trusted besides the system's.
    RemoteCertificates = "RemoteOptions::certificates" ["remote_certificates"],
    /// The credentials of a store and what else its variables set.
    RemoteStore = "RemoteOptions::store" ["remote_store"],
    /// A pack in parts: its plan.
    PackPlan = "Packer::plan" [],
    /// A part of a pack.
    PackPart = "Packer::part" [],
    /// The end of a pack in parts.
    PackJoin = "Packer::join" [],
    /// Compares a pack with its source.
    PackVerify = "PackSettings::verify" ["verify"],
    /// Where a pack's files wait for their upload.
    PackScratch = "PackSettings::scratch" ["scratch"],
    /// The longest side of images that are packed.
    PackMaxSide = "PackSettings::max_side" ["max_side"],
    /// The call that packed, to be made again.
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
    /// A number of samples, bytes or threads.
    Number(u64),
    /// One of several words.
    Word {
        /// A variant or a call in Rust.
        rust: &'static str,
        /// The word as settings in text have it.
        word: &'static str,
    },
    /// [`Order::Blocks`](crate::Order::Blocks) with these numbers.
    Blocks {
        /// The samples of a block.
        samples: u64,
        /// The blocks of a window.
        window: u64,
    },
    /// [`Order::Blocks`](crate::Order::Blocks) with any numbers.
    AnyBlocks,
}

/// Writes a setting, or a setting with its value, as Rust does.
pub fn in_rust(setting: Setting, value: Option<Value>) -> Cow<'static, str> {
    let name = setting.in_rust();
    match value {
        None => name.into(),
        Some(Value::Number(parts)) if setting == Setting::PackPart => format!("{name}(I, {parts})").into(),
        // Settings of packs are fields.
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

/// A language in which settings are written: the command's flags, Python's keywords.
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
    /// about. `name` is the name in Rust.
    fn argument(&self, name: &'static str) -> Cow<'static, str>;

    /// Writes an argument with its value, as an item of a list.
    fn argument_with(&self, name: &'static str, value: &str) -> String {
        format!("{}={value}", self.argument(name))
    }

    /// Writes a setting, or a setting with its value, as a part of a sentence. `None` if the language cannot set it:
    /// the error then leaves the advice out.
    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>>;
}

/// The library's own language.
pub(crate) struct Rust;

impl Language for Rust {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        name.into()
    }

    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>> {
        Some(in_rust(setting, value))
    }
}

/// A language that sets nothing, so that its errors are facts without advice. Records that users of every language read
/// are written in it.
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

/// Marks the place, in a phrase, of all its settings that the reader's language has.
const SOME: &str = "{..}";

impl Advice {
    const fn new(phrase: &'static str, settings: &'static [(Setting, Option<Value>)]) -> Advice {
        Advice { phrase, settings: Cow::Borrowed(settings) }
    }

    fn of(phrase: &'static str, settings: Vec<(Setting, Option<Value>)>) -> Advice {
        Advice { phrase, settings: Cow::Owned(settings) }
    }

    /// Returns the phrase in the words of a language; `None` if the language cannot set what the advice is about.
    pub fn in_words_of(&self, language: &dyn Language) -> Option<String> {
        let mut names = self.settings.iter().map(|(setting, value)| language.setting(*setting, *value));
        if let Some((before, after)) = self.phrase.split_once(SOME) {
            let mut known = Vec::new();
            for name in names.flatten() {
                // Two settings may have one name.
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

    /// Puts words before the text.
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

/// Returns the facts of an error, followed by its advice in the words of a language. A phrase in brackets, or one that
/// begins with a comma, continues the sentence of the facts.
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

/// Makes a reason the source of an [`std::io::Error`]: an [`ErrorKind::Io`](crate::ErrorKind::Io) takes its advice from there.
impl std::error::Error for Reason {}

#[cfg(test)]
mod tests;
