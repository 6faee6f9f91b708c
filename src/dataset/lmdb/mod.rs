//! Samples in an LMDB, the memory-mapped key-value store.

mod environment;
mod layout;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;

use super::shown::{shortened, shown};
use super::tar::class_names_beside;
use super::{Dataset, Label, Sample, SampleData, out_of_range};
use crate::error::{ErrorKind, Result};
use crate::replace::folder_of;
use environment::{Environment, broken, failed};
use layout::{CLASSES, COUNT, image_key, is_no_sample, label_key};

pub use layout::LmdbLayout;
pub use writer::LmdbWriter;

/// The name of an LMDB in its folder.
const FILE: &str = "data.mdb";

/// Samples in an LMDB (feature `lmdb`), which `gpufeed pack --to lmdb` and [`LmdbWriter`] write, and other programs do.
///
/// | [`LmdbLayout`] | keys | values | labels |
/// |---|---|---|---|
/// | `Numbered`, of the text recognition community; what `gpufeed pack` writes | `num-samples`; `image-000000001`, ... | the image file | `label-000000001`, ...: a class, or a list of numbers |
/// | `ClassAndImage` | any, in their order | the class, 4 bytes, little-endian, then the image file | in the value |
/// | `Image` | any, in their order | the image file | none |
///
/// Keys that begin with `__` are no samples. Class names are a JSON list under the key `classes`, or a `classes.txt` or
/// `classes.json` ([`TarShards`](super::TarShards) says how) beside the file. Values that are Python pickles are
/// refused.
///
/// A `Numbered` set is open at once, whatever its size; of others the keys are listed, some 20 ms for 100,000. Each
/// read is a transaction of its own, and one copy. Clones share the file, and so do all that open it in one process.
///
/// # What LMDB asks for
///
/// The file is mapped, without LMDB's lock file, so that it may lie on a read-only disk: **nobody must write to it,
/// replace its content or cut it while it is open**, and as LMDB follows what it finds in its pages without checking,
/// only files from writers that you trust should be opened. That the file is as long as it says is checked when it is
/// opened.
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
    environment: Arc<Environment>,
    keys: Arc<Keys>,
    classes: Vec<String>,
    allow_unlabelled: bool,
}

/// Which keys the samples have.
#[derive(Debug)]
enum Keys {
    /// So many of [`LmdbLayout::Numbered`].
    Numbered(usize),
    /// One behind the other, and where each ends.
    Listed { bytes: Vec<u8>, ends: Vec<usize>, class: bool },
}

/// Settings of an [`Lmdb`], from [`Lmdb::builder`].
///
/// ```no_run
/// use gpufeed::dataset::{Lmdb, LmdbLayout};
///
/// let words = Lmdb::builder().layout(LmdbLayout::Numbered).allow_unlabelled(true).open("ocr/train")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LmdbBuilder {
    layout: LmdbLayout,
    allow_unlabelled: bool,
    classes: Vec<String>,
}

impl LmdbBuilder {
    /// How samples are stored. Default: [`LmdbLayout::Auto`].
    #[must_use]
    pub fn layout(mut self, layout: LmdbLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Whether samples of [`LmdbLayout::Numbered`] may be without a label, or with one that is no number, as in sets of
    /// words; they have [`Label::None`]. Default: `false`.
    #[must_use]
    pub fn allow_unlabelled(mut self, allow: bool) -> Self {
        self.allow_unlabelled = allow;
        self
    }

    /// Names the classes, instead of the file.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Opens a folder with a `data.mdb`, or such a file of any name.
    ///
    /// # Errors
    ///
    /// Those of [`Lmdb::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Lmdb> {
        let path = path.as_ref();
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        if !file.exists() && path.join(format!(".{FILE}.part")).exists() {
            return Err(broken(path, "it is not finished: the same `gpufeed pack` again does, or LmdbWriter::finish"));
        }
        let environment = Environment::open(&file)?;
        let keys = self.keys(&environment)?;
        if keys.len() == 0 {
            let (what, hint) = (file.display().to_string(), "it has no keys of samples".to_owned());
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        let classes = self.class_names(&environment, &file)?;
        let set = Lmdb { environment, keys: Arc::new(keys), classes, allow_unlabelled: self.allow_unlabelled };
        // All would have to be read to check all; slips in the layout or the settings show here.
        let mut buffer = Vec::new();
        for index in [0, set.len() - 1] {
            set.read(index, &mut buffer)?;
        }
        Ok(set)
    }

    fn keys(&self, environment: &Environment) -> Result<Keys> {
        let path = &environment.path;
        let transaction = environment.read()?;
        let count = environment.get(&transaction, COUNT)?;
        if self.layout == LmdbLayout::Numbered || (self.layout == LmdbLayout::Auto && count.is_some()) {
            let count = count.ok_or_else(|| broken(path, "no key num-samples, which LmdbLayout::Numbered has"))?;
            let text = std::str::from_utf8(count).ok().and_then(|text| text.trim().parse::<usize>().ok());
            let Some(count) = text else { return Err(broken(path, "num-samples is no number")) };
            let entries = environment.database.len(&transaction).map_err(|error| failed(path, error))?;
            if count as u64 >= entries {
                let reason =
                    format!("num-samples is {count}, but there are only {} other keys", entries.saturating_sub(1));
                return Err(broken(path, reason));
            }
            return Ok(Keys::Numbered(count));
        }
        let (mut bytes, mut ends, mut layout) = (Vec::new(), Vec::new(), self.layout);
        for pair in environment.database.iter(&transaction).map_err(|error| failed(path, error))? {
            let (key, value) = pair.map_err(|error| failed(path, error))?;
            if is_no_sample(key) {
                continue;
            }
            if layout == LmdbLayout::Auto {
                layout = LmdbLayout::of(value).map_err(|what| {
                    broken(
                        path,
                        format!("the value of the key {} is {what}; LmdbBuilder::layout says what is", shown(key)),
                    )
                })?;
            }
            bytes.extend_from_slice(key);
            ends.push(bytes.len());
        }
        bytes.shrink_to_fit();
        ends.shrink_to_fit();
        Ok(Keys::Listed { bytes, ends, class: layout == LmdbLayout::ClassAndImage })
    }

    fn class_names(&self, environment: &Environment, file: &Path) -> Result<Vec<String>> {
        if !self.classes.is_empty() {
            return Ok(self.classes.clone());
        }
        let transaction = environment.read()?;
        if let Some(names) = environment.get(&transaction, CLASSES)? {
            let names = serde_json::from_slice(names);
            return names
                .map_err(|error| broken(file, format!("the value of the key classes is no list of names: {error}")));
        }
        class_names_beside(folder_of(file))
    }
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Keys::Numbered(count) => *count,
            Keys::Listed { ends, .. } => ends.len(),
        }
    }

    fn listed<'a>(bytes: &'a [u8], ends: &[usize], index: usize) -> &'a [u8] {
        let begin = index.checked_sub(1).map_or(0, |before| ends[before]);
        &bytes[begin..ends[index]]
    }
}

