//! The settings with which a path is opened in any format, and how each format takes them.

use std::path::Path;

use super::field::FieldChoice;
use super::{
    Cifar, Coco, Dataset, Idx, ImageFolder, ImageFolderBuilder, ImageList, Lmdb, MaskFolder, Numpy, TarShards, Voc,
    Yolo,
};
use crate::error::{Error, Result};
use crate::storage::RemoteOptions;

/// Result of [`open`](super::open).
///
/// ```no_run
/// let opened = gpufeed::dataset::open("MNIST")?;
/// println!("{} to train on, {} to test with", opened.train.len(), opened.test.map_or(0, |test| test.len()));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub struct Opened {
    /// All samples, or the training split.
    pub train: Box<dyn Dataset>,
    /// The test split, if the data set comes in two (MNIST, CIFAR, an `.npz` with `train` and `test`, a folder of Parquet
    /// files with `train` and with `validation` or `test`, YOLO's and masks with `train` and with `val` or `test`) and the path has its files.
    pub test: Option<Box<dyn Dataset>>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lengths = (self.train.len(), self.test.as_ref().map(|test| test.len()));
        f.debug_struct("Opened").field("lengths", &lengths).finish_non_exhaustive()
    }
}

/// Settings of [`open_with`](super::open_with): fields, stores, and samples without a label. A format's own builder has
/// more.
///
/// ```
/// use gpufeed::dataset::{OpenOptions, RemoteOptions};
///
/// let remote = RemoteOptions::new().cache("/scratch/photos", 200 << 30);
/// let options = OpenOptions::new().remote(remote).fields([("txt", "caption")]).max_field_bytes(64 << 10);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct OpenOptions {
    remote: RemoteOptions,
    fields: FieldChoice,
    max_field_bytes: Option<u64>,
    as_is: bool,
}

impl OpenOptions {
    /// Returns the defaults: no fields, and the stores' settings of the environment.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// Sets how stores and web servers are read.
    pub fn remote(mut self, remote: RemoteOptions) -> Self {
        self.remote = remote;
        self
    }

    /// Sets which [fields](Dataset::fields) of the samples are read, such as captions: members of tar shards and files
    /// beside the images by their endings, columns of lists and Parquet files by their names, values of an LMDB by the names
    /// of their keys. Default: none.
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes that the value of a field may have. A larger one is not read, and its sample is an error.
    /// Default: [`MAX_FIELD_BYTES`](super::MAX_FIELD_BYTES), 1 MiB.
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = Some(bytes);
        self
    }

    /// Takes the data as they are: samples may lack a label, and class folders may have no images. Default: `false`.
    pub fn as_is(mut self, as_is: bool) -> Self {
        self.as_is = as_is;
        self
    }

    pub(super) fn of_remote(&self) -> &RemoteOptions {
        &self.remote
    }

    pub(super) fn folder(&self, path: &Path) -> Result<Opened> {
        self.image_folder().allow_empty(self.as_is).open(path).map(whole)
    }

    fn image_folder(&self) -> ImageFolderBuilder {
        let builder = ImageFolder::builder().fields(self.fields.clone());
        match self.max_field_bytes {
            Some(bytes) => builder.max_field_bytes(bytes),
            None => builder,
        }
    }

    pub(super) fn images(&self, path: &Path) -> Result<Opened> {
        self.image_folder().unlabelled(true).open(path).map(whole)
    }

    pub(super) fn list(&self, path: &Path) -> Result<Opened> {
        let mut builder = ImageList::builder().fields(self.fields.clone());
        if let Some(bytes) = self.max_field_bytes {
            builder = builder.max_field_bytes(bytes);
        }
        builder.open(path).map(whole)
    }

    pub(super) fn numpy(&self, path: &Path) -> Result<Opened> {
        self.check_no_fields("NumPy's files")?;
        Numpy::parts(path, true).map(parts)
    }

    pub(super) fn tar(&self, path: &Path) -> Result<Opened> {
        let mut builder = TarShards::builder().remote(self.remote.clone()).fields(self.fields.clone());
        if let Some(bytes) = self.max_field_bytes {
            builder = builder.max_field_bytes(bytes);
        }
        builder.allow_unlabelled(self.as_is).open(path).map(whole)
    }

    pub(super) fn lmdb(&self, path: &Path) -> Result<Opened> {
        let mut builder = Lmdb::builder().fields(self.fields.clone());
        if let Some(bytes) = self.max_field_bytes {
            builder = builder.max_field_bytes(bytes);
        }
        builder.allow_unlabelled(self.as_is).open(path).map(whole)
    }

    pub(super) fn idx(&self, path: &Path) -> Result<Opened> {
        self.check_no_fields("MNIST's files")?;
        Idx::parts(path).map(parts)
    }

    pub(super) fn cifar(&self, path: &Path) -> Result<Opened> {
        self.check_no_fields("CIFAR's files")?;
        Cifar::parts(path).map(parts)
    }

    pub(super) fn coco(&self, path: &Path) -> Result<Opened> {
        Coco::builder().fields(self.fields.clone()).open(path).map(whole)
    }

    pub(super) fn voc(&self, path: &Path) -> Result<Opened> {
        Voc::builder().fields(self.fields.clone()).open(path).map(whole)
    }

    pub(super) fn yolo(&self, path: &Path) -> Result<Opened> {
        Yolo::builder().fields(self.fields.clone()).parts(path).map(parts)
    }

    pub(super) fn masks(&self, path: &Path) -> Result<Opened> {
        MaskFolder::builder().fields(self.fields.clone()).parts(path).map(parts)
    }

    #[cfg(feature = "parquet")]
    pub(super) fn parquet(&self, path: &Path) -> Result<Opened> {
        let mut builder = super::Parquet::builder().remote(self.remote.clone()).fields(self.fields.clone());
        if let Some(bytes) = self.max_field_bytes {
            builder = builder.max_field_bytes(bytes);
        }
        builder.allow_unlabelled(self.as_is).parts(path).map(parts)
    }

    #[cfg(not(feature = "parquet"))]
    pub(super) fn parquet(&self, path: &Path) -> Result<Opened> {
        let reason = "this program was built without gpufeed's feature `parquet`; build it with that feature";
        Err(Error::data_file(path, "Parquet files", reason))
    }

    /// Refuses fields of a format whose samples have none.
    fn check_no_fields(&self, what: &str) -> Result<()> {
        match self.fields.asks_for_nothing() {
            true => Ok(()),
            false => Err(Error::argument("fields", format!("no fields are read from {what}; leave the setting out"))),
        }
    }
}

/// The settings for stores alone.
impl From<RemoteOptions> for OpenOptions {
    fn from(remote: RemoteOptions) -> Self {
        OpenOptions::new().remote(remote)
    }
}

fn whole(data: impl Dataset + 'static) -> Opened {
    Opened { train: Box::new(data), test: None }
}

fn parts<D: Dataset + 'static>((train, test): (D, Option<D>)) -> Opened {
    Opened { train: Box::new(train), test: test.map(|test| Box::new(test) as Box<dyn Dataset>) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_choice_of_fields_asks_for_nothing() {
        let checked = |fields: FieldChoice| OpenOptions::new().fields(fields).check_no_fields("CIFAR's files");
        assert!(checked(FieldChoice::None).is_ok() && checked(FieldChoice::Named(Vec::new())).is_ok());
        let refused = checked(FieldChoice::from([("txt", "caption")])).unwrap_err().to_string();
        assert!(refused.contains("no fields are read from CIFAR"), "{refused}");
        assert!(checked(FieldChoice::All).is_err());
    }
}
