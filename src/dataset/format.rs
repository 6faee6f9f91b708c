//! Detection of a data set's format by its path.

use std::fs;
use std::path::Path;

use super::Lmdb;
use super::address;
use super::{Arrays, Cifar, Dataset, Idx, ImageFolder, ImageList, Numpy, TarShards, UNFINISHED};
use crate::error::{Error, Result};

/// Format of a data set, detected by its path's name and the names of its files.
///
/// | path | is |
/// |---|---|
/// | a file `.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json` | [`List`](Self::List) |
/// | a file `.npy`, `.npz` | [`Numpy`](Self::Numpy) |
/// | a file `.tar`, a brace list of them, a folder with some and without folders | [`Tar`](Self::Tar) |
/// | a file `.parquet`, a brace list of them, a folder with some, itself or where Hugging Face's Hub has them | [`Parquet`](Self::Parquet) |
/// | a file `.mdb`, a folder with `data.mdb` | [`Lmdb`](Self::Lmdb) |
/// | a folder with `train-images-idx3-ubyte` and its like (MNIST's, or one part of EMNIST), or with a folder `raw` of these | [`Idx`](Self::Idx) |
/// | a folder with CIFAR's files, or with the folder that they come in | [`Cifar`](Self::Cifar) |
/// | another folder with folders | [`Folder`](Self::Folder) |
/// | another folder | [`Images`](Self::Images) |
///
/// An address in a store or on a web server (feature `remote`) is [`Parquet`](Self::Parquet) if it ends in `.parquet`, or is
/// a folder of a store with such objects and no `*.tar`; else it is [`Tar`](Self::Tar). No other format is read from afar.
///
/// Folders whose names begin with a dot are ignored. Fashion-MNIST and KMNIST name their files as MNIST does. So
/// classes of [`Idx`](Self::Idx) have names only if the folder is called `MNIST`, `FashionMNIST` or `KMNIST`, as
/// torchvision calls it.
///
/// ```
/// use gpufeed::dataset::Format;
///
/// assert_eq!(Format::detect("train-{000..099}.tar"), Format::Tar);
/// assert_eq!(Format::detect("labels.csv"), Format::List);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A folder for each class: [`ImageFolder`].
    Folder,
    /// Images without classes: [`ImageFolder::flat`].
    Images,
    /// A list of files: [`ImageList`].
    List,
    /// NumPy arrays: [`Numpy`].
    Numpy,
    /// Tar shards: [`TarShards`].
    Tar,
    /// An LMDB database: [`Lmdb`](super::Lmdb).
    Lmdb,
    /// MNIST and data sets in its format: [`Idx`].
    Idx,
    /// CIFAR-10 or CIFAR-100: [`Cifar`].
    Cifar,
    /// Parquet files: `Parquet`, which needs the feature `parquet`.
    Parquet,
}

/// Result of [`open`].
///
/// ```no_run
/// let opened = gpufeed::dataset::open("MNIST")?;
/// println!("{} to train on, {} to test with", opened.train.len(), opened.test.map_or(0, |test| test.len()));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub struct Opened {
    /// All samples, or the training split.
    pub train: Box<dyn Dataset>,
    /// The test split, if the data set comes in two (MNIST, CIFAR, an `.npz` with `train` and `test`, a folder of Parquet
    /// files with `train` and with `validation` or `test`) and the path has its files.
    pub test: Option<Box<dyn Dataset>>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lengths = (self.train.len(), self.test.as_ref().map(|test| test.len()));
        f.debug_struct("Opened").field("lengths", &lengths).finish_non_exhaustive()
    }
}

/// Opens the data set at a path, in any [`Format`]; with the feature `remote` also tar shards and Parquet files at an
/// address: `s3://photos/train-{000..146}.tar`, `gs://photos/data`, `https://host/test.parquet`.
///
/// ```
/// use gpufeed::dataset;
///
/// # let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("pets.csv"), "path,label\n1.jpg,dog\n2.jpg,cat\n")?;
/// let pets = dataset::open(root.path().join("pets.csv"))?;
/// assert_eq!(pets.train.classes(), ["cat", "dog"]);
/// assert!(pets.test.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The errors of the format's type.
pub fn open(path: impl AsRef<Path>) -> Result<Opened> {
    let path = path.as_ref();
    #[cfg(feature = "remote")]
    if address::of(path).is_some() {
        return open_with(path, super::RemoteOptions::new());
    }
    Format::detect(path).open(path)
}

