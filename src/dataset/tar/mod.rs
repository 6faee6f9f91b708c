//! Tar shards in WebDataset's convention, read in any order.
//!
//! `builder.rs` opens shards, and `choice.rs` reads the setting of their fields. `scan.rs` reads headers (`header.rs`) by
//! the rules in `rules.rs`, and remembers the first read that failed (`first_failure.rs`). `names.rs` says which sample a
//! member belongs to, `group.rs` divides members by that, `samples.rs` makes samples of them. `label.rs` parses labels, and
//! `samples/member_labels.rs` finds the one of a sample. `fields.rs` finds the members of fields, and `read.rs` reads them
//! with the image; `of_pack.rs` reads which fields a pack has.

mod builder;
mod choice;
mod fields;
mod first_failure;
mod group;
mod header;
mod label;
mod names;
mod of_pack;
mod read;
mod rules;
mod samples;
mod scan;

use std::io;
use std::path::{Path, PathBuf};

use super::shards::{Shards, of_files};
use super::{Dataset, Field, Notice, ObjectStamp, Sample, SampleData, Stored};
use crate::error::{Error, Result};
use crate::storage::local::regular_file;
use header::{BLOCK, header_hash};
use scan::TarFormat;

pub use builder::TarShardsBuilder;
#[doc(hidden)] // `gpufeed pack` writes it
pub use builder::UNFINISHED;
pub(crate) use label::label_of_json;

/// Samples in tar files, packed as in WebDataset: the members of a sample follow each other and share their name up to
/// the first dot.
///
/// | member | is |
/// |---|---|
/// | one of [`EXTENSIONS`](Self::EXTENSIONS): `000123.jpg` | the image, in any supported format |
/// | `.cls` | the label: a class, as a decimal number |
/// | `.json` | the label, if there is no `.cls`: an object's `label` or `cls`, or all of it; a number is a class, a list [`Label::Multi`](crate::Label::Multi) |
/// | `.txt` | the label, if there is neither and all such texts of the set are numbers; else captions, which are ignored unless they are a field ([`text_labels`](TarShardsBuilder::text_labels)) |
/// | `classes.txt`, `classes.json` | names of the classes, one a line, or a list, or an object of each name's index; a file in the shards' folder has priority |
///
/// A sample's name may have dots. `photo 12.05.2021.png` is the image of the sample `photo 12.05.2021`, because no
/// known ending begins at its first dot. There are two exceptions. If `photo 12` has an image of its own, the file is a
/// further image, as `000.seg.png` beside `000.png`. If it alone has no label, it is no sample. Beside an image of
/// `photo 12` it is still a sample if it has a label of its own: a `.cls`, a `.json` with a label if `photo 12` has a
/// `.json`, or a `.txt` if `photo 12` has only that. The members of samples with the same name up to the first dot may
/// be mixed.
///
/// Other members are read as [fields](TarShardsBuilder::fields) if that is asked for, such as captions. Those that are not
/// are left out, as are folders and hidden files. A [notice](super::Dataset::notices) says how many there are of which
/// kind, and another one which keys a `.json` has beside the label. Plain tar
/// files of any flavour are read (ustar, GNU and pax with their long names).
/// Compressed ones are refused, because their samples cannot be reached at random.
///
/// The headers are read once. The offsets of all samples are stored in an index next to each shard
/// ([`ShardIndexes`](crate::dataset::ShardIndexes)): with it, a set of 100,000 samples opens in milliseconds. Reading a
/// sample is one positioned read of its header and image, and the header must be the indexed one. Members are never
/// extracted, so a name such as `../../x` is harmless.
///
/// Samples are in the order of the shards, and within a shard in the order of its members. Any sample can be read at
/// any time, so `shuffle(true)` of a loader shuffles all samples of all shards, without a shuffle buffer or an order of
/// shards. On a disk with slow seeks, first copy the shards to a faster one or to memory.
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
    shards: Shards<TarFormat>,
    classes: Vec<String>,
    folder: Option<PathBuf>,
    /// Archives in the folder that are not read because they are compressed.
    beside: Option<Notice>,
    max_file_bytes: u64,
}

