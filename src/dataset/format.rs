//! Detection of a data set's format by its path.

use std::fs;
use std::path::Path;

use super::opening::{OpenOptions, Opened};
use super::{Cifar, Coco, Idx, MaskFolder, UNFINISHED, Voc, Yolo};
use crate::error::Result;
use crate::storage::{Address, Location, Remote, RemoteOptions, check};

/// Format of a data set, detected by its path's name and the names of its files.
///
/// | path | is |
/// |---|---|
/// | a file `instances_*.json`, `person_keypoints_*.json` or `*.coco.json` | [`Coco`](Self::Coco) |
/// | another file `.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json` | [`List`](Self::List) |
/// | a file `.npy`, `.npz` | [`Numpy`](Self::Numpy) |
/// | a file `.tar`, a brace list of them, a folder with some and without folders | [`Tar`](Self::Tar) |
/// | a file `.parquet`, a brace list of them, a folder with some, itself or where Hugging Face's Hub has them | [`Parquet`](Self::Parquet) |
/// | a file `.mdb`, a folder with `data.mdb` | [`Lmdb`](Self::Lmdb) |
/// | a folder with `train-images-idx3-ubyte` and its like (MNIST's, or one part of EMNIST), or with a folder `raw` of these, or torchvision's root (`root/MNIST/raw`) | [`Idx`](Self::Idx) |
/// | a folder with CIFAR's files, or with the folder that they come in | [`Cifar`](Self::Cifar) |
/// | a folder with `JPEGImages` and `Annotations`, or the list of a split, `ImageSets/Main/*.txt` | [`Voc`](Self::Voc) |
/// | a folder with `images` and `masks`, `images` and `annotations` of PNG files, or `JPEGImages` and `SegmentationClass`, or the list of a split, `ImageSets/Segmentation/*.txt` | [`Masks`](Self::Masks) |
/// | a file `.yaml`, `.yml`, a folder with `images` and `labels`, a folder with `data.yaml` and `images` or `train` | [`Yolo`](Self::Yolo) |
/// | another folder with folders | [`Folder`](Self::Folder) |
/// | another folder | [`Images`](Self::Images) |
///
/// An address in a store or on a web server (feature `remote`) is [`Parquet`](Self::Parquet) if it ends in `.parquet`,
/// or is a folder of a store with such objects and no `*.tar`; else it is [`Tar`](Self::Tar). No other format is read
/// from a store.
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
    /// A folder for each class: [`ImageFolder`](super::ImageFolder).
    Folder,
    /// Images without classes: [`ImageFolder::flat`](super::ImageFolder::flat).
    Images,
    /// A list of files: [`ImageList`](super::ImageList).
    List,
    /// NumPy arrays: [`Numpy`](super::Numpy).
    Numpy,
    /// Tar shards: [`TarShards`](super::TarShards).
    Tar,
    /// An LMDB database: [`Lmdb`](super::Lmdb).
    Lmdb,
    /// MNIST and data sets in its format: [`Idx`].
    Idx,
    /// CIFAR-10 or CIFAR-100: [`Cifar`].
    Cifar,
    /// Parquet files: `Parquet`, which needs the feature `parquet`.
    Parquet,
    /// COCO's annotations of objects: [`Coco`].
    Coco,
    /// Pascal VOC's annotations of objects: [`Voc`].
    Voc,
    /// YOLO's annotations of objects: [`Yolo`].
    Yolo,
    /// A folder of images beside a folder of masks: [`MaskFolder`].
    Masks,
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
    open_with(path, RemoteOptions::new())
}

/// As [`open`], with settings: [`OpenOptions`], or [`RemoteOptions`] alone. With
/// [`RemoteOptions::cache`] the indexes of shards in a store stay on this machine, too, so that opening
/// a second time reads no shard.
///
/// ```no_run
/// use gpufeed::dataset::{self, OpenOptions, RemoteOptions};
///
/// let options = RemoteOptions::new().cache("/scratch/photos", 200 << 30);
/// let photos = dataset::open_with("s3://photos/train-{000000..000146}.tar", options)?;
/// let captioned = dataset::open_with("laion", OpenOptions::new().fields([("txt", "caption")]))?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`open`], and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for fields where the samples of the
/// format have none.
pub fn open_with(path: impl AsRef<Path>, options: impl Into<OpenOptions>) -> Result<Opened> {
    let (path, options) = (path.as_ref(), options.into());
    Format::detect_with(path, options.of_remote())?.open_with(path, options)
}