/// As [`open`], with settings for stores, which a path on this machine does not need: with
/// [`RemoteOptions::cache`](super::RemoteOptions::cache) the indexes of shards stay on this machine, too, so that opening
/// a second time reads no shard.
///
/// ```no_run
/// use gpufeed::dataset::{self, RemoteOptions};
///
/// let options = RemoteOptions::new().cache("/scratch/photos", 200 << 30);
/// let opened = dataset::open_with("s3://photos/train-{000000..000146}.tar", options)?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`open`].
#[cfg(feature = "remote")]
pub fn open_with(path: impl AsRef<Path>, options: super::RemoteOptions) -> Result<Opened> {
    let path = path.as_ref();
    let Some(address) = address::of(path) else { return Format::detect(path).open(path) };
    address::check(address)?;
    let format = match Format::of_address(address) {
        Some(format) => format,
        None => Format::of_folder(address, &options)?,
    };
    match format {
        Format::Tar => Ok(Opened { train: Box::new(TarShards::builder().remote(options).open(path)?), test: None }),
        #[cfg(feature = "parquet")]
        Format::Parquet => Ok(splits(super::Parquet::builder().remote(options).parts(path)?)),
        _ => format.open(path),
    }
}

impl Format {
    /// Detects the format by names alone: lists folders, and reads no file. The folder of a store is listed with the
    /// settings of the environment; where that fails, the format is [`Tar`](Format::Tar), and opening it says why.
    pub fn detect(path: impl AsRef<Path>) -> Format {
        let path = path.as_ref();
        if let Some(address) = address::of(path) {
            #[cfg(feature = "remote")]
            let folder = || Self::of_folder(address, &super::RemoteOptions::new()).unwrap_or(Format::Tar);
            #[cfg(not(feature = "remote"))]
            let folder = || Format::Tar;
            return Self::of_address(address).unwrap_or_else(folder);
        }
        let compressed = [".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"];
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        // The reader of shards says what to do with these.
        if compressed.iter().any(|end| name.ends_with(end)) && !path.is_dir() {
            return Format::Tar;
        }
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("mdb") => return Format::Lmdb,
            Some("tar") => return Format::Tar,
            Some("parquet") => return Format::Parquet,
            Some("csv" | "tsv" | "jsonl" | "ndjson" | "json") if !path.is_dir() => return Format::List,
            Some("npy" | "npz") if !path.is_dir() => return Format::Numpy,
            _ => {}
        }
        // An unfinished result of `gpufeed pack` is not an image folder: opening it as LMDB explains that.
        if ["data.mdb", ".data.mdb.part"].iter().any(|file| path.join(file).is_file()) {
            return Format::Lmdb;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let (folders, files): (Vec<_>, Vec<_>) =
            entries.filter(|path| !is_hidden(path)).partition(|path| path.is_dir());
        let shards = folders.is_empty() && files.iter().any(|file| file.extension().is_some_and(|end| end == "tar"));
        let list = !path.exists() && path.to_string_lossy().contains('{');
        if shards || list || path.join(UNFINISHED).exists() {
            Format::Tar
        } else if holds_parquet(path) {
            Format::Parquet
        } else if Idx::is_in(path) {
            Format::Idx
        } else if Cifar::is_in(path) {
            Format::Cifar
        } else if !folders.is_empty() || !path.is_dir() {
            Format::Folder
        } else {
            Format::Images
        }
    }

