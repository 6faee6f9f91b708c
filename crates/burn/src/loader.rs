//! Implements Burn's `DataLoader` trait for a gpufeed loader.

use crate::BatchExt;
use burn::data::dataloader::{self, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::{Device, Int, Tensor, TensorData, s};
use gpufeed::internals::soft_labels;
use gpufeed::{Batch, DataLoader, Epochs, Error, Result, State};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A batch as tensors on the loader's device, without the padding of a last batch: the item of a [`BurnLoader`], or the
/// input of its [`map`](BurnLoader::map).
///
/// ```no_run
/// # fn show(batch: gpufeed_burn::ImageBatch) {
/// println!("{:?} {:?}", batch.images.dims(), batch.classes.dims());
/// println!("{}", batch.soft_labels(1000).unwrap());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ImageBatch {
    /// The images, as [`BatchExt::to_tensor`] returns them.
    pub images: Tensor<4>,
    /// The class numbers, as [`BatchExt::class_tensor`] returns them.
    pub classes: Tensor<1, Int>,
    /// The class of each image, its partner's, and the share of the first, as [`Batch::mixed`] returns them.
    pub mixed: Vec<(u32, u32, f64)>,
    /// The sample id (`Dataset::id`) of each image.
    pub ids: Vec<u64>,
}

impl ImageBatch {
    /// Returns the labels as a tensor of shape `[images, num_classes]` beside the images, as
    /// [`BatchExt::soft_label_tensor`] does: those of a batch that was mixed, one-hot rows of one that was not.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](gpufeed::ErrorKind::Argument) if a class, or a partner's, is not below `num_classes`.
    pub fn soft_labels(&self, num_classes: usize) -> Result<Tensor<2>> {
        let rows = soft_labels(&self.mixed, num_classes)?;
        Ok(Tensor::from_data(TensorData::new(rows, [self.mixed.len(), num_classes]), &self.images.device()))
    }

    fn new(batch: &Batch, rows: Range<usize>, device: &Device) -> Result<ImageBatch> {
        let (mut images, mut classes) = (batch.to_tensor(device)?, batch.class_tensor(device)?);
        if rows != (0..batch.len()) {
            images = images.slice(s![rows.clone(), .., .., ..]);
            classes = classes.slice(s![rows.clone()]);
        }
        let mixed = batch.mixed().map_or_else(Vec::new, |mixed| mixed[rows.clone()].to_vec());
        Ok(ImageBatch { images, classes, mixed, ids: batch.ids()[rows].to_vec() })
    }
}

/// Wraps a [`DataLoader`] as Burn's trait of the same name, so that Burn's `Learner` accepts it.
///
/// Every call of `iter` starts the next epoch. Its items are [`ImageBatch`], or the values that [`map`](Self::map)
/// makes of them; padding (`LastBatch::Pad`) is cut off. `slice` selects a range of samples in the epoch's order: only
/// the batches that overlap the range are read, and the batches at its ends are cut, so slices of the same length may
/// have different numbers of batches. To divide the data among several processes, use
/// [`DataLoaderBuilder::shard`](gpufeed::DataLoaderBuilder::shard), whose shards all have the same number of batches.
/// `to_device` changes only the device of the tensors: a batch on a GPU cannot go to another device.
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
    loader: Arc<DataLoader>,
    device: Device,
    convert: Arc<dyn Fn(ImageBatch) -> O + Send + Sync>,
    /// The epoch that the next call of `iter` starts.
    epoch: AtomicU64,
    /// For each batch, the position in the epoch after its last sample that is not padding; the same in every epoch.
    ends: Arc<[usize]>,
    /// The range of positions in the epoch's order whose samples this loader yields.
    places: Range<usize>,
}

impl BurnLoader {
    /// Makes a loader that yields the batches of `loader` as tensors on `device`, from epoch 0 on.
    pub fn new(loader: DataLoader, device: Device) -> BurnLoader {
        let order = loader.sampler().epoch(0);
        let valid = (0..order.batches()).map(|batch| order.batch(batch).filter(|position| !position.padding).count());
        let sum = |sum: &mut usize, items| {
            *sum += items;
            Some(*sum)
        };
        let ends: Arc<[usize]> = valid.scan(0, sum).collect();
        let places = 0..ends.last().copied().unwrap_or(0);
        let (loader, convert) = (Arc::new(loader), Arc::new(|batch| batch));
        BurnLoader { loader, device, convert, epoch: AtomicU64::new(0), ends, places }
    }
}

