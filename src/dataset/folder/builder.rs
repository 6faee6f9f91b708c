//! Opens an [`ImageFolder`]: which files are images, and which folders are refused.

use crate::advice;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::super::file_fields::{FieldLimits, FileFields};
use super::super::image_files::ImageFiles;
use super::super::labels::Labels;
use super::super::{FieldChoice, ImageList, MAX_FIELD_BYTES, MAX_FILE_BYTES, Notice};
use super::ImageFolder;
use super::beside::BesideSearch;
use super::choice::BesideChoice;
use super::endings::has_extension;
use super::noticed::{Noticed, below, count, note_hidden};
use super::order::python_order;
use super::walk::{files_below, is_folder, is_hidden};
use crate::error::{Error, ErrorKind, Result};

/// Class names that an error lists; it counts the rest.
const NAMED: usize = 8;

/// Settings of an [`ImageFolder`], from [`ImageFolder::builder`].
///
/// ```
/// use gpufeed::{Dataset, ImageFolder};
///
/// let root = tempfile::tempdir()?;
/// for class in ["cat", "dog"] {
///     std::fs::create_dir(root.path().join(class))?;
/// }
/// std::fs::write(root.path().join("dog/rex.gif"), b"GIF89a")?;
///
/// let animated = ImageFolder::builder().extensions(["gif"]).allow_empty(true).open(root.path())?;
/// assert_eq!((animated.len(), animated.classes().len()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolderBuilder {
    extensions: Vec<String>,
    allow_empty: bool,
    unlabelled: bool,
    fields: FieldChoice,
    max_field_bytes: u64,
    max_file_bytes: u64,
}

