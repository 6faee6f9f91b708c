//! Batches as tensors of [Burn](::burn) 0.22, on the wgpu device that both share (feature `burn`).
//!
//! | who makes the device | how |
//! |---|---|
//! | gpufeed, where there is a GPU; else Burn computes on the CPU | [`Backend::for_burn`] |
//! | gpufeed, on an adapter of your choice | [`Gpu::for_burn`] |
//! | Burn | `Device::wgpu_options().init_with_setup()`, then [`Gpu::from_burn`] |
//!
//! [`Batch::to_tensor`] and [`Batch::class_tensor`] then give what a model takes; [`BurnLoader`] is Burn's own `DataLoader`
//! trait, for its `Learner`.
//!
//! A training loop:
//!
//! ```no_run
//! use burn::nn::loss::CrossEntropyLossConfig;
//! use burn::optim::{AdamConfig, GradientsParams, Optimizer};
//! use gpufeed::transforms::{Normalize, RandomHorizontalFlip, RandomResizedCrop};
//! use gpufeed::{Backend, DataLoader, ImageFolder};
//! # use burn::{module::Module, nn, tensor::{Device, Tensor}};
//! # #[derive(Module, Debug)]
//! # struct Model { linear: nn::Linear }
//! # impl Model {
//! #     fn new(device: &Device) -> Model { Model { linear: nn::LinearConfig::new(3 * 224 * 224, 10).init(device) } }
//! #     fn forward(&self, images: Tensor<4>) -> Tensor<2> { self.linear.forward(images.flatten(1, 3)) }
//! # }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (backend, device) = Backend::for_burn()?; // one GPU for both, else the CPU for both
//! let loader = DataLoader::builder(ImageFolder::open("imagenet/train")?)
//!     .transform(RandomResizedCrop::new(224))
//!     .transform(RandomHorizontalFlip::new(0.5))
//!     .transform(Normalize::IMAGENET)
//!     .batch_size(64)
//!     .shuffle(true)
//!     .build(&backend)?;
//! let device = device.autodiff();
//! let mut model = Model::new(&device);
//! let mut optimizer = AdamConfig::new().init();
//! for batch in loader.epochs(0..90)? {
//!     let batch = batch?;
//!     let (images, classes) = (batch.to_tensor(&device)?, batch.class_tensor(&device)?);
//!     drop(batch); // the copy is on its way: the buffer may come back
//!     let loss = CrossEntropyLossConfig::new().init(&device).forward(model.forward(images), classes);
//!     let gradients = GradientsParams::from_grads(loss.backward(), &model);
//!     model = optimizer.step(1e-3, model, gradients);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Features of Burn's that concern this: with `fusion`, on or off, all of it works the same. Leave `vulkan` and `metal`
//! off, or let Burn make the device: their compilers ask for more of a device than [`Gpu::for_burn`] opens.

mod loader;

pub use loader::{BurnLoader, ImageBatch};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::DType;
use crate::{Backend, Batch, Gpu, Label};
use ::burn::backend::ir::{InitOperationIr, OperationIr, OperationOutput};
use ::burn::backend::wgpu::{CubeBackend, CubeTensor, RuntimeOptions, WgpuInitError, WgpuSetup, try_init_device};
use ::burn::backend::{self, Cube, CubeDevice, DispatchDevice, TensorMetadata};
use ::burn::cubecl::wgpu::{AutoCompiler, WgpuServer};
use ::burn::tensor::{Device, Int, Shape, Tensor, TensorData};
use burn_fusion::stream::StreamId;
use burn_fusion::{Fusion, FusionBackend, FusionRuntime, NoOp, get_client};

/// What the device has to be for a batch on a GPU.
const SHARED: &str = "build the loader with what Backend::for_burn(), Gpu::for_burn() or Gpu::from_burn() gives, and use the device beside it";