impl Lmdb {
    /// Opens a folder with a `data.mdb`, or such a file of any name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for what cannot be read, is no LMDB, is cut short, or holds something
    /// else than one of the layouts; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if there are no
    /// samples.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Settings other than those of [`open`](Self::open).
    pub fn builder() -> LmdbBuilder {
        LmdbBuilder::default()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.environment.path
    }

    fn label(&self, key: &str, text: Option<&[u8]>) -> Result<Label> {
        let label = text.map(layout::parse);
        match label {
            Some(Ok(label)) => Ok(label),
            _ if self.allow_unlabelled => Ok(Label::None),
            Some(Err(())) => {
                let text = shortened(&String::from_utf8_lossy(text.unwrap_or_default()));
                let reason = format!(
                    "the label {key}, {text:?}, is neither a class nor a list of numbers; LmdbBuilder::allow_unlabelled passes it over"
                );
                Err(broken(self.path(), reason))
            }
            None => {
                let reason = format!("there is no label {key}; LmdbBuilder::allow_unlabelled accepts that");
                Err(broken(self.path(), reason))
            }
        }
    }
}

impl Dataset for Lmdb {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        if index >= self.len() {
            return Err(out_of_range(index, self.len()));
        }
        buffer.clear();
        let environment = &self.environment;
        let missing = |key: String| broken(&environment.path, format!("there is no {key}"));
        let transaction = environment.read()?;
        let (begin, label) = match &*self.keys {
            Keys::Numbered(_) => {
                let number = index as u64 + 1;
                let key = image_key(number);
                let image = environment.get(&transaction, key.as_bytes())?.ok_or_else(|| missing(key))?;
                buffer.extend_from_slice(image);
                let key = label_key(number);
                (0, self.label(&key, environment.get(&transaction, key.as_bytes())?)?)
            }
            Keys::Listed { bytes, ends, class } => {
                let key = Keys::listed(bytes, ends, index);
                let value = environment.get(&transaction, key)?.ok_or_else(|| missing(shown(key)))?;
                buffer.extend_from_slice(value);
                match value.first_chunk() {
                    _ if !class => (0, Label::None),
                    Some(class) => (4, Label::Class(u32::from_le_bytes(*class))),
                    None => return Err(broken(self.path(), format!("the value of {} has no class", shown(key)))),
                }
            }
        };
        drop(transaction);
        if let Label::Class(class) = label
            && !self.classes.is_empty()
            && class as usize >= self.classes.len()
        {
            let reason = format!("{}: of class {class}, but only {} have names", self.name(index), self.classes.len());
            return Err(broken(self.path(), reason));
        }
        Ok(Sample { data: SampleData::Encoded(&buffer[begin..]), label })
    }

    fn name(&self, index: usize) -> String {
        let path = self.environment.path.display();
        match &*self.keys {
            _ if index >= self.len() => format!("sample {index}"),
            Keys::Numbered(_) => format!("{path}: {}", image_key(index as u64 + 1)),
            Keys::Listed { bytes, ends, .. } => format!("{path}: {}", shown(Keys::listed(bytes, ends, index))),
        }
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn folder(&self) -> Option<&Path> {
        Some(folder_of(&self.environment.path))
    }
}