impl ImageFolderBuilder {
    pub(super) fn new() -> Self {
        let extensions = ImageFolder::EXTENSIONS.map(String::from).to_vec();
        ImageFolderBuilder {
            extensions,
            allow_empty: false,
            unlabelled: false,
            fields: FieldChoice::None,
            max_field_bytes: MAX_FIELD_BYTES,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the endings of image names, in upper or lower case (ASCII), with or without the leading dot. Default:
    /// [`ImageFolder::EXTENSIONS`].
    #[must_use]
    pub fn extensions<S: AsRef<str>>(mut self, extensions: impl IntoIterator<Item = S>) -> Self {
        let dotted = |extension: S| format!(".{}", extension.as_ref().trim_start_matches('.'));
        self.extensions = extensions.into_iter().map(dotted).collect();
        self
    }

    /// Accepts class folders without images; they keep their class index. Default: `false`.
    #[must_use]
    pub fn allow_empty(mut self, allow: bool) -> Self {
        self.allow_empty = allow;
        self
    }

    /// Takes all images at any depth below the root, and in it, as samples without a label
    /// ([`Label::None`](crate::Label::None)). Folders whose names begin with a dot are skipped. Default: `false`.
    #[must_use]
    pub fn unlabelled(mut self, unlabelled: bool) -> Self {
        self.unlabelled = unlabelled;
        self
    }

    /// Sets which files beside the images are [fields](crate::Dataset::fields) of the samples, by their endings: `txt` is
    /// `cat.txt` beside `cat.jpg`, `depth.png` is `cat.depth.png`, in upper or lower case. `caption;txt` takes the first
    /// that an image has. Default: none.
    ///
    /// A file in such an ending is no sample of its own, also if it is an image: with `("png", "mask")` the images are
    /// those of the other [`extensions`](Self::extensions). The name `image` sets the endings of the images themselves:
    /// `("left.jpg", "image")`. [`FieldChoice::All`] takes all files that have the stem of an image, each by its ending, and
    /// images whose stem goes on behind a dot with letters (`cat.depth.png`, but not `cat.1.jpg`); what some images lack is
    /// [optional](crate::Field::optional).
    ///
    /// What a field is follows from its ending, unless its [`kind`](crate::Field::kind) is set: text (`txt`), JSON
    /// (`json`), numbers (`npy`, `cls`), images, or else bytes. A field that no image has is an error of
    /// [`open`](Self::open); a value that is no text or no JSON is an error of its sample.
    ///
    /// If the root has a file `metadata.csv` or `metadata.jsonl`, Hugging Face's list of images, the samples and their
    /// fields are those of this list, as [`ImageListBuilder::fields`](crate::dataset::ImageListBuilder::fields) has them.
    ///
    /// ```
    /// use gpufeed::dataset::FieldValue;
    /// use gpufeed::{Dataset, ImageFolder};
    ///
    /// let root = tempfile::tempdir()?;
    /// std::fs::write(root.path().join("cat.jpg"), "the image")?;
    /// std::fs::write(root.path().join("cat.txt"), "a cat on a mat")?;
    /// let captioned = ImageFolder::builder().unlabelled(true).fields([("txt", "caption")]).open(root.path())?;
    /// let mut buffer = Vec::new();
    /// assert_eq!(captioned.read(0, &mut buffer)?.fields, [FieldValue::from("a cat on a mat")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes that the value of a field may have; of a field of images
    /// [`max_file_bytes`](Self::max_file_bytes) does. A larger one is not read, and its sample is an error. Default:
    /// [`MAX_FIELD_BYTES`], 1 MiB.
    #[must_use]
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = bytes;
        self
    }

    /// Sets the most bytes that an image file may have. A larger file is not read, and its sample is an error
    /// ([`ErrorKind::FileTooLarge`](crate::ErrorKind::FileTooLarge)). Default:
    /// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES), 1 GiB.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Lists the images below `root`.
    ///
    /// # Errors
    ///
    /// The errors of [`ImageFolder::open`], and [`ErrorKind::Argument`] if there is no extension or an empty one. With
    /// [`allow_empty`](Self::allow_empty), there must still be at least one image in total.
    pub fn open(mut self, root: impl Into<PathBuf>) -> Result<ImageFolder> {
        let root = root.into();
        let (choice, images) = BesideChoice::of(&self.fields)?;
        if !matches!(self.fields, FieldChoice::None)
            && let Some(list) = listed_in(&root)
        {
            return self.by_list(&list);
        }
        if let Some(images) = images {
            self = self.extensions(images);
        }
        if self.extensions.is_empty() || self.extensions.iter().any(|extension| extension == ".") {
            let reason = format!("{:?}, but each must name a format, like .jpg", self.extensions);
            return Err(Error::argument("extensions", reason));
        }

        let mut found = ImageFiles {
            root,
            classes: Vec::new(),
            paths: Vec::new(),
            labels: Labels::None,
            notices: Vec::new(),
            max_file_bytes: self.max_file_bytes,
            fields: None,
            whole_folder: true,
        };
        let (root, mut noticed) = (found.root.clone(), Noticed::default());
        let mut beside = BesideSearch { choice, ..BesideSearch::default() };
        if self.unlabelled {
            files_below(&root, &root, &self.extensions, false, &mut found.paths, &mut beside, &mut noticed)?;
            if found.paths.is_empty() {
                let hint = format!("looked for {} at any depth{}", self.extensions.join(" "), noticed.unread_too());
                return Err(ErrorKind::EmptyDataset { what: root.display().to_string(), hint }.into());
            }
            return self.finish(found, beside, &noticed);
        }

        let entries = fs::read_dir(&root)
            .and_then(Iterator::collect::<std::io::Result<Vec<DirEntry>>>)
            .map_err(|source| Error::io(&root, source))?;
        let (mut folders, mut files): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_folder);
        if folders.is_empty() {
            return Err(self.no_class_folder(&root, files.len()));
        }
        files.sort_unstable_by_key(DirEntry::file_name);
        for file in &files {
            let name = file.file_name();
            match has_extension(&name, &self.extensions) {
                true => count(&mut noticed.outside, || name.to_string_lossy().into_owned()),
                false => noticed.other(&name),
            }
        }
        folders.sort_unstable_by(|a, b| python_order(&a.file_name(), &b.file_name()));

        let (mut empty, mut targets) = (Vec::new(), Vec::new());
        for (folder, class) in folders.iter().zip(0u32..) {
            let name = folder.file_name().to_string_lossy().into_owned();
            let before = found.paths.len();
            files_below(&root, &folder.path(), &self.extensions, true, &mut found.paths, &mut beside, &mut noticed)?;
            if is_hidden(&folder.path()) {
                note_hidden(&mut noticed, || below(&root, &folder.path()), found.paths.len() - before);
            }
            if found.paths.len() == before {
                empty.push(name.clone());
            }
            targets.resize(found.paths.len(), class);
            found.classes.push(name);
        }
        if found.paths.is_empty() || !(empty.is_empty() || self.allow_empty) {
            return Err(self.no_images(&found, &empty, &noticed));
        }
        targets.shrink_to_fit();
        found.labels = Labels::Classes(targets);
        self.finish(found, beside, &noticed)
    }