    /// Detects the format by the ending of an address; `None` for that of a folder, whose name may have a dot, too.
    fn of_address(text: &str) -> Option<Format> {
        let shown = address::without_credentials(text);
        let name = shown.rsplit('/').next().unwrap_or_default();
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "parquet" => Some(Format::Parquet),
            "mdb" => Some(Format::Lmdb),
            "csv" | "tsv" | "jsonl" | "ndjson" | "json" => Some(Format::List),
            "npy" | "npz" => Some(Format::Numpy),
            // The reader of shards says what to do with those that are compressed.
            "tar" | "tgz" | "gz" | "bz2" | "xz" | "zst" => Some(Format::Tar),
            _ => None,
        }
    }

    /// Detects the format by the objects of a folder in a store.
    ///
    /// # Errors
    ///
    /// A store that cannot be listed.
    #[cfg(feature = "remote")]
    fn of_folder(address: &str, options: &super::RemoteOptions) -> Result<Format> {
        // Without that feature all but tar shards are refused, in words that name it.
        if !cfg!(feature = "parquet") {
            return Ok(Format::Tar);
        }
        let listed = super::Remote::new(options)?.list(address)?;
        let holds = |ending: &str| listed.iter().any(|object| object.file_name().ends_with(ending));
        Ok(if holds(".parquet") && !holds(".tar") { Format::Parquet } else { Format::Tar })
    }

    /// Opens the path in this format.
    ///
    /// # Errors
    ///
    /// The errors of [`open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Opened> {
        fn whole(data: impl Dataset + 'static) -> Opened {
            Opened { train: Box::new(data), test: None }
        }
        let path = path.as_ref();
        if let Some(address) = address::of(path) {
            address::check(address)?;
            self.check_remote(address)?;
        }
        Ok(match self {
            Format::Folder => whole(ImageFolder::open(path)?),
            Format::Images => whole(ImageFolder::flat(path)?),
            Format::List => whole(ImageList::open(path)?),
            Format::Numpy => parts(Numpy::parts(path, true)?),
            Format::Tar => whole(TarShards::open(path)?),
            Format::Lmdb => whole(Lmdb::open(path)?),
            Format::Idx => parts(Idx::parts(path)?),
            Format::Cifar => parts(Cifar::parts(path)?),
            Format::Parquet => return open_parquet(path),
        })
    }

    /// Refuses formats that are read from this machine alone.
    fn check_remote(self, address: &str) -> Result<()> {
        if matches!(self, Format::Tar | Format::Parquet) {
            return Ok(());
        }
        let shown = address::without_credentials(address);
        let reason = format!(
            "{shown}: only tar shards and Parquet files are read from a store; `gpufeed pack` makes shards of any data set"
        );
        Err(Error::argument("address", reason))
    }
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path) -> Result<Opened> {
    Ok(splits(super::Parquet::parts(path)?))
}

#[cfg(feature = "parquet")]
fn splits((train, test): (super::Parquet, Option<super::Parquet>)) -> Opened {
    Opened { train: Box::new(train), test: test.map(|test| Box::new(test) as Box<dyn Dataset>) }
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path) -> Result<Opened> {
    let reason = "this program was built without gpufeed's feature `parquet`; build it with that feature";
    Err(Error::data_file(path, "Parquet files", reason))
}

#[cfg(feature = "parquet")]
fn holds_parquet(folder: &Path) -> bool {
    super::parquet::is_in(folder)
}

#[cfg(not(feature = "parquet"))]
fn holds_parquet(_: &Path) -> bool {
    false
}

