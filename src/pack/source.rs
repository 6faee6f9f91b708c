//! Opens the data set that is packed, and makes a fingerprint of its files, by which a later run notices a change.

use crate::dataset::{
    Dataset, FieldChoice, FieldKind, Format, Label, ObjectStamp, OpenOptions, Opened, Split, log_notices,
};
use crate::decode::seek;
use crate::error::{Error, ErrorKind, Result};
use crate::sampler::Sampler;
use crate::storage::Location;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::Xxh3;

use super::events::{Event, Watch};
use super::members::MemberFields;
use super::settings::{PackFormat, PackSettings};

/// The source that a caller gives: a path, an address or a data set.
#[derive(Clone)]
pub(super) enum PackSource {
    Path(PathBuf),
    Data(Arc<dyn Dataset>),
}

impl PackSource {
    /// Returns the path, or the address without credentials, for messages; `None` for a data set.
    pub(super) fn shown(&self) -> Option<PathBuf> {
        match self {
            PackSource::Path(path) => Some(Location::from(path).shown()),
            PackSource::Data(_) => None,
        }
    }

    /// Opens the data set to pack. Its samples come in their own order, or shuffled if the settings have a seed.
    pub(super) fn open(&self, settings: &PackSettings, watch: &Watch) -> Result<OpenedSource> {
        let opened = match self {
            PackSource::Path(path) => open_path(path, settings, watch)?,
            PackSource::Data(_) if settings.split != Split::default() => {
                let reason = "it chooses a part of a path, and the source is a data set; give the part itself";
                return Err(Error::argument("split", reason));
            }
            PackSource::Data(data) => {
                // The files of a data set that does not name them, such as an LMDB, are found in its folder.
                let path = data.folder().filter(|_| data.stored().is_none()).map(Path::to_owned).unwrap_or_default();
                // All fields of an open data set are packed, unless the settings choose some of them.
                let choice = settings.fields.as_ref().unwrap_or(&FieldChoice::All);
                let fields = MemberFields::of(data.fields(), choice)?;
                OpenedSource { data: Arc::clone(data), format: None, path, fields }
            }
        };
        if opened.data.is_empty() {
            return Err(Error::pack(opened.shown(), "no samples"));
        }
        let opened = opened.with_fields_for(settings)?;
        settings.shuffle.map_or(Ok(opened.clone()), |seed| opened.shuffled(seed))
    }
}

impl fmt::Debug for PackSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown() {
            Some(path) => path.fmt(f),
            None => f.write_str("a data set"),
        }
    }
}

/// Opens one split of the data set at a path. If there is another split, tells the caller its number of samples.
fn open_path(path: &Path, settings: &PackSettings, watch: &Watch) -> Result<OpenedSource> {
    let (format, split) = (Format::detect(path), settings.split);
    let fields = settings.fields.clone().unwrap_or_default();
    let options = OpenOptions::new().as_is(true).fields(fields).max_field_bytes(settings.max_field_bytes);
    let Opened { train, test } = format.open_with(path, options)?;
    let other_split = |data: &dyn Dataset, split| watch.say(Event::OtherSplit { samples: data.len(), split });
    let data = match (split, test) {
        (Split::Train, test) => {
            test.inspect(|test| other_split(&**test, Split::Test));
            train
        }
        (Split::Test, Some(test)) => {
            other_split(&*train, Split::Train);
            test
        }
        (Split::Test, None) => {
            let reason =
                "there is no part to test with, which MNIST, CIFAR, folders of Parquet files and some .npz have";
            return Err(Error::pack(path, reason));
        }
    };
    log_notices(&*data);
    // The reader has read the fields that the settings choose, and no others.
    let fields = MemberFields::of(data.fields(), &FieldChoice::All)?;
    Ok(OpenedSource { data: Arc::from(data), format: Some(format), path: path.to_owned(), fields })
}

