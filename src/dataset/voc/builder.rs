//! Opens a [`Voc`] with its settings.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::annotation::{Annotation, VocObject, parse};
use super::{ANNOTATIONS, BACKGROUND, CLASSES, IMAGE_SETS, IMAGES, Voc, image_set};
use crate::dataset::annotated_images::{AnnotatedImages, objects_field};
use crate::dataset::image_files::ImageFiles;
use crate::dataset::object_columns::ObjectColumns;
use crate::dataset::{FieldChoice, ImageFolder, MAX_FILE_BYTES, Notice};
use crate::error::{Error, ErrorKind, Result};
use crate::objects::{BoxFormat, TargetsOrientation};
use crate::quote::shortened;
use crate::storage::local::regular_file;

/// Settings of a [`Voc`], from [`Voc::builder`].
///
/// ```no_run
/// use gpufeed::dataset::Voc;
///
/// let val = Voc::builder().split("val").one_based(true).open("/data/VOCdevkit/VOC2012")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct VocBuilder {
    split: Option<String>,
    classes: Option<Vec<String>>,
    one_based: bool,
    targets_orientation: TargetsOrientation,
    fields: FieldChoice,
    max_file_bytes: u64,
}

impl VocBuilder {
    pub(super) fn new() -> Self {
        VocBuilder {
            split: None,
            classes: None,
            one_based: false,
            targets_orientation: TargetsOrientation::Stored,
            fields: FieldChoice::None,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the split, by the name of its list in `ImageSets/Main`: `"train"`, `"val"`, `"trainval"`, `"test"`. Default: all
    /// annotations, sorted by name.
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Sets the names of the classes; a label is a number of this list, from 0 on. Default: `__background__`, followed by VOC's 20
    /// classes where no annotation in the folder has another name, else the names of all annotations there, sorted.
    pub fn classes(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.classes = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Reads the numbers of boxes as those of pixels, of which the first one is 1: makes edges of them by subtracting 1 from `xmin`
    /// and `ymin`, as detectron2 does, so that a box over the whole image is (0, 0, width, height). VOC's own files are such; those
    /// of most tools have edges. Default: `false`, the numbers as they are written, as torchvision reads them.
    pub fn one_based(mut self, one_based: bool) -> Self {
        self.one_based = one_based;
        self
    }

    /// Sets the image to which coordinates refer where the annotation's `size` does not decide. Default:
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

    /// Reads the annotations in the folder `path`, or those of the split whose list is at `path`.
    ///
    /// # Errors
    /// Those of [`Voc::open`], and [`ErrorKind::Argument`] for a field that there is not, and for a split beside the path of a list.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Voc> {
        let field = objects_field(&self.fields, "Pascal VOC's annotations")?;
        let (root, split) = self.place(path.as_ref())?;
        let folder = root.join(ANNOTATIONS);
        let all = image_set::annotations(&folder)?;
        let extensions = ImageFolder::EXTENSIONS.map(str::to_owned);
        let images = image_set::images(&root.join(IMAGES), &extensions)?;
        let list = split.map(|split| image_set::list_of(&root, &split)).transpose()?;
        let chosen = match &list {
            Some(list) => image_set::listed(list, &all)?,
            None => all.clone(),
        };
        if chosen.is_empty() {
            let what = list.as_ref().unwrap_or(&folder).display().to_string();
            let hint = if list.is_some() { "the list names no annotation" } else { "there is no annotation in .xml" };
            return Err(ErrorKind::EmptyDataset { what, hint: hint.to_owned() }.into());
        }
        let mut set = Set::new(self.one_based);
        let mut paths = Vec::with_capacity(chosen.len());
        for name in &chosen {
            let file = at(&folder, name);
            let Some(image) = images.get(name) else {
                let place = shortened(&name.to_string_lossy());
                let reason = format!("{} has no image of this name; it looked for {}", IMAGES, extensions.join(" "));
                return Err(Error::data_file(file, place, reason));
            };
            set.push(read(&file)?);
            paths.push(root.join(IMAGES).join(image).into_boxed_path());
        }
        let classes = match self.classes {
            Some(classes) => classes,
            None => {
                let mut names: Vec<&str> = set.names.keys().map(String::as_str).collect();
                // A split may lack a class that another one has, and numbers have to be the same in both.
                let others = if list.is_some() { others(&folder, &all, &chosen)? } else { Vec::new() };
                names.extend(others.iter().map(String::as_str));
                of_names(names)
            }
        };
        let columns = set.labelled(&classes).map_err(|name| {
            let reason = "an object is of this class, which the names that were given do not have";
            Error::data_file(&folder, format!("the class {:?}", shortened(&name)), reason)
        })?;
        let mut notices = Vec::new();
        if list.is_none() {
            let mut unread: Vec<_> = images.iter().filter(|(name, _)| all.binary_search(name).is_err()).collect();
            unread.sort_unstable();
            let first = unread.first().map(|(_, image)| image.to_string_lossy()).unwrap_or_default();
            notices.extend(Notice::not_read("images without an annotation", unread.len() as u64, first));
        }
        let read_of = if list.is_some() && all.len() > chosen.len() { &all } else { &chosen };
        let documents = read_of.iter().map(|name| at(&folder, name).into_boxed_path());
        let documents = documents.chain(list.map(PathBuf::into_boxed_path)).collect();
        let files = ImageFiles::unlabelled(root.join(IMAGES), paths, self.max_file_bytes);
        let files = ImageFiles { classes, notices, ..files };
        let are_stored = self.targets_orientation.is_stored();
        let images = AnnotatedImages { files, field, documents };
        Ok(Voc { images, columns, sizes: set.sizes, are_stored })
    }

    /// The folder of the set, and the name of the split.
    fn place(&self, path: &Path) -> Result<(PathBuf, Option<String>)> {
        match (image_set::of_list(path, IMAGE_SETS).filter(|_| !path.is_dir()), &self.split) {
            (Some((_, listed)), Some(split)) => {
                let reason = format!("{split:?}, but the path is that of the list {listed}; leave one of the two out");
                Err(Error::argument("split", reason))
            }
            (Some((root, listed)), None) => Ok((root, Some(listed.to_owned()))),
            (None, split) => Ok((path.to_owned(), split.clone())),
        }
    }
}

/// The annotations that have been read; labels are numbers of names in the order in which they came.
struct Set {
    columns: ObjectColumns,
    sizes: Vec<Option<(u32, u32)>>,
    names: HashMap<String, u32>,
    one_based: bool,
}

impl Set {
    fn new(one_based: bool) -> Set {
        let columns = ObjectColumns::new(BoxFormat::Xyxy, &["difficult", "truncated"], 0);
        Set { columns, sizes: Vec::new(), names: HashMap::new(), one_based }
    }

    fn push(&mut self, annotation: Annotation) {
        for VocObject { name, edges: [left, top, right, bottom], difficult, truncated } in annotation.objects {
            let first = if self.one_based { 1.0 } else { 0.0 };
            let next = self.names.len() as u32;
            let label = *self.names.entry(name).or_insert(next);
            self.columns.push([left - first, top - first, right, bottom], label, [difficult, truncated]);
        }
        self.columns.end_image();
        self.sizes.push(annotation.size);
    }

    /// Gives objects the numbers that their names have among `classes`.
    ///
    /// # Errors
    /// A name that is not among them.
    fn labelled(&mut self, classes: &[String]) -> Result<ObjectColumns, String> {
        let numbers: HashMap<&str, u32> = classes.iter().map(String::as_str).zip(0..).collect();
        let mut map = vec![0; self.names.len()];
        let mut named: Vec<_> = self.names.iter().collect();
        named.sort_unstable_by_key(|(_, came)| **came);
        for (name, came) in named {
            map[*came as usize] = *numbers.get(&**name).ok_or_else(|| name.clone())?;
        }
        let mut columns = std::mem::replace(&mut self.columns, ObjectColumns::new(BoxFormat::Xyxy, &[], 0));
        columns.map_labels(|came| map[came as usize]);
        Ok(columns)
    }
}

/// The names of classes in the annotations that were not chosen.
fn others(folder: &Path, all: &[OsString], chosen: &[OsString]) -> Result<Vec<String>> {
    let chosen: std::collections::HashSet<_> = chosen.iter().collect();
    let mut names = std::collections::HashSet::new();
    for name in all.iter().filter(|name| !chosen.contains(name)) {
        names.extend(read(&at(folder, name))?.objects.into_iter().map(|object| object.name));
    }
    Ok(names.into_iter().collect())
}

/// The classes of annotations that have these names.
fn of_names(mut names: Vec<&str>) -> Vec<String> {
    if names.iter().all(|name| CLASSES.contains(name)) {
        names = CLASSES.to_vec();
    } else {
        names.sort_unstable();
        names.dedup();
    }
    std::iter::once(BACKGROUND).chain(names).map(str::to_owned).collect()
}

fn at(folder: &Path, name: &OsString) -> PathBuf {
    let mut file = name.clone();
    file.push(".xml");
    folder.join(file)
}

fn read(file: &Path) -> Result<Annotation> {
    let bytes = regular_file::read(file).map_err(|source| Error::io(file, source))?;
    parse(&bytes).map_err(|(place, reason)| Error::data_file(file, place, reason))
}
