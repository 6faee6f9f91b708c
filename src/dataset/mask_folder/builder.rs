//! Opens a [`MaskFolder`] with its settings.

use std::path::{Path, PathBuf};

use super::MaskFolder;
use super::layout::Layout;
use super::pairs::{Pairs, Suffixes};
use crate::dataset::file_fields::{FieldLimits, FieldSource, FileFields};
use crate::dataset::image_files::ImageFiles;
use crate::dataset::listed_values::TextColumn;
use crate::dataset::{Field, FieldChoice, FieldKind, MAX_FILE_BYTES};
use crate::error::{Error, ErrorKind, Result};

/// The name of the field where no setting gives another one.
const MASK: &str = "mask";

/// Settings of a [`MaskFolder`], from [`MaskFolder::builder`].
///
/// ```no_run
/// use gpufeed::dataset::MaskFolder;
///
/// let val = MaskFolder::builder().split("validation").open("ADEChallengeData2016")?;
/// let cities = MaskFolder::builder()
///     .folders("leftImg8bit", "gtFine")
///     .suffixes("_leftImg8bit", "_gtFine_labelIds")
///     .split("train")
///     .open("cityscapes")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct MaskFolderBuilder {
    folders: Option<(PathBuf, PathBuf)>,
    suffixes: Suffixes,
    split: Option<String>,
    classes: Vec<String>,
    fields: FieldChoice,
    max_file_bytes: u64,
}

impl MaskFolderBuilder {
    pub(super) fn new() -> Self {
        MaskFolderBuilder {
            folders: None,
            suffixes: Suffixes::default(),
            split: None,
            classes: Vec::new(),
            fields: FieldChoice::None,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the folder of the images and that of the masks, relative to the path that is opened. Default: the first of `images` and
    /// `masks`, `images` and `annotations`, `JPEGImages` and `SegmentationClass` that are there.
    pub fn folders(mut self, images: impl Into<PathBuf>, masks: impl Into<PathBuf>) -> Self {
        self.folders = Some((images.into(), masks.into()));
        self
    }

    /// Sets the ends of the names of images and of masks, after the part that both share and before the ending: with `("_leftImg8bit",
    /// "_gtFine_labelIds")` the mask of `a_leftImg8bit.png` is `a_gtFine_labelIds.png`. Files without the suffix are not read, which
    /// a [notice](crate::Dataset::notices) says. Default: nothing.
    pub fn suffixes(mut self, image: impl Into<String>, mask: impl Into<String>) -> Self {
        self.suffixes = Suffixes { image: image.into(), mask: mask.into() };
        self
    }

    /// Sets the split: the name of a folder that is in both folders, or of a list in VOC's `ImageSets/Segmentation`. Default: the
    /// folders `train` or `training`, if there are such, else all images and masks.
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Sets the names of the classes by their numbers in masks. Default: none.
    pub fn classes(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets another name of the field `mask`, the only one that there is: `[("mask", "target")]`. Samples have it in any case.
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes that an image or a mask may have. Default: [`MAX_FILE_BYTES`], 1 GiB.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Lists the images and masks below `path`, or those of the list at `path`.
    ///
    /// # Errors
    /// Those of [`MaskFolder::open`], and [`ErrorKind::Argument`] for a field or split that there is not, and for a split beside the
    /// path of a list.
    pub fn open(self, path: impl AsRef<Path>) -> Result<MaskFolder> {
        let layout = self.layout(path.as_ref())?;
        match &self.split {
            Some(split) => self.opened(&layout.split(split)?),
            None => self.opened(&layout.train()),
        }
    }

    /// Lists the training split, or all images and masks, and those of the split to test with, `val`, `validation` or `test`, if
    /// the set has folders of both.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    ///
    /// ```no_run
    /// use gpufeed::Dataset;
    /// use gpufeed::dataset::MaskFolder;
    ///
    /// let (train, val) = MaskFolder::builder().parts("ADEChallengeData2016")?;
    /// println!("{} to train on, {} to validate with", train.len(), val.map_or(0, |val| val.len()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn parts(self, path: impl AsRef<Path>) -> Result<(MaskFolder, Option<MaskFolder>)> {
        let layout = self.layout(path.as_ref())?;
        let test = layout.test().map(|test| self.opened(&test)).transpose()?;
        Ok((self.opened(&layout.train())?, test))
    }

    fn layout(&self, path: &Path) -> Result<Layout> {
        Layout::of(path, self.folders.as_ref().map(|(images, masks)| (&**images, &**masks)))
    }

    fn opened(&self, layout: &Layout) -> Result<MaskFolder> {
        let field = self.field()?;
        let Pairs { images, masks, notices } = Pairs::of(layout, &self.suffixes)?;
        if images.is_empty() {
            let what = format!("{} and {}", layout.images.display(), layout.masks.display());
            let hint = "no mask has the name of an image; folders(..) and suffixes(..) say how they are called";
            return Err(ErrorKind::EmptyDataset { what, hint: hint.to_owned() }.into());
        }
        let mut paths = TextColumn::default();
        for (number, mask) in masks.iter().enumerate() {
            // Relative to the set's folder, so that a path is stored once.
            let below = mask.strip_prefix(&layout.root).unwrap_or(mask);
            let text = below.to_str().ok_or_else(|| Error::data_file(&**mask, "the path", "is no UTF-8"))?;
            paths.push(number, text);
        }
        let limits = FieldLimits { max_field_bytes: self.max_file_bytes, max_file_bytes: self.max_file_bytes };
        let source = FieldSource::Paths(paths);
        let fields = FileFields::of(vec![(field, source)], &layout.root, layout.list.as_deref(), limits)?;
        let files = ImageFiles::unlabelled(layout.root.clone(), images, self.max_file_bytes);
        Ok(MaskFolder(ImageFiles { classes: self.classes.clone(), notices, fields, ..files }))
    }

    /// The field of the masks.
    ///
    /// # Errors
    /// A field that there is not.
    fn field(&self) -> Result<Field> {
        let images = |field: Field| field.kind(FieldKind::Image);
        let mut found = images(Field::new(MASK));
        let FieldChoice::Named(named) = &self.fields else { return Ok(found) };
        for (source, field) in named {
            if source != MASK || field.values().is_some_and(|kind| kind != FieldKind::Image) {
                let reason = format!("{source:?} is not read from a folder of masks; {MASK:?} is, as images");
                return Err(Error::argument("fields", reason));
            }
            found = images(Field::new(field.name()));
        }
        Ok(found)
    }
}
