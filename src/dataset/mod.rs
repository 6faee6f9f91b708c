//! Sources of samples: the [`Dataset`] trait, the types it returns, and data sets.
//!
//! | type | reads |
//! |---|---|
//! | [`ImageFolder`] | a folder of class folders, or of images without classes |
//! | [`ImageList`] | a CSV or JSON-lines file of paths and labels |
//! | [`InMemory`] | encoded files or pixels of any size, in memory |
//! | [`Arrays`] | one array of images of one size, in memory |
//! | [`Idx`] | MNIST's files, as `Arrays` |
//! | [`Cifar`] | CIFAR-10's and CIFAR-100's files, as `Arrays` |
//! | [`Numpy`] | `.npy` and `.npz`, as `Arrays` |
//! | [`TarShards`] | tar files in WebDataset's convention |
//! | [`Coco`] | COCO's annotations of objects |
//! | [`Voc`] | Pascal VOC's annotations of objects |
//! | [`Yolo`] | YOLO's annotations of objects |
//! | [`MaskFolder`] | a folder of images beside a folder of masks |
//! | [`Lmdb`] | an LMDB of encoded images, and values of fields |
//! | `Parquet` | Hugging Face's image sets; feature `parquet` |
//!
//! `gpufeed pack` writes tar shards and LMDBs. [`open`] takes a path in any of these formats.
//!
//! [`Concat`], [`Subset`], [`Repeat`] and [`Weighted`] make data sets of others; the methods of [`Dataset`] create
//! them. [`blend`] joins data sets by shares.

// sample.rs, labels.rs   a sample; the labels of a whole set; label_numbers.rs: labels that are vectors, as f32
// sample_data.rs         an image, as a file or as pixels
// encoded_field.rs       the value of a field from the bytes of a file
// field/                 named fields beside image and label, and their values
// notice.rs              what a set says of itself: its labels, what it does not read
// access.rs              samples that are announced before they are read; in_order.rs: by a command, in the set's order
// stored.rs              where samples are stored, and under which names
// forward.rs             forwards the methods of a set, for pointers, adaptors, folders and lists
// image_files.rs         files by their paths: folders and lists; file_fields.rs: their fields, of which listed_values.rs
//                        has those of a list and side_cars.rs the files beside images
// format.rs              opens any set by its path; opening.rs: settings of that, and how each format takes them
// pack_manifest.rs       the fields that a pack lists, for its shards and its LMDB
// unpacked.rs            a data file read once: raw, gzip, or an archive's member
// class_names.rs         names of classes in a file beside the samples; known_classes.rs: the class of each sample
// seek_indexes.rs        builds the seek indexes of all files of a set
// memory.rs              InMemory
// folder/, list/         ImageFolder, ImageList
// arrays/                Arrays, which idx/, cifar/ and numpy/ make of their files
// shards/                what files of many samples share; tar/ and parquet/ are such files
// lmdb/                  Lmdb
// coco/, voc/, yolo/     Coco, Voc, Yolo; annotated_images.rs has what they share, object_columns.rs the objects of the last two
// mask_folder/           MaskFolder
// adaptors/              sets made of sets

mod access;
mod adaptors;
mod annotated_images;
mod arrays;
mod cifar;
mod class_names;
mod coco;
mod encoded_field;
mod field;
mod file_fields;
pub(crate) mod folder;
mod format;
mod forward;
mod idx;
mod image_files;
pub(crate) mod in_order;
mod known_classes;
mod label_numbers;
mod labels;
mod list;
mod listed_values;
mod lmdb;
mod mask_folder;
mod memory;
mod notice;
mod numpy;
mod object_columns;
mod opening;
mod pack_manifest;
#[cfg(feature = "parquet")]
mod parquet;
mod sample;
mod sample_data;
mod seek_indexes;
mod shards;
mod side_cars;
pub(crate) mod stored;
mod tar;
mod unpacked;
mod voc;
mod yolo;

use serde::{Deserialize, Serialize};
use std::path::Path;

use crate::error::{Error, Result};