    /// Adds the fields and the notices to the images that were found.
    fn finish(&self, mut found: ImageFiles, mut beside: BesideSearch, noticed: &Noticed) -> Result<ImageFolder> {
        found.paths.shrink_to_fit();
        let limits = FieldLimits { max_field_bytes: self.max_field_bytes, max_file_bytes: self.max_file_bytes };
        found.fields = FileFields::of(beside.fields(found.paths.len())?, &found.root, None, limits)?;
        found.notices = noticed.notices();
        found.notices.extend(beside.notices());
        let list = listed_in(&found.root).and_then(|list| list.file_name()?.to_str().map(str::to_owned));
        found.notices.extend(list.and_then(|list| Notice::not_read("lists of the images", 1, list)));
        Ok(ImageFolder(found))
    }

    /// Opens the images that a list in the folder has.
    fn by_list(self, list: &Path) -> Result<ImageFolder> {
        let builder = ImageList::builder().fields(self.fields).max_field_bytes(self.max_field_bytes);
        builder.max_file_bytes(self.max_file_bytes).open(list).map(|list| ImageFolder(list.into()))
    }

    fn no_class_folder(&self, root: &Path, files: usize) -> Error {
        let what = root.display().to_string();
        if files == 0 {
            let hint = "the folder is empty; each class is a folder in it".to_owned();
            return ErrorKind::EmptyDataset { what, hint }.into();
        }
        let hint = format!(
            "there are {files} files directly in it, but no folder; each class is a folder in it, even if there is only one"
        );
        Error::from(ErrorKind::EmptyDataset { what, hint }).advise(advice::FOLDER_UNLABELLED)
    }

    fn no_images(&self, found: &ImageFiles, empty: &[String], noticed: &Noticed) -> Error {
        let mut names = empty[..empty.len().min(NAMED)].join(", ");
        if empty.len() > NAMED {
            names += &format!(" and {} more", empty.len() - NAMED);
        }
        let what = match empty.len() {
            1 => format!("{}, class folder {names}", found.root.display()),
            _ => format!("{}, class folders {names}", found.root.display()),
        };
        let mut hint = format!("looked for {} at any depth{}", self.extensions.join(" "), noticed.unread_too());
        if found.paths.is_empty() {
            return ErrorKind::EmptyDataset { what, hint }.into();
        }
        hint += &format!("; the other classes have {}", found.paths.len());
        Error::from(ErrorKind::EmptyDataset { what, hint }).advise(advice::FOLDER_ALLOW_EMPTY)
    }
}

