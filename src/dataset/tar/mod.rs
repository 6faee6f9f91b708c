//! Tar shards in WebDataset's convention, read in any order.

mod brace;
mod builder;
mod index;
mod label;
mod open_files;
mod scan;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::shown::shown;
use super::{Dataset, Sample, SampleData, out_of_range};
use crate::error::{Error, ErrorKind, Result};
use crate::{positioned, regular_file};
use index::{Entry, ShardIndex, header_hash};
use scan::BLOCK;

#[doc(hidden)] // `gpufeed pack` puts it there
pub use builder::UNFINISHED;
pub(super) use builder::class_names_beside;
pub use builder::{ShardIndexes, TarShardsBuilder};

/// Samples in tar files, as WebDataset packs them: the members of a sample follow each other and share their name up to
/// the first dot.
///
/// | member | is |
/// |---|---|
/// | one of [`EXTENSIONS`](Self::EXTENSIONS): `000123.jpg` | the image, whatever format its bytes have |
/// | `.cls` | the label: a class, as a decimal number |
/// | `.json` | the label, if there is no `.cls`: an object's `label` or `cls`, or all of it; a number is a class, a list [`Label::Multi`](crate::Label::Multi) |
/// | `.txt` | the label, if there is none of these, where it is a number; else a caption, which is passed over |
/// | `classes.txt`, `classes.json` | names of the classes, one a line, or a list, or an object of each name's index; a file beside the shards comes first |
///
/// Other members are passed over, folders and hidden files too. Plain tar files of any flavour are read (ustar, GNU and
/// pax with their long names); compressed ones are not, for a sample in them cannot be reached.
///
/// The headers are read once, and the places of all samples kept in an index beside each shard ([`ShardIndexes`]): then
/// a set of 100,000 samples opens in milliseconds. A sample is one positioned read of its header and image; the header
/// must be the one that was indexed. No member is ever extracted, so a name such as `../../x` is only a name.
///
/// Samples are in the order of the shards, and in each as they were packed. As any can be read at any time,
/// `shuffle(true)` of a loader shuffles all of them, over the shards and within; no buffer of samples, and no order of
/// shards, stands in for it. On a disk that seeks slowly, copy the shards to a faster one or to memory first.
///
/// ```no_run
/// use gpufeed::dataset::TarShards;
/// use gpufeed::{Backend, DataLoader, Dataset};
///
/// let train = TarShards::open("imagenet/train-{000000..000146}.tar")?;
/// println!("{} samples in {} shards", train.len(), train.shards());
/// let loader = DataLoader::builder(train).shuffle(true).build(&Backend::auto()?)?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct TarShards {
    shards: Vec<Shard>,
    /// The first sample of each shard, and the number of samples.
    starts: Vec<usize>,
    classes: Vec<String>,
    folder: PathBuf,
    max_file_bytes: u64,
}

#[derive(Debug)]
struct Shard {
    path: Box<Path>,
    /// The first shards stay open; the others are opened for each read, as a process may have only so many files open.
    file: Option<File>,
    index: ShardIndex,
}

impl TarShards {
    /// What the name of a sample's image has after its first dot, unless [`TarShardsBuilder::extensions`] says otherwise.
    pub const EXTENSIONS: [&'static str; 13] =
        [".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm", ".pam"];

    /// Opens a shard, a brace list of them (`train-{000..146}.tar`, `{a,b}.tar`), or a folder's `*.tar` sorted by name.
    ///
    /// Shards without an index are scanned, several at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), with the shard and the place in it, for what cannot be read or is no
    /// plain, whole tar file; members that are sparse, links, or claim more than there is; a key that comes twice, a
    /// sample without an image, with two, or with a label that is none; also one without a label, unless
    /// [`allow_unlabelled`](TarShardsBuilder::allow_unlabelled).
    /// [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if there are no samples,
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a brace list that cannot be understood.
    pub fn open(shards: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(shards)
    }

    /// Settings other than those of [`open`](Self::open).
    pub fn builder() -> TarShardsBuilder {
        TarShardsBuilder::new()
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The shard of sample `index` and its key there, the members' name up to the first dot; `None` if out of range.
    pub fn key(&self, index: usize) -> Option<(&Path, &str)> {
        let (shard, at, _) = self.find(index)?;
        Some((&shard.path, shard.index.key(at)))
    }

    fn find(&self, index: usize) -> Option<(&Shard, usize, &Entry)> {
        // The last shard that begins at or before it: empty ones begin where their successor does.
        let shard = self.starts.partition_point(|start| *start <= index).checked_sub(1)?;
        let at = index - self.starts[shard];
        let shard = self.shards.get(shard)?;
        Some((shard, at, shard.index.entries.get(at)?))
    }
}

impl Dataset for TarShards {
    fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let (shard, at, entry) = self.find(index).ok_or_else(|| out_of_range(index, self.len()))?;
        let begin = entry.offset - BLOCK;
        let length = BLOCK as usize + entry.length as usize;
        if u64::from(entry.length) > self.max_file_bytes {
            let (name, bytes) = (self.name(index), entry.length.into());
            return Err(ErrorKind::FileTooLarge { name, bytes, max_file_bytes: self.max_file_bytes }.into());
        }
        regular_file::lengthen(buffer, length, 0).map_err(|source| Error::io(&*shard.path, source))?;
        let bytes = &mut buffer[..length];
        let read = match &shard.file {
            Some(file) => positioned::read_exact(file, bytes, begin),
            None => regular_file::open(&shard.path).and_then(|(file, _)| positioned::read_exact(&file, bytes, begin)),
        };
        let changed = || {
            let key = shown(shard.index.key(at).as_bytes());
            scan::refused(
                &shard.path,
                begin,
                format!("sample {key} is not there any more; open the changed shard anew"),
            )
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(changed()),
            read => read.map_err(|source| Error::io(&*shard.path, source))?,
        }
        let (header, image) = buffer[..length].split_at(BLOCK as usize);
        if header_hash(header) != entry.header {
            return Err(changed());
        }
        Ok(Sample { data: SampleData::Encoded(image), label: shard.index.label(entry) })
    }

    fn name(&self, index: usize) -> String {
        match self.key(index) {
            Some((shard, key)) => format!("{}: {key}", shard.display()),
            None => format!("sample {index}"),
        }
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }
}
