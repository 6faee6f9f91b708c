//! Samples in an LMDB, the key-value store.
//!
//! `builder.rs` opens an LMDB. `reader.rs` reads its pages (`pages.rs`) without a map, `locations.rs` stores where
//! samples lie, `layout.rs` says which keys are samples, and `metadata.rs` which are not. `choice.rs` reads the setting of
//! fields, and `fields.rs` has them. With the feature `lmdb`,
//! `writer.rs` writes an LMDB, by the library of LMDB (`environment.rs`).

mod builder;
mod choice;
#[cfg(feature = "lmdb")]
mod environment;
mod fields;
mod layout;
mod locations;
mod metadata;
mod pages;
mod reader;
#[cfg(all(test, feature = "lmdb"))]
mod tests;
#[cfg(feature = "lmdb")]
mod writer;

use crate::advice::{self, Reason};
use std::path::Path;
use std::sync::Arc;

use super::{Dataset, Field, FieldValue, Label, Notice, Sample, SampleData, out_of_range};
use crate::error::Result;
use crate::quote::{shortened, shown};
use crate::storage::local::atomic_file::folder_of;
use fields::KeyFields;
use layout::{LABEL, NoLabel, numbered_key};
use locations::{Location, Locations};
use reader::{Reader, broken};

pub use builder::LmdbBuilder;
pub(crate) use layout::LONGEST_SOURCE;
pub use layout::LmdbLayout;
#[cfg(feature = "lmdb")]
pub use writer::LmdbWriter;

/// File name of an LMDB in its folder.
const FILE: &str = "data.mdb";

/// Samples in an LMDB, written by `gpufeed pack --to lmdb`, by `LmdbWriter` (both with the feature `lmdb`) or by other
/// programs.
///
/// | [`LmdbLayout`] | keys | values | labels |
/// |---|---|---|---|
/// | `Numbered`, of the text recognition community; what `gpufeed pack` writes | `num-samples`; `image-000000001`, ... | the image file | `label-000000001`, ...: a class, or a list of numbers |
/// | | `caption-000000001`, ...: [fields](LmdbBuilder::fields) of any name | text, JSON, numbers, bytes, images | |
/// | `ClassAndImage` | any, in their order | the class, 4 bytes, little-endian, then the image file | in the value |
/// | `Image` | any, in their order | the image file | none |
///
/// Keys that begin with `__` are not samples. The keys `length` and `keys`, which the writers of many sets add, are none if their
/// value is not an image, and neither are up to 32 keys of ASCII letters among other keys; a
/// [notice](super::Dataset::notices) counts them. Class names are a JSON list under the key `classes`, or a `classes.txt`
/// or `classes.json` ([`TarShards`](super::TarShards) describes them) in the file's folder. Values that are Python
/// pickles are refused.
///
/// A `Numbered` set opens at once, at any size; of other sets the keys are listed, which takes some 20 ms for 100,000.
/// The upper pages of the tree are cached in memory, up to 16 MiB, and so are the samples' offsets, 24 bytes each (for
/// up to 4 million samples): from the second time on, reading a sample is one read of the file. Clones share the file
/// and these caches.
///
/// # Damaged files, and files that change
///
/// The file is read with positioned reads, not mapped, and without a lock file, so that it may be on a read-only disk.
/// Pages are checked when they are read: a file that is damaged, or cut short while it is open, causes errors, but
/// never ends the process. LMDB has no checksums: damage inside an image or a label is not detected here.
///
/// The data set is the file's content when it was opened. One transaction of a writer in another process changes
/// nothing of it. From the second transaction on LMDB may reuse its pages, because it does not know of this reader; a
/// sample is then an error, or has the bytes of another one. **Do not write to the file while it is open.**
///
/// Supported are files of 64-bit little-endian machines (all common ones), in LMDB's format 1, whose main database
/// sorts its keys as bytes and has one value for each.
///
/// ```no_run
/// use gpufeed::Dataset;
/// use gpufeed::dataset::Lmdb;
///
/// let train = Lmdb::open("imagenet/train.lmdb")?;
/// println!("{} samples", train.len());
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lmdb {
    reader: Arc<Reader>,
    locations: Arc<Locations>,
    keys: Arc<Keys>,
    classes: Vec<String>,
    allow_unlabelled: bool,
    /// True if a sample may lack a label, but not have a word in its place.
    allow_absent_labels: bool,
    /// True if labels are words, also those that look like numbers.
    words: bool,
    notices: Vec<Notice>,
    max_file_bytes: u64,
    fields: Option<Arc<KeyFields>>,
}

