//! Orders beside the built-in ones: a list of samples or of batches for each epoch, the user's or one made here.

// list.rs       the list of an epoch, checked
// known.rs      the lists that a sampler has made or was given
// repeated.rs   repeated augmentation
// blend.rs      groups of samples by their shares: class-balanced orders, blends of data sets; shares.rs: the shares of an
//               epoch as whole numbers

mod blend;
mod known;
mod list;
mod repeated;
mod shares;

use crate::error::{Error, Result};
use blend::Blend;
use repeated::Repeated;
use std::fmt;
use std::sync::Arc;

pub(super) use known::Listed;
pub(crate) use known::OpenLists;
pub(super) use list::{Bounds, EpochList, Given};

/// An order of samples for each epoch, in the place of the built-in ones: [`Sampler::orders`](super::Sampler::orders) and
/// [`DataLoaderBuilder::sampler`](crate::DataLoaderBuilder::sampler) take it. Cheap to clone.
///
/// A list may be shorter or longer than the data set, and have samples several times; each time has random numbers of its
/// own. It has the same length in every epoch. Ranks take their shares of it by position, as with the built-in orders. A
/// [`State`](super::State) has a digest of the epoch's list, and another list is refused.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, Orders, PixelFormat};
///
/// let mut data = InMemory::new();
/// for class in 0..10 {
///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
/// }
/// // Five samples, from another place on in each epoch.
/// let orders = Orders::samples(5, |epoch| Ok((0..5).map(|n| (epoch as usize + n) % 10).collect()));
/// let loader = DataLoader::builder(data).transform(CenterCrop::new(4)).batch_size(5).sampler(orders).build(&Backend::Cpu)?;
/// let batch = loader.epoch(7)?.next().unwrap()?;
/// assert_eq!(batch.classes().unwrap(), [7, 8, 9, 0, 1]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone)]
pub struct Orders {
    source: Arc<Source>,
    /// Indices of an epoch's list, or its batches.
    len: usize,
    /// The samples that the data set has to have, where the order knows it.
    samples: Option<usize>,
    /// The order in words.
    name: Arc<str>,
    /// False if ranks have lists of their own, which one state for all of them cannot name.
    whole: bool,
}

type Make<T> = Box<dyn Fn(u64) -> Result<T> + Send + Sync>;

enum Source {
    Samples(Make<Vec<usize>>),
    Batches(Make<Vec<Vec<usize>>>),
    /// The lists are given one by one, by [`Sampler::give`](super::Sampler::give); true for lists of batches.
    Given(bool),
    Repeated(Repeated),
    Blend(Blend),
}

impl Orders {
    fn new(source: Source, len: usize, samples: Option<usize>, name: String) -> Orders {
        Orders { source: Arc::new(source), len, samples, name: name.into(), whole: true }
    }