impl Backend {
    /// What [`Backend::auto`] takes, with a device that Burn shares: the best GPU, else the CPU and Burn's `flex`.
    ///
    /// The environment variable `GPUFEED_ADAPTER` chooses as it does for [`Backend::auto`]. Call it once and clone what it
    /// gives: every call opens a device of its own.
    ///
    /// # Errors
    /// As [`Backend::auto`].
    pub fn for_burn() -> Result<(Backend, Device)> {
        match Backend::adapter()? {
            Some(adapter) => Gpu::for_burn(&adapter).map(|(gpu, device)| (Backend::Gpu(gpu), device)),
            None => Ok((Backend::Cpu, Device::flex())),
        }
    }
}

impl Gpu {
    /// Opens a device on `adapter` with all that Burn's kernels may ask for, and registers it with Burn.
    ///
    /// Burn installs the device's lost callback and its handler of uncaptured errors, and panics in the latter.
    ///
    /// # Errors
    /// [`ErrorKind::Device`] with the driver's or Burn's reason.
    pub fn for_burn(adapter: &wgpu::Adapter) -> Result<(Gpu, Device)> {
        // CubeCL's WGSL kernels follow the adapter's features and limits, not the device's. It leaves mappable storage off
        // itself, and nothing in WGSL that it emits is experimental.
        let features =
            adapter.features() - wgpu::Features::MAPPABLE_PRIMARY_BUFFERS - wgpu::Features::all_experimental_mask();
        let hints = wgpu::MemoryHints::MemoryUsage; // Burn allocates in pages of its own
        let (device, queue) = Gpu::request(adapter, features, adapter.limits(), hints)?;
        let setup = WgpuSetup {
            // Kept by nobody: CubeCL asks instances for adapters only.
            instance: wgpu::Instance::new(wgpu::InstanceDescriptor {
                backends: wgpu::Backends::empty(),
                ..wgpu::InstanceDescriptor::new_without_display_handle()
            }),
            adapter: adapter.clone(),
            device: device.clone(),
            queue: queue.clone(),
            backend: adapter.get_info().backend,
        };
        // CubeCL reads CUBECL_WGPU_MAX_TASKS here.
        let registering = |error: WgpuInitError| ErrorKind::Device {
            stage: "registering the device with Burn",
            reason: error.to_string(),
        };
        let options = RuntimeOptions::try_default().map_err(registering)?;
        let burn = try_init_device(setup, options).map_err(registering)?;
        let burn = Device::from(burn);
        Ok((Gpu::with_burn(adapter, device, queue, &burn), burn))
    }

    /// Adopts a device that Burn has made, from what `Device::wgpu_options().init_with_setup()` gives.
    ///
    /// ```no_run
    /// use burn::tensor::Device;
    /// use gpufeed::{Backend, Gpu};
    ///
    /// let (device, setup) = Device::wgpu_options().init_with_setup()?;
    /// let backend = Backend::Gpu(Gpu::from_burn(&device, setup));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_burn(device: &Device, setup: WgpuSetup) -> Gpu {
        Gpu::with_burn(&setup.adapter, setup.device, setup.queue, device)
    }

    fn with_burn(adapter: &wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue, burn: &Device) -> Gpu {
        let gpu = Gpu::from_wgpu(adapter, device, queue);
        gpu.burn().get_or_init(|| burn.clone().without_autodiff());
        gpu
    }
}

