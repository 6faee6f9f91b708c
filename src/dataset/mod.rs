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
//! | [`Lmdb`] | an LMDB of encoded images |
//! | `Parquet` | Hugging Face's image sets; feature `parquet` |
//!
//! `gpufeed pack` writes tar shards and LMDBs. [`open`] takes a path in any of these formats.
//!
//! [`Concat`], [`Subset`], [`Repeat`] and [`Weighted`] make data sets of others; the methods of [`Dataset`] create
//! them.

mod adaptors;
pub(crate) mod address;
mod arrays;
mod cifar;
mod class_names;
mod data_file;
pub(crate) mod folder;
mod format;
mod idx;
pub(crate) mod in_order;
mod label_numbers;
mod labels;
mod list;
mod lmdb;
mod memory;
mod notice;
mod numpy;
#[cfg(feature = "parquet")]
mod parquet;
mod pointers;
#[cfg(feature = "remote")]
pub(crate) mod remote;
pub(crate) mod remote_error;
mod remote_stats;
mod sample;
mod seek_indexes;
mod shards;
mod source;
mod tar;

use std::path::Path;

use crate::error::{Error, Result};

pub use crate::pixels::{PixelFormat, Pixels};
pub use adaptors::{Concat, Repeat, SplitPart, Subset, Weighted};
pub use arrays::{ArrayValues, Arrays};
pub use cifar::Cifar;
pub use folder::{ImageFolder, ImageFolderBuilder};
#[cfg(feature = "remote")]
pub use format::open_with;
pub use format::{Format, Opened, open};
pub use idx::{Emnist, Idx};
pub use list::{ImageList, ImageListBuilder};
#[cfg(feature = "lmdb")]
pub use lmdb::LmdbWriter;
pub use lmdb::{Lmdb, LmdbBuilder, LmdbLayout};
pub use memory::InMemory;
pub use notice::Notice;
pub(crate) use notice::log as log_notices;
pub use numpy::Numpy;
#[cfg(feature = "parquet")]
pub use parquet::{Parquet, ParquetBuilder};
#[cfg(feature = "remote")]
pub(crate) use remote::RemoteRun;
#[cfg(feature = "remote")]
pub use remote::{Remote, RemoteOptions};
pub(crate) use remote_error::is_remote;
pub use remote_stats::RemoteStats;
pub use sample::{Label, Sample, SampleData};
pub use shards::ShardIndexes;
#[cfg(feature = "remote")]
#[doc(hidden)] // `gpufeed index --part` divides them
pub use shards::addresses_of;
#[doc(hidden)]
pub use tar::UNFINISHED;
pub use tar::{TarShards, TarShardsBuilder};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// The samples to train on.
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
///         Ok(Sample { data: SampleData::Pixels(pixels), label: Label::Class(index as u32) })
///     }
///
///     fn name(&self, index: usize) -> String {
///         format!("ramp {index}")
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

    /// Returns the most samples that a worker of the CPU executor reads for one job; 1 by default.
    ///
    /// More helps where several samples together cost less than one after the other, as behind a lock or a connection. A
    /// job then has at least four samples, or the whole batch where that is smaller. A worker calls [`begin_job`](Self::begin_job) with the samples of its job, before it reads them one by one.
    fn job_samples(&self) -> usize {
        1
    }

    /// Tells the data set which samples the calling thread reads next, in this order; only where
    /// [`job_samples`](Self::job_samples) is above 1. Samples that are cached already are left out, and some of those
    /// named may not be read, if the run ends. An error belongs to `read`. Does nothing by default.
    fn begin_job(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns the name of sample `index` in a report: its path, or "sample 7". Never panics. The name is as in the
    /// file or archive, so it may hold control characters for a terminal; errors that name a sample escape these.
    fn name(&self, index: usize) -> String;

    /// Returns the sample's stable identity, which keys its random numbers; its index by default.
    ///
    /// Override it if samples may be added or removed and the others should keep their random numbers. Two samples that
    /// may come in one epoch must have different ids.
    fn id(&self, index: usize) -> u64 {
        index as u64
    }

    /// Returns the channels of the batches made from this data set: 3 by default, or 1.
    ///
    /// With 1, every sample is [`PixelFormat::R8`] or one-channel [`PixelFormat::F32`].
    fn channels(&self) -> u32 {
        3
    }

    /// Returns the names of the classes: [`Label::Class`] is an index into them. Empty by default.
    fn classes(&self) -> &[String] {
        &[]
    }

    /// Returns true if `read` returns memory of the data set, so that a cache need not copy it. `false` by default.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Returns true if the samples come from afar, in pieces that cost the more the more of them there are, as from an
    /// object store. A loader that shuffles such data asks for an order ([`DataLoaderBuilder::order`]). `false` by
    /// default.
    ///
    /// [`DataLoaderBuilder::order`]: crate::DataLoaderBuilder::order
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the folder in which a loader stores its seek indexes ([`SeekIndexes`](crate::decode::SeekIndexes)).
    /// `None` by default.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// Returns what the data set noticed while it was opened: what its labels are, and what it does not read. A loader
    /// logs the [warnings](Notice::is_warning) among them when it is built; `explain` shows all. Empty by default.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// Returns one weight per sample, the probability of each relative to the others. With weights, an epoch chooses
    /// samples at random instead of having each once. `None` by default; [`with_weights`](Self::with_weights) sets
    /// them.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// Returns how many samples ahead of reading a loader tells [`prefetch`](Self::prefetch); 0 by default, which means
    /// never.
    fn prefetch_samples(&self) -> usize {
        0
    }

    /// Tells the data set which samples are read next, in about this order, each once: those that follow the ones of the
    /// last call. Called by one thread at a time; returns at once, and an error belongs to `read`. Some of those named may
    /// not be read, if the run ends or they are cached. Does nothing by default.
    fn prefetch(&self, indices: &[usize]) {
        let _ = indices;
    }

    /// Returns the connections through which this data set reads from afar; none by default. Through them a loader sets
    /// how much is read ahead, and reads the counters. A data set made of others returns theirs.
    #[cfg(feature = "remote")]
    fn remotes(&self) -> Vec<Remote> {
        Vec::new()
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
