//! CIFAR-10 and CIFAR-100, in their binary and their Python layout.
//!
//! `layout.rs` has the names of files, `pickle/` reads the Python layout.

mod layout;
mod pickle;

use std::io;
use std::path::{Path, PathBuf};

use self::layout::{LAYOUTS, Layout, Target};
use self::pickle::Pickle;
use super::unpacked::Unpacked;
use super::{Arrays, Notice, Split};
use crate::error::{Error, Result};
use crate::storage::local::regular_file;

/// Reads CIFAR's files as [`Arrays`] of 32x32 RGB bytes.
///
/// The folder is the data set's own, or its parent: `cifar-10-batches-py` or `cifar-100-python` as torchvision unpacks
/// them, `cifar-10-batches-bin` or `cifar-100-binary`. The names of the files tell the data set and its layout; if
/// several are there, the first in this list is read. Images are in the order of torchvision's reader.
///
/// | files | |
/// |---|---|
/// | `data_batch_1` to `data_batch_5`, `test_batch`, `batches.meta` | CIFAR-10, Python |
/// | `train`, `test`, `meta` | CIFAR-100, Python |
/// | `data_batch_1.bin` to `data_batch_5.bin`, `test_batch.bin`, `batches.meta.txt` | CIFAR-10, binary |
/// | `train.bin`, `test.bin`, `fine_label_names.txt`, `coarse_label_names.txt` | CIFAR-100, binary |
///
/// Class names come from the file of names; without it classes have no names. Python's files are pickles; only plain
/// data and arrays in them are read, and no code is run.
///
/// ```
/// use gpufeed::{Cifar, Dataset, Label, Split};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// // One image: coarse class 4, fine class 30, then 1024 red, 1024 green and 1024 blue bytes.
/// std::fs::write(folder.join("test.bin"), [&[4, 30][..], &[10; 1024], &[20; 1024], &[30; 1024]].concat())?;
///
/// let test = Cifar::open(folder, Split::Test)?;
/// assert_eq!(test.pixels()[..6], [10, 20, 30, 10, 20, 30]);
/// assert_eq!(test.read(0, &mut Vec::new())?.label, Label::Class(30));
/// assert_eq!(Cifar::coarse(folder, Split::Test)?.read(0, &mut Vec::new())?.label, Label::Class(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cifar(());

const SIDE: usize = 32;
/// Bytes of an image.
const IMAGE: usize = 3 * SIDE * SIDE;
/// Limit of the unpacked bytes of all files of a split; CIFAR's training files have 155 MB.
const MOST_BYTES: u64 = 256 << 20;

impl Cifar {
    /// Reads CIFAR-10, or CIFAR-100 with its 100 classes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if a file is missing or cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) if it does not hold whole images and a label for each.
    pub fn open(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        read(folder.as_ref(), split, |layout| Some(&layout.fine))
    }

    /// Reads CIFAR-100 with its 20 coarse classes.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open). CIFAR-10 is not looked for.
    pub fn coarse(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        read(folder.as_ref(), split, |layout| layout.coarse.as_ref())
    }

    /// Returns true if a folder or CIFAR's folder in it has CIFAR's files.
    pub(super) fn is_in(folder: &Path) -> bool {
        LAYOUTS.iter().any(|layout| layout.is_in(folder) || layout.is_in(&folder.join(layout.folder)))
    }

    /// Reads the training split, and the test split of the same data set and layout if its first file is in the same
    /// folder.
    pub(super) fn parts(root: &Path) -> Result<(Arrays, Option<Arrays>)> {
        let (folder, layout, target) = find(root, Split::Train, |layout| Some(&layout.fine))?;
        let part = |split| whole(&folder, layout.files(split), layout.pickled, target);
        let test = folder.join(layout.test[0]).is_file();
        let mut train = part(Split::Train)?;
        // The layouts of one set hold the same images.
        let others = LAYOUTS.iter().filter(|other| other.coarse.is_some() != layout.coarse.is_some());
        let mut others = others.filter(|other| other.is_in(root) || other.is_in(&root.join(other.folder)));
        train.add_notices(others.next().and_then(|other| Notice::not_read("sets beside it", 1, other.folder)));
        Ok((train, if test { Some(part(Split::Test)?) } else { None }))
    }
}

fn read(folder: &Path, split: Split, target: impl Fn(&Layout) -> Option<&Target>) -> Result<Arrays> {
    let (folder, layout, target) = find(folder, split, target)?;
    whole(&folder, layout.files(split), layout.pickled, target)
}

/// Returns the first layout whose first file of this split exists, and its folder.
fn find(
    folder: &Path,
    split: Split,
    target: impl Fn(&Layout) -> Option<&Target>,
) -> Result<(PathBuf, &'static Layout, &'static Target)> {
    let mut looked = Vec::new();
    for layout in &LAYOUTS {
        let (Some(target), [first, ..]) = (target(layout), layout.files(split)) else { continue };
        for folder in [folder, &folder.join(layout.folder)] {
            if folder.join(first).is_file() {
                return Ok((folder.to_owned(), layout, target));
            }
        }
        looked.push(format!("{}/{first}", layout.folder));
    }
    let reason = format!("no such file; looked for {} here and for their files in this folder", looked.join(", "));
    let source = io::Error::new(io::ErrorKind::NotFound, reason);
    Err(Error::io(folder, source))
}

