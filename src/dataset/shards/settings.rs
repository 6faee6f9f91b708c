//! The settings of a set of files, and the setters that the builders of all formats share.

use super::{Checks, ShardIndexes};
use crate::dataset::MAX_FILE_BYTES;
use crate::storage::{Location, RemoteOptions};

/// The default of `index_memory`: the segments of a million samples.
const INDEX_MEMORY: usize = 32 << 20;

/// The settings of [`Shards`](super::Shards), and of the data set around them.
#[derive(Clone, Debug)]
pub(in crate::dataset) struct Settings {
    pub(in crate::dataset) allow_unlabelled: bool,
    /// True if numbers in texts are labels, false if they are captions; `None` if the set's texts decide.
    pub(in crate::dataset) text_labels: Option<bool>,
    pub(in crate::dataset) indexes: ShardIndexes,
    /// The most bytes of memory for index segments. A segment that was removed is read again when it is needed.
    pub(in crate::dataset) index_memory: usize,
    /// The names of the classes; empty if the settings name none.
    pub(in crate::dataset) classes: Vec<String>,
    pub(in crate::dataset) max_file_bytes: u64,
    /// The JSON file with the number of samples of each file.
    pub(in crate::dataset) counts: Option<Location>,
    /// True to write missing indexes beside the objects.
    pub(in crate::dataset) put_indexes: bool,
    pub(in crate::dataset) remote: RemoteOptions,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            allow_unlabelled: false,
            text_labels: None,
            indexes: ShardIndexes::default(),
            index_memory: INDEX_MEMORY,
            classes: Vec::new(),
            max_file_bytes: MAX_FILE_BYTES,
            counts: None,
            put_indexes: false,
            remote: RemoteOptions::default(),
        }
    }
}

impl Settings {
    /// Returns the checks of labels, for a set with `classes` class names.
    pub(in crate::dataset) fn checks(&self, classes: usize) -> Checks {
        Checks { allow_unlabelled: self.allow_unlabelled, classes }
    }
}

/// Defines the setters of a builder whose field `settings` is [`Settings`].
macro_rules! setters {
    () => {
        /// Accepts samples without a label, of Parquet files those without a column of labels, and rows with -1 or null
        /// there. They have [`Label::None`](crate::Label::None). Default: `false`.
        #[must_use]
        pub fn allow_unlabelled(mut self, allow: bool) -> Self {
            self.settings.allow_unlabelled = allow;
            self
        }

        /// Sets where indexes are stored. Default: [`ShardIndexes::Beside`](crate::dataset::ShardIndexes::Beside).
        #[must_use]
        pub fn indexes(mut self, indexes: crate::dataset::ShardIndexes) -> Self {
            self.settings.indexes = indexes;
            self
        }

        /// Sets the most bytes of memory for the parts of indexes that are in use. A sample takes 32 bytes, 4 for each
        /// number of a label that is a list, and 28 for a member of a tar shard that is a field. Parts are read again when they are needed, in a few microseconds.
        /// Default: 32 MiB, a million samples.
        #[must_use]
        pub fn index_memory(mut self, bytes: usize) -> Self {
            self.settings.index_memory = bytes;
            self
        }

        /// Sets the most bytes that an image may have. A larger image is not read, and its sample is an error
        /// ([`ErrorKind::FileTooLarge`](crate::ErrorKind::FileTooLarge)). Default:
        /// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES), 1 GiB.
        #[must_use]
        pub fn max_file_bytes(mut self, bytes: u64) -> Self {
            self.settings.max_file_bytes = bytes;
            self
        }

        /// Names a JSON file, or its address, that says how many samples each file has. Then a file is opened, and its
        /// index read or made, when one of its samples is first read: a set of thousands of objects opens without a
        /// request for any of them. Default: none, and all files are opened together.
        ///
        /// Three forms are read: numbers by name, as OpenCLIP writes them (`{"000.tar": 1000, "001.tar": 998}`);
        /// WebDataset's `{"shardlist": [{"url": "000.tar", "nsamples": 1000}]}`; and `gpufeed-pack.json`. A name may be a
        /// whole address or path, or the end of one from a folder on.
        ///
        /// The first file is opened at once if the names of the classes may be in it: if neither `classes` nor a file
        /// beside the first one has them. Labels are checked when a file is opened. A file that has another number of
        /// samples is an error of each of its samples, and a file that the JSON does not have is one of `open`.
        #[must_use]
        pub fn counts(mut self, json: impl Into<std::path::PathBuf>) -> Self {
            self.settings.counts = Some(json.into().into());
            self
        }

        /// Sets how files are read from stores and web servers: time limits, retries, certificates, credentials, a cache
        /// on disk.
        #[must_use]
        pub fn remote(mut self, options: crate::dataset::RemoteOptions) -> Self {
            self.settings.remote = options;
            self
        }

        /// Writes the indexes that are missing beside the objects, so that no other machine has to read a file for one.
        /// An object that cannot be written is an error. Default: `false`.
        #[must_use]
        pub fn put_indexes(mut self, put: bool) -> Self {
            self.settings.put_indexes = put;
            self
        }
    };
}

/// Defines those methods of [`Dataset`](crate::Dataset) that are the same for all sets of files.
macro_rules! of_files {
    () => {
        fn len(&self) -> usize {
            self.shards.len()
        }

        fn classes(&self) -> &[String] {
            &self.classes
        }

        fn folder(&self) -> Option<&std::path::Path> {
            self.folder.as_deref()
        }

        fn label(&self, index: usize) -> Option<crate::dataset::Label> {
            self.shards.find(index).ok().map(|found| found.label())
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            None
        }

        fn access(&self) -> Option<&dyn crate::dataset::Access> {
            self.shards.access()
        }

        fn stored(&self) -> Option<&dyn Stored> {
            Some(self)
        }
    };
}

pub(in crate::dataset) use {of_files, setters};
