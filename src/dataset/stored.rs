//! Where the samples of a data set are stored, and under which names.

use super::Label;
use std::path::Path;

/// The names and files of a data set's samples, by which a [pack](crate::pack) names its members and notices that its
/// source has changed. [`Dataset::stored`](super::Dataset::stored) returns it. Indices are those of the data set that
/// returned it.
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
    /// Returns a sample's name where it is stored: its file below the data set's folder, with `/` between folders, or its
    /// key in a shard.
    fn own_name(&self, index: usize) -> Option<String>;

    /// Returns true, the default, if that name ends as names of files do. Returns false if it is a key, in which a dot
    /// begins no ending.
    fn has_ending(&self, index: usize) -> bool {
        let _ = index;
        true
    }

    /// Returns a sample's own file; `None`, the default, if it shares a file with others.
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

    /// Returns the folder in which an image that is added later becomes a sample, too; `None` by default. Nothing is packed
    /// into that folder.
    fn whole_folder(&self) -> Option<&Path> {
        None
    }

    /// Calls `see` for every file that holds samples, with its stamp if it is an object in a store. The samples change
    /// only if one of the files changes.
    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>));
}

/// Tells whether the content of an object in a store has changed: another content has another stamp.
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

/// Returns the name of a file below a folder.
pub(crate) fn name_below(root: &Path, file: &Path) -> String {
    let parts = file.strip_prefix(root).unwrap_or(file).iter();
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
