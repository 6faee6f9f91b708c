//! The images of a batch in one group of views.

use super::batch_store::{BatchStore, Images};
use crate::allocate::COPY;
use crate::error::{Error, Result};
use crate::gpu::{External, readback};
use crate::objects::Objects;
use crate::plan::{DType, Layout, Output};
use crate::transforms::Params;

/// What a batch has of a group.
#[derive(Debug)]
pub(super) struct GroupImages {
    pub(super) name: String,
    pub(super) output: Output,
    /// Width and height of the images.
    pub(super) size: (u32, u32),
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

    /// `[images, channels, height, width]`, or `[images, height, width, channels]` for [`Layout::Nhwc`].
    pub fn shape(&self) -> [usize; 4] {
        let GroupImages { size, channels, .. } = *self.images;
        let (n, c, h, w) = (self.len(), channels as usize, size.1 as usize, size.0 as usize);
        match self.layout() {
            Layout::Nchw => [n, c, h, w],
            Layout::Nhwc => [n, h, w, c],
        }
    }

    /// The order of the elements.
    pub fn layout(&self) -> Layout {
        self.images.output.layout
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.images.output.dtype
    }

    /// Bytes of all images.
    pub fn bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * self.dtype().bytes()
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

    /// A copy in host memory, in the group's layout and type. On a GPU this waits for the batch's work: use it for
    /// inspection, not for training.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU is lost,
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it has none left for the copy;
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has none.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        match self.store {
            BatchStore::Gpu { gpu, targets } => {
                readback::read(gpu, &targets[self.number].output, 0..self.bytes() as u64)
            }
            BatchStore::Host(buffer) => {
                let (mut bytes, images) = (Vec::new(), &buffer.batch()[self.images.begin..][..self.bytes()]);
                COPY.reserve(&mut bytes, images.len())?;
                bytes.extend_from_slice(images);
                Ok(bytes)
            }
        }
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
