//! MNIST's files: IDX, raw or gzip.
//!
//! `parts.rs` finds the files of a folder, `names.rs` has the names of classes.

mod names;
mod parts;

use std::io;
use std::path::{Path, PathBuf};

use super::unpacked::Unpacked;
use super::{Arrays, Split};
use crate::error::{Error, Result};
use names::{FASHION, KMNIST, MNIST};

pub use names::Emnist;

/// Reads IDX files, the format of MNIST, Fashion-MNIST, KMNIST and EMNIST, as [`Arrays`] of gray bytes.
///
/// Files have torchvision's names, are in the given folder or in its folder `raw`, or where torchvision's `MNIST(root)` and
/// its like put them below the given one (`root/MNIST/raw`, `root/FashionMNIST/raw`, `root/KMNIST/raw`,
/// `root/EMNIST/raw`), and are raw or gzip (`.gz`), detected by their first bytes. A file that is not whole, or longer than its header says, is an error.
///
/// ```
/// use gpufeed::{Dataset, Idx, Label, Split};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// // Two images of 2x1 pixels.
/// std::fs::write(folder.join("t10k-images-idx3-ubyte"), [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40])?;
/// std::fs::write(folder.join("t10k-labels-idx1-ubyte"), [0, 0, 8, 1, 0, 0, 0, 2, 7, 0])?;
///
/// let test = Idx::mnist(folder, Split::Test)?;
/// assert_eq!((test.len(), test.channels(), test.width()), (2, 1, 2));
/// assert_eq!(test.read(0, &mut Vec::new())?.label, Label::Class(7));
/// assert_eq!(test.classes()[7], "7 - seven");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Idx(());

impl Idx {
    /// Reads MNIST: `train-images-idx3-ubyte` and `train-labels-idx1-ubyte`, or `t10k-…`, in `folder`.
    ///
    /// # Errors
    ///
    /// The errors of [`from_files`](Self::from_files), and [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) for a
    /// label above 9.
    pub fn mnist(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        named(folder.as_ref(), "MNIST", split, &MNIST)
    }

    /// Reads Fashion-MNIST, which has MNIST's file names.
    ///
    /// # Errors
    ///
    /// The errors of [`mnist`](Self::mnist).
    pub fn fashion_mnist(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        named(folder.as_ref(), "FashionMNIST", split, &FASHION)
    }

    /// Reads KMNIST, which has MNIST's file names.
    ///
    /// # Errors
    ///
    /// The errors of [`mnist`](Self::mnist).
    pub fn kmnist(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        named(folder.as_ref(), "KMNIST", split, &KMNIST)
    }

    /// Reads EMNIST: `emnist-letters-train-images-idx3-ubyte` and so on in `folder`.
    ///
    /// Its files store images with rows and columns exchanged. Like torchvision, this leaves them so;
    /// [`Arrays::transposed`] makes them upright.
    ///
    /// # Errors
    ///
    /// The errors of [`from_files`](Self::from_files), and [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) for a
    /// label that is not a class.
    pub fn emnist(folder: impl AsRef<Path>, part: Emnist, split: Split) -> Result<Arrays> {
        let split = match split {
            Split::Train => "train",
            Split::Test => "test",
        };
        let stem = format!("emnist-{}-{split}", part.name());
        open(&parts::of_torchvision(folder.as_ref(), "EMNIST", &stem), &stem, part.classes())
    }

    /// Reads files with MNIST's names; classes have no names.
    ///
    /// # Errors
    ///
    /// The errors of [`from_files`](Self::from_files).
    pub fn open(folder: impl AsRef<Path>, split: Split) -> Result<Arrays> {
        named(folder.as_ref(), "", split, &[])
    }

