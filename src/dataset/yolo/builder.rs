//! Opens a [`Yolo`] with its settings.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use super::document::Document;
use super::label_file::Lines;
use super::places::{Found, document_in, label_file, place_of};
use super::{IMAGES, LABELS, Yolo};
use crate::dataset::annotated_images::{AnnotatedImages, objects_field};
use crate::dataset::image_files::ImageFiles;
use crate::dataset::object_columns::ObjectColumns;
use crate::dataset::{FieldChoice, MAX_FILE_BYTES, Notice, class_names};
use crate::error::{Error, Result};
use crate::objects::{BoxFormat, TargetsOrientation};
use crate::quote::shortened;
use crate::storage::local::regular_file;

/// The split that is read where no setting says another one, and those of which the first one that is there is read beside it.
const TRAIN: &str = "train";
const TEST: [&str; 3] = ["val", "valid", "test"];

/// Settings of a [`Yolo`], from [`Yolo::builder`].
///
/// ```no_run
/// use gpufeed::dataset::Yolo;
///
/// let val = Yolo::builder().split("val").root("/data/coco-pose").open("coco-pose.yaml")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct YoloBuilder {
    split: Option<String>,
    root: Option<PathBuf>,
    classes: Option<Vec<String>>,
    kpt_shape: Option<(usize, usize)>,
    targets_orientation: TargetsOrientation,
    fields: FieldChoice,
    max_file_bytes: u64,
}

/// Where a set's splits are.
struct Layout {
    root: PathBuf,
    /// The `data.yaml`, and what it says.
    document: Option<(PathBuf, Document)>,
}