impl Format {
    /// Detects the format by names alone: lists folders, and reads no file. The folder of a store is listed with the
    /// settings of the environment; where that fails, the format is [`Tar`](Format::Tar), and opening it says why.
    pub fn detect(path: impl AsRef<Path>) -> Format {
        let path = path.as_ref();
        if let Location::Address(address) = Location::from(path) {
            let folder = || Self::of_folder(&address, &RemoteOptions::new()).unwrap_or(Format::Tar);
            return Self::of_address(&address).unwrap_or_else(folder);
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
            Some("json") if Coco::is_named(&name) && !path.is_dir() => return Format::Coco,
            Some("csv" | "tsv" | "jsonl" | "ndjson" | "json") if !path.is_dir() => return Format::List,
            Some("npy" | "npz") if !path.is_dir() => return Format::Numpy,
            Some("yaml" | "yml") if !path.is_dir() => return Format::Yolo,
            Some("txt") if Voc::is_list(path) && !path.is_dir() => return Format::Voc,
            Some("txt") if MaskFolder::is_list(path) && !path.is_dir() => return Format::Masks,
            _ => {}
        }
        // An unfinished result of `gpufeed pack` is not an image folder: opening it as LMDB explains that.
        if ["data.mdb", ".data.mdb.part"].iter().any(|file| path.join(file).is_file()) {
            return Format::Lmdb;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let (folders, files): (Vec<_>, Vec<_>) =
            entries.filter(|path| !is_hidden(path)).partition(|path| path.is_dir());
        let holds = |ending: &str| files.iter().any(|file| file.extension().is_some_and(|end| end == ending));
        // img2dataset writes a Parquet file beside each shard, and leaves a folder where it is stopped.
        let shards = holds("tar") && (folders.is_empty() || holds("parquet"));
        let list = !path.exists() && path.to_string_lossy().contains('{');
        if shards || list || path.join(UNFINISHED).exists() {
            Format::Tar
        } else if holds_parquet(path) {
            Format::Parquet
        } else if Idx::is_in(path) {
            Format::Idx
        } else if Cifar::is_in(path) {
            Format::Cifar
        } else if Voc::is_in(path) {
            Format::Voc
        } else if Yolo::is_in(path) {
            Format::Yolo
        } else if MaskFolder::is_in(path) {
            Format::Masks
        } else if !folders.is_empty() || !path.is_dir() {
            Format::Folder
        } else {
            Format::Images
        }
    }

    /// As [`detect`](Self::detect), with the settings with which the folder of a store is listed.
    ///
    /// ```no_run
    /// use gpufeed::dataset::{Format, RemoteOptions};
    ///
    /// let options = RemoteOptions::new().store("AWS_SKIP_SIGNATURE", "true");
    /// assert_eq!(Format::detect_with("s3://photos/train", &options)?, Format::Parquet);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of listing a store's folder.
    pub fn detect_with(path: impl AsRef<Path>, options: &RemoteOptions) -> Result<Format> {
        match Location::from(path.as_ref()) {
            Location::Path(path) => Ok(Self::detect(path)),
            Location::Address(address) => {
                check(&address)?;
                Self::of_address(&address).map_or_else(|| Self::of_folder(&address, options), Ok)
            }
        }
    }

    /// Detects the format by the ending of an address; `None` for that of a folder, whose name may have a dot, too.
    fn of_address(address: &Address) -> Option<Format> {
        let shown = address.to_string();
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
    fn of_folder(address: &Address, options: &RemoteOptions) -> Result<Format> {
        // Without that feature all but tar shards are refused, in words that name it.
        if !cfg!(feature = "parquet") {
            return Ok(Format::Tar);
        }
        let listed = Remote::new(options)?.list(address.with_credentials())?;
        let holds = |ending: &str| listed.iter().any(|object| object.file_name().ends_with(ending));
        Ok(if holds(".parquet") && !holds(".tar") { Format::Parquet } else { Format::Tar })
    }

    /// Opens the path in this format.
    ///
    /// # Errors
    ///
    /// The errors of [`open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Opened> {
        self.open_with(path, OpenOptions::new())
    }

    /// Opens the path in this format as it is: samples may lack a label, and class folders may have no images.
    ///
    /// ```
    /// use gpufeed::dataset::Format;
    ///
    /// # let root = tempfile::tempdir()?;
    /// for class in ["cat", "dog"] {
    ///     std::fs::create_dir(root.path().join(class))?;
    /// }
    /// std::fs::write(root.path().join("cat/1.jpg"), "")?;
    /// let format = Format::detect(root.path());
    /// assert!(format.open(root.path()).is_err());
    /// assert_eq!(format.open_as_is(root.path())?.train.classes(), ["cat", "dog"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`open`], except those two.
    pub fn open_as_is(self, path: impl AsRef<Path>) -> Result<Opened> {
        self.open_with(path, OpenOptions::new().as_is(true))
    }

    /// Opens the path in this format with settings.
    ///
    /// ```no_run
    /// use gpufeed::dataset::{Format, OpenOptions};
    ///
    /// let opened = Format::Tar.open_with("laion/{00000..00127}.tar", OpenOptions::new().fields([("txt", "caption")]))?;
    /// assert_eq!(opened.train.fields()[0].name(), "caption");
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`open_with`].
    pub fn open_with(self, path: impl AsRef<Path>, options: impl Into<OpenOptions>) -> Result<Opened> {
        let (path, options) = (path.as_ref(), options.into());
        if let Location::Address(address) = Location::from(path) {
            check(&address)?;
            self.check_remote(&address)?;
        }
        match self {
            Format::Folder => options.folder(path),
            Format::Images => options.images(path),
            Format::List => options.list(path),
            Format::Numpy => options.numpy(path),
            Format::Tar => options.tar(path),
            Format::Lmdb => options.lmdb(path),
            Format::Idx => options.idx(path),
            Format::Cifar => options.cifar(path),
            Format::Parquet => options.parquet(path),
            Format::Coco => options.coco(path),
            Format::Voc => options.voc(path),
            Format::Yolo => options.yolo(path),
            Format::Masks => options.masks(path),
        }
    }

    /// Refuses formats that are read from this machine alone.
    fn check_remote(self, address: &Address) -> Result<()> {
        if matches!(self, Format::Tar | Format::Parquet) {
            return Ok(());
        }
        let reason =
            "only tar shards and Parquet files are read from a store; `gpufeed pack` makes shards of any data set";
        Err(address.refused(reason))
    }
}

#[cfg(feature = "parquet")]
fn holds_parquet(folder: &Path) -> bool {
    super::parquet::is_in(folder)
}

#[cfg(not(feature = "parquet"))]
fn holds_parquet(_: &Path) -> bool {
    false
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests;
