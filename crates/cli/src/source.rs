//! The data set that a path names, as every subcommand opens it, and the files that it is made of.

use gpufeed::dataset::{Format, ImageList, Opened as Parts, TarShards};
use gpufeed::{Dataset, ImageFolder};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data set, or one of its two parts.
pub(crate) struct Source {
    pub(crate) data: Arc<dyn Dataset>,
    named: Named,
    /// Where it lies, or the folder, the file or the list of shards that was named.
    path: PathBuf,
}

/// The data set again, where its samples have names of their own.
enum Named {
    Folder(Arc<ImageFolder>),
    List(Arc<ImageList>),
    Tar(Arc<TarShards>),
    No,
}

/// All samples or those to train on, and those to test with.
pub(crate) struct Opened {
    pub(crate) train: Source,
    pub(crate) test: Option<Source>,
}

/// Opens a data set in any format. Classes without a sample, and samples without a label, are accepted.
///
/// # Errors
/// Those of the format; a data set without samples.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<Opened, Box<dyn Error>> {
    let path = path.as_ref();
    let whole = |data: Arc<dyn Dataset>, named: Named| Opened {
        train: Source { data, named, path: path.to_owned() },
        test: None,
    };
    let opened = match Format::detect(path) {
        Format::Folder => {
            let folder = Arc::new(ImageFolder::builder().allow_empty(true).open(path)?);
            whole(folder.clone(), Named::Folder(folder))
        }
        Format::Images => {
            let folder = Arc::new(ImageFolder::flat(path)?);
            whole(folder.clone(), Named::Folder(folder))
        }
        Format::List => {
            let list = Arc::new(ImageList::open(path)?);
            whole(list.clone(), Named::List(list))
        }
        Format::Tar => {
            let shards = Arc::new(TarShards::builder().allow_unlabelled(true).open(path)?);
            whole(shards.clone(), Named::Tar(shards))
        }
        Format::Lmdb => {
            let data = gpufeed::dataset::Lmdb::builder().allow_unlabelled(true).open(path)?;
            whole(Arc::new(data), Named::No)
        }
        format => {
            let Parts { train, test, .. } = format.open(path)?;
            let source =
                |data: Box<dyn Dataset>| Source { data: Arc::from(data), named: Named::No, path: path.to_owned() };
            Opened { train: source(train), test: test.map(source) }
        }
    };
    if opened.train.data.is_empty() {
        return Err(format!("{}: no samples", path.display()).into());
    }
    Ok(opened)
}

impl Source {
    /// A data set in memory.
    #[cfg(test)]
    pub(crate) fn of(data: impl Dataset + 'static) -> Source {
        Source { data: Arc::new(data), named: Named::No, path: PathBuf::new() }
    }

    /// The file that a sample is.
    pub(crate) fn file(&self, index: usize) -> Option<&Path> {
        match &self.named {
            Named::Folder(folder) => folder.path(index),
            Named::List(list) => list.path(index),
            Named::Tar(_) | Named::No => None,
        }
    }

    /// The sample's name where it is stored: its file below the data set's folder, or its key in a shard.
    pub(crate) fn own_name(&self, index: usize) -> Option<String> {
        let root = match &self.named {
            Named::Folder(folder) => folder.root(),
            Named::List(list) => list.root(),
            Named::Tar(shards) => return shards.key(index).map(|(_, key)| key.to_owned()),
            Named::No => return None,
        };
        let file = self.file(index)?;
        let parts = file.strip_prefix(root).unwrap_or(file).iter();
        Some(parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"))
    }

    /// Returns whether [`own_name`](Self::own_name) knows names, and whether these end with a file's extension.
    pub(crate) fn has_names(&self) -> (bool, bool) {
        match self.named {
            Named::Folder(_) | Named::List(_) => (true, true),
            Named::Tar(_) => (true, false),
            Named::No => (false, false),
        }
    }

    /// Shows the files whose change is a change of the data set: its samples, its shards, or the file or the files of the
    /// folder that hold them all.
    pub(crate) fn each_file(&self, mut see: impl FnMut(&Path)) {
        let len = self.data.len();
        match &self.named {
            Named::Folder(_) | Named::List(_) => (0..len).filter_map(|index| self.file(index)).for_each(see),
            Named::Tar(shards) => {
                let mut last = None;
                for (shard, _) in (0..len).filter_map(|index| shards.key(index)) {
                    if last.replace(shard) != Some(shard) {
                        see(shard);
                    }
                }
            }
            Named::No if self.path.is_file() => see(&self.path),
            Named::No => {
                // The files of MNIST, CIFAR or an LMDB lie at most one folder further down.
                let found = walkdir::WalkDir::new(&self.path).max_depth(2).sort_by_file_name().into_iter().flatten();
                let data = found.filter(|entry| entry.file_type().is_file() && entry.file_name() != "lock.mdb");
                data.for_each(|entry| see(entry.path()));
            }
        }
    }
}
