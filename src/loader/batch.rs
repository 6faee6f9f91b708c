//! A batch of augmented images, as the training loop receives it.

use super::buffers::{HostBuffer, Lease};
use super::columns::Column;
use crate::allocate::COPY;
use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::gpu::target::Target;
use crate::gpu::{Gpu, readback};
use crate::plan::{DType, Layout, Output};
use crate::transforms::{BatchParams, Params};

/// Access to a batch's images, on the GPU or in host memory.
///
/// ```no_run
/// # fn show(batch: &gpufeed::Batch) {
/// use gpufeed::Images;
///
/// match batch.images() {
///     Images::Gpu { buffer, offset } => println!("{} bytes on the GPU from byte {offset}", buffer.size()),
///     Images::Host(bytes) => println!("{} bytes in memory", bytes.len()),
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Images<'a> {
    /// In a storage buffer (usages STORAGE, COPY_SRC, COPY_DST) from byte `offset` on.
    Gpu {
        /// The buffer; it may be longer than the batch.
        buffer: &'a wgpu::Buffer,
        /// The first byte.
        offset: u64,
    },
    /// In host memory, aligned to 64 bytes.
    Host(&'a [u8]),
}

#[derive(Debug)]
pub(super) enum BatchStore {
    Gpu { gpu: Gpu, target: Lease<Target> },
    Host(Lease<HostBuffer>),
}

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
    /// The batch index of the replacement; of its first image if there are several.
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
    pub(super) output: Output,
    /// Width and height of the images.
    pub(super) size: (u32, u32),
    pub(super) channels: u32,
    pub(super) views: usize,
    pub(super) crops: usize,
    pub(super) labels: Vec<Label>,
    pub(super) columns: Vec<Column>,
    pub(super) ids: Vec<u64>,
    pub(super) params: Vec<Params>,
    pub(super) failures: Vec<Failure>,
    pub(super) valid: usize,
    pub(super) epoch: u64,
    pub(super) index: u64,
    /// How it was mixed.
    pub(super) mix: Option<BatchParams>,
}

impl Batch {
    /// The images: a GPU buffer, or bytes in host memory.
    pub fn images(&self) -> Images<'_> {
        match &self.store {
            BatchStore::Gpu { target, .. } => Images::Gpu { buffer: &target.output, offset: 0 },
            BatchStore::Host(buffer) => Images::Host(buffer.batch()),
        }
    }

    /// The images in host memory, to change them; `None` for images on a GPU.
    pub fn host_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.store {
            BatchStore::Gpu { .. } => None,
            BatchStore::Host(buffer) => Some(buffer.get_mut().batch_mut()),
        }
    }

    /// The GPU that the images are on; `None` for images in host memory.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.store {
            BatchStore::Gpu { gpu, .. } => Some(gpu),
            BatchStore::Host(_) => None,
        }
    }

    /// `[images, channels, height, width]`, or `[images, height, width, channels]` for [`Layout::Nhwc`].
    pub fn shape(&self) -> [usize; 4] {
        let (n, c, h, w) = (self.ids.len(), self.channels as usize, self.size.1 as usize, self.size.0 as usize);
        match self.output.layout {
            Layout::Nchw => [n, c, h, w],
            Layout::Nhwc => [n, h, w, c],
        }
    }

    /// The order of the elements.
    pub fn layout(&self) -> Layout {
        self.output.layout
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.output.dtype
    }

    /// Bytes of all images.
    pub fn bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * self.output.dtype.bytes()
    }

    /// Images in the batch, padding included.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Always false: a batch has at least one image.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Views of each sample ([`DataLoaderBuilder::views`](crate::DataLoaderBuilder::views)). Crop `c` of view `v` of
    /// sample `i` is image `(i * views + v) * crops + c`, so the batch is also one of shape
    /// `[samples, views, crops, …]`.
    pub fn views(&self) -> usize {
        self.views
    }

    /// Images of each view: 5 with [`FiveCrop`](crate::transforms::FiveCrop), 10 with
    /// [`TenCrop`](crate::transforms::TenCrop), else 1.
    pub fn crops(&self) -> usize {
        self.crops
    }

    /// Images that are not padding (`LastBatch::Pad`, uneven shards); padding comes last.
    pub fn valid(&self) -> usize {
        self.valid
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

    /// For each image, the id of its sample (`Dataset::id`), in the order of the images. Several views or crops of a
    /// sample repeat its id.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The parameters of each image, for [`DataLoader::replay`](crate::DataLoader::replay).
    pub fn params(&self) -> &[Params] {
        &self.params
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

    /// A copy in host memory, in the batch's layout and type. On a GPU this waits for the batch's work: use it for
    /// inspection, not for training.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU is lost,
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it has none left for the copy;
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory) if the system has none.
    pub fn to_host(&self) -> Result<Vec<u8>> {
        match &self.store {
            BatchStore::Gpu { gpu, target } => readback::read(gpu, &target.output, 0..self.bytes() as u64),
            BatchStore::Host(buffer) => {
                let mut bytes = Vec::new();
                COPY.reserve(&mut bytes, buffer.batch().len())?;
                bytes.extend_from_slice(buffer.batch());
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
        COPY.reserve(&mut floats, bytes.len() / self.output.dtype.bytes())?;
        match self.output.dtype {
            DType::F32 => floats.extend(bytes.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b))),
            DType::F16 => floats.extend(bytes.as_chunks().0.iter().map(|b| half::f16::from_ne_bytes(*b).to_f32())),
            DType::U8 => floats.extend(bytes.iter().map(|b| f32::from(*b) / 255.0)),
        }
        Ok(floats)
    }

    /// Takes the GPU buffer out of the loader's ring; the loader makes a new one within its memory budget.
    ///
    /// `None` on the CPU backend.
    pub fn into_buffer(self) -> Option<wgpu::Buffer> {
        match self.store {
            BatchStore::Gpu { target, .. } => Some(target.into_inner().output),
            BatchStore::Host(_) => None,
        }
    }
}
