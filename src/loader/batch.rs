//! A batch of augmented images, as the training loop receives it.

use super::batch_group::{BatchGroup, GroupImages};
use super::batch_store::{BatchStore, Images};
use super::columns::Column;
use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::gpu::exported::Exported;
use crate::objects::{FlatObjects, Objects};
use crate::plan::{Arrangement, DType, Layout};
use crate::transforms::{BatchParams, Params};
use std::sync::Arc;

/// A sample that could not be used, with its error. Another sample has replaced it.
///
/// ```no_run
/// # fn show(batch: &gpufeed::Batch) {
/// for failure in batch.failures() {
///     eprintln!("{}: {}", failure.name, failure.error);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Failure {
    /// The batch index of the replacement among the images of the first group; of its first image if there are several.
    pub batch_index: usize,
    /// The sample's id.
    pub id: u64,
    /// The sample's path or name.
    pub name: String,
    /// The reason why the sample could not be used.
    pub error: Error,
}

/// A batch of augmented images with their labels.
///
/// Where a loader has [groups](crate::DataLoaderBuilder::group), what is said of images here is about the first group;
/// [`group`](Self::group) has those of any.
///
/// Dropping the batch returns its buffer to the loader: submit the work that reads the buffer before that.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![255; 48], Label::Class(7))?;
/// let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(1).build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// assert_eq!(batch.shape(), [1, 3, 2, 2]);
/// assert_eq!(batch.labels(), [Label::Class(7)]);
/// assert_eq!(batch.to_host_f32()?, vec![1.0; 12]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    pub(super) store: BatchStore,
    /// At least one.
    pub(super) groups: Vec<GroupImages>,
    pub(super) labels: Vec<Label>,
    pub(super) columns: Vec<Column>,
    /// The name of the field of objects.
    pub(super) object_field: Option<Arc<str>>,
    pub(super) failures: Vec<Failure>,
    pub(super) epoch: u64,
    pub(super) index: u64,
    /// How it was mixed.
    pub(super) mix: Option<BatchParams>,
}

