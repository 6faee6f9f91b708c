//! A folder of class folders, listed as torchvision's `ImageFolder` lists it.
//!
//! `builder.rs` has the settings, `listing.rs` lists the images, `walk.rs` finds the files by their `endings.rs`, in an
//! `order.rs`, and `noticed.rs` has what is not taken. `choice.rs` reads the setting of fields, and `beside.rs` finds the
//! files beside images.

mod beside;
mod builder;
mod choice;
pub(crate) mod endings;
mod listing;
mod noticed;
mod order;
pub(crate) mod walk;

use std::path::{Path, PathBuf};

use super::Dataset;
use super::forward::forward;
use super::image_files::ImageFiles;
use super::labels::Labels;
use crate::error::Result;

pub use builder::ImageFolderBuilder;

/// Image files in class folders: `root/cat/1.jpg` is a sample of class `cat`.
///
/// Samples, their order and their classes are those of torchvision's `ImageFolder`, whose indices can
/// therefore be used here:
///
/// - Every folder directly in the root is a class, hidden ones too. Classes are sorted by their names' code points, and
///   [`Label::Class`](super::Label::Class) is the index in that order.
/// - Files count if their name ends in one of [`EXTENSIONS`](Self::EXTENSIONS), in upper or lower case.
///   They are found at any depth below the class folder, through symbolic links as well; folders are
///   sorted by their whole path, and files by their name within each. Files directly in the root do not
///   count.
///
/// Three things differ: a folder that cannot be listed is an error instead of being skipped, a link back to a folder
/// that contains it is not followed, and the order is Linux's on every platform.
///
/// ```
/// use gpufeed::{Dataset, ImageFolder, Label};
///
/// let root = tempfile::tempdir()?;
/// for file in ["cat/tom.jpg", "dog/rex.PNG", "dog/2019/bo.jpeg", "dog/notes.txt"] {
///     let path = root.path().join(file);
///     std::fs::create_dir_all(path.parent().unwrap())?;
///     std::fs::write(path, b"the file")?;
/// }
///
/// let pets = ImageFolder::open(root.path())?;
/// assert_eq!(pets.classes(), ["cat", "dog"]);
/// assert_eq!(pets.targets(), [0, 1, 1]);
/// assert!(pets.path(2).unwrap().ends_with("dog/2019/bo.jpeg"));
///
/// let mut buffer = Vec::new();
/// assert_eq!(pets.read(1, &mut buffer)?.label, Label::Class(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder(ImageFiles);

impl ImageFolder {
    /// Default endings of image names, torchvision's list; [`ImageFolderBuilder::extensions`] sets others.
    pub const EXTENSIONS: [&'static str; 9] =
        [".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"];

    /// Lists the images below `root`. Files are opened only when they are read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if `root` or a folder below it cannot be listed, for example because
    /// `root` does not exist or is a file. [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if there is no
    /// class folder, or one without an image.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().open(root)
    }

    /// Lists all images in `root` and in its folders that are not hidden, at any depth, as samples without a label.
    ///
    /// ```
    /// use gpufeed::{Dataset, ImageFolder, Label};
    ///
    /// let root = tempfile::tempdir()?;
    /// std::fs::write(root.path().join("1.jpg"), b"the file")?;
    /// let images = ImageFolder::flat(root.path())?;
    /// assert_eq!(images.read(0, &mut Vec::new())?.label, Label::None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open), except that no class folder is needed.
    pub fn flat(root: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().unlabelled(true).open(root)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> ImageFolderBuilder {
        ImageFolderBuilder::new()
    }

    /// Returns the folder that was opened, as given.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the path of sample `index`, beginning with [`root`](Self::root); `None` if out of range.
    pub fn path(&self, index: usize) -> Option<&Path> {
        self.0.path(index)
    }

    /// Returns the class of every sample, in order; empty if [unlabelled](ImageFolderBuilder::unlabelled).
    pub fn targets(&self) -> &[u32] {
        match &self.0.labels {
            Labels::Classes(targets) => targets,
            Labels::None | Labels::Multi(_) => &[],
        }
    }
}

impl Dataset for ImageFolder {
    forward!(self => self.0; all);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::dataset::SampleData;
    use std::fs;
    use tempfile::TempDir;

    pub(in crate::dataset) fn tree(files: &[&str]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        root
    }

    /// Returns the paths below the root. Each file contains its path, and this reads it.
    fn listed(data: &ImageFolder) -> Vec<String> {
        let mut buffer = b"left over from another file".to_vec();
        let mut read = |index| match data.read(index, &mut buffer).unwrap().data {
            SampleData::Encoded(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            SampleData::Pixels(_) => panic!("pixels"),
        };
        (0..data.len()).map(&mut read).collect()
    }

    #[test]
    fn lists_as_torchvision_does() {
        let root = tree(&[
            "b/10.jpg",
            "b/9.jpg",
            "b/z/1.jpg",
            "b/z-/1.jpg", // '-' sorts before '/', so before z/a but after z
            "b/z/a/1.jpg",
            "b/Z.PNG",
            "b/.webp",
            "b/notes.txt",
            "b/animated.gif",
            "b/nojpg",
            "C/x.TiFf",
            ".hidden/1.ppm",
            "é/1.pgm",
            "loose.jpg",
        ]);
        let data = ImageFolder::open(root.path()).unwrap();
        assert_eq!(data.classes(), [".hidden", "C", "b", "é"]);
        let expected = [
            ".hidden/1.ppm",
            "C/x.TiFf",
            "b/.webp",
            "b/10.jpg",
            "b/9.jpg",
            "b/Z.PNG",
            "b/z/1.jpg",
            "b/z-/1.jpg",
            "b/z/a/1.jpg",
            "é/1.pgm",
        ];
        assert_eq!(listed(&data), expected);
        assert_eq!(data.targets(), [0, 1, 2, 2, 2, 2, 2, 2, 2, 3]);
        assert_eq!(data.root(), root.path());
        assert_eq!(data.name(0), data.path(0).unwrap().display().to_string());
        assert_eq!((data.name(10), data.path(10)), ("sample 10".into(), None));
        assert!(data.read(10, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_file_that_vanished_is_an_error_with_its_path() {
        let root = tree(&["cat/1.jpg"]);
        let data = ImageFolder::open(root.path()).unwrap();
        fs::remove_file(root.path().join("cat/1.jpg")).unwrap();
        let error = data.read(0, &mut Vec::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io { path, .. } if path.ends_with("cat/1.jpg")));
    }
}