/// An open data set that is to be packed.
#[derive(Clone)]
pub(super) struct OpenedSource {
    pub(super) data: Arc<dyn Dataset>,
    /// The format of the data set at the path; `None` if it was already open, or if a plan has listed its samples.
    pub(super) format: Option<Format>,
    /// The path of the data set. For a data set that was already open: its folder, if it does not name its files, else
    /// empty.
    path: PathBuf,
    /// The fields that are packed.
    pub(super) fields: MemberFields,
}

impl OpenedSource {
    /// Makes a source of an open data set without fields, with the samples in the data set's order.
    pub(super) fn of(data: impl Dataset + 'static) -> OpenedSource {
        OpenedSource { data: Arc::new(data), format: None, path: PathBuf::new(), fields: MemberFields::default() }
    }

    /// Names the fields as the format to write does. Warns of images that the settings leave as they are.
    ///
    /// # Errors
    /// Fields that the format cannot have.
    fn with_fields_for(mut self, settings: &PackSettings) -> Result<OpenedSource> {
        if settings.to == PackFormat::Lmdb {
            self.fields = self.fields.under_keys()?;
        }
        let recodes = settings.max_side.is_some() || settings.quality.is_some();
        if let Some(fields) = self.fields.of_kind(FieldKind::Image).filter(|_| recodes) {
            tracing::warn!(fields, "images of fields are packed as they are: only the samples' own are encoded anew");
        }
        if let Some(fields) = self.fields.of_kind(FieldKind::Objects).filter(|_| recodes) {
            let (path, setting) = (self.shown(), if settings.max_side.is_some() { "max_side" } else { "quality" });
            let reason = format!(
                "the boxes and keypoints of {fields} are in pixels of the stored images, which would be turned or reduced; leave \
                 max_side and quality out"
            );
            return Err(ErrorKind::Pack { path, setting: Some(setting), reason }.into());
        }
        Ok(self)
    }

    fn shown(&self) -> PathBuf {
        if self.path.as_os_str().is_empty() { "the data set".into() } else { Location::from(&self.path).shown() }
    }

    /// Puts the samples into a random order: that of epoch 0 of a full shuffle with this seed.
    ///
    /// # Errors
    /// If the data set is in a store: a whole block would be fetched for each image.
    fn shuffled(self, seed: u64) -> Result<OpenedSource> {
        if self.data.access().is_some_and(|access| access.is_remote()) {
            let reason = "the source is in a store, and a block of 8 MiB would be fetched for each image; copy it to \
                          this machine first";
            let (path, reason) = (self.shown(), reason.to_owned());
            return Err(ErrorKind::Pack { path, setting: Some("shuffle"), reason }.into());
        }
        let epoch = Sampler::new(self.data.len(), 1024)?.shuffle(true).seed(seed).epoch(0);
        let order = (0..epoch.batches()).flat_map(|batch| epoch.batch(batch).map(|at| at.index));
        let data = Arc::new(Arc::clone(&self.data).subset(order)?);
        Ok(OpenedSource { data, ..self })
    }

    /// Returns the path of the data set's folder. It is cut off the samples' names before they are compared, because
    /// another run may write the path of the same folder in another way.
    pub(super) fn root(&self) -> String {
        Location::from(self.data.folder().unwrap_or(&self.path)).to_string()
    }

    pub(super) fn file(&self, index: usize) -> Option<&Path> {
        self.data.stored()?.file(index)
    }

    /// Returns a sample's label without reading the sample; no label if the data set cannot tell it.
    pub(super) fn label(&self, index: usize) -> Label {
        self.data.stored().and_then(|stored| stored.label(index)).unwrap_or_default()
    }

