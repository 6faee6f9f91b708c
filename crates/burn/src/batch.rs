//! Turns batches into Burn's tensors, without a copy through host memory.

use crate::device::burn_device;
use burn::backend::ir::{InitOperationIr, OperationIr, OperationOutput};
use burn::backend::wgpu::{CubeBackend, CubeTensor};
use burn::backend::{self, Cube, CubeDevice, DispatchDevice, TensorMetadata};
use burn::cubecl::wgpu::{AutoCompiler, WgpuServer};
use burn::tensor::{Device, Int, Shape, Tensor, TensorData};
use burn_fusion::stream::StreamId;
use burn_fusion::{Fusion, FusionBackend, FusionRuntime, NoOp, get_client};
use gpufeed::internals::run_checked;
use gpufeed::{Batch, BatchGroup, DType, Error, ErrorKind, Gpu, Images, Label, Layout, Result, wgpu};

/// The advice in the error for a batch on a GPU whose `device` argument is another device.
const SHARED: &str = "build the loader with what Backend::for_burn(), Gpu::for_burn() or Gpu::from_burn() gives, and use the device beside it";

/// Returns a batch's images and labels as Burn's tensors.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
/// use gpufeed_burn::{BackendExt, BatchExt};
///
/// let mut data = InMemory::new();
/// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![255; 48], Label::Class(7))?;
/// let (backend, device) = Backend::for_burn()?;
/// let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(1).build(&backend)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// assert_eq!(batch.to_tensor(&device)?.dims(), [1, 3, 2, 2]);
/// assert_eq!(batch.class_tensor(&device)?.into_scalar::<i64>(), 7);
/// assert_eq!(batch.soft_label_tensor(10, &device)?.dims(), [1, 10]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub trait BatchExt {
    /// Returns the images as a tensor on `device`, with the batch's shape and type, as `Tensor::from_data` would make
    /// it.
    ///
    /// On a GPU the images are copied within its memory; the batch may be dropped at once. A batch on the CPU can go to
    /// any of Burn's devices. Call this method on the thread that computes with the tensor, because Burn has a memory
    /// pool for each thread. Burn can compute with [`DType::F16`] on a GPU whose adapter has the feature `shader-f16`;
    /// `Device::supports_dtype` reports it. [`DType::BF16`] works where Burn computes with it: on the CPU, with `flex`,
    /// and on few GPUs.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the batch is on a GPU and `device` is not that very device, or if its type is
    /// [`DType::U8`], or [`DType::BF16`] where `Device::supports_dtype` lacks it, or if each image has a size of its own
    /// ([`image_tensors`](Self::image_tensors) takes those); [`ErrorKind::Device`] if the GPU is lost.
    fn to_tensor(&self, device: &Device) -> Result<Tensor<4>>;

    /// Returns each image of the first group as a tensor `[channels, height, width]` on `device`, or `[height, width, channels]` for
    /// `Layout::Nhwc`, without padding: for batches whose images differ in size
    /// ([`Arrangement`](gpufeed::Arrangement)). Those of one size work, too.
    ///
    /// # Errors
    /// Those of [`to_tensor`](Self::to_tensor).
    fn image_tensors(&self, device: &Device) -> Result<Vec<Tensor<3>>>;

    /// Returns the images of the group with this name as [`to_tensor`](Self::to_tensor) does, which has those of the first
    /// group.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the batch has no such group; those of [`to_tensor`](Self::to_tensor).
    fn group_tensor(&self, name: &str, device: &Device) -> Result<Tensor<4>>;

    /// Returns the class numbers as a tensor on `device`, with the integer type that Burn uses there.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a label is not a [`Label::Class`].
    fn class_tensor(&self, device: &Device) -> Result<Tensor<1, Int>>;

    /// Returns [`Batch::soft_labels`] as a tensor of shape `[images, num_classes]` on `device`, in the float type that
    /// Burn uses there: the labels of a batch that was mixed, one-hot rows of one that was not.
    ///
    /// # Errors
    /// Those of [`Batch::soft_labels`].
    fn soft_label_tensor(&self, num_classes: usize, device: &Device) -> Result<Tensor<2>>;
}