pub use crate::pixels::{PixelFormat, Pixels};
pub use crate::storage::{Remote, RemoteOptions, RemoteStats};
pub use access::Access;
pub use adaptors::{Concat, Repeat, SplitPart, Subset, Weighted, blend};
pub use arrays::{ArrayValues, Arrays};
pub use cifar::Cifar;
pub use coco::{Coco, CocoBuilder};
pub(crate) use field::Absent;
pub use field::{Field, FieldChoice, FieldKind, FieldValue, MAX_FIELD_BYTES, NumberType, Numbers};
pub use folder::{ImageFolder, ImageFolderBuilder};
pub use format::{Format, open, open_with};
pub use idx::{Emnist, Idx};
pub use known_classes::known_classes;
pub use list::{ImageList, ImageListBuilder};
pub(crate) use lmdb::LONGEST_SOURCE;
#[cfg(feature = "lmdb")]
pub use lmdb::LmdbWriter;
pub use lmdb::{Lmdb, LmdbBuilder, LmdbLayout};
pub use mask_folder::{MaskFolder, MaskFolderBuilder};
pub use memory::InMemory;
pub use notice::Notice;
pub(crate) use notice::log as log_notices;
pub use numpy::Numpy;
pub use opening::{OpenOptions, Opened};
pub(crate) use pack_manifest::PACK_MANIFEST;
#[cfg(feature = "parquet")]
pub use parquet::{Parquet, ParquetBuilder};
pub use sample::{Label, Sample};
pub use sample_data::SampleData;
pub use shards::ShardIndexes;
#[doc(hidden)] // `gpufeed index --part` divides them
pub use shards::addresses_of;
pub use stored::{ObjectStamp, Stored};
#[doc(hidden)]
pub use tar::UNFINISHED;
pub(crate) use tar::label_of_json;
pub use tar::{TarShards, TarShardsBuilder};
pub use voc::{Voc, VocBuilder};
pub use yolo::{Yolo, YoloBuilder};

/// Default limit of the bytes of one encoded image: 1 GiB, the size of an uncompressed bitmap of the default
/// `max_pixels`. The data sets' builders set another limit with `max_file_bytes`.
///
/// ```
/// use gpufeed::ImageFolder;
/// use gpufeed::dataset::MAX_FILE_BYTES;
///
/// let photographs = ImageFolder::builder().max_file_bytes(MAX_FILE_BYTES / 16); // 64 MiB
/// # let _ = photographs;
/// ```
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// A part of a data set that comes in two.
///
/// ```
/// use gpufeed::dataset::Split;
///
/// assert_ne!(Split::Train, Split::Test);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The samples to train on.
    #[default]
    Train,
    /// The samples to test with.
    Test,
}

