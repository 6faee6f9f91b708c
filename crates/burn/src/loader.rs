//! Implements Burn's `DataLoader` trait for gpufeed loaders: one, or one for each of several devices.

use crate::shard::Shard;
use crate::{GroupBatch, ImageBatch};
use burn::data::dataloader::{self, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use gpufeed::{Batch, DataLoader, Epochs, Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes an item of some samples of a batch, on a device.
type Convert<O> = dyn Fn(&Batch, Range<usize>, &Device) -> Result<O> + Send + Sync;

/// Wraps a [`DataLoader`] as Burn's trait of the same name, so that Burn's `Learner` accepts it.
///
/// Every call of `iter` starts the next epoch. Its items are [`ImageBatch`], or the values that [`map`](Self::map)
/// makes of them; padding (`LastBatch::Pad`) is cut off. `slice` selects a range of samples in the epoch's order: only
/// the batches that overlap the range are read, and the batches at its ends are cut, so slices of the same length may
/// have different numbers of batches. For several devices, [`on`](Self::on) has slices of whole batches; to divide the
/// data among several processes, use [`DataLoaderBuilder::shard`](gpufeed::DataLoaderBuilder::shard), whose shards all
/// have the same number of batches. `to_device` changes only the device of the tensors: a batch on a GPU cannot go to
/// another device.
/// ```
/// use burn::data::dataloader::DataLoader as _;
/// use gpufeed::transforms::RandomCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
/// use gpufeed_burn::{BackendExt, BurnLoader, ImageBatch};
///
/// let mut data = InMemory::new();
/// for class in 0..5 {
///     data.push_pixels(40, 40, PixelFormat::Rgb8, vec![9; 4800], Label::Class(class))?;
/// }
/// let (backend, device) = Backend::for_burn()?;
/// let loader = DataLoader::builder(data).transform(RandomCrop::new(32)).batch_size(2).build(&backend)?;
/// let loader = BurnLoader::new(loader, device).map(|batch: ImageBatch| (batch.images, batch.classes));
/// assert_eq!(loader.num_items(), 5);
/// let sizes: Vec<_> = loader.iter().map(|batch| batch.unwrap().0.dims()[0]).collect();
/// assert_eq!(sizes, [2, 2, 1]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub struct BurnLoader<O = ImageBatch> {
    /// Their items, laid end to end, are those of the loader. All have equally many.
    shards: Arc<[Shard]>,
    /// The device of the tensors, if it is not that of the shards.
    device: Option<Device>,
    convert: Arc<Convert<O>>,
    /// The epoch that the next call of `iter` starts.
    epoch: AtomicU64,
    /// The range of the items that this loader yields.
    places: Range<usize>,
}

impl BurnLoader {
    /// Makes a loader that yields the batches of `loader` as tensors on `device`, from epoch 0 on.
    pub fn new(loader: DataLoader, device: Device) -> BurnLoader {
        BurnLoader::of([Shard::new(loader, device, false)].into())
    }

    /// Makes a loader for several devices of one process, of a loader for each, for the learner's strategies
    /// `MultiDevice` and `ddp`.
    ///
    /// The loaders are the shards of one data set: loader `i` of `n` is built with
    /// [`shard(i, n)`](gpufeed::DataLoaderBuilder::shard), and each may have a backend of its own. Together they should
    /// have as many [`workers`](gpufeed::DataLoaderBuilder::workers) as there are cores. The items are those of the first
    /// loader, then those of the second, and so on. A learner calls `slice` with the n-th part of them, which is a
    /// loader's, and `to_device` with its device. Without `slice`, `to_device` picks the loader of that device, if one
    /// alone has it.
    ///
    /// All shards are of one length, as with PyTorch's `DistributedSampler`: where the samples do not divide by the
    /// shards, some are repeated, and those count as items here.
    /// ```
    /// use burn::data::dataloader::DataLoader as _;
    /// use burn::data::dataloader::split::split_dataloader;
    /// use burn::tensor::Device;
    /// use gpufeed::transforms::RandomCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    /// use gpufeed_burn::BurnLoader;
    /// use std::sync::Arc;
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..12 {
    ///     data.push_pixels(40, 40, PixelFormat::Rgb8, vec![9; 4800], Label::Class(class))?;
    /// }
    /// let data = Arc::new(data);
    /// let devices = [Device::flex(), Device::flex()];
    /// let mut loaders = Vec::new();
    /// for (rank, device) in devices.iter().enumerate() {
    ///     let loader = DataLoader::builder(data.clone()).transform(RandomCrop::new(32)).batch_size(3);
    ///     loaders.push((loader.shard(rank, devices.len()).build(&Backend::Cpu)?, device.clone()));
    /// }
    /// let parts = split_dataloader(Arc::new(BurnLoader::on(loaders)?), &devices);
    /// assert!(parts.iter().all(|part| part.num_items() == 6 && part.iter().count() == 2));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no loader, or if they are not the shards 0 to n - 1 of one data set, in
    /// the same order and batches.
    pub fn on(loaders: impl IntoIterator<Item = (DataLoader, Device)>) -> Result<BurnLoader> {
        let shards: Arc<[Shard]> =
            loaders.into_iter().map(|(loader, device)| Shard::new(loader, device, true)).collect();
        let bad = |reason: String| Err(ErrorKind::Argument { setting: "loaders", reason }.into());
        let Some(first) = shards.first() else { return bad("none, but each device has one".to_owned()) };
        // All settings of the epoch's order but the rank.
        let order = |shard: &Shard| shard.loader.sampler().clone().shard(0, shards.len()).ok();
        for (number, shard) in shards.iter().enumerate() {
            let sampler = shard.loader.sampler();
            let found = (sampler.rank(), sampler.world());
            if found != (number, shards.len()) {
                let (rank, world) = found;
                return bad(format!(
                    "loader {number} of {} is shard({rank}, {world}); build it with shard({number}, {})",
                    shards.len(),
                    shards.len()
                ));
            }
            if order(shard) != order(first) {
                return bad(format!(
                    "loader {number} has another number of samples, batch_size, seed, shuffle, last_batch or weights than \
                     loader 0"
                ));
            }
        }
        Ok(BurnLoader::of(shards))
    }

    fn of(shards: Arc<[Shard]>) -> BurnLoader {
        let places = 0..shards.iter().map(Shard::items).sum();
        BurnLoader { shards, device: None, convert: Arc::new(ImageBatch::new), epoch: AtomicU64::new(0), places }
    }

    /// Yields a [`GroupBatch`] for each batch, with the images of all groups
    /// ([`DataLoaderBuilder::group`](gpufeed::DataLoaderBuilder::group)) and the columns of fields, for which an
    /// [`ImageBatch`] has no place: it is an error where there are some.
    pub fn grouped(self) -> BurnLoader<GroupBatch> {
        let BurnLoader { shards, device, epoch, places, .. } = self;
        BurnLoader { shards, device, convert: Arc::new(GroupBatch::new), epoch, places }
    }
}

impl<O: 'static> BurnLoader<O> {
    /// Converts each item with `map`.
    pub fn map<P>(self, map: impl Fn(O) -> P + Send + Sync + 'static) -> BurnLoader<P> {
        let BurnLoader { shards, device, convert, epoch, places } = self;
        let convert = move |batch: &Batch, samples: Range<usize>, on: &Device| convert(batch, samples, on).map(&map);
        BurnLoader { shards, device, convert: Arc::new(convert), epoch, places }
    }

    /// Sets the epoch that the first call of `iter` starts, for a training that resumes from a checkpoint.
    pub fn from_epoch(self, epoch: u64) -> BurnLoader<O> {
        BurnLoader { epoch: AtomicU64::new(epoch), ..self }
    }

    fn with(&self, device: Option<&Device>, places: Range<usize>) -> Arc<dyn dataloader::DataLoader<O>> {
        Arc::new(BurnLoader {
            shards: Arc::clone(&self.shards),
            device: device.cloned(),
            convert: Arc::clone(&self.convert),
            epoch: AtomicU64::new(self.epoch.load(Ordering::Relaxed)),
            places,
        })
    }

    /// Items of each shard.
    fn each(&self) -> usize {
        self.shards[0].items()
    }

    /// The items of the only shard on a device, if this loader has the items of all. A device with autodiff is the same
    /// one: learners of one device ask with it.
    fn shard_on(&self, device: &Device) -> Option<Range<usize>> {
        let device = device.clone().inner();
        let mut on = (0..self.shards.len()).filter(|&shard| self.shards[shard].device.clone().inner() == device);
        let (Some(shard), None) = (on.next(), on.next()) else { return None };
        let all = self.places == (0..self.shards.len() * self.each());
        all.then(|| shard * self.each()..(shard + 1) * self.each())
    }
}

impl<O: 'static> dataloader::DataLoader<O> for BurnLoader<O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed);
        let mut iter = Iter { of: self, epoch, run: EpochRun::Over, batch: 0, next: self.places.start };
        iter.begin();
        Box::new(iter)
    }

    fn num_items(&self) -> usize {
        self.places.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn dataloader::DataLoader<O>> {
        let places = self.shard_on(device).unwrap_or_else(|| self.places.clone());
        self.with(Some(device), places)
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn dataloader::DataLoader<O>> {
        let place = |item: usize| self.places.start.saturating_add(item).min(self.places.end);
        self.with(self.device.as_ref(), place(start)..place(end).max(place(start)))
    }
}

/// The run of a shard's epoch.
enum EpochRun {
    On(Epochs),
    Failed(Error),
    Over,
}

struct Iter<'a, O> {
    of: &'a BurnLoader<O>,
    epoch: u64,
    /// The epoch of the shard that has the next item.
    run: EpochRun,
    /// The next batch of that shard, and the place of its next item.
    batch: usize,
    next: usize,
}

