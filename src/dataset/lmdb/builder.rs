//! Opens an [`Lmdb`]: its layout, its keys, the names of its classes.

use crate::advice::{self, Reason};
use std::path::Path;
use std::sync::Arc;

use super::choice::KeyChoice;
use super::fields::KeyFields;
use super::layout::{CLASSES, COUNT, LmdbLayout, is_no_sample, numbered_key};
use super::locations::Locations;
use super::metadata::{self, LabelsFound};
use super::reader::{Reader, broken};
use super::{FILE, Keys, Lmdb, NumberedKeys};
use crate::dataset::file_fields::FieldLimits;
use crate::dataset::{Dataset, FieldChoice, MAX_FIELD_BYTES, MAX_FILE_BYTES, Notice, class_names};
use crate::error::{Error, ErrorKind, Result};
use crate::quote::shown;
use crate::storage::local::atomic_file::folder_of;

/// Settings of an [`Lmdb`], from [`Lmdb::builder`].
///
/// ```no_run
/// use gpufeed::dataset::{Lmdb, LmdbLayout};
///
/// let words = Lmdb::builder().layout(LmdbLayout::Numbered).allow_unlabelled(true).open("ocr/train")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LmdbBuilder {
    layout: LmdbLayout,
    allow_unlabelled: bool,
    classes: Vec<String>,
    fields: FieldChoice,
    of_pack: bool,
    max_field_bytes: u64,
    max_file_bytes: u64,
}

impl Default for LmdbBuilder {
    fn default() -> Self {
        let layout = LmdbLayout::default();
        LmdbBuilder {
            layout,
            allow_unlabelled: false,
            classes: Vec::new(),
            fields: FieldChoice::None,
            of_pack: false,
            max_field_bytes: MAX_FIELD_BYTES,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }
}

impl LmdbBuilder {
    /// Sets how samples are stored. Default: [`LmdbLayout::Auto`].
    #[must_use]
    pub fn layout(mut self, layout: LmdbLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Accepts samples of [`LmdbLayout::Numbered`] without a label; they have [`Label::None`](crate::Label::None). So have all samples if one
    /// has a label that is not a number, as in sets of words: there "2024" is a word, too. To know that, opening reads the
    /// labels up to the first word, a microsecond or two each. Default: `false`.
    #[must_use]
    pub fn allow_unlabelled(mut self, allow: bool) -> Self {
        self.allow_unlabelled = allow;
        self
    }

    /// Names the classes, instead of the file's names.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which values of an [`LmdbLayout::Numbered`] set are [fields](crate::Dataset::fields) of the samples, by the
    /// names of their keys: `caption` is read from `caption-000000001` and so on. Default: none.
    ///
    /// The name `image` chooses the sample's own image: `("lq", "image")`. The name `label` chooses the keys of its label.
    /// Without it labels are read where they are, and samples may lack one. `("label", "text")` reads the words of a set of
    /// the text recognition community, which are no labels. [`FieldChoice::All`] reads all values but image and label;
    /// those that are no numbers are [optional](crate::dataset::Field::optional). All fields of a [pack](crate::pack) are
    /// those that its manifest `gpufeed-pack.json`, beside the file, lists with names, kinds and defaults.
    ///
    /// The name of its keys says the kind of a field, like the ending of a file (`caption`, `meta.json`, `score.npy`,
    /// `index`), unless its [`kind`](crate::dataset::Field::kind) is set. For other names the first value decides: an
    /// image, text if it is UTF-8, or else bytes. A field that no sample has is an error of [`open`](Self::open); a value
    /// that is not of its kind is an error of its sample.
    ///
    /// ```no_run
    /// use gpufeed::dataset::{Field, Lmdb};
    ///
    /// let words = Lmdb::builder().fields(vec![("label", Field::new("text"))]).open("ocr/train")?;
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[must_use]
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the fields that the manifest of a pack lists. Unlike other fields, one that no sample has is no error.
    pub(crate) fn fields_of_pack(self, fields: FieldChoice) -> Self {
        LmdbBuilder { of_pack: true, ..self.fields(fields) }
    }

    /// Sets the most bytes that the value of a field may have; of a field of images
    /// [`max_file_bytes`](Self::max_file_bytes) does. A larger one is not read, and its sample is an error. Default:
    /// [`MAX_FIELD_BYTES`], 1 MiB.
    #[must_use]
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = bytes;
        self
    }

