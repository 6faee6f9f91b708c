//! Opens the data set that a path names, for every subcommand, and knows the names and files of its samples.

use crate::listed::Listed;
use gpufeed::dataset::{Format, ImageList, Opened as Parts, TarShards};
use gpufeed::internals::object_stamp;
use gpufeed::storage::Location;
use gpufeed::{Dataset, ImageFolder, Label, Sampler};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Length, time in seconds since 1970 and hash of the ETag of an object in a store.
pub(crate) type ObjectStamp = (u64, u64, u64);

/// A data set, or one of its two parts, with the names and files of its samples.
pub(crate) struct NamedDataset {
    pub(crate) data: Arc<dyn Dataset>,
    names: Names,
    /// The samples' indexes in their stored order, if they are in another.
    order: Option<Vec<usize>>,
    /// The folder, the file or the list of shards that the user named.
    path: PathBuf,
}

/// The data set again, typed, if its samples have names of their own.
enum Names {
    Folder(Arc<ImageFolder>),
    List(Arc<ImageList>),
    Tar(Arc<TarShards>),
    Listed(Arc<Listed>),
    #[cfg(feature = "parquet")]
    Parquet(Arc<gpufeed::dataset::Parquet>),
    None,
}

/// An opened data set. `train` holds all samples unless the format has a test part.
pub(crate) struct Opened {
    pub(crate) train: NamedDataset,
    pub(crate) test: Option<NamedDataset>,
}

/// Opens a data set in any format. Accepts classes without samples, and samples without a label.
///
/// # Errors
/// The format's errors, and a data set without samples.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<Opened, Box<dyn Error>> {
    let path = path.as_ref();
    let whole = |data: Arc<dyn Dataset>, names: Names| Opened {
        train: NamedDataset { data, names, order: None, path: Location::from(path).shown() },
        test: None,
    };
    let opened = match Format::detect(path) {
        Format::Folder => {
            let folder = Arc::new(ImageFolder::builder().allow_empty(true).open(path)?);
            whole(folder.clone(), Names::Folder(folder))
        }
        Format::Images => {
            let folder = Arc::new(ImageFolder::flat(path)?);
            whole(folder.clone(), Names::Folder(folder))
        }
        Format::List => {
            let list = Arc::new(ImageList::open(path)?);
            whole(list.clone(), Names::List(list))
        }
        Format::Tar => {
            let shards = Arc::new(TarShards::builder().allow_unlabelled(true).open(path)?);
            whole(shards.clone(), Names::Tar(shards))
        }
        Format::Lmdb => {
            let data = gpufeed::dataset::Lmdb::builder().allow_unlabelled(true).open(path)?;
            whole(Arc::new(data), Names::None)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let builder = gpufeed::dataset::Parquet::builder().allow_unlabelled(true);
            let part = |data: gpufeed::dataset::Parquet| {
                let data = Arc::new(data);
                let (names, path) = (Names::Parquet(data.clone()), Location::from(path).shown());
                NamedDataset { data, names, order: None, path }
            };
            let (train, test) = builder.parts(path)?;
            Opened { train: part(train), test: test.map(part) }
        }
        format => {
            let Parts { train, test, .. } = format.open(path)?;
            let part = |data: Box<dyn Dataset>| NamedDataset {
                data: Arc::from(data),
                names: Names::None,
                order: None,
                path: Location::from(path).shown(),
            };
            Opened { train: part(train), test: test.map(part) }
        }
    };
    if opened.train.data.is_empty() {
        return Err(format!("{}: no samples", Location::from(path)).into());
    }
    Ok(opened)
}

/// Returns true if a data set is read from a store or a web server.
pub(crate) fn is_remote(data: &dyn Dataset) -> bool {
    data.access().is_some_and(|access| access.is_remote())
}

impl NamedDataset {
    /// Wraps a data set in memory.
    #[cfg(test)]
    pub(crate) fn in_memory(data: impl Dataset + 'static) -> NamedDataset {
        NamedDataset { data: Arc::new(data), names: Names::None, order: None, path: PathBuf::new() }
    }

    /// Wraps some samples of a folder or of a list.
    pub(crate) fn listed(listed: Listed) -> NamedDataset {
        let (listed, path) = (Arc::new(listed), PathBuf::new());
        NamedDataset { data: listed.clone(), names: Names::Listed(listed), order: None, path }
    }

    /// Puts the samples into a random order: that of epoch 0 of a full shuffle with this seed.
    ///
    /// # Errors
    /// A data set in a store, which would be read a block for each image.
    pub(crate) fn shuffled(self, seed: u64) -> Result<NamedDataset, Box<dyn Error>> {
        if is_remote(&*self.data) {
            let reason = "--shuffle: the source is in a store, and a block of 8 MiB would be fetched for each image; copy it to \
                          this machine first";
            return Err(format!("{}: {reason}", self.path.display()).into());
        }
        let epoch = Sampler::new(self.data.len(), 1024)?.shuffle(true).seed(seed).epoch(0);
        let order: Vec<_> = (0..epoch.batches()).flat_map(|batch| epoch.batch(batch).map(|at| at.index)).collect();
        let data = Arc::new(self.data.subset(order.iter().copied())?);
        Ok(NamedDataset { data, order: Some(order), ..self })
    }