impl<O: 'static> BurnLoader<O> {
    /// Converts each item with `map`.
    pub fn map<P>(self, map: impl Fn(O) -> P + Send + Sync + 'static) -> BurnLoader<P> {
        let BurnLoader { loader, device, convert, epoch, ends, places } = self;
        let convert = Arc::new(move |batch| map(convert(batch)));
        BurnLoader { loader, device, convert, epoch, ends, places }
    }

    /// Sets the epoch that the first call of `iter` starts, for a training that resumes from a checkpoint.
    pub fn from_epoch(self, epoch: u64) -> BurnLoader<O> {
        BurnLoader { epoch: AtomicU64::new(epoch), ..self }
    }

    fn with(&self, device: &Device, places: Range<usize>) -> Arc<dyn dataloader::DataLoader<O>> {
        Arc::new(BurnLoader {
            loader: Arc::clone(&self.loader),
            device: device.clone(),
            convert: Arc::clone(&self.convert),
            epoch: AtomicU64::new(self.epoch.load(Ordering::Relaxed)),
            ends: Arc::clone(&self.ends),
            places,
        })
    }
}

impl<O: 'static> dataloader::DataLoader<O> for BurnLoader<O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        let (seed, epoch) = (self.loader.seed(), self.epoch.fetch_add(1, Ordering::Relaxed));
        let batch = self.ends.partition_point(|&end| end <= self.places.start);
        let run = if self.places.is_empty() {
            Run::Over
        } else {
            match self.loader.resume(&State::at(seed, epoch, batch as u64)) {
                Ok(run) => Run::On(run),
                Err(error) => Run::Failed(error),
            }
        };
        Box::new(Iter { of: self, run, batch, next: self.places.start })
    }

    fn num_items(&self) -> usize {
        self.places.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn dataloader::DataLoader<O>> {
        self.with(device, self.places.clone())
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn dataloader::DataLoader<O>> {
        let place = |item: usize| self.places.start.saturating_add(item).min(self.places.end);
        self.with(&self.device, place(start)..place(end).max(place(start)))
    }
}

enum Run {
    On(Epochs),
    Failed(Error),
    Over,
}

struct Iter<'a, O> {
    of: &'a BurnLoader<O>,
    run: Run,
    /// The index of the next batch, and the position in the epoch of its next sample.
    batch: usize,
    next: usize,
}

impl<O> Iter<'_, O> {
    fn item(&mut self, batch: Result<Batch>) -> Result<O> {
        let BurnLoader { device, convert, ends, places, .. } = self.of;
        let end = ends[self.batch];
        let first = self.batch.checked_sub(1).map_or(0, |before| ends[before]);
        let batch = batch?;
        // Positions count samples. All views of a sample, with their crops, are consecutive rows of the batch.
        let images = batch.views() * batch.crops();
        let rows = images * (self.next - first)..images * (end.min(places.end) - first);
        let item = ImageBatch::new(&batch, rows, device)?;
        (self.batch, self.next) = (self.batch + 1, end);
        Ok(convert(item))
    }
}

impl<O> Iterator for Iter<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        // `Run::Over` stays after the last item and after an error. Replacing the run drops it, which ends its threads.
        let mut run = match std::mem::replace(&mut self.run, Run::Over) {
            Run::On(run) => run,
            Run::Failed(error) => return Some(Err(DatasetError::new(error))),
            Run::Over => return None,
        };
        let item = self.item(run.next()?);
        if item.is_ok() && self.next < self.of.places.end {
            self.run = Run::On(run);
        }
        Some(item.map_err(DatasetError::new))
    }
}

impl<O> DataLoaderIterator<O> for Iter<'_, O> {
    fn progress(&self) -> Progress {
        let Range { start, end } = self.of.places;
        Progress::new(self.next.min(end) - start, end - start, Some("items".to_owned()))
    }
}