fn parts((train, test): (Arrays, Option<Arrays>)) -> Opened {
    Opened { train: Box::new(train), test: test.map(|test| Box::new(test) as Box<dyn Dataset>) }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_known_by_its_names() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for (file, folder, format) in [
            ("tars/1.tar", "tars", Format::Tar),
            ("lmdb/data.mdb", "lmdb", Format::Lmdb),
            ("mnist/train-images-idx3-ubyte.gz", "mnist", Format::Idx),
            ("MNIST/raw/t10k-images-idx3-ubyte", "MNIST", Format::Idx),
            ("c10/cifar-10-batches-py/data_batch_1", "c10", Format::Cifar),
            ("c100/test.bin", "c100", Format::Cifar),
            ("folder/cat/1.jpg", "folder", Format::Folder),
            ("images/1.jpg", "images", Format::Images),
            ("list.jsonl", "list.jsonl", Format::List),
            ("x.npz", "x.npz", Format::Numpy),
            ("x.mdb", "x.mdb", Format::Lmdb),
            ("x.parquet", "x.parquet", Format::Parquet),
            #[cfg(feature = "parquet")]
            ("hub/data/train-00000-of-00001.parquet", "hub", Format::Parquet),
        ] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), b"not read").unwrap();
            assert_eq!(Format::detect(at(folder)), format, "{folder}");
        }
        assert_eq!(Format::detect(at("no-{0..3}.tar")), Format::Tar);
        // A missing path is not taken for an image folder, and the error names it.
        assert!(open(at("nothing")).unwrap_err().to_string().contains("nothing"));
    }

    #[test]
    fn an_address_of_no_known_store_is_refused_without_its_credentials() {
        let error = open("ftp://user:secret@host/a.tar").unwrap_err().to_string();
        assert!(error.starts_with("address: ftp://host/a.tar: this scheme is not known"), "{error}");
    }

    #[test]
    fn folders_with_something_else_in_them() {
        let root = tempfile::tempdir().unwrap();
        let detect = |folder: &str, files: &[&str]| {
            for file in files {
                let path = root.path().join(folder).join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, b"not read").unwrap();
            }
            Format::detect(root.path().join(folder))
        };
        assert_eq!(detect("classes", &["cat/1.jpg", "dog/2.jpg", "download.tar"]), Format::Folder);
        assert_eq!(detect("images", &["1.jpg", ".thumbnails/1.png", ".git/HEAD"]), Format::Images);
        assert_eq!(detect("shards", &["1.tar", ".git/HEAD"]), Format::Tar);
        assert_eq!(detect("hidden", &["1.jpg", ".1.tar"]), Format::Images);
        // Images in hidden folders do not count.
        assert_eq!(open(root.path().join("images")).unwrap().train.len(), 1);
    }

    #[test]
    fn what_is_not_finished_says_so() {
        for mark in [UNFINISHED, ".data.mdb.part"] {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join(mark), b"").unwrap();
            fs::write(root.path().join("1.jpg"), b"").unwrap();
            let error = open(root.path()).unwrap_err().to_string();
            assert!(error.contains("finished"), "{mark}: {error}");
        }
    }

    /// Writes the files of a part: `count` images of 1x1 pixels, all of class `label`.
    fn idx(folder: &Path, stem: &str, count: u8, label: u8) {
        let images = [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1][..], &vec![9; count.into()]].concat();
        let labels = [&[0, 0, 8, 1, 0, 0, 0, count][..], &vec![label; count.into()]].concat();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(format!("{stem}-images-idx3-ubyte")), images).unwrap();
        fs::write(folder.join(format!("{stem}-labels-idx1-ubyte")), labels).unwrap();
    }

    #[test]
    fn names_of_classes_are_those_of_the_data_set() {
        let root = tempfile::tempdir().unwrap();
        for (folder, names) in [("MNIST", Some("9 - nine")), ("FashionMNIST", Some("Ankle boot")), ("other", None)] {
            let folder = root.path().join(folder);
            idx(&folder.join("raw"), "train", 2, 9);
            for folder in [&folder, &folder.join("raw")] {
                let opened = open(folder).unwrap();
                assert_eq!(opened.train.classes().get(9).map(String::as_str), names, "{}", folder.display());
            }
        }
        // The label 30 is above the ten digits, so the classes get no names.
        idx(&root.path().join("symbols"), "train", 2, 30);
        assert!(open(root.path().join("symbols")).unwrap().train.classes().is_empty());
    }

    #[test]
    fn a_part_of_emnist_is_known_by_its_names() {
        let root = tempfile::tempdir().unwrap();
        idx(&root.path().join("raw"), "emnist-letters-train", 3, 26);
        assert_eq!(Format::detect(root.path()), Format::Idx);
        let opened = open(root.path()).unwrap();
        assert_eq!((opened.train.len(), opened.train.classes().len(), opened.test.is_some()), (3, 27, false));
        idx(root.path(), "emnist-letters-test", 2, 1);
        assert_eq!(open(root.path()).unwrap().test.unwrap().len(), 2);
        idx(root.path(), "emnist-digits-test", 2, 1);
        let error = open(root.path()).unwrap_err().to_string();
        assert!(error.contains("the parts letters, digits of EMNIST"), "{error}");
    }

    #[test]
    fn a_set_in_two_parts_may_lack_the_second() {
        let root = tempfile::tempdir().unwrap();
        let image = |class: u8| [&[class][..], &[9; 3072]].concat();
        fs::write(root.path().join("data_batch_1.bin"), image(3)).unwrap();
        for batch in 2..6 {
            fs::write(root.path().join(format!("data_batch_{batch}.bin")), image(4)).unwrap();
        }
        let opened = open(root.path()).unwrap();
        assert_eq!((opened.train.len(), opened.test.is_some()), (5, false));
        // The second part of another data set does not count.
        fs::create_dir(root.path().join("cifar-100-binary")).unwrap();
        fs::write(root.path().join("cifar-100-binary/test.bin"), [&[0][..], &image(5)].concat()).unwrap();
        assert!(open(root.path()).unwrap().test.is_none());
        fs::write(root.path().join("test_batch.bin"), image(5)).unwrap();
        assert_eq!(open(root.path()).unwrap().test.map(|test| test.len()), Some(1));
        // A damaged second part is an error.
        fs::write(root.path().join("test_batch.bin"), b"cut short").unwrap();
        assert!(open(root.path()).is_err());
        // A second part of which a file is missing is an error.
        let mnist = tempfile::tempdir().unwrap();
        idx(mnist.path(), "train", 2, 1);
        idx(mnist.path(), "t10k", 1, 1);
        assert_eq!(open(mnist.path()).unwrap().test.map(|test| test.len()), Some(1));
        fs::remove_file(mnist.path().join("t10k-labels-idx1-ubyte")).unwrap();
        assert!(open(mnist.path()).unwrap_err().to_string().contains("t10k-labels-idx1-ubyte"));
    }
}
