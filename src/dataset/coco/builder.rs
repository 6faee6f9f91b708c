//! Opens a [`Coco`] with its settings.

use std::path::{Path, PathBuf};

use super::Coco;
use super::annotations::{Annotations, Wrong};
use super::document::Document;
use crate::dataset::annotated_images::{AnnotatedImages, objects_field};
use crate::dataset::image_files::ImageFiles;
use crate::dataset::{FieldChoice, MAX_FILE_BYTES, Notice};
use crate::error::{Error, ErrorKind, Result};
use crate::objects::TargetsOrientation;

/// Settings of a [`Coco`], from [`Coco::builder`].
///
/// ```no_run
/// use gpufeed::dataset::Coco;
///
/// let coco = Coco::builder().root("/data/coco/val2017").open("/data/coco/annotations/instances_val2017.json")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CocoBuilder {
    root: Option<PathBuf>,
    targets_orientation: TargetsOrientation,
    fields: FieldChoice,
    max_file_bytes: u64,
}

impl CocoBuilder {
    pub(super) fn new() -> Self {
        CocoBuilder {
            root: None,
            targets_orientation: TargetsOrientation::Stored,
            fields: FieldChoice::None,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the folder of the images. Default: the first of the document's own folder and those beside it, by the document's name, that
    /// has the first image.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Sets the image to which coordinates refer where the document's width and height of an image do not decide. Default:
    /// [`TargetsOrientation::Stored`].
    pub fn targets_orientation(mut self, orientation: TargetsOrientation) -> Self {
        self.targets_orientation = orientation;
        self
    }

    /// Sets another name of the field `objects`, the only one that there is: `[("objects", "targets")]`. Samples have it in any
    /// case.
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes that an image may have. Default: [`MAX_FILE_BYTES`], 1 GiB.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Reads the document at `path`.
    ///
    /// # Errors
    /// Those of [`Coco::open`], and [`ErrorKind::Argument`] for a field that there is not.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Coco> {
        let path = path.as_ref();
        let field = objects_field(&self.fields, "COCO's documents")?;
        let text = std::fs::read(path).map_err(|source| ErrorKind::Io { path: path.to_owned(), source })?;
        let document: Document = serde_json::from_slice(&text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            Error::data_file(path, place, format!("no document of COCO's: {error}"))
        })?;
        drop(text);
        let wrong = |(place, reason): Wrong| Error::data_file(path, place, reason);
        let (mut annotations, names) = Annotations::of(document).map_err(wrong)?;
        let Some(first) = names.first() else {
            let (what, hint) = (path.display().to_string(), "its list of images is empty".to_owned());
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        };
        let root = match self.root {
            Some(root) => root,
            None => found_root(path, first)?,
        };
        let paths = names.iter().map(|name| root.join(&**name).into_boxed_path()).collect();
        let name = |id: &u64| annotations.position(*id).map_or_else(String::new, |image| names[image].to_string());
        let notices = annotations.unread.iter();
        let notices = notices.filter_map(|(what, count, first)| Notice::not_read(*what, *count, name(first))).collect();
        let are_stored = self.targets_orientation.is_stored();
        let classes = std::mem::take(&mut annotations.classes);
        let files = ImageFiles::unlabelled(root, paths, self.max_file_bytes);
        let files = ImageFiles { classes, notices, ..files };
        let images = AnnotatedImages { files, field, documents: vec![path.into()] };
        Ok(Coco { images, annotations, are_stored })
    }
}

/// The folder that has the first image.
fn found_root(path: &Path, first: &str) -> Result<PathBuf> {
    let own = path.parent().unwrap_or(Path::new("")).to_owned();
    let above = own.parent().map(Path::to_owned).unwrap_or_else(|| own.join(".."));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // `val2017` of `instances_val2017`.
    let split = stem.rsplit('_').next().unwrap_or_default();
    let tried =
        [own.clone(), own.join(split), above.join(split), above.join("images").join(split), above.join("images")];
    if let Some(root) = tried.iter().find(|root| root.join(first).is_file()) {
        return Ok(root.clone());
    }
    let places: Vec<String> = tried.iter().map(|root| root.display().to_string()).collect();
    let reason = format!("no folder has it; looked in {}; the setting `root` says where images are", places.join(", "));
    Err(Error::data_file(path, format!("the first image, {first}"), reason))
}