impl<O: 'static> Iter<'_, O> {
    /// The shard that has the next item, and the place of its first.
    fn shard(&self) -> (&Shard, usize) {
        let number = self.next / self.of.each();
        (&self.of.shards[number], number * self.of.each())
    }

    /// Begins the epoch of the shard that has the next item, if there is one.
    fn begin(&mut self) {
        if self.next >= self.of.places.end {
            return;
        }
        let (shard, first) = self.shard();
        let batch = shard.batch_of(self.next - first);
        let run = shard.begin(self.epoch, batch).map_or_else(EpochRun::Failed, EpochRun::On);
        (self.batch, self.run) = (batch, run);
    }

    fn item(&mut self, batch: Result<Batch>) -> Result<O> {
        let BurnLoader { device, convert, places, .. } = self.of;
        let (shard, first) = self.shard();
        let Range { start, end } = shard.items_of(self.batch);
        let (start, end) = (first + start, first + end);
        let batch = batch?;
        // Places count samples.
        let samples = self.next - start..end.min(places.end) - start;
        let item = convert(&batch, samples, device.as_ref().unwrap_or(&shard.device))?;
        (self.batch, self.next) = (self.batch + 1, end);
        Ok(item)
    }
}

impl<O: 'static> Iterator for Iter<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        // `EpochRun::Over` stays after the last item and after an error. Replacing the run drops it, which ends its threads.
        let mut run = match std::mem::replace(&mut self.run, EpochRun::Over) {
            EpochRun::On(run) => run,
            EpochRun::Failed(error) => return Some(Err(DatasetError::new(error))),
            EpochRun::Over => return None,
        };
        let item = self.item(run.next()?);
        if item.is_ok() {
            match self.next % self.of.each() {
                0 => self.begin(),
                _ if self.next < self.of.places.end => self.run = EpochRun::On(run),
                _ => {}
            }
        }
        Some(item.map_err(DatasetError::new))
    }
}

impl<O: 'static> DataLoaderIterator<O> for Iter<'_, O> {
    fn progress(&self) -> Progress {
        let Range { start, end } = self.of.places;
        Progress::new(self.next.min(end) - start, end - start, Some("items".to_owned()))
    }
}