    /// Returns the index of a sample in the stored order.
    fn stored(&self, index: usize) -> usize {
        self.order.as_ref().and_then(|order| order.get(index).copied()).unwrap_or(index)
    }

    /// Returns the folder that the names of samples are relative to, if samples are files.
    pub(crate) fn root(&self) -> Option<&Path> {
        match &self.names {
            Names::Folder(folder) => Some(folder.root()),
            Names::List(list) => Some(list.root()),
            Names::Listed(listed) => Some(&listed.root),
            #[cfg(feature = "parquet")]
            Names::Parquet(_) => None,
            Names::Tar(_) | Names::None => None,
        }
    }

    /// Returns a sample's label without reading the sample, if samples are files.
    pub(crate) fn label(&self, index: usize) -> Option<Label> {
        let index = self.stored(index);
        match &self.names {
            Names::Folder(folder) => {
                Some(folder.targets().get(index).map_or(Label::None, |&class| Label::Class(class)))
            }
            Names::List(list) => Some(list.label(index)),
            #[cfg(feature = "parquet")]
            Names::Parquet(_) => None,
            Names::Listed(_) | Names::Tar(_) | Names::None => None,
        }
    }

    /// Returns a sample's file; `None` if samples are not files.
    pub(crate) fn file(&self, index: usize) -> Option<&Path> {
        let index = self.stored(index);
        match &self.names {
            Names::Folder(folder) => folder.path(index),
            Names::List(list) => list.path(index),
            Names::Listed(listed) => listed.path(index),
            #[cfg(feature = "parquet")]
            Names::Parquet(_) => None,
            Names::Tar(_) | Names::None => None,
        }
    }

    /// Returns a sample's name where it is stored: its file below the data set's folder, or its key in a shard.
    pub(crate) fn own_name(&self, index: usize) -> Option<String> {
        match &self.names {
            Names::Tar(shards) => return shards.key(self.stored(index)).map(|(_, key)| key),
            // The path that goes with an image is that of the file that it was.
            #[cfg(feature = "parquet")]
            Names::Parquet(files) => {
                let row = files.row(self.stored(index));
                return row.map(|(_, _, path)| path).filter(|path| !path.is_empty());
            }
            _ => {}
        }
        let (root, file) = (self.root()?, self.file(index)?);
        let parts = file.strip_prefix(root).unwrap_or(file).iter();
        Some(parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"))
    }

    /// Returns the name by which a person finds the sample. Rows of Parquet files may share a path, or have none, so theirs
    /// has the file and the number of the row.
    pub(crate) fn full_name(&self, index: usize) -> String {
        match self.names {
            #[cfg(feature = "parquet")]
            Names::Parquet(_) => self.data.name(index),
            _ => self.own_name(index).unwrap_or_else(|| self.data.name(index)),
        }
    }

    /// Returns two answers: does [`own_name`](Self::own_name) know names, and do they end with a file's extension?
    pub(crate) fn has_names(&self) -> (bool, bool) {
        match self.names {
            Names::Folder(_) | Names::List(_) | Names::Listed(_) => (true, true),
            #[cfg(feature = "parquet")]
            Names::Parquet(_) => (true, true),
            Names::Tar(_) => (true, false),
            Names::None => (false, false),
        }
    }

    /// Calls `see` for every file that holds samples, with its stamp if it is an object in a store: the samples' own files,
    /// the shards, or the named file or the files of the named folder. The data set changes only if one of them changes.
    pub(crate) fn each_file(&self, mut see: impl FnMut(&Path, Option<ObjectStamp>)) {
        let len = self.data.len();
        match &self.names {
            Names::Listed(listed) => {
                listed.range().filter_map(|index| listed.path(index)).for_each(|file| see(file, None));
            }
            Names::Folder(_) | Names::List(_) => {
                (0..len).filter_map(|index| self.file(index)).for_each(|file| see(file, None));
            }
            Names::Tar(shards) => {
                let stamped = |number| Some((shards.shard(number)?, object_stamp::of_shard(shards, number)));
                (0..shards.shards()).filter_map(stamped).for_each(|(file, stamp)| see(file, stamp));
            }
            #[cfg(feature = "parquet")]
            Names::Parquet(files) => {
                let stamped = |number| Some((files.file(number)?, object_stamp::of_file(files, number)));
                (0..files.files()).filter_map(stamped).for_each(|(file, stamp)| see(file, stamp));
            }
            Names::None if self.path.is_file() => see(&self.path, None),
            Names::None => {
                // The files of MNIST, CIFAR or an LMDB lie at most one folder further down.
                let found = walkdir::WalkDir::new(&self.path).max_depth(2).sort_by_file_name().into_iter().flatten();
                let data = found.filter(|entry| entry.file_type().is_file() && entry.file_name() != "lock.mdb");
                data.for_each(|entry| see(entry.path(), None));
            }
        }
    }
}