impl BatchExt for Batch {
    fn to_tensor(&self, device: &Device) -> Result<Tensor<4>> {
        let Some(first) = self.groups().next() else { return Err(argument("group", "the batch has none")) };
        tensor(self, first, device)
    }

    fn image_tensors(&self, device: &Device) -> Result<Vec<Tensor<3>>> {
        let Some(first) = self.groups().next() else { return Err(argument("group", "the batch has none")) };
        images(self, first, device)
    }

    fn group_tensor(&self, name: &str, device: &Device) -> Result<Tensor<4>> {
        match self.group(name) {
            Some(group) => tensor(self, group, device),
            None => {
                let names: Vec<_> = self.groups().map(|group| group.name().to_owned()).collect();
                Err(argument("group", format!("no group {name:?}; the batch has {}", names.join(", "))))
            }
        }
    }

    fn class_tensor(&self, device: &Device) -> Result<Tensor<1, Int>> {
        let class = |label: &Label| match label {
            Label::Class(class) => Ok(i64::from(*class)),
            other => Err(argument("dataset", format!("{other:?} is no class number; the labels of the batch have it"))),
        };
        let classes = self.labels().iter().map(class).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::from_data(TensorData::new(classes, [self.len()]), device))
    }

    fn soft_label_tensor(&self, num_classes: usize, device: &Device) -> Result<Tensor<2>> {
        let rows = self.soft_labels(num_classes)?;
        Ok(Tensor::from_data(TensorData::new(rows, [self.len(), num_classes]), device))
    }
}

/// Makes a tensor of the images of a group of a batch.
fn tensor(batch: &Batch, group: BatchGroup<'_>, device: &Device) -> Result<Tensor<4>> {
    if group.is_listed() {
        let reason =
            "the images of the batch have sizes of their own, which no one tensor has: image_tensors makes one of each";
        return Err(argument("arrangement", reason));
    }
    let shape = group.shape();
    let [n, a, b, c] = shape;
    let tensor = whole(batch, group, device)?;
    Ok(if tensor.dims() == shape { tensor } else { tensor.slice([0..n, 0..a, 0..b, 0..c]) })
}

/// Makes a tensor of each image of a group, without padding.
fn images(batch: &Batch, group: BatchGroup<'_>, device: &Device) -> Result<Vec<Tensor<3>>> {
    let listed = group.is_listed();
    let tensor = whole(batch, group, device)?;
    let channels = group.channels() as usize;
    let of_image = |image: usize| {
        let (width, height) = group.image_size(image).unwrap_or_default();
        let (width, height) = (width as usize, height as usize);
        let shape = match group.layout() {
            Layout::Nchw => [channels, height, width],
            Layout::Nhwc => [height, width, channels],
        };
        let own = tensor.clone();
        let own = match listed {
            true => own.slice([image..image + 1, 0..1, 0..1, 0..shape.iter().product()]),
            false => own.slice([image..image + 1, 0..shape[0], 0..shape[1], 0..shape[2]]),
        };
        own.reshape(shape)
    };
    Ok((0..group.len()).map(of_image).collect())
}