/// A collection of samples that many threads read by index.
///
/// A data set has no batches, no order and no decoding: it returns one sample's bytes and label. Its length must not
/// change while a loader uses it.
///
/// ```
/// use gpufeed::{Dataset, Label, PixelFormat, Pixels, Result, Sample, SampleData};
///
/// /// Gray ramps, computed when they are read.
/// struct Ramps;
///
/// impl Dataset for Ramps {
///     fn len(&self) -> usize {
///         10
///     }
///
///     fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
///         buffer.clear();
///         buffer.extend((0..8 * 4).map(|pixel| (pixel * index) as u8));
///         let pixels = Pixels::new(8, 4, PixelFormat::R8, buffer)?;
///         Ok(Sample::new(SampleData::Pixels(pixels), Label::Class(index as u32)))
///     }
///
///     fn name(&self, index: usize) -> String {
///         format!("ramp {index}")
///     }
///
///     fn inner(&self) -> Option<&dyn Dataset> {
///         None
///     }
///
///     fn channels(&self) -> u32 {
///         1
///     }
/// }
///
/// let mut buffer = Vec::new();
/// assert_eq!(Ramps.read(3, &mut buffer)?.label, Label::Class(3));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub trait Dataset: Send + Sync {
    /// Returns the number of samples; indices run from 0 to `len() - 1`.
    fn len(&self) -> usize;

    /// Returns true if there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads sample `index`.
    ///
    /// Data that has to be fetched goes into `buffer`, whose old content is discarded. Each worker passes the same
    /// buffer again, so that nothing is allocated once it has grown to the largest file. A data set that already holds
    /// the bytes returns them and leaves `buffer` unchanged.
    ///
    /// # Errors
    ///
    /// Any error that prevents reading the sample, usually [`ErrorKind::Io`](crate::ErrorKind::Io); another sample then
    /// stands in for it. [`ErrorKind::Fatal`](crate::ErrorKind::Fatal) ends the run instead. The data sets of
    /// this crate return [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an `index` out of range.
    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>>;

    /// Returns the name of sample `index` in a report: its path, or "sample 7". Never panics. The name is as in the
    /// file or archive, so it may hold control characters for a terminal; errors that name a sample escape these.
    fn name(&self, index: usize) -> String;

    /// Returns the label of sample `index`, if it is known without reading the sample; `None` by default, also for a
    /// wrapper, which may give samples other labels, and for an `index` out of range.
    ///
    /// Folders, lists, arrays, data sets in memory, tar shards, Parquet files and LMDBs with labels of their own know it, and
    /// so do sets made of these.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label};
    ///
    /// let files: InMemory = (0..10).map(|i| (vec![i], Label::Class(u32::from(i) % 3))).collect();
    /// let some = files.subset([7, 2])?;
    /// assert_eq!((some.label(0), some.label(2)), (Some(Label::Class(1)), None));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    fn label(&self, index: usize) -> Option<Label> {
        let _ = index;
        None
    }

    /// Returns the data set that this one wraps, if it has the same samples by the same indices; else `None`, as for a
    /// data set that reads its samples itself.
    ///
    /// The methods below ask the data set inside, unless the wrapper has them itself, so a wrapper needs `len`, `read`,
    /// `name` and this method. It has no default: with one, a wrapper that does not mention the data set inside would
    /// lose [`access`](Self::access), weights and ids without a word.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label, Result, Sample};
    ///
    /// /// Gives every sample the same label.
    /// struct Labelled<D>(D, Label);
    ///
    /// impl<D: Dataset> Dataset for Labelled<D> {
    ///     fn len(&self) -> usize {
    ///         self.0.len()
    ///     }
    ///
    ///     fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
    ///         Ok(Sample { label: self.1.clone(), ..self.0.read(index, buffer)? })
    ///     }
    ///
    ///     fn name(&self, index: usize) -> String {
    ///         self.0.name(index)
    ///     }
    ///
    ///     fn inner(&self) -> Option<&dyn Dataset> {
    ///         Some(&self.0)
    ///     }
    /// }
    ///
    /// let files: InMemory = (0..10).map(|i| (vec![i], Label::None)).collect();
    /// let some = Labelled(files.subset([7, 2])?, Label::Class(1));
    /// assert_eq!((some.id(0), some.is_in_memory()), (7, false));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    fn inner(&self) -> Option<&dyn Dataset>;

    /// Returns the sample's stable identity, which keys its random numbers; by default that of [`inner`](Self::inner),
    /// else the index.
    ///
    /// Override it if samples may be added or removed and the others should keep their random numbers. Two samples that
    /// may come in one epoch must have different ids.
    fn id(&self, index: usize) -> u64 {
        self.inner().map_or(index as u64, |inner| inner.id(index))
    }

    /// Returns the channels of the batches made from this data set, 1 or 3; by default those of [`inner`](Self::inner),
    /// else 3.
    ///
    /// With 1, every sample is [`PixelFormat::R8`] or one-channel [`PixelFormat::F32`].
    fn channels(&self) -> u32 {
        self.inner().map_or(3, |inner| inner.channels())
    }

    /// Returns the names of the classes: [`Label::Class`] is an index into them. By default those of
    /// [`inner`](Self::inner), else none.
    fn classes(&self) -> &[String] {
        self.inner().map_or(&[], |inner| inner.classes())
    }

    /// Returns the fields that samples have beside image and label; [`Sample::fields`] has their values in this order.
    /// By default those of [`inner`](Self::inner), else none.
    ///
    /// A batch has a [`Column`](crate::Column) for each field but images.
    fn fields(&self) -> &[Field] {
        self.inner().map_or(&[], |inner| inner.fields())
    }

    /// Returns true if `read` returns memory of the data set, so that a cache need not copy it. `false` by default, also
    /// for a wrapper, which may make other pixels of those that it reads.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Returns the folder in which a loader stores its seek indexes ([`SeekIndexes`](crate::decode::SeekIndexes)). By
    /// default that of [`inner`](Self::inner), else `None`.
    fn folder(&self) -> Option<&Path> {
        self.inner()?.folder()
    }

    /// Returns what the data set noticed while it was opened: what its labels are, and what it does not read. A loader
    /// logs the [warnings](Notice::is_warning) among them when it is built; `explain` shows all. By default those of
    /// [`inner`](Self::inner), else none.
    fn notices(&self) -> Vec<Notice> {
        self.inner().map_or(Vec::new(), |inner| inner.notices())
    }

    /// Returns one weight per sample, the probability of each relative to the others. With weights, an epoch chooses
    /// samples at random instead of having each once. By default those of [`inner`](Self::inner), else `None`;
    /// [`with_weights`](Self::with_weights) sets them.
    fn weights(&self) -> Option<&[f64]> {
        self.inner()?.weights()
    }

    /// Returns how samples are announced before they are read, where that helps: those of a store, and those that cost
    /// less together. By default that of [`inner`](Self::inner), else `None`.
    fn access(&self) -> Option<&dyn Access> {
        self.inner()?.access()
    }

    /// Returns the names under which samples are stored, and their files. By default those of [`inner`](Self::inner), else
    /// `None`.
    fn stored(&self) -> Option<&dyn Stored> {
        self.inner()?.stored()
    }

    /// Joins the samples of this data set and, after them, those of `other`. [`Concat::new`] joins any number of data
    /// sets.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label};
    ///
    /// let files = |count: u8| (0..count).map(|i| (vec![i], Label::None)).collect::<InMemory>();
    /// let both = files(3).concat(files(2))?;
    /// assert_eq!((both.len(), both.name(4)), (5, "sample 1".to_owned()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Concat::new`].
    fn concat<D: Dataset + 'static>(self, other: D) -> Result<Concat>
    where
        Self: Sized + 'static,
    {
        Concat::new([Box::new(self) as Box<dyn Dataset>, Box::new(other)])
    }

    /// Selects the samples at `indices`, in that order; an index may come several times.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label};
    ///
    /// let files: InMemory = (0..10).map(|i| (vec![i], Label::None)).collect();
    /// let odd = files.subset((1..10).step_by(2))?;
    /// assert_eq!((odd.len(), odd.id(4)), (5, 9));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Subset::new`].
    fn subset(self, indices: impl IntoIterator<Item = usize>) -> Result<Subset<Self>>
    where
        Self: Sized,
    {
        Subset::new(self, indices)
    }

    /// Splits the samples into two parts at random: the first has `fraction` of the samples, rounded to the nearest
    /// number (halves up), the second has the others.
    ///
    /// The split depends on `seed`, `fraction` and the length alone, and is the same on every platform. Both parts keep
    /// the order of the data set, unlike torch's `random_split`.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label};
    ///
    /// let files: InMemory = (0..100).map(|i| (vec![i], Label::None)).collect();
    /// let (train, test) = files.split(0.9, 42)?;
    /// assert_eq!((train.len(), test.len()), (90, 10));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `fraction` is not within 0 to 1.
    fn split(self, fraction: f64, seed: u64) -> Result<(SplitPart<Self>, SplitPart<Self>)>
    where
        Self: Sized,
    {
        adaptors::split(self, fraction, seed)
    }

    /// Sets the probabilities of samples, relative to each other: each position of an epoch chooses one of all samples,
    /// independently, like torch's `WeightedRandomSampler` with replacement, with and without shuffling. An epoch still
    /// has as many positions as there are samples.
    ///
    /// ```
    /// use gpufeed::{Backend, DataLoader, Dataset, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in [0, 0, 0, 1] {
    ///     data.push_pixels(1, 1, PixelFormat::R8, vec![0], Label::Class(class))?;
    /// }
    /// // Both classes equally often.
    /// let balanced = data.with_weights([1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0])?;
    /// let loader = DataLoader::builder(balanced).transform(gpufeed::transforms::Resize::new((1, 1)));
    /// # loader.build(&Backend::Cpu)?;
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Weighted::new`].
    fn with_weights(self, weights: impl Into<Vec<f64>>) -> Result<Weighted<Self>>
    where
        Self: Sized,
    {
        Weighted::new(self, weights)
    }

    /// Repeats all samples `times` times: an epoch then has the length of `times` epochs, and each repetition of a
    /// sample has its own random numbers.
    ///
    /// ```
    /// use gpufeed::{Dataset, InMemory, Label};
    ///
    /// let files: InMemory = (0..10).map(|i| (vec![i], Label::None)).collect();
    /// let long = files.repeat(100)?;
    /// assert_eq!((long.len(), long.name(999)), (1000, "sample 9".to_owned()));
    /// assert_ne!(long.id(9), long.id(999));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Repeat::new`].
    fn repeat(self, times: usize) -> Result<Repeat<Self>>
    where
        Self: Sized,
    {
        Repeat::new(self, times)
    }
}

/// Returns the error for an index that is out of range.
fn out_of_range(index: usize, len: usize) -> Error {
    Error::argument("index", format!("{index} is not below the data set's length, {len}"))
}