/// The keys of the samples.
#[derive(Debug)]
enum Keys {
    /// Those of [`LmdbLayout::Numbered`].
    Numbered(NumberedKeys),
    /// The keys one after the other, and the end of each.
    Listed { bytes: Vec<u8>, ends: Vec<usize>, class: bool },
}

/// The keys of numbered samples.
#[derive(Debug)]
struct NumberedKeys {
    /// The number of samples.
    count: usize,
    /// The source of the images.
    image: String,
    /// The source of the labels; `None` if none are read.
    label: Option<String>,
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Keys::Numbered(numbered) => numbered.count,
            Keys::Listed { ends, .. } => ends.len(),
        }
    }

    fn listed<'a>(bytes: &'a [u8], ends: &[usize], index: usize) -> &'a [u8] {
        let begin = index.checked_sub(1).map_or(0, |before| ends[before]);
        &bytes[begin..ends[index]]
    }
}

impl Lmdb {
    /// Opens a folder with a `data.mdb`, or an LMDB file of any name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read, is not an LMDB, is cut short, or fits none
    /// of the layouts; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if there are no samples.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> LmdbBuilder {
        LmdbBuilder::default()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.reader.path
    }

    /// Reads the value of a sample.
    fn value<'b>(&self, index: usize, key: &[u8], buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let location = self.location(index, key, buffer)?;
        self.reader.read(key, location, self.max_file_bytes, buffer)
    }

    /// Finds the value of a sample, and stores its location in the file.
    fn location(&self, index: usize, key: &[u8], buffer: &mut Vec<u8>) -> Result<Location> {
        if let Some(location) = self.locations.get(index) {
            return Ok(location);
        }
        let found = self.reader.find(key, buffer)?;
        let location = found.ok_or_else(|| broken(self.path(), format!("there is no {}", shown(key))))?;
        self.locations.note(index, location);
        Ok(location)
    }

    /// Reads a sample whose key is a number: its image into the start of `buffer`, and the values of its fields behind it.
    fn with_fields<'a>(
        &'a self,
        fields: &'a KeyFields,
        (index, key): (usize, &[u8]),
        buffer: &'a mut Vec<u8>,
    ) -> Result<(&'a [u8], Vec<FieldValue<'a>>)> {
        let number = index as u64 + 1;
        // The pages of the search come into the same buffer, so that all values are found before the first is read.
        let image = self.location(index, key, buffer)?;
        let found = fields.find(&self.reader, number, buffer)?;
        let image = self.reader.read(key, image, self.max_file_bytes, buffer)?.len();
        let (mut end, mut ranges) = (image, Vec::with_capacity(found.len()));
        for location in found {
            ranges.push(match location {
                Some(location) => {
                    let begin = end;
                    end = self.reader.read_behind(location, begin, buffer)?;
                    Some(begin..end)
                }
                None => None,
            });
        }
        let bytes: &'a [u8] = buffer;
        let values = fields.values(&self.reader, number, ranges.into_iter().map(|range| Some(&bytes[range?])))?;
        Ok((&bytes[..image], values))
    }

    /// Says what the labels are, by the first one that there is.
    fn labels(&self, first: &Label) -> String {
        let key = |label: &Option<String>| numbered_key(label.as_deref().unwrap_or(LABEL), 1);
        match (&*self.keys, first) {
            (Keys::Numbered(NumberedKeys { label, .. }), _) if self.words => {
                let (source, key) = (label.as_deref().unwrap_or(LABEL), key(label));
                format!("none: those under {key} and so on are words, which fields = {{{source:?}: \"text\"}} reads")
            }
            (_, Label::None) => "none".to_owned(),
            (Keys::Listed { .. }, _) => "class numbers, the first 4 bytes of each value".to_owned(),
            (Keys::Numbered(NumberedKeys { label, .. }), Label::Class(_)) => {
                format!("class numbers from the keys {} and so on", key(label))
            }
            (Keys::Numbered(NumberedKeys { label, .. }), Label::Multi(values)) => {
                format!("vectors of {} from the keys {} and so on", values.len(), key(label))
            }
        }
    }

    /// Reads the label of a sample whose keys are numbers.
    fn numbered_label(&self, keys: &NumberedKeys, index: usize, buffer: &mut Vec<u8>) -> Result<Label> {
        match (self.locations.class(index), &keys.label) {
            _ if self.words => Ok(Label::None),
            (_, None) => Ok(Label::None),
            (Some(class), _) => Ok(Label::Class(class)),
            (None, Some(label)) => {
                let key = numbered_key(label, index as u64 + 1);
                let text = self.reader.get(key.as_bytes(), self.max_file_bytes, buffer)?;
                let label = self.parsed_label(&key, text)?;
                if let Label::Class(class) = label {
                    self.locations.note_class(index, class);
                }
                Ok(label)
            }
        }
    }

    fn parsed_label(&self, key: &str, text: Option<&[u8]>) -> Result<Label> {
        let label = text.map(layout::parse);
        match label {
            Some(Ok(label)) => Ok(label),
            Some(Err(NoLabel::Number(reason))) => Err(broken(self.path(), format!("the label {key}: {reason}"))),
            _ if self.allow_unlabelled => Ok(Label::None),
            Some(Err(NoLabel::Word)) => {
                let text = shortened(&String::from_utf8_lossy(text.unwrap_or_default()));
                let reason = format!("the label {key}, {text:?}, is neither a class nor a list of numbers");
                Err(broken(self.path(), Reason::new(reason).advise(advice::LMDB_UNLABELLED)))
            }
            None if self.allow_absent_labels => Ok(Label::None),
            None => {
                let reason = Reason::new(format!("there is no label {key}"));
                Err(broken(self.path(), reason.advise(advice::LMDB_UNLABELLED)))
            }
        }
    }
}