/// Makes a tensor of the memory of a group, or of its images without what lies between them. Errors about its type name the group where there are several.
fn whole(batch: &Batch, group: BatchGroup<'_>, device: &Device) -> Result<Tensor<4>> {
    let several = batch.groups().count() > 1;
    let of_group = || if several { format!(" of the group {:?}", group.name()) } else { String::new() };
    let dtype = match group.dtype() {
        DType::F32 => backend::DType::F32,
        DType::F16 => backend::DType::F16,
        DType::BF16 if device.supports_dtype(backend::DType::BF16) => backend::DType::BF16,
        DType::BF16 => {
            let reason = format!(
                "Burn computes with no DType::BF16{} on {device:?}: .output(layout, DType::F32), or F16 where \
                 Device::supports_dtype has it",
                of_group()
            );
            return Err(argument("output", reason));
        }
        DType::U8 => {
            let of = of_group();
            let reason =
                format!("DType::U8{of} is no type of Burn's float tensors: .output(layout, DType::F32), or F16");
            return Err(argument("output", reason));
        }
    };
    let (Some(gpu), Images::Gpu { buffer, offset }) = (batch.gpu(), group.images()) else {
        let data = match group.images() {
            Images::Host(_) if group.is_listed() => {
                TensorData::from_bytes_vec(group.memory_to_host()?, group.memory_shape(), dtype)
            }
            _ => TensorData::from_bytes_vec(group.to_host()?, group.shape(), dtype),
        };
        return Ok(Tensor::from_data(data, (device, dtype)));
    };
    let inner = device.clone().without_autodiff();
    // The devices must be equal, because wgpu panics on buffers of another instance's device.
    let shared = burn_device(gpu) == Some(&inner);
    let (DispatchDevice::Cube(cube), true) = (inner.as_dispatch(), shared) else {
        return Err(argument("device", format!("{device:?} is not the batch's GPU ({gpu}); {SHARED}")));
    };
    let copy = copy(gpu, (buffer, offset), group.bytes(), cube, Shape::from(group.memory_shape()), dtype)?;
    let tensor = Tensor::from_primitive::<Cube>(Cube::adopt(copy));
    Ok(match device.gradient_checkpointing_strategy() {
        Some(strategy) => tensor.autodiff().with_gradient_checkpointing_strategy(strategy),
        None => tensor,
    })
}

fn argument(setting: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Argument { setting, reason: reason.into() }.into()
}

/// Copies a batch to memory that Burn has allocated, in one submission.
///
/// `get_resource` submits the work that Burn has recorded so far, so a kernel that still reads the memory's previous
/// content runs before the copy. Work that Burn records later is submitted later. While the resource is held, Burn
/// neither frees nor moves the memory.
fn copy(
    gpu: &Gpu,
    (from, offset): (&wgpu::Buffer, u64),
    bytes: usize,
    device: &CubeDevice,
    shape: Shape,
    dtype: backend::DType,
) -> Result<CubeTensor> {
    const STAGE: &str = "handing a batch over to Burn";
    let client = device.client();
    // wgpu copies whole words of 4 bytes.
    let bytes = bytes.next_multiple_of(4);
    let handle = client.empty(bytes);
    let resource = client
        .get_resource::<WgpuServer<AutoCompiler>>(handle.clone())
        .map_err(|error| ErrorKind::Device { stage: STAGE, reason: error.to_string() })?;
    let to = resource.resource();
    run_checked(gpu, STAGE, || {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(from, offset, &to.buffer, to.offset, Some(bytes as u64));
        gpu.submit([encoder.finish()]);
    })?;
    Ok(CubeTensor::new_contiguous(client, device.clone(), shape, handle, dtype))
}

/// Makes a tensor of the backend `Cube` from a tensor in CubeCL's memory. `Cube` has fusion or not, depending on the
/// features of Burn that the whole program enables, so both cases have an implementation.
trait Adopt: backend::Backend {
    fn adopt(tensor: CubeTensor) -> Self::FloatTensorPrimitive;
}

impl Adopt for CubeBackend {
    fn adopt(tensor: CubeTensor) -> CubeTensor {
        tensor
    }
}

impl<B> Adopt for Fusion<B>
where
    B: FusionBackend<FloatTensorPrimitive = CubeTensor>,
    B::FusionRuntime: FusionRuntime<FusionDevice = CubeDevice>,
{
    /// Registers the tensor as `Fusion::float_from_data` does with one whose data already exists.
    fn adopt(tensor: CubeTensor) -> Self::FloatTensorPrimitive {
        let client = get_client::<B>(&tensor.device);
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        let handle = B::float_tensor_handle(tensor);
        let operation = InitOperationIr::create(shape, dtype, || client.register_tensor_handle(handle));
        client.register(StreamId::current(), OperationIr::Init(operation), NoOp::<B>::new()).output()
    }
}
