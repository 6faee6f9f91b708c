//! The images of a batch in one group of views.

use super::arrangement::Place;
use super::batch_store::{BatchStore, Images};
use crate::allocate::COPY;
use crate::error::{Error, Result};
use crate::gpu::{External, readback};
use crate::objects::Objects;
use crate::plan::{Arrangement, DType, Layout, Output};
use crate::transforms::Params;

/// What a batch has of a group.
#[derive(Debug)]
pub(super) struct GroupImages {
    pub(super) name: String,
    pub(super) output: Output,
    pub(super) arrangement: Arrangement,
    /// Width and height of the images, also where they are padded; 0 where each has a size of its own.
    pub(super) size: (u32, u32),
    /// The size of each image; empty where all have `size`.
    pub(super) sizes: Vec<(u32, u32)>,
    /// Width and height of the place that each image has.
    pub(super) place: (u32, u32),
    pub(super) channels: u32,
    pub(super) views: usize,
    pub(super) crops: usize,
    /// The byte of the batch in host memory at which the images begin.
    pub(super) begin: usize,
    /// Images that are not padding.
    pub(super) valid: usize,
    pub(super) ids: Vec<u64>,
    pub(super) params: Vec<Params>,
    /// The objects in each image; empty where they are not shown.
    pub(super) objects: Vec<Objects>,
}

/// The images of a batch in one group of views ([`DataLoaderBuilder::group`](crate::DataLoaderBuilder::group)):
/// [`Batch::group`](crate::Batch::group) and [`Batch::groups`](crate::Batch::groups) have them.
///
/// ```
/// use gpufeed::transforms::RandomResizedCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat, Views};
///
/// let mut data = InMemory::new();
/// data.push_pixels(9, 9, PixelFormat::Rgb8, vec![80; 243], Label::Class(4))?;
/// let loader = DataLoader::builder(data)
///     .group("global", Views::new(2).transform(RandomResizedCrop::new(8)))
///     .group("local", Views::new(6).transform(RandomResizedCrop::new(4)))
///     .build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// let local = batch.group("local").unwrap();
/// assert_eq!((local.shape(), local.views()), ([6, 3, 4, 4], 6));
/// assert_eq!(batch.shape(), [2, 3, 8, 8]); // the first group
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BatchGroup<'a> {
    pub(super) store: &'a BatchStore,
    /// The number of the group.
    pub(super) number: usize,
    pub(super) images: &'a GroupImages,
}