    /// The indices that `list` returns for an epoch, `len` in each.
    ///
    /// `list` is asked on the loader's threads, more than once for an epoch, and has to return the same each time: a
    /// function of the epoch. Its error ends the run.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let sampler = Sampler::new(100, 4)?.orders(Orders::samples(8, |_| Ok(vec![90, 1, 90, 3, 4, 5, 6, 7])))?;
    /// let first: Vec<_> = sampler.epoch(0).batch(0).collect();
    /// assert_eq!((first[2].index, first[2].occurrence), (90, 1));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn samples(len: usize, list: impl Fn(u64) -> Result<Vec<usize>> + Send + Sync + 'static) -> Orders {
        Orders::new(Source::Samples(Box::new(list)), len, None, "given by a sampler".to_owned())
    }

    /// The batches that `list` returns for an epoch, `len` in each epoch, of 1 to `batch_size` samples. Rank `r` of `world`
    /// takes the batches `r`, `r + world`, ..., and where their number does not divide, [`LastBatch`](super::LastBatch)
    /// either repeats the first ones as padding or leaves out the last ones. Filling up batches
    /// ([`LastBatch::Pad`](super::LastBatch::Pad)) is an error.
    ///
    /// `list` is asked as that of [`samples`](Self::samples).
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let batches = Orders::batches(2, |_| Ok(vec![vec![5, 6, 7], vec![1]]));
    /// let sampler = Sampler::new(10, 3)?.orders(batches)?;
    /// let sizes: Vec<usize> = (0..2).map(|batch| sampler.epoch(0).batch(batch).len()).collect();
    /// assert_eq!(sizes, [3, 1]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn batches(len: usize, list: impl Fn(u64) -> Result<Vec<Vec<usize>>> + Send + Sync + 'static) -> Orders {
        Orders::new(Source::Batches(Box::new(list)), len, None, "batches by a sampler".to_owned())
    }

    /// Lists that the caller hands to [`Sampler::give`](super::Sampler::give) epoch by epoch. `whole` is false if ranks have
    /// lists of their own.
    pub(crate) fn given(len: usize, batches: bool, whole: bool, name: String) -> Orders {
        Orders { whole, ..Orders::new(Source::Given(batches), len, None, name) }
    }

    /// Repeated augmentation: a random order of the data set in which each sample comes `repeats` times in a row, so that
    /// ranks have differently augmented images of one sample in a global batch. Only the first positions are used, as many as
    /// `samples` rounded down to a multiple of `round_to`: about one in `repeats` samples comes in an epoch.
    ///
    /// This is the rule of `RASampler` in DeiT and torchvision's references, and of timm's `RepeatAugSampler`, with 3 and
    /// 256, by random numbers of gpufeed's. E. Hoffer et al., "Augment Your Batch", CVPR 2020; M. Berman et al., "MultiGrain",
    /// arXiv 1902.05509.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let sampler = Sampler::new(1000, 6)?.seed(1).orders(Orders::repeated_augmentation(1000, 3, 256)?)?;
    /// assert_eq!(sampler.batches(), 128); // 768 positions
    /// let first: Vec<_> = sampler.epoch(0).batch(0).map(|position| (position.index, position.occurrence)).collect();
    /// assert_eq!((first[0].0, first[0].1, first[2].1), (first[2].0, 0, 2));
    /// assert_ne!(first[2].0, first[3].0);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for 0, or if `samples` is below `round_to`.
    pub fn repeated_augmentation(samples: usize, repeats: usize, round_to: usize) -> Result<Orders> {
        let repeated = Repeated::new(samples, repeats, round_to)?;
        let name = format!("repeated augmentation, each sample {repeats} times in a row");
        Ok(Orders::new(Source::Repeated(repeated), repeated.len(), Some(samples), name))
    }

    /// Each class of `labels`, the classes of all samples ([`dataset::known_classes`](crate::dataset::known_classes)), as often as every other in an epoch of `samples_per_epoch`
    /// positions, to within one. Each class is walked in a random order from the first to the last of its samples, and again
    /// in another one, through all epochs: no sample comes again before all others of its class have come.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// // Nine samples of class 0, three of class 1.
    /// let labels = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1];
    /// let sampler = Sampler::new(12, 12)?.orders(Orders::class_balanced(&labels, 12)?)?;
    /// let rare = sampler.epoch(0).batch(0).filter(|position| position.index >= 9).count();
    /// assert_eq!(rare, 6);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for no labels, or 0 samples an epoch.
    pub fn class_balanced(labels: &[u32], samples_per_epoch: usize) -> Result<Orders> {
        let blend = Blend::of_classes(labels, samples_per_epoch)?;
        let name = format!("{} classes equally often", blend.groups());
        Ok(Orders::new(Source::Blend(blend), samples_per_epoch, Some(labels.len()), name))
    }

    /// Data sets of these lengths, one after the other as [`Concat`](crate::dataset::Concat) has them, by shares: each epoch of
    /// `samples_per_epoch` positions has of each data set its weight's share, to within one sample. Each is walked without
    /// replacement as the classes of [`class_balanced`](Self::class_balanced). [`dataset::blend`](crate::dataset::blend) makes
    /// the data set, too.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let orders = Orders::blend(&[1000, 50], [0.7, 0.3], 10)?;
    /// let sampler = Sampler::new(1050, 10)?.orders(orders)?;
    /// assert_eq!(sampler.epoch(3).batch(0).filter(|position| position.index >= 1000).count(), 3);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) unless there is one weight for each data set, all finite and at
    /// least 0, one of them above 0; for 0 samples an epoch, and for an empty data set with a weight.
    pub fn blend(lengths: &[usize], weights: impl Into<Vec<f64>>, samples_per_epoch: usize) -> Result<Orders> {
        let weights = weights.into();
        shares::check(&weights, lengths)?;
        Orders::blend_by(lengths, move |_| weights.clone(), samples_per_epoch)
    }

    /// [`blend`](Self::blend) with weights that are a function of the epoch. It is asked for all epochs up to the one that is
    /// made, which tells how far each data set has been walked.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// // The second data set comes in by and by.
    /// let weights = |epoch| vec![1.0, (epoch as f64 / 4.0).min(1.0)];
    /// let sampler = Sampler::new(1050, 10)?.orders(Orders::blend_by(&[1000, 50], weights, 10)?)?;
    /// let seconds = |epoch| sampler.epoch(epoch).batch(0).filter(|position| position.index >= 1000).count();
    /// assert_eq!([0, 1, 4, 9].map(seconds), [0, 2, 5, 5]);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`blend`](Self::blend); wrong weights of an epoch end the run.
    pub fn blend_by(
        lengths: &[usize],
        weights: impl Fn(u64) -> Vec<f64> + Send + Sync + 'static,
        samples_per_epoch: usize,
    ) -> Result<Orders> {
        let blend = Blend::of_lengths(lengths, Box::new(weights), samples_per_epoch)?;
        let name = format!("a blend of {} data sets", lengths.len());
        Ok(Orders::new(Source::Blend(blend), samples_per_epoch, Some(lengths.iter().sum()), name))
    }

    /// Indices of an epoch's list, or its batches.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// True if lists are of batches.
    pub(super) fn of_batches(&self) -> bool {
        matches!(*self.source, Source::Batches(_) | Source::Given(true))
    }

    /// True if the order is random by itself, and not the user's.
    pub(crate) fn is_random(&self) -> bool {
        matches!(*self.source, Source::Repeated(_) | Source::Blend(_))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True if a state names the list of the epoch.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The argument of a loader that has the order.
    pub(super) fn setting(&self) -> &'static str {
        if self.of_batches() { "batch_sampler" } else { "sampler" }
    }

    /// Checks that the order is one of a data set of `samples` samples.
    pub(super) fn check(&self, samples: usize) -> Result<()> {
        let refused = |reason: String| Err(Error::argument(self.setting(), reason));
        if self.len == 0 {
            let what = if self.of_batches() { "batches" } else { "indices" };
            return refused(format!("an epoch of no {what}; give at least one"));
        }
        if let Some(own) = self.samples.filter(|own| *own != samples) {
            return refused(format!("an order of {own} samples, but the data set has {samples}"));
        }
        if u32::try_from(samples).is_err() {
            return refused(format!("{samples} samples, but at most {} can be listed", u32::MAX));
        }
        Ok(())
    }

    /// Makes the list of an epoch; `None` if it has to be given.
    fn make(&self, bounds: Bounds, seed: u64, epoch: u64) -> Result<Option<EpochList>> {
        let given = match &*self.source {
            Source::Samples(list) => Given::Samples(list(epoch)?),
            Source::Batches(list) => Given::Batches(list(epoch)?),
            Source::Given(_) => return Ok(None),
            Source::Repeated(repeated) => Given::Samples(repeated.epoch(seed, epoch)),
            Source::Blend(blend) => Given::Samples(blend.epoch(seed, epoch)?),
        };
        EpochList::new(given, bounds, epoch).map(Some)
    }
}

impl PartialEq for Orders {
    /// Orders are equal if one is a clone of the other.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.len == other.len
    }
}

impl Eq for Orders {}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orders").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