impl TarShards {
    /// Default endings of images, the part of a name after its first dot; [`TarShardsBuilder::extensions`] sets others.
    pub const EXTENSIONS: [&'static str; 13] =
        [".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm", ".pam"];

    /// Opens a shard, a brace list of them (`train-{000..146}.tar`, `{a,b}.tar`), or a folder's `*.tar` sorted by name.
    ///
    /// With the feature `remote` also an address in a store or on a web server, a brace list of them, or a folder of a
    /// store: `s3://photos/train-{000..146}.tar`. Then the index of a shard is the one beside it
    /// (`.NAME.tar.gpufeed-index`), or on this machine ([`ShardIndexes`](super::ShardIndexes)).
    ///
    /// Shards without an index are scanned, several at a time; those in stores are read whole for that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), with the shard and the offset in it, for shards that cannot be read or
    /// are not plain, whole tar files; for members that are sparse, links, or claim more bytes than there are; for
    /// repeated keys; for samples without an image or with two, with an invalid label, or without a label unless
    /// [`allow_unlabelled`](TarShardsBuilder::allow_unlabelled) is set.
    /// [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if there are no samples.
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a malformed brace list.
    pub fn open(shards: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(shards)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> TarShardsBuilder {
        TarShardsBuilder::new()
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards.files()
    }

    /// Returns shard `number`, in the order of samples; `None` if there are fewer.
    pub fn shard(&self, number: usize) -> Option<&Path> {
        self.shards.file(number)
    }

    /// Returns the shard of sample `index`, and its key there, which is the members' name up to the first dot; `None`
    /// if out of range. The key is read from the shard's index.
    pub fn key(&self, index: usize) -> Option<(&Path, String)> {
        self.shards.key(index)
    }
}

impl Dataset for TarShards {
    of_files!();

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let found = self.shards.find(index)?;
        if !self.fields().is_empty() {
            return self.read_with_fields(index, &found, buffer);
        }
        self.check_image(index, &found)?;
        let (entry, path) = (found.entry(), found.file.name());
        let begin = entry.offset - BLOCK;
        let length = BLOCK as usize + entry.length as usize;
        regular_file::lengthen(buffer, length, 0).map_err(|source| Error::io(path, source))?;
        let bytes = &mut buffer[..length];
        match found.file.read_exact(bytes, begin) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(self.gone(index, &found, begin)),
            read => read.map_err(|source| Error::io(path, source))?,
        }
        let (header, image) = buffer[..length].split_at(BLOCK as usize);
        if header_hash(header) != entry.check {
            return Err(self.gone(index, &found, begin));
        }
        Ok(Sample::new(SampleData::Encoded(image), found.label()))
    }

    fn fields(&self) -> &[Field] {
        &self.shards.format().fields.fields
    }

    fn name(&self, index: usize) -> String {
        match self.shards.place(index) {
            // The name may be for an error that says that the shard cannot be opened. It is made without another attempt.
            Some((number, at)) if !self.shards.is_open(number) => {
                format!("{}: sample {at}", self.shards.file(number).unwrap_or(Path::new("")).display())
            }
            _ => match self.key(index) {
                Some((shard, key)) => format!("{}: {key}", shard.display()),
                None => format!("sample {index}"),
            },
        }
    }

    fn notices(&self) -> Vec<Notice> {
        let mut notices = self.shards.notices(self.classes.len());
        notices.extend(self.beside.clone());
        notices
    }
}

impl Stored for TarShards {
    fn own_name(&self, index: usize) -> Option<String> {
        self.key(index).map(|(_, key)| key)
    }

    fn has_ending(&self, _: usize) -> bool {
        false
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.shards.each_file(see);
    }
}