impl<'a> BatchGroup<'a> {
    /// The group's name.
    pub fn name(&self) -> &'a str {
        &self.images.name
    }

    /// The images: a GPU buffer, or bytes in host memory.
    pub fn images(&self) -> Images<'a> {
        match self.store {
            BatchStore::Gpu { targets, .. } => Images::Gpu { buffer: &targets[self.number].output, offset: 0 },
            BatchStore::Host(buffer) => Images::Host(&buffer.batch()[self.images.begin..][..self.bytes()]),
        }
    }

    /// The images' memory, for another API to import: of a loader that [exports](crate::DataLoaderBuilder::export). Their
    /// buffer then comes back with [`Batch::release`](crate::Batch::release) alone, or [`External::unused`].
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the loader does not export;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU is lost before the batch is there.
    pub fn external(&self) -> Result<External<'a>> {
        let exported = match self.store {
            BatchStore::Gpu { targets, .. } => targets[self.number].exported.as_ref(),
            BatchStore::Host(_) => None,
        };
        let exported =
            exported.ok_or_else(|| Error::argument("export", "off, so that no other API can import this batch"))?;
        exported.hand_out(self.bytes() as u64)
    }

    /// `[images, channels, height, width]`, or `[images, height, width, channels]` for [`Layout::Nhwc`]. Height and width of
    /// a [padded](Arrangement::Padded) group are those of the batch, padding included; those of a [listed](Arrangement::Listed)
    /// one are 0, as each image has [its own](Self::image_size).
    pub fn shape(&self) -> [usize; 4] {
        let GroupImages { size, channels, .. } = *self.images;
        let (n, c, h, w) = (self.len(), channels as usize, size.1 as usize, size.0 as usize);
        match self.layout() {
            Layout::Nchw => [n, c, h, w],
            Layout::Nhwc => [n, h, w, c],
        }
    }

    /// The distances in elements from one index to the next, in the order of the [`shape`](Self::shape). They follow from the
    /// shape unless the group is [padded](Arrangement::Padded). In a [listed](Arrangement::Listed) group images lie so far apart, and the
    /// other distances are 0: an image's elements lie one after the other.
    pub fn strides(&self) -> [usize; 4] {
        let GroupImages { place, channels, .. } = *self.images;
        let (channels, width, height) = (channels as usize, place.0 as usize, place.1 as usize);
        let image = channels * width * height;
        match self.layout() {
            _ if self.is_listed() => [image, 0, 0, 0],
            Layout::Nchw => [image, width * height, width, 1],
            Layout::Nhwc => [image, width * channels, channels, 1],
        }
    }

    /// The shape of the memory that the images take, with what lies between them: of images of the largest size that can come, in the
    /// layout's order; `[images, 1, 1, elements]` for a [listed](Arrangement::Listed) group.
    pub fn memory_shape(&self) -> [usize; 4] {
        match (self.len(), self.strides()) {
            (images, [image, 0, ..]) => [images, 1, 1, image],
            (images, [image, plane, row, pixel]) => [images, image / plane, plane / row, row / pixel],
        }
    }

    /// True if each image has a size of its own, without padding: in a [listed](Arrangement::Listed) group, unless the transforms
    /// give all of its images one size.
    pub fn is_listed(&self) -> bool {
        self.images.size == (0, 0)
    }

    /// The element at which an image begins; `None` for one out of range.
    pub fn offset(&self, image: usize) -> Option<usize> {
        (image < self.len()).then(|| image * self.strides()[0])
    }

    /// How the images lie.
    pub fn arrangement(&self) -> Arrangement {
        self.images.arrangement
    }

    /// Width and height of an image, without padding; `None` for one out of range.
    pub fn image_size(&self, image: usize) -> Option<(u32, u32)> {
        match self.images.sizes.is_empty() {
            true => (image < self.len()).then_some(self.images.size),
            false => self.images.sizes.get(image).copied(),
        }
    }

    /// Channels of an image: 1 or 3.
    pub fn channels(&self) -> u32 {
        self.images.channels
    }

    /// The order of the elements.
    pub fn layout(&self) -> Layout {
        self.images.output.layout
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.images.output.dtype
    }

    /// Bytes of the memory that the images take: with what lies between them, where their sizes differ.
    pub fn bytes(&self) -> usize {
        self.len() * self.strides()[0] * self.dtype().bytes()
    }

    /// Images of the group, padding included.
    pub fn len(&self) -> usize {
        self.images.ids.len()
    }

    /// Always false: a group has at least one image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Views of each sample. Crop `c` of view `v` of sample `i` is image `(i * views + v) * crops + c`.
    pub fn views(&self) -> usize {
        self.images.views
    }

    /// Images of each view: 5 with [`FiveCrop`](crate::transforms::FiveCrop), 10 with
    /// [`TenCrop`](crate::transforms::TenCrop), else 1.
    pub fn crops(&self) -> usize {
        self.images.crops
    }

    /// Images that are not padding (`LastBatch::Pad`, uneven shards); padding comes last.
    pub fn valid(&self) -> usize {
        self.images.valid
    }

    /// For each image, the id of its sample.
    pub fn ids(&self) -> &'a [u64] {
        &self.images.ids
    }

    /// The parameters of each image, for [`DataLoader::replay_in`](crate::DataLoader::replay_in).
    pub fn params(&self) -> &'a [Params] {
        &self.images.params
    }

    /// The objects in each image, if the data set has a field of objects and the group shows the samples' own images.
    pub fn objects(&self) -> Option<&'a [Objects]> {
        (!self.images.objects.is_empty()).then_some(&self.images.objects)
    }

    /// A copy in host memory, in the group's layout and type: of the [`shape`](Self::shape), or of one image after the other
    /// where each has a size of its own, without what lies between them. On a GPU this waits for the batch's work: use it
    /// for inspection, not for training.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU is lost,
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it has none left for the copy;
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has none.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        match self.store {
            BatchStore::Gpu { gpu, targets } => {
                let bytes = readback::read(gpu, &targets[self.number].output, 0..self.bytes() as u64)?;
                if self.is_dense() { Ok(bytes) } else { self.dense(&bytes) }
            }
            BatchStore::Host(buffer) => self.dense(&buffer.batch()[self.images.begin..][..self.bytes()]),
        }
    }

    /// A copy in host memory of all that the images take ([`bytes`](Self::bytes)), with what lies between them where their sizes
    /// differ: [`strides`](Self::strides) and [`offset`](Self::offset) have their places in it.
    ///
    /// # Errors
    /// Those of [`to_host`](Self::to_host).
    pub fn memory_to_host(&self) -> Result<Vec<u8>> {
        match self.store {
            BatchStore::Gpu { gpu, targets } => {
                readback::read(gpu, &targets[self.number].output, 0..self.bytes() as u64)
            }
            BatchStore::Host(buffer) => copied(&buffer.batch()[self.images.begin..][..self.bytes()]),
        }
    }

    /// True if nothing lies between the images and their rows.
    fn is_dense(&self) -> bool {
        self.images.size == self.images.place
    }

    /// A copy of the group's memory without what lies between the images and their rows.
    fn dense(&self, memory: &[u8]) -> Result<Vec<u8>> {
        let GroupImages { output, channels, size, place, .. } = *self.images;
        if self.is_dense() {
            return copied(memory);
        }
        let mut bytes = Vec::new();
        for (number, image) in memory.chunks_exact(self.bytes() / self.len()).enumerate() {
            let (size, spacing) = match self.images.sizes.get(number) {
                Some(own) if self.is_listed() => (*own, *own),
                _ => (size, place),
            };
            Place::new(output, channels, spacing).copy(image, size, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// A copy in host memory as f32 (u8 becomes \[0, 1\]).
    ///
    /// # Errors
    /// Those of [`to_host`](Self::to_host).
    pub fn to_host_f32(&self) -> Result<Vec<f32>> {
        let bytes = self.to_host()?;
        let mut floats = Vec::new();
        COPY.reserve(&mut floats, bytes.len() / self.dtype().bytes())?;
        match self.dtype() {
            DType::F32 => floats.extend(bytes.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b))),
            DType::F16 => floats.extend(bytes.as_chunks().0.iter().map(|b| half::f16::from_ne_bytes(*b).to_f32())),
            DType::BF16 => floats.extend(bytes.as_chunks().0.iter().map(|b| half::bf16::from_ne_bytes(*b).to_f32())),
            DType::U8 => floats.extend(bytes.iter().map(|b| f32::from(*b) / 255.0)),
        }
        Ok(floats)
    }
}

fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    COPY.reserve(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}