impl YoloBuilder {
    pub(super) fn new() -> Self {
        YoloBuilder {
            split: None,
            root: None,
            classes: None,
            kpt_shape: None,
            targets_orientation: TargetsOrientation::Displayed,
            fields: FieldChoice::None,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the split: `"train"`, `"val"` or another one that the document names; without a document a folder of `images`. Default:
    /// `"train"`.
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Sets the folder to which the document's splits are relative. Default: the document's `path`, which is relative to the
    /// document's own folder, or that folder.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Sets the names of the classes by their numbers. Default: `names` of the document; without one those in `classes.txt` or
    /// `classes.json`, in the set's folder or in `labels`, or none.
    pub fn classes(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.classes = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the number of keypoints of each object, and how many numbers each of them has: 2, or 3 with its visibility. Default:
    /// `kpt_shape` of the document, or no keypoints.
    pub fn kpt_shape(mut self, points: usize, numbers: usize) -> Self {
        self.kpt_shape = Some((points, numbers));
        self
    }

    /// Sets the image to whose width and height coordinates refer. Default: [`TargetsOrientation::Displayed`], as Ultralytics'
    /// YOLO reads them.
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

    /// Reads a split of the set whose `data.yaml`, or whose folder, is at `path`.
    ///
    /// # Errors
    /// Those of [`Yolo::open`], and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a field or split that there is not.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Yolo> {
        let layout = self.layout(path.as_ref())?;
        let places = layout.places(self.split.as_deref())?;
        self.opened(&layout, &places)
    }

    /// Reads the training split, and the split to test with, `val` or else `test`, if the set names one and has its images.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    ///
    /// ```no_run
    /// use gpufeed::Dataset;
    /// use gpufeed::dataset::Yolo;
    ///
    /// let (train, val) = Yolo::builder().parts("coco8/data.yaml")?;
    /// println!("{} to train on, {} to validate with", train.len(), val.map_or(0, |val| val.len()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn parts(self, path: impl AsRef<Path>) -> Result<(Yolo, Option<Yolo>)> {
        let layout = self.layout(path.as_ref())?;
        let train = self.opened(&layout, &layout.places(None)?)?;
        let test = TEST.iter().find_map(|split| layout.places_of(split).filter(|places| !places.is_empty()));
        let test = test.map(|places| self.opened(&layout, &places)).transpose()?;
        Ok((train, test))
    }

    fn layout(&self, path: &Path) -> Result<Layout> {
        let document = if path.is_dir() { document_in(path) } else { Some(path.to_owned()) };
        let Some(file) = document else {
            let root = self.root.clone().unwrap_or_else(|| path.to_owned());
            return Ok(Layout { root, document: None });
        };
        let text = regular_file::read_to_string(&file).map_err(|source| Error::io(&file, source))?;
        let parsed = Document::parse(&text).map_err(|(place, reason)| Error::data_file(&file, place, reason))?;
        let own = file.parent().unwrap_or(Path::new(""));
        let said = parsed.path.as_ref().map_or_else(|| own.to_owned(), |said| own.join(said));
        let root = self.root.clone().unwrap_or(said);
        if !root.is_dir() && !root.as_os_str().is_empty() {
            let place = format!("path: {}", shortened(parsed.path.as_deref().unwrap_or_default()));
            let reason = format!("{} is no folder; the setting `root` says where the set is", root.display());
            return Err(Error::data_file(file, place, reason));
        }
        Ok(Layout { root, document: Some((file, parsed)) })
    }

    fn opened(&self, layout: &Layout, places: &[PathBuf]) -> Result<Yolo> {
        let field = objects_field(&self.fields, "YOLO's annotations")?;
        let document = layout.document.as_ref().map(|(_, document)| document);
        let kpt_shape = self.kpt_shape.or(document.and_then(|document| document.kpt_shape));
        if kpt_shape.is_some_and(|(points, numbers)| points == 0 || points > 65_535 || ![2, 3].contains(&numbers)) {
            return Err(Error::argument(
                "kpt_shape",
                "a number of keypoints and 2 or 3 numbers of each work, such as (17, 3)",
            ));
        }
        let classes = match (&self.classes, document) {
            (Some(classes), _) => classes.clone(),
            (None, Some(document)) => document.names.clone(),
            (None, None) => match class_names::beside(&layout.root)? {
                names if names.is_empty() => class_names::beside(&layout.root.join(LABELS))?,
                names => names,
            },
        };
        let mut found = Found::default();
        for place in places {
            found.add(place)?;
        }
        let lines = Lines { kpt_shape, classes: classes.len() };
        let mut columns = ObjectColumns::new(BoxFormat::Cxcywh, &[], kpt_shape.map_or(0, |(points, _)| points));
        let (mut documents, mut polygons, mut first) = (Vec::new(), 0, None);
        for image in &found.images {
            let file = label_file(image);
            let text = match regular_file::read_to_string(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == NotFound => {
                    columns.end_image();
                    continue;
                }
                Err(source) => return Err(Error::io(file, source)),
            };
            let objects = lines.parse(&text).map_err(|(place, reason)| Error::data_file(&file, place, reason))?;
            for object in objects {
                if object.is_polygon {
                    polygons += 1;
                    first.get_or_insert_with(|| file.display().to_string());
                }
                columns.push(object.each, object.class, []);
                object.keypoints.iter().for_each(|(point, seen)| columns.push_keypoint(*point, *seen));
            }
            columns.end_image();
            documents.push(file.into_boxed_path());
        }
        if let Some(first) = found.images.first().filter(|_| documents.is_empty()) {
            let place = format!("the annotations of {} images", found.images.len());
            let reason =
                format!("there is no file of any; that of the first image would be {}", label_file(first).display());
            return Err(Error::data_file(&layout.root, place, reason));
        }
        let mut notices = found.notices;
        notices.extend(Notice::not_read(
            "polygons (the boxes around them are read)",
            polygons,
            first.unwrap_or_default(),
        ));
        documents.extend(found.lists);
        documents.extend(layout.document.iter().map(|(file, _)| file.clone().into_boxed_path()));
        let files = ImageFiles::unlabelled(layout.root.clone(), found.images, self.max_file_bytes);
        let files = ImageFiles { classes, notices, ..files };
        let images = AnnotatedImages { files, field, documents };
        Ok(Yolo { images, columns, orientation: self.targets_orientation })
    }
}

impl Layout {
    /// The folders and lists of a split, or of the training split.
    ///
    /// # Errors
    /// A split that there is not, or whose images are not there.
    fn places(&self, split: Option<&str>) -> Result<Vec<PathBuf>> {
        let name = split.unwrap_or(TRAIN);
        if let Some(places) = self.places_of(name).filter(|places| !places.is_empty()) {
            return Ok(places);
        }
        let Some((file, document)) = &self.document else { return self.whole(split) };
        let Some(named) = document.split(name) else {
            let names = document.split_names().collect::<Vec<_>>().join(", ");
            let reason = format!("has no split {:?}; it has {}", shortened(name), shortened(&names));
            return Err(Error::data_file(file, "the splits", reason));
        };
        let missing = named.iter().find(|named| place_of(&self.root, named).is_none());
        let place = format!("{}: {}", shortened(name), shortened(missing.map_or("", |missing| missing)));
        let reason = format!(
            "is neither a folder nor a list below {}; the setting `root` says where the set is",
            self.root.display()
        );
        Err(Error::data_file(file, place, reason))
    }

    /// The folders and lists of a split; `None` where one is missing.
    fn places_of(&self, split: &str) -> Option<Vec<PathBuf>> {
        match &self.document {
            Some((_, document)) => document.split(split)?.iter().map(|named| place_of(&self.root, named)).collect(),
            None if split.contains(['/', '\\']) || split.starts_with('.') => None,
            None => {
                Some(self.root.join(IMAGES).join(split)).filter(|folder| folder.is_dir()).map(|folder| vec![folder])
            }
        }
    }

    /// All images of a set without a document and without a folder of the training split.
    fn whole(&self, split: Option<&str>) -> Result<Vec<PathBuf>> {
        let images = self.root.join(IMAGES);
        let entries = std::fs::read_dir(&images).map_err(|source| Error::io(&images, source))?;
        let mut folders: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        folders.sort_unstable();
        let begins = |name: &String| name.to_ascii_lowercase().starts_with(TRAIN);
        let has_splits = folders.len() > 1 && folders.iter().any(begins);
        if split.is_none() && !has_splits {
            return Ok(vec![images]);
        }
        let found = if folders.is_empty() { "no folder".to_owned() } else { shortened(&folders.join(", ")) };
        let reason = match split {
            Some(split) => format!("{:?}, but {} has {found}", shortened(split), images.display()),
            None => format!("not set, but {} has the splits {found}; the name of one works", images.display()),
        };
        Err(Error::argument("split", reason))
    }
}
