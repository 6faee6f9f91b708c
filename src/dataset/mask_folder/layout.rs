//! The folder of images and the folder of masks, and a split's part of both.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dataset::voc::image_set;
use crate::error::{Error, Result};
use crate::quote::shortened;

/// The two folders, by their names.
const FOLDERS: [(&str, &str); 3] =
    [("images", "masks"), ("images", "annotations"), ("JPEGImages", "SegmentationClass")];

/// The folder of VOC's lists of splits of masks.
const IMAGE_SETS: [&str; 2] = ["ImageSets", "Segmentation"];

/// The names of the folders of a training split, and of one to test with.
const TRAIN: [&str; 2] = ["train", "training"];
const TEST: [&str; 3] = ["val", "validation", "test"];

/// Where the images and masks of a set are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) root: PathBuf,
    pub(super) images: PathBuf,
    pub(super) masks: PathBuf,
    /// The list that names the samples, without endings.
    pub(super) list: Option<PathBuf>,
}

impl Layout {
    /// The whole set at `path`, whose two folders are `folders` where they are set.
    ///
    /// # Errors
    /// Folders that are not there.
    pub(super) fn of(path: &Path, folders: Option<(&Path, &Path)>) -> Result<Layout> {
        let (root, list) = match of_list(path).filter(|_| !path.is_dir()) {
            Some(root) => (root, Some(path.to_owned())),
            None => (path.to_owned(), None),
        };
        if let Some((images, masks)) = folders {
            let (images, masks) = (root.join(images), root.join(masks));
            for folder in [&images, &masks] {
                fs::read_dir(folder).map_err(|source| Error::io(folder, source))?;
            }
            return Ok(Layout { root, images, masks, list });
        }
        // A path that does not exist is that error.
        fs::read_dir(&root).map_err(|source| Error::io(&root, source))?;
        let Some((images, masks)) = named(&root) else {
            let names = FOLDERS.map(|(images, masks)| format!("{images} and {masks}")).join(", ");
            let reason = format!(
                "{} has no two folders of images and masks; {names} are known, and folders(..) sets others",
                root.display()
            );
            return Err(Error::argument("folders", reason));
        };
        Ok(Layout { images: root.join(images), masks: root.join(masks), root, list })
    }

    /// The part of a split: the folder of its name in both folders, or what VOC's list of it names.
    ///
    /// # Errors
    /// A split that there is not.
    pub(super) fn split(&self, split: &str) -> Result<Layout> {
        let refuse = |reason: String| Err(Error::argument("split", format!("{:?}{reason}", shortened(split))));
        if let Some(list) = &self.list {
            return refuse(format!(", but the path is that of the list {}; leave one of the two out", list.display()));
        }
        if split.is_empty() || split == ".." || split.contains(['/', '\\', '\0']) {
            return refuse("; the name of a folder or list works, such as \"train\"".to_owned());
        }
        if let Some(part) = self.folder(split) {
            return Ok(part);
        }
        let lists = self.root.join(IMAGE_SETS[0]).join(IMAGE_SETS[1]);
        let list = lists.join(format!("{split}.txt"));
        if list.is_file() {
            return Ok(Layout { list: Some(list), ..self.clone() });
        }
        let (images, masks) = (self.images.display(), self.masks.display());
        refuse(format!(": neither {images} and {masks} have such a folder, nor {} such a list", lists.display()))
    }

    /// The training split, or the whole set where it has no folders of splits.
    pub(super) fn train(&self) -> Layout {
        TRAIN.iter().find_map(|split| self.folder(split)).unwrap_or_else(|| self.clone())
    }

    /// The split to test with, of a set that has a training split.
    pub(super) fn test(&self) -> Option<Layout> {
        TRAIN.iter().find_map(|split| self.folder(split))?;
        TEST.iter().find_map(|split| self.folder(split))
    }

    fn folder(&self, split: &str) -> Option<Layout> {
        let (images, masks) = (self.images.join(split), self.masks.join(split));
        let is_split = self.list.is_none() && images.is_dir() && masks.is_dir();
        is_split.then(|| Layout { images, masks, ..self.clone() })
    }
}

/// The root of the set of VOC's list of a split of masks.
pub(super) fn of_list(path: &Path) -> Option<PathBuf> {
    image_set::of_list(path, IMAGE_SETS).map(|(root, _)| root)
}

/// Returns true if a folder is a set of images and masks by its names.
pub(super) fn is_in(folder: &Path) -> bool {
    named(folder).is_some()
}

fn named(root: &Path) -> Option<(&'static str, &'static str)> {
    let are_in = |(images, masks): &(&str, &str)| {
        let masks_in = root.join(masks);
        // COCO has annotations in JSON under this name.
        root.join(images).is_dir() && masks_in.is_dir() && (*masks != "annotations" || has_masks(&masks_in))
    };
    FOLDERS.into_iter().find(are_in)
}

/// Returns true if a folder or a folder in it begins with a PNG.
fn has_masks(folder: &Path) -> bool {
    let is_png = |path: &Path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries(folder)
        .any(|path| is_png(&path) || path.is_dir() && entries(&path).next().is_some_and(|path| is_png(&path)))
}