fn whole(folder: &Path, files: &[&str], pickled: bool, target: &Target) -> Result<Arrays> {
    let (mut planes, mut labels) = (Vec::new(), Vec::new());
    for file in files {
        let path = folder.join(file);
        match pickled {
            true => unpickle(&path, target, &mut planes, &mut labels)?,
            false => records(&path, target, &mut planes, &mut labels)?,
        }
    }
    let path = folder.join(target.names.0);
    let names = if path.is_file() { names(path, pickled, target)? } else { Vec::new() };
    Ok(Arrays::nchw([labels.len(), 3, SIDE, SIDE], planes)?
        .with_labels(labels)?
        .with_classes(names)
        .with_source(folder.join(files[0]).display().to_string()))
}

/// The words for a split in the error for too many bytes.
const WHAT: &str = "a part of CIFAR, 256 MiB at most,";

/// Returns the bytes that the next file may have, given the `planes` of earlier files.
fn left(planes: &[u8]) -> u64 {
    MOST_BYTES.saturating_sub(planes.len() as u64)
}

/// Appends the images and labels of a binary file: one or two bytes of labels before each image.
fn records(path: &Path, target: &Target, planes: &mut Vec<u8>, labels: &mut Vec<u32>) -> Result<()> {
    let label_bytes = if target.classes == 10 { 1 } else { 2 };
    let record = label_bytes + IMAGE;
    let bytes = Unpacked::open(path)?.all(left(planes), WHAT)?;
    let (records, []) = (bytes.chunks_exact(record), bytes.chunks_exact(record).remainder()) else {
        let whole = bytes.len() / record * record;
        let reason = format!("{} bytes, but an image and its labels take {record}", bytes.len() - whole);
        return Err(Error::data_file(path, format!("byte {whole}"), reason));
    };
    if bytes.is_empty() {
        return Err(Error::data_file(path, "byte 0", "the file is empty"));
    }
    planes.reserve(bytes.len());
    for (number, record) in records.enumerate() {
        let label = u32::from(record[target.byte]);
        if label >= target.classes {
            let position = format!("byte {}", number * (label_bytes + IMAGE) + target.byte);
            return Err(Error::data_file(path, position, beyond(target, label.into(), number)));
        }
        labels.push(label);
        planes.extend_from_slice(&record[label_bytes..]);
    }
    Ok(())
}

fn beyond(target: &Target, label: i64, number: usize) -> String {
    format!("{} {label} of image {number}, but there are {} classes", target.key, target.classes)
}

/// Appends the images and labels of a pickle.
fn unpickle(path: &Path, target: &Target, planes: &mut Vec<u8>, labels: &mut Vec<u32>) -> Result<()> {
    let bytes = Unpacked::open(path)?.all(left(planes), WHAT)?;
    let pickle = parse(path, &bytes)?;
    let error = |key: &str, reason: String| Error::data_file(path, format!("entry {key:?}"), reason);
    let entry = |key: &str| pickle.entry(key).ok_or_else(|| error(key, "it is missing".to_owned()));
    let data = pickle.byte_array(entry("data")?).map_err(|reason| error("data", reason))?;
    let count = match data.shape[..] {
        [count, width] if width == IMAGE as i64 => count as usize,
        _ => {
            return Err(error(
                "data",
                format!("an array of shape {:?}, but images take {IMAGE} bytes each", data.shape),
            ));
        }
    };
    let values =
        pickle.ints(entry(target.key)?).ok_or_else(|| error(target.key, "it is not a list of numbers".to_owned()))?;
    if values.len() != count {
        return Err(error(target.key, format!("{} labels, but there are {count} images", values.len())));
    }
    for (number, &label) in values.iter().enumerate() {
        match u32::try_from(label) {
            Ok(class) if class < target.classes => labels.push(class),
            _ => return Err(error(target.key, beyond(target, label, number))),
        }
    }
    planes.extend_from_slice(data.data);
    Ok(())
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Pickle<'a>> {
    Pickle::parse(bytes).map_err(|(byte, reason)| Error::data_file(path, format!("byte {byte}"), reason))
}

/// Reads the names of the classes.
fn names(path: PathBuf, pickled: bool, target: &Target) -> Result<Vec<String>> {
    let (names, position) = match pickled {
        true => {
            let bytes = Unpacked::open(&path)?.all(MOST_BYTES, "a file of names")?;
            let (key, pickle) = (target.names.1, parse(&path, &bytes)?);
            let names = pickle.entry(key).and_then(|id| pickle.strings(id));
            let position = format!("entry {key:?}");
            (names.ok_or_else(|| Error::data_file(&path, &position, "it is not a list of names"))?, position)
        }
        false => {
            let text = regular_file::read_to_string(&path).map_err(|source| Error::io(&path, source))?;
            let names = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
            (names, "lines".to_owned())
        }
    };
    if names.len() != target.classes as usize {
        let reason = format!("{} names, but there are {} classes", names.len(), target.classes);
        return Err(Error::data_file(path, position, reason));
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