impl Batch {
    /// The images as a tensor on `device`, of the batch's shape and type, as `Tensor::from_data` would make it.
    ///
    /// On a GPU they are copied within its memory; the batch may be dropped at once. A batch on the CPU goes to any
    /// device of Burn's. Call it on the thread that computes with the tensor: Burn keeps a pool of memory for each.
    /// Whether Burn can compute with [`DType::F16`] on a GPU is the adapter's `shader-f16`; `Device::supports_dtype`
    /// tells.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the batch is on a GPU and `device` is not that very device, or if its type is
    /// [`DType::U8`]; [`ErrorKind::Device`] if the GPU is lost.
    pub fn to_tensor(&self, device: &Device) -> Result<Tensor<4>> {
        let dtype = match self.dtype() {
            DType::F32 => backend::DType::F32,
            DType::F16 => backend::DType::F16,
            DType::U8 => {
                let reason = "DType::U8 is no type of Burn's float tensors: .output(layout, DType::F32), or F16";
                return Err(Error::argument("output", reason));
            }
        };
        let Some((gpu, buffer)) = self.on_gpu() else {
            let data = TensorData::from_bytes_vec(self.to_host()?, self.shape(), dtype);
            return Ok(Tensor::from_data(data, (device, dtype)));
        };
        let inner = device.clone().without_autodiff();
        // wgpu panics on buffers of another instance's device.
        let shared = gpu.burn().get() == Some(&inner);
        let (DispatchDevice::Cube(cube), true) = (inner.as_dispatch(), shared) else {
            return Err(Error::argument("device", format!("{device:?} is not the batch's GPU ({gpu}); {SHARED}")));
        };
        let copy = copy(gpu, buffer, self.bytes(), cube, Shape::from(self.shape()), dtype)?;
        let tensor = Tensor::from_primitive::<Cube>(Cube::adopt(copy));
        Ok(match device.gradient_checkpointing_strategy() {
            Some(strategy) => tensor.autodiff().with_gradient_checkpointing_strategy(strategy),
            None => tensor,
        })
    }

    /// The class numbers as a tensor on `device`, of the type that Burn gives integers there.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if a label is no [`Label::Class`].
    pub fn class_tensor(&self, device: &Device) -> Result<Tensor<1, Int>> {
        let class = |label: &Label| match label {
            Label::Class(class) => Ok(i64::from(*class)),
            other => Err(Error::argument("dataset", format!("{other:?} is no class number; Batch::labels() has it"))),
        };
        let classes = self.labels().iter().map(class).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::from_data(TensorData::new(classes, [self.len()]), device))
    }
}

/// Copies a batch to memory that Burn has allocated, in one submission.
///
/// `get_resource` submits what Burn has recorded so far, so a kernel that still reads the memory's last owner is ordered
/// before the copy; what Burn records later is submitted later. While the resource is held, Burn neither frees nor moves it.
fn copy(
    gpu: &Gpu,
    from: &wgpu::Buffer,
    bytes: usize,
    device: &CubeDevice,
    shape: Shape,
    dtype: backend::DType,
) -> Result<CubeTensor> {
    const STAGE: &str = "handing a batch over to Burn";
    let client = device.client();
    // Copies are of whole words.
    let bytes = bytes.next_multiple_of(4);
    let handle = client.empty(bytes);
    let resource = client
        .get_resource::<WgpuServer<AutoCompiler>>(handle.clone())
        .map_err(|error| ErrorKind::Device { stage: STAGE, reason: error.to_string() })?;
    let to = resource.resource();
    gpu.checked(STAGE, || {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(from, 0, &to.buffer, to.offset, Some(bytes as u64));
        gpu.queue().submit([encoder.finish()]);
    })?;
    // A lost device takes every call without a word.
    gpu.alive(STAGE)?;
    Ok(CubeTensor::new_contiguous(client, device.clone(), shape, handle, dtype))
}

/// Burn's backend with fusion, and without: which of them `Cube` is, is decided by the features of Burn that the whole
/// program asks for.
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
    /// As `Fusion` itself takes a tensor whose data is there already (`float_from_data`).
    fn adopt(tensor: CubeTensor) -> Self::FloatTensorPrimitive {
        let client = get_client::<B>(&tensor.device);
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        let handle = B::float_tensor_handle(tensor);
        let operation = InitOperationIr::create(shape, dtype, || client.register_tensor_handle(handle));
        client.register(StreamId::current(), OperationIr::Init(operation), NoOp::<B>::new()).output()
    }
}