/// Returns Hugging Face's list of the images in a folder, if it has one.
fn listed_in(root: &Path) -> Option<PathBuf> {
    ["metadata.csv", "metadata.jsonl"].map(|name| root.join(name)).into_iter().find(|list| list.is_file())
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;
    use crate::Dataset;

    fn refused(root: &Path) -> String {
        ImageFolder::open(root).unwrap_err().to_string()
    }

    #[test]
    fn a_class_without_images_needs_allow_empty() {
        let root = tree(&["cat/1.jpg", "dog/1.txt", "eel/1.GIF"]);
        let message = refused(root.path());
        assert!(message.contains("class folders dog, eel: no samples"), "{message}");
        assert!(
            message.contains(".webp at any depth; 1 file in .gif is not read: 1.GIF; the other classes"),
            "{message}"
        );
        assert!(message.contains(".allow_empty(true)"), "{message}");

        let data = ImageFolder::builder().allow_empty(true).open(root.path()).unwrap();
        assert_eq!((data.classes(), data.targets()), (&["cat", "dog", "eel"].map(String::from)[..], &[0][..]));
        let data = ImageFolder::builder().allow_empty(true).extensions([".gif"]).open(root.path());
        assert_eq!(data.unwrap().targets(), [2]);
    }

    #[test]
    fn names_what_is_missing() {
        let root = tree(&["cat/1.txt", "file.jpg"]);
        let nothing = ImageFolder::builder().allow_empty(true).open(root.path()).unwrap_err();
        assert!(nothing.to_string().contains("class folder cat: no samples (looked for .jpg .jpeg"));
        assert!(!nothing.to_string().contains("allow_empty"));
        for path in ["nowhere", "file.jpg"] {
            let error = ImageFolder::open(root.path().join(path)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Io { path: p, .. } if p.ends_with(path)));
        }
        assert!(refused(tree(&["1.jpg"]).path()).contains("there are 1 files directly in it"));
        assert!(refused(tree(&[]).path()).contains("the folder is empty"));
        for bad in [&[][..], &[""], &["jpg", "."]] {
            let error = ImageFolder::builder().extensions(bad).open(root.path()).unwrap_err();
            assert!(error.to_string().starts_with("extensions: "), "{error}");
        }
    }

    #[test]
    fn without_classes_every_image_counts() {
        let root = tree(&["b/2.jpg", "1.png", "a/deep/3.jpg", "a/notes.txt", "b.gif", "a/.thumbnails/3.jpg"]);
        let data = ImageFolder::flat(root.path()).unwrap();
        let below: Vec<_> = (0..3).map(|i| data.path(i).unwrap().strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(below, ["1.png", "a/deep/3.jpg", "b/2.jpg"].map(Path::new));
        assert_eq!((data.len(), data.classes().len(), data.targets().len()), (3, 0, 0));
        assert_eq!(data.read(1, &mut Vec::new()).unwrap().label, crate::Label::None);
        let animated = ImageFolder::builder().unlabelled(true).extensions(["gif"]).open(root.path()).unwrap();
        assert_eq!(animated.len(), 1);
        let error = ImageFolder::flat(tree(&["a/1.txt"]).path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::EmptyDataset { hint, .. } if hint.ends_with(".webp at any depth")));
        assert!(matches!(ImageFolder::flat("/no/such/folder").unwrap_err().kind(), ErrorKind::Io { .. }));
    }

    #[test]
    fn hidden_folders_are_classes_as_in_torchvision_and_are_said() {
        let root =
            tree(&[".ipynb_checkpoints/1.jpg", "cat/1.jpg", "cat/.thumbs/1.jpg", "cat/.thumbs/2.jpg", "dog/1.jpg"]);
        let data = ImageFolder::open(root.path()).unwrap();
        assert_eq!((data.classes().len(), data.len()), (3, 5));
        let notices = data.notices();
        assert!(notices[0].is_warning());
        let expected = Notice::HiddenFolders { folders: 2, first: ".ipynb_checkpoints".into(), images: 3 };
        assert_eq!(notices, [expected]);
        assert!(ImageFolder::open(tree(&["cat/1.jpg"]).path()).unwrap().notices().is_empty());
        let root = tree(&[".ipynb_checkpoints/1.jpg", ".ipynb_checkpoints/.sub/2.jpg", "cat/1.jpg"]);
        let expected = Notice::HiddenFolders { folders: 1, first: ".ipynb_checkpoints".into(), images: 2 };
        assert_eq!(ImageFolder::open(root.path()).unwrap().notices(), [expected]);
    }

    #[test]
    fn images_that_are_not_taken_are_counted() {
        let root = tree(&["cat/1.jpg", "cat/2.GIF", "cat/deep/3.gif", "cat/notes.txt", "4.jpg", "5.jpg", "readme.txt"]);
        let said = |data: ImageFolder| data.notices().iter().map(Notice::to_string).collect::<Vec<_>>();
        let classes = said(ImageFolder::open(root.path()).unwrap());
        assert_eq!(
            classes,
            [
                "2 files in .gif are not read; the first is 2.GIF",
                "2 images outside of the class folders are not read; the first is 4.jpg",
            ]
        );
        let root = tree(&["1.jpg", ".trash/2.jpg", ".trash/3.jpg"]);
        let flat = said(ImageFolder::flat(root.path()).unwrap());
        assert_eq!(flat, ["2 images in hidden folders are not read; the first is .trash"]);
    }

    #[test]
    fn images_in_formats_that_are_not_decoded_are_counted() {
        let root = tree(&["cat/1.jpg", "cat/2.HEIC", "cat/3.avif", "cat/6.txt", "7.jp2", "dog/1.jpg", "dog/4.avif"]);
        let said = |data: ImageFolder| data.notices().iter().map(Notice::to_string).collect::<Vec<_>>();
        let expected = [
            "2 files in .avif are not read; the first is 3.avif",
            "1 file in .heic is not read: 2.HEIC",
            "1 file in .jp2 is not read: 7.jp2",
        ];
        assert_eq!(said(ImageFolder::open(root.path()).unwrap()), expected);
        let flat = said(ImageFolder::flat(root.path()).unwrap());
        assert!(flat[0].starts_with("2 files in .avif are not read"), "{flat:?}");
        assert_eq!(flat[1..], expected[1..]);
        let message = refused(tree(&["cat/1.heic", "dog/2.heic"]).path());
        assert!(message.contains("; 2 files in .heic are not read; the first is 1.heic)"), "{message}");
        let message = ImageFolder::flat(tree(&["1.avif"]).path()).unwrap_err().to_string();
        assert!(message.contains("; 1 file in .avif is not read: 1.avif)"), "{message}");
    }

    #[test]
    fn many_empty_classes_are_counted() {
        let files: Vec<String> = (10..30).map(|class| format!("{class}/none.txt")).collect();
        let root = tree(&files.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(refused(root.path()).contains("10, 11, 12, 13, 14, 15, 16, 17 and 12 more: "));
    }
}