    /// Reads any pair of files: an array of bytes with three dimensions (images, height, width), and one with one
    /// (labels).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if a file cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) if it is not such an array, not whole or longer than its
    /// header says, or if the numbers of labels and images differ.
    pub fn from_files(images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Result<Arrays> {
        read(images.as_ref(), labels.as_ref(), Vec::new())
    }
}

/// Reads files with MNIST's names; `set` is torchvision's name of their folder below a root.
fn named(folder: &Path, set: &str, split: Split, classes: &[&str]) -> Result<Arrays> {
    let stem = match split {
        Split::Train => "train",
        Split::Test => "t10k",
    };
    open(&parts::of_torchvision(folder, set, stem), stem, owned(classes))
}

fn owned(classes: &[&str]) -> Vec<String> {
    classes.iter().map(|&class| class.to_owned()).collect()
}

fn open(folder: &Path, stem: &str, classes: Vec<String>) -> Result<Arrays> {
    let images = find(folder, &format!("{stem}-images"), "idx3-ubyte")?;
    let labels = find(folder, &format!("{stem}-labels"), "idx1-ubyte")?;
    read(&images, &labels, classes)
}

/// Finds the file in `folder` or its folder `raw`; some unpackers replace the last '-' of the name with a '.'.
fn find(folder: &Path, stem: &str, kind: &str) -> Result<PathBuf> {
    let name = format!("{stem}-{kind}");
    for folder in [folder, &folder.join("raw")] {
        for name in [&name, &format!("{stem}.{kind}")] {
            for name in [name, &format!("{name}.gz")] {
                let path = folder.join(name);
                if path.is_file() {
                    return Ok(path);
                }
            }
        }
    }
    let reason = format!("no such file here or in the folder raw, nor {name}.gz, nor {stem}.{kind}");
    Err(Error::io(folder.join(name), io::Error::new(io::ErrorKind::NotFound, reason)))
}

fn read(images: &Path, labels: &Path, classes: Vec<String>) -> Result<Arrays> {
    let (mut pixels, [count, height, width]) = header::<3>(images, "images")?;
    if height == 0 || width == 0 {
        return Err(pixels.error_at(8, format!("images of {width}x{height} pixels")));
    }
    // The product of three 32-bit numbers can exceed 64 bits.
    let size = u64::from(count).checked_mul(u64::from(height) * u64::from(width));
    let what = format!("the header's {count} images of {width}x{height} pixels");
    let size = size.ok_or_else(|| pixels.error_at(4, format!("{what} are more than any file")))?;

    let (mut targets, [labelled]) = header::<1>(labels, "labels")?;
    if labelled != count {
        let reason = format!("{labelled} labels, but {} has {count} images", images.display());
        return Err(targets.error_at(4, reason));
    }
    let values = targets.rest(labelled.into(), &format!("the header's {labelled} labels"))?;
    if !classes.is_empty()
        && let Some(at) = values.iter().position(|&label| usize::from(label) >= classes.len())
    {
        let reason = format!("label {} of image {at}, but there are {} classes", values[at], classes.len());
        return Err(targets.error_at(8 + at as u64, reason));
    }
    let pixels = pixels.rest(size, &what)?;
    let shape = [count as usize, height as usize, width as usize, 1];
    Ok(Arrays::nhwc(shape, pixels)?
        .with_labels(values.into_iter().map(u32::from).collect::<Vec<_>>())?
        .with_classes(classes)
        .with_source(images.display().to_string()))
}

/// Opens the file at `path`, an array of bytes of `N` dimensions, and reads their sizes.
fn header<const N: usize>(path: &Path, what: &str) -> Result<(Unpacked<'static>, [u32; N])> {
    let mut source = Unpacked::open(path)?;
    let magic: [u8; 4] = source.take("an IDX header")?;
    let expected = [0, 0, 8, N as u8];
    if magic != expected {
        let reason = match magic {
            [0, 0, 8, dimensions] => format!("IDX of {dimensions} dimensions, but {what} have {N}"),
            [0, 0, kind @ (9 | 11..=14), _] => format!("IDX of type {kind:#04x}, but {what} are bytes, type 0x08"),
            _ => format!("not an IDX file of {what}: it begins with {magic:02x?} instead of {expected:02x?}"),
        };
        return Err(source.error_at(0, reason));
    }
    let mut sizes = [0; N];
    for size in &mut sizes {
        *size = u32::from_be_bytes(source.take("an IDX header")?);
    }
    Ok((source, sizes))
}

#[cfg(test)]
mod tests {
    use super::super::unpacked::tests::gzip;
    use super::*;
    use crate::{Dataset, ErrorKind, Label};
    use std::fs;

    fn bytes(kind: [u8; 2], sizes: &[u32], values: &[u8]) -> Vec<u8> {
        let sizes = sizes.iter().flat_map(|size| size.to_be_bytes());
        [0, 0].into_iter().chain(kind).chain(sizes).chain(values.iter().copied()).collect()
    }

