//! Settings of an [`ImageFolder`].

use std::path::PathBuf;

use super::super::{FieldChoice, MAX_FIELD_BYTES, MAX_FILE_BYTES};
use super::ImageFolder;
use crate::error::Result;

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
    pub(super) extensions: Vec<String>,
    pub(super) allow_empty: bool,
    pub(super) unlabelled: bool,
    pub(super) fields: FieldChoice,
    pub(super) max_field_bytes: u64,
    pub(super) max_file_bytes: u64,
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
    /// fields are those of this list, as [`ImageListBuilder::fields`](crate::dataset::ImageListBuilder::fields) has them;
    /// a [notice](crate::Dataset::notices) names images that it lacks.
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
    /// The errors of [`ImageFolder::open`], and [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no extension
    /// or an empty one. With [`allow_empty`](Self::allow_empty), there must still be at least one image in total.
    pub fn open(self, root: impl Into<PathBuf>) -> Result<ImageFolder> {
        self.listed(root.into()).map(ImageFolder)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;
    use crate::dataset::Notice;
    use crate::{Dataset, ErrorKind};
    use std::path::Path;

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