    /// Sets the most bytes that an image may have. A larger image is not read, and its sample is an error
    /// ([`ErrorKind::FileTooLarge`](crate::ErrorKind::FileTooLarge)). Default:
    /// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES), 1 GiB.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Opens a folder with a `data.mdb`, or an LMDB file of any name.
    ///
    /// # Errors
    ///
    /// The errors of [`Lmdb::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Lmdb> {
        let path = path.as_ref();
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        if !file.exists() && path.join(format!(".{FILE}.part")).exists() {
            let reason = Reason::new("it is not finished; run the same `gpufeed pack` again");
            return Err(broken(path, reason.advise(advice::LMDB_FINISH)));
        }
        let reader = Reader::open(&file)?;
        let mut choice = KeyChoice::of(&self.fields, &file)?;
        choice.of_pack |= self.of_pack;
        let is_plain = choice.is_plain();
        let (keys, mut notices) = self.keys(&reader, &choice)?;
        if keys.len() == 0 {
            let (what, hint) = (file.display().to_string(), "it has no keys of samples".to_owned());
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        let classes = self.class_names(&reader, &file)?;
        let (mut found, mut fields) = (LabelsFound::default(), None);
        match &keys {
            Keys::Numbered(numbered) => {
                if let Some(label) = numbered.label.as_deref().filter(|_| self.allow_unlabelled) {
                    found = metadata::labels(&reader, label, numbered.count, self.max_file_bytes)?;
                }
                // A damaged page matters here only where all fields are asked for. Samples below it fail when they are read.
                let there = match metadata::sources(&reader, numbered.count as u64) {
                    Err(_) if choice.fields.is_some() => Vec::new(),
                    found => found?,
                };
                let own: Vec<&str> = std::iter::once(&*numbered.image).chain(numbered.label.as_deref()).collect();
                let limits = FieldLimits { max_field_bytes: self.max_field_bytes, max_file_bytes: self.max_file_bytes };
                let asked = (choice.fields, choice.of_pack);
                let decided = KeyFields::decide(&reader, asked, (&there, &own), limits)?;
                let unread: Vec<_> =
                    there.iter().filter(|source| !own.contains(&&***source) && !decided.has(source)).cloned().collect();
                notices.extend(Notice::keys_not_read(unread, !is_plain));
                fields = Some(decided).filter(|decided| !decided.fields().is_empty());
            }
            Keys::Listed { .. } if is_plain => {}
            Keys::Listed { .. } => {
                let reason = "of an LMDB they are values under numbered keys, such as caption-000000001, beside a key \
                              num-samples, which this one lacks; leave the setting out";
                return Err(Error::argument("fields", reason));
            }
        }
        let mut set = Lmdb {
            reader: Arc::new(reader),
            locations: Arc::new(Locations::new(keys.len())),
            keys: Arc::new(keys),
            classes,
            allow_unlabelled: self.allow_unlabelled,
            allow_absent_labels: choice.allow_absent_labels,
            words: found.words,
            notices: Vec::new(),
            max_file_bytes: self.max_file_bytes,
            fields: None,
        };
        // Checking all samples would read the whole file. The first one shows wrong layouts and settings. Values of fields
        // fail their samples alone.
        let mut buffer = Vec::new();
        let first = set.read(0, &mut buffer)?.label;
        set.read(set.len() - 1, &mut buffer)?;
        let (samples, of) = (found.missing, set.len() as u64);
        notices.insert(0, Notice::Labels { what: set.labels(&found.first.unwrap_or(first)) });
        if samples > 0 && samples < of {
            notices.push(Notice::Unlabelled { samples, of });
        }
        set.notices = notices;
        set.fields = fields.map(Arc::new);
        Ok(set)
    }

    fn keys(&self, reader: &Reader, choice: &KeyChoice) -> Result<(Keys, Vec<Notice>)> {
        let (path, mut buffer) = (&reader.path, Vec::new());
        let count = reader.get(COUNT, self.max_file_bytes, &mut buffer)?;
        if self.layout == LmdbLayout::Numbered || (self.layout == LmdbLayout::Auto && count.is_some()) {
            let none = || Reason::new("no key num-samples, which numbered keys have").advise(advice::LMDB_LAYOUT);
            let count = count.ok_or_else(|| broken(path, none()))?;
            let text = std::str::from_utf8(count).ok().and_then(|text| text.trim().parse::<usize>().ok());
            let Some(count) = text else { return Err(broken(path, "num-samples is not a number")) };
            let entries = reader.len();
            if count as u64 >= entries {
                let reason =
                    format!("num-samples is {count}, but there are only {} other keys", entries.saturating_sub(1));
                return Err(broken(path, reason));
            }
            let (image, label) = (choice.image.clone(), choice.label.clone());
            let more = metadata::values_beyond(reader, &image, count as u64)?;
            let what = format!("images beyond the {count} of num-samples");
            let notice = Notice::not_read(what, more, numbered_key(&image, count as u64 + 1));
            return Ok((Keys::Numbered(NumberedKeys { count, image, label }), notice.into_iter().collect()));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let metadata = metadata::keys(reader, self.max_file_bytes)?;
        reader.keys(|key| {
            if !is_no_sample(key) && !metadata.iter().any(|other| other == key) {
                bytes.extend_from_slice(key);
                ends.push(bytes.len());
            }
        })?;
        bytes.shrink_to_fit();
        ends.shrink_to_fit();
        let mut layout = self.layout;
        if let (LmdbLayout::Auto, Some(end)) = (layout, ends.first()) {
            let key = &bytes[..*end];
            let value = reader.get(key, self.max_file_bytes, &mut buffer)?.unwrap_or_default();
            layout = LmdbLayout::of(value).map_err(|what| {
                let reason = Reason::new(format!("the value of the key {} is {what}", shown(key)));
                broken(path, reason.advise(advice::LMDB_LAYOUT))
            })?;
        }
        let first = metadata.first().map(|key| String::from_utf8_lossy(key).into_owned()).unwrap_or_default();
        let notice = Notice::not_read("keys whose value is no image", metadata.len() as u64, first);
        let keys = Keys::Listed { bytes, ends, class: layout == LmdbLayout::ClassAndImage };
        Ok((keys, notice.into_iter().collect()))
    }

    fn class_names(&self, reader: &Reader, file: &Path) -> Result<Vec<String>> {
        if !self.classes.is_empty() {
            return Ok(self.classes.clone());
        }
        if let Some(names) = reader.get(CLASSES, self.max_file_bytes, &mut Vec::new())? {
            let names = serde_json::from_slice(names);
            return names.map_err(|error| {
                broken(file, format!("the value of the key classes is not a list of names: {error}"))
            });
        }
        class_names::beside(folder_of(file))
    }
}