    fn images(count: u8) -> Vec<u8> {
        bytes([8, 3], &[count.into(), 2, 3], &(0..count * 6).collect::<Vec<_>>())
    }

    fn labels(count: u8) -> Vec<u8> {
        bytes([8, 1], &[count.into()], &(0..count).collect::<Vec<_>>())
    }

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            Files(tempfile::tempdir().unwrap())
        }

        fn read(&self, images: &[u8], labels: &[u8]) -> Result<Arrays> {
            let [a, b] = ["images", "labels"].map(|name| self.0.path().join(name));
            fs::write(&a, images).unwrap();
            fs::write(&b, labels).unwrap();
            Idx::from_files(a, b)
        }

        fn refused(&self, images: &[u8], labels: &[u8]) -> String {
            let error = self.read(images, labels).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::DataFile { path, .. } if path.starts_with(self.0.path())),
                "{error}"
            );
            error.to_string()
        }
    }

    #[test]
    fn raw_and_gzip_read_alike() {
        let files = Files::new();
        for images in [images(4), gzip(&images(4))] {
            let data = files.read(&images, &labels(4)).unwrap();
            assert_eq!((data.len(), data.width(), data.height(), data.channels()), (4, 3, 2, 1));
            assert_eq!(data.pixels(), (0..24).collect::<Vec<u8>>());
            assert_eq!(data.targets(), Some(&[0, 1, 2, 3][..]));
            assert!(data.name(3).ends_with("images, image 3"), "{}", data.name(3));
            assert_eq!(data.transposed().pixels()[..6], [0, 3, 1, 4, 2, 5]);
        }
        assert!(files.read(&images(0), &labels(0)).unwrap().is_empty());
    }

    #[test]
    fn files_are_found_by_torchvisions_names() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let missing = Idx::mnist(root.path(), Split::Train).unwrap_err().to_string();
        assert!(missing.contains("train-images-idx3-ubyte: no such file here or in the folder raw"), "{missing}");
        fs::create_dir(at("raw")).unwrap();
        fs::write(at("raw/train-images-idx3-ubyte.gz"), gzip(&images(2))).unwrap();
        fs::write(at("train-labels.idx1-ubyte"), labels(2)).unwrap();
        fs::write(at("emnist-letters-test-images-idx3-ubyte"), images(3)).unwrap();
        fs::write(at("emnist-letters-test-labels-idx1-ubyte.gz"), gzip(&labels(3))).unwrap();

        assert_eq!(Idx::mnist(root.path(), Split::Train).unwrap().classes()[9], "9 - nine");
        assert_eq!(Idx::fashion_mnist(root.path(), Split::Train).unwrap().classes()[9], "Ankle boot");
        assert_eq!(Idx::kmnist(root.path(), Split::Train).unwrap().classes()[9], "wo");
        assert!(Idx::open(root.path(), Split::Train).unwrap().classes().is_empty());
        assert!(matches!(Idx::mnist(root.path(), Split::Test).unwrap_err().kind(), ErrorKind::Io { .. }));
        let letters = Idx::emnist(root.path(), Emnist::Letters, Split::Test).unwrap();
        assert_eq!(letters.read(2, &mut Vec::new()).unwrap().label, Label::Class(2));
        assert_eq!((letters.classes().len(), &letters.classes()[..2]), (27, &["N/A".to_owned(), "a".to_owned()][..]));
    }

    #[test]
    fn torchvisions_roots_are_opened() {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, stem: &str| {
            let raw = root.path().join(folder).join("raw");
            fs::create_dir_all(&raw).unwrap();
            fs::write(raw.join(format!("{stem}-images-idx3-ubyte")), images(3)).unwrap();
            fs::write(raw.join(format!("{stem}-labels-idx1-ubyte")), labels(3)).unwrap();
        };
        for stem in ["train", "t10k"] {
            write("a/MNIST", stem);
            write("b/FashionMNIST", stem);
            write("both/KMNIST", stem);
            write("both/FashionMNIST", stem);
        }
        write("c/EMNIST", "emnist-digits-train");
        let at = |folder: &str| root.path().join(folder);
        for (folder, first, test) in [("a", "0 - zero", true), ("b", "T-shirt/top", true), ("c", "0", false)] {
            assert_eq!(crate::dataset::Format::detect(at(folder)), crate::dataset::Format::Idx, "{folder}");
            let opened = crate::dataset::open(at(folder)).unwrap();
            assert_eq!((opened.train.len(), &*opened.train.classes()[0], opened.test.is_some()), (3, first, test));
        }
        let error = crate::dataset::open(at("both")).unwrap_err().to_string();
        assert!(error.contains("holds several sets, FashionMNIST, KMNIST: name the folder of one"), "{error}");
        assert_eq!(Idx::kmnist(at("both"), Split::Test).unwrap().classes()[0], "o");
        assert_eq!(Idx::emnist(at("c"), Emnist::Digits, Split::Train).unwrap().len(), 3);
        assert!(Idx::mnist(at("both"), Split::Test).is_err());
        // Which of two sets is meant is not guessed.
        fs::create_dir_all(at("a/cifar-10-batches-py")).unwrap();
        fs::write(at("a/cifar-10-batches-py/data_batch_1"), "").unwrap();
        let error = crate::dataset::open(at("a")).unwrap_err().to_string();
        assert!(error.contains("holds several sets, MNIST, CIFAR: name the folder of one"), "{error}");
    }

    #[test]
    fn refuses_every_cut_and_every_longer_file() {
        let files = Files::new();
        let (images, labels) = (images(3), labels(3));
        files.read(&images, &labels).unwrap();
        for end in 0..images.len() {
            files.refused(&images[..end], &labels);
        }
        for end in 0..labels.len() {
            files.refused(&images, &labels[..end]);
        }
        let longer = |bytes: &[u8]| [bytes, &[0]].concat();
        assert!(
            files.refused(&longer(&images), &labels).contains("takes 18 bytes from here on, but the file has 19 more")
        );
        assert!(files.refused(&images, &longer(&labels)).contains("the header's 3 labels"));
        assert!(files.refused(&gzip(&longer(&images)), &labels).contains("should end here"));
    }

    #[test]
    fn refuses_what_is_something_else() {
        let files = Files::new();
        let refused = |images: &[u8]| files.refused(images, &labels(3));
        assert!(
            refused(b"\x89PNG\r\n\x1a\n")
                .contains("byte 0: not an IDX file of images: it begins with [89, 50, 4e, 47]")
        );
        assert!(refused(&labels(3)).contains("IDX of 1 dimensions, but images have 3"));
        assert!(refused(&bytes([13, 3], &[1, 1, 1], &[0; 4])).contains("IDX of type 0x0d, but images are bytes"));
        assert!(refused(&bytes([8, 3], &[3, 0, 3], &[])).contains("images of 3x0 pixels"));
        let other = files.refused(&images(3), &labels(4));
        assert!(other.contains("labels, byte 4: 4 labels, but ") && other.ends_with("has 3 images"), "{other}");
    }

    #[test]
    fn a_header_is_not_believed_before_the_file() {
        let files = Files::new();
        let huge = bytes([8, 3], &[3, 1 << 30, 1 << 30], &[0; 100]);
        assert!(files.refused(&huge, &labels(3)).contains("but the file has 100 more"));
        assert!(
            files.refused(&gzip(&huge), &labels(3)).contains("a packed file as small as this cannot hold more than")
        );
        let most = bytes([8, 3], &[u32::MAX; 3], &[]);
        assert!(files.refused(&most, &bytes([8, 1], &[u32::MAX], &[])).contains("are more than any file"));
        // 40 MB of zeros packed in 40 KB, of which the header asks for one byte: no more is unpacked.
        let bomb = gzip(&bytes([8, 3], &[1, 1, 1], &vec![0; 40 << 20]));
        assert!(bomb.len() < 64 << 10);
        assert!(files.refused(&bomb, &labels(1)).contains("byte 17 (unpacked): more bytes"));
    }

    #[test]
    fn labels_have_a_name() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("t10k-images-idx3-ubyte"), images(12)).unwrap();
        fs::write(root.path().join("t10k-labels-idx1-ubyte"), labels(12)).unwrap();
        let refused = Idx::mnist(root.path(), Split::Test).unwrap_err().to_string();
        assert!(
            refused.ends_with("t10k-labels-idx1-ubyte, byte 18: label 10 of image 10, but there are 10 classes"),
            "{refused}"
        );
        Idx::open(root.path(), Split::Test).unwrap();
    }
}
