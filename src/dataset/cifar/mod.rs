//! CIFAR-10 and CIFAR-100, in their binary and their Python layout.

mod layout;
mod pickle;

use std::io;
use std::path::{Path, PathBuf};

use self::layout::{LAYOUTS, Layout, Target};
use self::pickle::Pickle;
use super::source::Source;
use super::{Arrays, Split};
use crate::error::{Error, Result};
use crate::regular_file;

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
    pub(super) fn parts(folder: &Path) -> Result<(Arrays, Option<Arrays>)> {
        let (folder, layout, target) = find(folder, Split::Train, |layout| Some(&layout.fine))?;
        let part = |split| whole(&folder, layout.files(split), layout.pickled, target);
        let test = folder.join(layout.test[0]).is_file();
        Ok((part(Split::Train)?, if test { Some(part(Split::Test)?) } else { None }))
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
    let bytes = Source::open(path)?.all(left(planes), WHAT)?;
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
    let bytes = Source::open(path)?.all(left(planes), WHAT)?;
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
            let bytes = Source::open(&path)?.all(MOST_BYTES, "a file of names")?;
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
mod tests {
    use super::*;
    use crate::{Dataset, ErrorKind, Label};
    use std::fs;

    fn images(heads: &[&[u8]]) -> Vec<u8> {
        let planes = [[10; 1024], [20; 1024], [30; 1024]].concat();
        heads.iter().flat_map(|labels| [labels, &planes[..]].concat()).collect()
    }

    fn refused(result: Result<Arrays>) -> String {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DataFile { .. }), "{error}");
        error.to_string()
    }

    fn label(data: &Arrays, index: usize) -> Label {
        data.read(index, &mut Vec::new()).unwrap().label
    }

    #[test]
    fn binary_files_of_both_sets() {
        let root = tempfile::tempdir().unwrap();
        let missing = Cifar::open(root.path(), Split::Train).unwrap_err();
        assert!(
            missing.to_string().contains("cifar-10-batches-py/data_batch_1, cifar-100-python/train, "),
            "{missing}"
        );
        let folder = root.path().join("cifar-10-batches-bin");
        fs::create_dir(&folder).unwrap();
        for file in 1..=5u8 {
            fs::write(folder.join(format!("data_batch_{file}.bin")), images(&[&[file], &[0]])).unwrap();
        }
        let train = Cifar::open(root.path(), Split::Train).unwrap();
        assert_eq!((train.len(), train.channels(), train.width(), train.height()), (10, 3, 32, 32));
        assert_eq!(train.targets(), Some(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0][..]));
        assert!(train.pixels().chunks_exact(3).all(|pixel| pixel == [10, 20, 30]));
        assert!(train.classes().is_empty());
        fs::write(folder.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        assert_eq!(Cifar::open(&folder, Split::Train).unwrap().classes()[9], "j");
        fs::write(folder.join("batches.meta.txt"), "a\nb\n").unwrap();
        assert!(refused(Cifar::open(&folder, Split::Train)).contains("batches.meta.txt, lines: 2 names"));
        fs::remove_file(folder.join("data_batch_4.bin")).unwrap();
        let missing = Cifar::open(&folder, Split::Train).unwrap_err();
        assert!(matches!(missing.kind(), ErrorKind::Io { path, .. } if path.ends_with("data_batch_4.bin")));

        let hundred = root.path().join("hundred");
        fs::create_dir(&hundred).unwrap();
        fs::write(hundred.join("train.bin"), images(&[&[19, 99], &[3, 5]])).unwrap();
        assert_eq!(label(&Cifar::open(&hundred, Split::Train).unwrap(), 0), Label::Class(99));
        assert_eq!(label(&Cifar::coarse(&hundred, Split::Train).unwrap(), 1), Label::Class(3));
    }

    #[test]
    fn binary_files_that_are_not_whole_or_have_other_labels() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("test_batch.bin");
        let whole = images(&[&[1], &[2]]);
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Cifar::open(root.path(), Split::Test)
        };
        assert_eq!(read(&whole).unwrap().len(), 2);
        for end in (0..whole.len()).step_by(61).chain([1, 3072, 3074, 6145]).filter(|end| *end != 3073) {
            refused(read(&whole[..end]));
        }
        assert!(
            refused(read(&whole[..3073 + 5])).contains("byte 3073: 5 bytes, but an image and its labels take 3073")
        );
        let error = refused(read(&images(&[&[1], &[10]])));
        assert!(error.ends_with("test_batch.bin, byte 3073: label 10 of image 1, but there are 10 classes"), "{error}");
    }

    #[test]
    fn the_files_of_a_part_are_bounded_together() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("data_batch_5.bin");
        let target = &LAYOUTS[2].fine;
        // Earlier files have left room for one image, not for two.
        let before = MOST_BYTES as usize - 4000;
        for (heads, fits) in [(&[&[1][..]][..], true), (&[&[1], &[2]], false)] {
            fs::write(&path, images(heads)).unwrap();
            let (mut planes, mut labels) = (vec![0; before], Vec::new());
            let read = records(&path, target, &mut planes, &mut labels);
            assert_eq!((read.is_ok(), labels.len()), (fits, usize::from(fits)));
            if let Err(error) = read {
                assert!(error.to_string().contains("a part of CIFAR, 256 MiB at most, should end here"), "{error}");
            }
        }
    }

    /// Writes a test batch of `count` images in pickle protocol 4.
    fn pickled(count: u16, labels: &[u8], width: u16, key: &str) -> Vec<u8> {
        let text = |text: &str| [&[0x8C, text.len() as u8], text.as_bytes()].concat();
        let list: Vec<u8> = labels.iter().flat_map(|&label| [b'K', label]).collect();
        let pixels: Vec<u8> = (0..count).flat_map(|n| (0..width).map(move |i| (i / 1024 * 10 + n) as u8)).collect();
        let mut bytes = [b"\x80\x04}(", &text(key)[..], b"](", &list, b"e", &text("data")].concat();
        bytes.extend([text("numpy._core.multiarray"), text("_reconstruct"), b"\x93".to_vec()].concat());
        bytes.extend([text("numpy"), text("ndarray"), b"\x93K\x00\x85C\x01b\x87R(K\x01M".to_vec()].concat());
        bytes.extend([&count.to_le_bytes()[..], b"M", &width.to_le_bytes(), b"\x86"].concat());
        bytes.extend([&text("numpy")[..], &text("dtype"), b"\x93", &text("u1"), b"\x89\x88\x87R(K\x03"].concat());
        bytes.extend([&text("|")[..], b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89B"].concat());
        bytes.extend([&(pixels.len() as u32).to_le_bytes()[..], &pixels, b"tbu."].concat());
        bytes
    }

    #[test]
    fn pickles_of_both_sets() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, bytes: &[u8]| fs::write(root.path().join(file), bytes).unwrap();
        write("test_batch", &pickled(2, &[7, 9], 3072, "labels"));
        let data = Cifar::open(root.path(), Split::Test).unwrap();
        assert_eq!((data.len(), label(&data, 1)), (2, Label::Class(9)));
        assert_eq!(data.pixels()[3072..3078], [1, 11, 21, 1, 11, 21]);

        let other = |bytes: &[u8]| {
            write("test_batch", bytes);
            refused(Cifar::open(root.path(), Split::Test))
        };
        assert!(
            other(&pickled(2, &[7, 9], 3072, "fine_labels")).ends_with("test_batch, entry \"labels\": it is missing")
        );
        assert!(other(&pickled(2, &[7], 3072, "labels")).contains("1 labels, but there are 2 images"));
        assert!(
            other(&pickled(2, &[7, 10], 3072, "labels")).contains("labels 10 of image 1, but there are 10 classes")
        );
        assert!(other(&pickled(2, &[7, 9], 3071, "labels")).contains("shape [2, 3071]"));
        assert!(other(b"cposix\nsystem\n(S'true'\ntR.").contains("test_batch, byte 0: the class posix.system"));
        let whole = pickled(1, &[0], 3072, "labels");
        for end in (0..whole.len()).step_by(37) {
            other(&whole[..end]);
        }
        fs::remove_file(root.path().join("test_batch")).unwrap();

        write("test", &pickled(1, &[42], 3072, "fine_labels"));
        assert_eq!(label(&Cifar::open(root.path(), Split::Test).unwrap(), 0), Label::Class(42));
        assert!(refused(Cifar::coarse(root.path(), Split::Test)).contains("entry \"coarse_labels\": it is missing"));
        write("meta", b"}U\x10fine_label_names](U\x05appleU\x04bearesU\x01xNs.");
        assert!(refused(Cifar::open(root.path(), Split::Test)).contains("2 names, but there are 100 classes"));
        write("meta", b"}.");
        assert!(
            refused(Cifar::open(root.path(), Split::Test))
                .ends_with("entry \"fine_label_names\": it is not a list of names")
        );
    }
}