impl Dataset for Lmdb {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        if index >= self.len() {
            return Err(out_of_range(index, self.len()));
        }
        let (image, label, fields) = match &*self.keys {
            Keys::Numbered(keys) => {
                let label = self.numbered_label(keys, index, buffer);
                let key = numbered_key(&keys.image, index as u64 + 1);
                match &self.fields {
                    None => (self.value(index, key.as_bytes(), buffer)?, label?, Vec::new()),
                    Some(fields) => {
                        let (image, values) = self.with_fields(fields, (index, key.as_bytes()), buffer)?;
                        (image, label?, values)
                    }
                }
            }
            Keys::Listed { bytes, ends, class } => {
                let key = Keys::listed(bytes, ends, index);
                let value = self.value(index, key, buffer)?;
                match value.split_first_chunk() {
                    _ if !class => (value, Label::None, Vec::new()),
                    Some((class, image)) => (image, Label::Class(u32::from_le_bytes(*class)), Vec::new()),
                    None => return Err(broken(self.path(), format!("the value of {} has no class", shown(key)))),
                }
            }
        };
        if let Label::Class(class) = label
            && !self.classes.is_empty()
            && class as usize >= self.classes.len()
        {
            let reason = format!("{}: of class {class}, but only {} have names", self.name(index), self.classes.len());
            return Err(broken(self.path(), reason));
        }
        Ok(Sample::new(SampleData::Encoded(image), label).with_fields(fields))
    }

    /// Returns the label if it has a key of its own. That of a value with class and image is read with the image.
    fn label(&self, index: usize) -> Option<Label> {
        match &*self.keys {
            Keys::Numbered(keys) if index < self.len() => self.numbered_label(keys, index, &mut Vec::new()).ok(),
            Keys::Listed { class: false, .. } if index < self.len() => Some(Label::None),
            _ => None,
        }
    }

    fn name(&self, index: usize) -> String {
        let path = self.reader.path.display();
        match &*self.keys {
            _ if index >= self.len() => format!("sample {index}"),
            Keys::Numbered(keys) => format!("{path}: {}", numbered_key(&keys.image, index as u64 + 1)),
            Keys::Listed { bytes, ends, .. } => format!("{path}: {}", shown(Keys::listed(bytes, ends, index))),
        }
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn fields(&self) -> &[Field] {
        self.fields.as_ref().map_or(&[], |fields| fields.fields())
    }

    fn folder(&self) -> Option<&Path> {
        Some(folder_of(&self.reader.path))
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }
}
