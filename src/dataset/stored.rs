//! The trait [`Stored`], which tells where the samples of a data set are stored, and under which names.

use super::Label;
use std::path::Path;

/// Tells the names and files of a data set's samples. A [pack](crate::pack) names its members after them, and notices
/// by them that its source has changed. [`Dataset::stored`](super::Dataset::stored) returns an object with this trait;
/// each `index` is the index of a sample in the data set that returned the object.
///
/// ```
/// use gpufeed::dataset::{ObjectStamp, Stored};
/// use std::path::Path;
///
/// /// Frames of one film.
/// struct Frames;
///
/// impl Stored for Frames {
///     fn own_name(&self, index: usize) -> Option<String> {
///         Some(format!("frame-{index:06}.jpg"))
///     }
///
///     fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
///         see(Path::new("film.mkv"), None);
///     }
/// }
///
/// assert!(Frames.has_ending(0) && Frames.file(0).is_none());
/// ```
pub trait Stored: Send + Sync {
    /// Returns the name under which a sample is stored: the path of its file below the data set's folder, with `/`
    /// between folders, or its key in a shard; `None` if the sample has no name.
    fn own_name(&self, index: usize) -> Option<String>;

    /// Returns true, the default, if the sample's [`own_name`](Self::own_name) is a file name with an extension.
    /// Returns false if the name is a key, in which a dot begins no extension.
    fn has_ending(&self, index: usize) -> bool {
        let _ = index;
        true
    }

    /// Returns the file that holds this sample alone; `None`, the default, if the sample shares a file with others.
    fn file(&self, index: usize) -> Option<&Path> {
        let _ = index;
        None
    }

    /// Returns the label that goes with a sample's file, if it is known without reading the sample; `None` by default.
    /// A data set that wraps this one may give the sample another label.
    fn label(&self, index: usize) -> Option<Label> {
        let _ = index;
        None
    }

    /// Returns the data set's folder if all images in it are samples, also those that are added later; `None` by
    /// default. A pack into this folder is refused, because its files would become samples.
    fn whole_folder(&self) -> Option<&Path> {
        None
    }

    /// Calls `see` with every file that holds samples, and with the file's stamp if it is an object in a store. Callers
    /// rely on this: as long as none of these files changes, no sample changes.
    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>));
}

/// Identifies the content of an object in a store: if the content changes, the object has another stamp.
///
/// ```
/// use gpufeed::dataset::ObjectStamp;
///
/// let before = ObjectStamp { length: 10, seconds: 1_700_000_000, tag: 7 };
/// assert_ne!(before, ObjectStamp { tag: 8, ..before });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectStamp {
    /// The length of the object in bytes.
    pub length: u64,
    /// The time of the last change, in seconds since 1970.
    pub seconds: u64,
    /// A hash of the ETag.
    pub tag: u64,
}

/// Returns the path of a file relative to the folder `root`, with `/` between folders.
pub(crate) fn name_below(root: &Path, file: &Path) -> String {
    let parts = file.strip_prefix(root).unwrap_or(file).iter();
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
