//! A file or a sample to inspect.

use std::path::{Path, PathBuf};

/// A file or a sample to inspect.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    /// The path below the folder.
    pub(super) name: String,
    /// The class whose sample it is.
    pub(super) class: Option<String>,
    /// The system's reason if the file cannot be reached, such as a dangling link.
    pub(super) error: Option<String>,
    /// The entry's index in the data set; `None` for a file of a folder.
    pub(super) sample: Option<usize>,
}

impl Entry {
    pub(super) fn new(root: &Path, path: PathBuf, error: Option<String>) -> Entry {
        Entry { name: below(root, &path), path, class: None, error, sample: None }
    }

    /// Returns true if the name's ending is that of an image in a format that no decoder here reads.
    pub(super) fn claims_other_format(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        gpufeed::internals::NOT_DECODED.iter().any(|ending| name.ends_with(ending))
    }

    /// Returns the format that the name's extension claims.
    pub(super) fn claimed_format(&self) -> Option<&'static str> {
        let extension = self.path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "jpg" | "jpeg" | "jpe" | "jfif" => "JPEG",
            "png" | "apng" => "PNG",
            "webp" => "WebP",
            "gif" => "GIF",
            "bmp" | "dib" => "BMP",
            "tif" | "tiff" => "TIFF",
            "pnm" | "pbm" | "pgm" | "ppm" | "pam" => "PNM",
            _ => return None,
        })
    }
}

/// Returns the path below `root`, with '/' on every system.
pub(super) fn below(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).iter();
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