    /// Calls `see` with every file that holds samples, and with the file's length and time. These are the files that
    /// the data set names. If the data set names no files, `see` gets the path itself, if that is a file, or else the
    /// files of the folder at the path.
    pub(super) fn each_file(&self, see: &mut dyn FnMut(&Path, Facts) -> Result<()>) -> Result<()> {
        let mut done = Ok(());
        let mut unless_failed = |file: &Path, stamp: Option<ObjectStamp>| {
            if done.is_ok() {
                done = see(file, Facts::with_stamp(file, stamp));
            }
        };
        match self.data.stored() {
            Some(stored) => stored.each(&mut unless_failed),
            None if self.path.is_file() => unless_failed(&self.path, None),
            // Two levels of folders are enough: the files of MNIST, CIFAR and LMDB are in the folder itself, or in a
            // folder in it.
            None => files_below(&self.path, 2, &mut |file| unless_failed(file, None)),
        }
        done
    }

    /// Returns the hash of the lengths and times of all the source's files, in hexadecimal digits.
    pub(super) fn fingerprint(&self, watch: &Watch) -> Result<String> {
        let mut fingerprint = Fingerprint::new();
        self.each_file(&mut |_, facts| {
            fingerprint.add(facts);
            watch.check()
        })?;
        Ok(fingerprint.digits())
    }
}

/// Calls `see` for the files in a folder, sorted by name, and for the files in its subfolders. `depth` is the number of
/// levels of folders, 1 for the folder alone. A folder that cannot be listed counts as empty.
fn files_below(folder: &Path, depth: usize, see: &mut dyn FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => files_below(&entry.path(), depth - 1, see),
            Ok(kind) if kind.is_file() && !is_written_by_readers(&entry.file_name()) => see(&entry.path()),
            _ => {}
        }
    }
}

/// Returns true for a file that is written when a data set is merely read: the lock of an LMDB, or a seek index.
fn is_written_by_readers(name: &OsStr) -> bool {
    name == "lock.mdb" || name.as_encoded_bytes().starts_with(seek::NAME.as_bytes())
}

/// The length of a file, and the seconds and nanoseconds of its last change, by which a change is noticed; `None` for a
/// file that is missing or cannot be looked at. For an object in a store, a part of the hash of its ETag stands in the
/// place of the nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts(Option<(u64, u64, u32)>);

impl Facts {
    pub(super) fn of(file: &Path) -> Facts {
        Facts(fs::metadata(file).ok().map(|found| {
            let time = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            (found.len(), time.as_secs(), time.subsec_nanos())
        }))
    }

    /// Returns the facts of the object that has this stamp; without a stamp, the facts of a file of this machine.
    fn with_stamp(file: &Path, stamp: Option<ObjectStamp>) -> Facts {
        match stamp {
            Some(ObjectStamp { length, seconds, tag }) => Facts(Some((length, seconds, tag as u32))),
            None => Facts::of(file),
        }
    }

    pub(super) fn are_known(self) -> bool {
        self.0.is_some()
    }
}

/// A hash of the sizes and times of the source's files. It changes if any of the files changes.
pub(super) struct Fingerprint(Xxh3);

impl Fingerprint {
    pub(super) fn new() -> Fingerprint {
        Fingerprint(Xxh3::new())
    }

    pub(super) fn add(&mut self, facts: Facts) {
        // A file that is missing or cannot be looked at counts with fixed numbers.
        let (length, seconds, nanoseconds) = facts.0.unwrap_or((u64::MAX, 0, 0));
        self.0.update(&length.to_le_bytes());
        self.0.update(&seconds.to_le_bytes());
        self.0.update(&nanoseconds.to_le_bytes());
    }

    /// Returns the hash in hexadecimal digits.
    pub(super) fn digits(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_two_folders_deep_in_the_order_of_names() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b", "a/2", "a/1", "a/deeper/3", "lock.mdb", ".gpufeed-seek-index", "c/x"] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let mut found = Vec::new();
        files_below(root.path(), 2, &mut |file| found.push(file.strip_prefix(root.path()).unwrap().to_owned()));
        assert_eq!(found, ["a/1", "a/2", "b", "c/x"].map(PathBuf::from));
        files_below(&root.path().join("none"), 2, &mut |file| panic!("{}", file.display()));
    }
}