impl Batch {
    /// The groups of images, in the order in which the loader was given them; one without a name of its own, `image`, where
    /// it was given none.
    pub fn groups(&self) -> impl Iterator<Item = BatchGroup<'_>> {
        (0..self.groups.len()).map(|number| self.numbered(number))
    }

    /// The group with this name.
    pub fn group(&self, name: &str) -> Option<BatchGroup<'_>> {
        self.groups().find(|group| group.name() == name)
    }

    fn numbered(&self, number: usize) -> BatchGroup<'_> {
        BatchGroup { store: &self.store, number, images: &self.groups[number] }
    }

    /// The first group.
    pub(super) fn first(&self) -> BatchGroup<'_> {
        self.numbered(0)
    }

    /// The images: a GPU buffer, or bytes in host memory.
    pub fn images(&self) -> Images<'_> {
        self.first().images()
    }

    /// The images in host memory, to change them; `None` for images on a GPU.
    pub fn host_mut(&mut self) -> Option<&mut [u8]> {
        let bytes = self.bytes();
        match &mut self.store {
            BatchStore::Gpu { .. } => None,
            BatchStore::Host(buffer) => buffer.get_mut().batch_mut().get_mut(..bytes),
        }
    }

    /// The images of each group in host memory, in the order of the [`groups`](Self::groups), to change them; empty for
    /// images on a GPU.
    pub fn groups_mut(&mut self) -> Vec<&mut [u8]> {
        let ends: Vec<_> = self.groups().map(|group| (group.images.begin, group.bytes())).collect();
        let BatchStore::Host(buffer) = &mut self.store else { return Vec::new() };
        let (mut rest, mut passed) = (buffer.get_mut().batch_mut(), 0);
        let mut found = Vec::with_capacity(ends.len());
        // Groups lie one after the other, each at a multiple of the alignment.
        for (begin, bytes) in ends {
            let (_, from) = std::mem::take(&mut rest).split_at_mut(begin - passed);
            let (images, after) = from.split_at_mut(bytes);
            found.push(images);
            (rest, passed) = (after, begin + bytes);
        }
        found
    }

    /// The GPU that the images are on; `None` for images in host memory.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.store {
            BatchStore::Gpu { gpu, .. } => Some(gpu),
            BatchStore::Host(_) => None,
        }
    }

    /// `[images, channels, height, width]`, or `[images, height, width, channels]` for [`Layout::Nhwc`]; where the images'
    /// sizes differ, that of [`BatchGroup::shape`].
    pub fn shape(&self) -> [usize; 4] {
        self.first().shape()
    }

    /// The distances in elements from one index to the next: [`BatchGroup::strides`].
    pub fn strides(&self) -> [usize; 4] {
        self.first().strides()
    }

    /// How the images lie.
    pub fn arrangement(&self) -> Arrangement {
        self.first().arrangement()
    }

    /// Width and height of an image, without padding; `None` for one out of range.
    pub fn image_size(&self, image: usize) -> Option<(u32, u32)> {
        self.first().image_size(image)
    }

    /// The order of the elements.
    pub fn layout(&self) -> Layout {
        self.first().layout()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.first().dtype()
    }

    /// Bytes of the memory that the images take ([`BatchGroup::bytes`]).
    pub fn bytes(&self) -> usize {
        self.first().bytes()
    }

    /// Images in the batch, padding included.
    pub fn len(&self) -> usize {
        self.first().len()
    }

    /// Always false: a batch has at least one image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Views of each sample ([`DataLoaderBuilder::views`](crate::DataLoaderBuilder::views)). Crop `c` of view `v` of
    /// sample `i` is image `(i * views + v) * crops + c`, so the batch is also one of shape
    /// `[samples, views, crops, …]`.
    pub fn views(&self) -> usize {
        self.first().views()
    }

    /// Images of each view: 5 with [`FiveCrop`](crate::transforms::FiveCrop), 10 with
    /// [`TenCrop`](crate::transforms::TenCrop), else 1.
    pub fn crops(&self) -> usize {
        self.first().crops()
    }

    /// Images that are not padding (`LastBatch::Pad`, uneven shards); padding comes last.
    pub fn valid(&self) -> usize {
        self.first().valid()
    }

    /// Samples in the batch, padding included.
    pub fn samples(&self) -> usize {
        self.len() / (self.views() * self.crops())
    }

    /// The labels, image by image.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The class numbers, if every label is a class.
    pub fn classes(&self) -> Option<Vec<u32>> {
        self.labels.iter().map(|label| if let Label::Class(class) = label { Some(*class) } else { None }).collect()
    }

    /// The data set's [fields](crate::Dataset::fields), but images, in its order: a value for each *sample*, padding
    /// included, whereas [`labels`](Self::labels) has one for each image.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name() == name)
    }

    /// The objects in image `image` of the first group that shows the samples' own images, moved as its pixels are; `None` where the data
    /// set has no field of objects, and for an image out of range. [`BatchGroup::objects`] has those of each group.
    ///
    /// ```
    /// use gpufeed::dataset::{Field, FieldKind, FieldValue};
    /// use gpufeed::targets::{BoxFormat, Objects};
    /// use gpufeed::transforms::RandomHorizontalFlip;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    /// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![255; 48], Label::None)?;
    /// let objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 0.0, 1.0, 2.0]]).with_labels(vec![5])?;
    /// data.push_fields([FieldValue::from(objects)])?;
    /// let flip = RandomHorizontalFlip::new(1.0);
    /// let end = gpufeed::transforms::CenterCrop::new(4);
    /// let loader = DataLoader::builder(data).transform(flip).transform(end).batch_size(1).build(&Backend::Cpu)?;
    /// let batch = loader.epoch(0)?.next().unwrap()?;
    /// let targets = batch.targets(0).unwrap();
    /// assert_eq!((targets.boxes(), targets.labels()), (&[[3.0, 0.0, 4.0, 2.0]][..], Some(&[5][..])));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn targets(&self, image: usize) -> Option<&Objects> {
        self.showing()?.get(image)
    }

    /// The objects of all images, in one list of each kind; `None` where the data set has no field of objects.
    ///
    /// # Errors
    /// Those of [`FlatObjects::of`].
    pub fn flat_targets(&self) -> Result<Option<FlatObjects>> {
        self.showing().map(FlatObjects::of).transpose()
    }

    /// The objects of the first group that shows them.
    fn showing(&self) -> Option<&[Objects]> {
        self.groups().find_map(|group| group.objects())
    }

    /// The name of the field of objects, if the data set has one.
    pub fn object_field(&self) -> Option<&str> {
        self.object_field.as_deref()
    }

    /// For each image, the id of its sample (`Dataset::id`), in the order of the images. Several views or crops of a
    /// sample repeat its id.
    pub fn ids(&self) -> &[u64] {
        self.first().ids()
    }

    /// The parameters of each image, for [`DataLoader::replay`](crate::DataLoader::replay).
    pub fn params(&self) -> &[Params] {
        self.first().params()
    }

    /// The samples that could not be used and were replaced.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The epoch of the batch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of the batch in its epoch, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// A copy in host memory, in the batch's layout and type ([`BatchGroup::to_host`]). On a GPU this waits for the batch's work: use it for
    /// inspection, not for training.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU is lost,
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it has none left for the copy;
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has none.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        self.first().to_host()
    }

    /// A copy in host memory as f32 (u8 becomes \[0, 1\]).
    ///
    /// # Errors
    /// Those of [`to_host`](Self::to_host).
    pub fn to_host_f32(&self) -> Result<Vec<f32>> {
        self.first().to_host_f32()
    }

    /// Returns the batch's buffers to the loader, from another API that has got them by
    /// [`external`](BatchGroup::external). By then the signals of [`External::free`](crate::External::free) have to be among
    /// the work of that API's device; without semaphores, all work that reads the batch has to have ended.
    pub fn release(self) {
        if let BatchStore::Gpu { targets, .. } = &self.store {
            targets.iter().filter_map(|target| target.exported.as_ref()).for_each(Exported::release);
        }
    }

    /// Takes the GPU buffer out of the loader's ring; the loader makes a new one within its memory budget. Of several
    /// groups it is the first one's: [`into_buffers`](Self::into_buffers) takes all.
    ///
    /// `None` on the CPU backend.
    pub fn into_buffer(self) -> Option<wgpu::Buffer> {
        self.into_buffers().into_iter().next()
    }

    /// Takes the GPU's buffers out of the loader's ring: one for each group, in their order. Empty on the CPU backend.
    pub fn into_buffers(self) -> Vec<wgpu::Buffer> {
        match self.store {
            BatchStore::Gpu { targets, .. } => targets.into_inner().into_iter().map(|target| target.output).collect(),
            BatchStore::Host(_) => Vec::new(),
        }
    }
}
