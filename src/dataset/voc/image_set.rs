//! The images of a split: VOC's lists in `ImageSets/Main`, and the annotations and images that there are.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::IMAGE_SETS;
use crate::dataset::folder::endings::has_extension;
use crate::error::{Error, Result};
use crate::quote::shortened;
use crate::storage::local::regular_file;

/// Returns the folder of a set and the name of its split, if `path` is that of a list of a split in these folders, the outer one first.
pub(in crate::dataset) fn of_list<'a>(path: &'a Path, folders: [&str; 2]) -> Option<(PathBuf, &'a str)> {
    let split = path.file_name()?.to_str()?.strip_suffix(".txt")?;
    let mut folder = path.parent()?;
    for name in folders.iter().rev() {
        if folder.file_name()? != *name {
            return None;
        }
        folder = folder.parent()?;
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Some((folder.to_owned(), split))
}

/// The path of the list of a split.
///
/// # Errors
/// A name with folders in it.
pub(super) fn list_of(root: &Path, split: &str) -> Result<PathBuf> {
    if !is_name(split) {
        let reason = format!("{:?}; the name of a list in ImageSets/Main works, such as \"train\"", shortened(split));
        return Err(Error::argument("split", reason));
    }
    Ok(root.join(IMAGE_SETS[0]).join(IMAGE_SETS[1]).join(format!("{split}.txt")))
}

/// Reads the names in a list: a line each.
///
/// # Errors
/// The line of a name that is there twice, has folders in it, or that `known` does not have.
pub(super) fn listed(list: &Path, known: &[OsString]) -> Result<Vec<OsString>> {
    let text = regular_file::read_to_string(list).map_err(|source| Error::io(list, source))?;
    let known: HashSet<&OsStr> = known.iter().map(|name| &**name).collect();
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let name = line.trim();
        let wrong = |reason: String| Err(Error::data_file(list, format!("line {}", number + 1), reason));
        let shown = shortened(name);
        if name.is_empty() {
            continue;
        }
        if !is_name(name) {
            return wrong(format!("{shown:?}, but names of annotations have no folders"));
        }
        if !known.contains(OsStr::new(name)) {
            // VOC's lists of a class: 1 where the image shows it, -1 where not, 0 where it is difficult.
            let of_class = name.rsplit_once(' ').is_some_and(|(_, flag)| ["1", "-1", "0"].contains(&flag));
            return wrong(match of_class {
                true => format!("{shown:?} is a line of a list of one class; lists of names alone work"),
                false => format!("Annotations has no {shown}.xml"),
            });
        }
        if !seen.insert(name) {
            return wrong(format!("{shown} is in the list twice"));
        }
        found.push(OsString::from(name));
    }
    Ok(found)
}

/// Returns true for the name of a file, without folders.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// Returns the names of the annotations in a folder, without their ending and sorted.
///
/// # Errors
/// A folder that cannot be listed, and an ending in other letters than `.xml`.
pub(super) fn annotations(folder: &Path) -> Result<Vec<OsString>> {
    let mut found = Vec::new();
    for name in names(folder)? {
        if !has_extension(&name, &[".xml".to_owned()]) || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = Path::new(&name);
        if path.extension().is_none_or(|ending| ending != "xml") {
            return Err(Error::data_file(
                folder,
                shortened(&name.to_string_lossy()),
                "the ending .xml works, in small letters",
            ));
        }
        found.extend(path.file_stem().map(OsStr::to_owned));
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the images in a folder, by their names without endings.
///
/// # Errors
/// A folder that cannot be listed, and two images of one name.
pub(super) fn images(folder: &Path, extensions: &[String]) -> Result<HashMap<OsString, OsString>> {
    let mut found: HashMap<OsString, OsString> = HashMap::new();
    for name in names(folder)? {
        if !has_extension(&name, extensions) || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let Some(stem) = Path::new(&name).file_stem() else { continue };
        if let Some(other) = found.insert(stem.to_owned(), name.clone()) {
            let (place, other) = (name.to_string_lossy(), other.to_string_lossy());
            let reason = format!("{other} is an image of the same annotation; one of the two works");
            return Err(Error::data_file(folder, shortened(&place), reason));
        }
    }
    Ok(found)
}

/// The names of what is in a folder.
fn names(folder: &Path) -> Result<Vec<OsString>> {
    let entries =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect());
    entries.map_err(|source| Error::io(folder, source))
}
