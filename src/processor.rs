//! A plan on a backend, applied to pixels in memory.

use crate::advice::Setting;
use crate::allocate::{AUGMENTING, BATCH, product};
use crate::backend::Backend;
use crate::cpu;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Rect;
use crate::gpu::encode::Item;
use crate::gpu::kernels::Kernels;
use crate::gpu::submission::run_once;
use crate::gpu::target::check_made_batch;
use crate::pixels::{PixelFormat, Pixels, PixelsRef, widen_bytes, widen_floats};
use crate::plan::cpu_fallback::{needs_cpu, pixel_bytes};
use crate::plan::mixing::BatchMixing;
use crate::plan::program::Program;
use crate::plan::route::View;
use crate::plan::shader_layout::PixelsAt;
use crate::plan::{Plan, Semantics};
use crate::transforms::Params;

/// Applies a plan to pixels in memory with given parameters.
///
/// ```
/// use gpufeed::transforms::{Key, RandomResizedCrop};
/// use gpufeed::{Backend, Output, PixelFormat, Pixels, Plan, Processor};
///
/// let plan = Plan::compile(&[RandomResizedCrop::new(32).into()], &Output::default())?;
/// let processor = Processor::new(&plan, &Backend::Cpu)?;
/// let pixels = Pixels::new(64, 48, PixelFormat::Rgb8, &[127; 64 * 48 * 3])?;
/// let params = plan.make_params(64, 48, &Key::default())?;
/// let image = processor.run(&[(pixels, &params)])?;
/// assert_eq!(image.len(), 3 * 32 * 32 * 4); // NCHW, f32
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct Processor {
    plan: Plan,
    kernels: Option<Kernels>,
}

impl Processor {
    /// Prepares `plan` on `backend`; on a GPU compiles its shaders.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU refuses a shader or is lost.
    pub fn new(plan: &Plan, backend: &Backend) -> Result<Processor> {
        let plan = plan.unframed();
        let kernels = match backend {
            Backend::Gpu(gpu) if plan.without_shaders().is_empty() => {
                Some(Kernels::new(gpu, &plan.clone().on_device(gpu.caps().traits, false), 0)?)
            }
            Backend::Gpu(_) | Backend::Cpu => None,
        };
        Ok(Processor { plan, kernels })
    }

    /// Applies the plan to each image with its parameters; all results must have the same size. The images are whole
    /// and at full size, whatever [`Params::scale`] is.
    ///
    /// Returns the batch in the plan's layout and type.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if parameters do not belong to the plan or to the image's
    /// size, if results differ in size, if none is given, or if one takes more workgroups than the device allows; on
    /// a GPU [`ErrorKind::DoesNotFit`] if the images or the results exceed its buffers, [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), and
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if it is lost.
    pub fn run(&self, images: &[(Pixels<'_>, &Params)]) -> Result<Vec<u8>> {
        let images = self.views(images)?;
        let bytes = self.image_bytes(&images)?;
        match &self.kernels {
            Some(kernels) => run_on_gpu(kernels, &borrowed(&images), bytes, None),
            None => {
                let mut out = BATCH.zeroed(product(bytes, images.len()))?;
                self.run_on_cpu(&images, bytes, &mut out)?;
                Ok(out)
            }
        }
    }

    /// Works as [`run`](Self::run), but writes into memory of the caller, such as a buffer shared with another process.
    ///
    /// `out` must have exactly the batch's bytes. After an error its content is unspecified.
    ///
    /// ```
    /// use gpufeed::transforms::{CenterCrop, Key};
    /// use gpufeed::{Backend, Output, PixelFormat, Pixels, Plan, Processor};
    ///
    /// let plan = Plan::compile(&[CenterCrop::new(32).into()], &Output::default())?;
    /// let processor = Processor::new(&plan, &Backend::Cpu)?;
    /// let pixels = Pixels::new(64, 48, PixelFormat::Rgb8, &[255; 64 * 48 * 3])?;
    /// let params = plan.make_params(64, 48, &Key::default())?;
    /// let mut batch = vec![0; 2 * 3 * 32 * 32 * 4]; // two images, NCHW, f32
    /// processor.run_into(&[(pixels, &params), (pixels, &params)], &mut batch)?;
    /// assert!(batch.chunks(4).all(|value| value == 1.0f32.to_ne_bytes()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run); [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `out` has another length.
    pub fn run_into(&self, images: &[(Pixels<'_>, &Params)], out: &mut [u8]) -> Result<()> {
        let images = self.views(images)?;
        let bytes = self.image_bytes(&images)?;
        let (needed, given) = (product(bytes, images.len()), out.len());
        if given != needed {
            return Err(Error::argument("out", format!("{given} bytes; the batch needs {needed}")));
        }
        match &self.kernels {
            Some(kernels) => out.copy_from_slice(&run_on_gpu(kernels, &borrowed(&images), bytes, None)?),
            None => self.run_on_cpu(&images, bytes, out)?,
        }
        Ok(())
    }

    /// The view of each image, with the pixels that it reads.
    fn views(&self, images: &[(Pixels<'_>, &Params)]) -> Result<Vec<(View, FourChannels)>> {
        let views = images.iter().map(|&(pixels, params)| {
            check_size(params, (pixels.width(), pixels.height()))?;
            if self.plan.semantics() == Semantics::Uint8 && matches!(pixels.format(), PixelFormat::F32 { .. }) {
                return Err(Error::argument(
                    "images",
                    "arithmetic on 8-bit numbers needs 8-bit pixels, but these are floats",
                ));
            }
            check_unmixed(params)?;
            let program = self.plan.program(params)?;
            let region = program.region();
            let source = FourChannels::new(pixels, region)?;
            let float = matches!(source, FourChannels::Floats { .. });
            let cpu_fallback = self.kernels.is_some() && needs_cpu(&program, pixel_bytes(region, float), float);
            Ok((View { program, region, cpu_fallback }, source))
        });
        views.collect()
    }

    /// Returns the bytes of each output image; an error if the images differ in size.
    fn image_bytes(&self, images: &[(View, FourChannels)]) -> Result<usize> {
        if self.plan.code().is_some() {
            // The code has not returned yet; an image of another size fails then.
            return match (self.plan.output_size(), images) {
                (Some(size), [_, ..]) => Ok(self.plan.image_bytes(size)),
                (_, []) => Err(Error::argument("images", "there are none; at least 1 works")),
                (None, _) => Err(self.plan.sizes_differ()),
            };
        }
        let size = |(view, _): &(View, FourChannels)| view.program.size();
        match images.first() {
            Some(first) if images.iter().all(|image| size(image) == size(first)) => {
                Ok(self.plan.image_bytes(size(first)))
            }
            Some(_) => Err(Error::argument("images", "the results differ in size")),
            None => Err(Error::argument("images", "there are none; at least 1 works")),
        }
    }

    fn run_on_cpu(&self, images: &[(View, FourChannels)], bytes: usize, out: &mut [u8]) -> Result<()> {
        let mut scratch = cpu::CpuScratch::default();
        let mut images = images.iter().zip(out.chunks_exact_mut(bytes));
        images.try_for_each(|((view, source), out)| {
            cpu::run(&self.plan, &view.program, source.pixels(), view.region, out, &mut scratch)
        })
    }
}

/// An error if the parameters were made for an image of another size.
pub(crate) fn check_size(params: &Params, (width, height): (u32, u32)) -> Result<()> {
    if (width, height) == (params.width, params.height) {
        return Ok(());
    }
    let reason =
        format!("they were made for {}x{} pixels, but the image has {width}x{height}", params.width, params.height);
    Err(Error::argument("params", reason))
}

/// An error for the parameters of an image that was mixed with another one.
pub(crate) fn check_unmixed(params: &Params) -> Result<()> {
    match &params.mixed {
        None => Ok(()),
        Some(mixed) => {
            let reason = format!("mixed with sample {}, whose pixels only the replay of a loader reads", mixed.index);
            Err(Error::argument("params", reason))
        }
    }
}

fn borrowed(images: &[(View, FourChannels)]) -> Vec<(&View, PixelsRef<'_>)> {
    images.iter().map(|(view, source)| (view, source.pixels())).collect()
}

/// Copies the regions of all images to the GPU at once, runs the passes, mixes the images, and reads the batch back.
/// Each image is a view, and the pixels of its region.
pub(crate) fn run_on_gpu(
    kernels: &Kernels,
    images: &[(&View, PixelsRef<'_>)],
    image_bytes: usize,
    mixing: Option<BatchMixing>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut placed = Vec::with_capacity(images.len());
    let (mut scratch, mut finished) = (cpu::CpuScratch::default(), Vec::new());
    let stages = kernels.plan().stages().len();
    for &(view, pixels) in images {
        let offset = (bytes.len() / 4) as u32;
        let (float, stride, program) = if view.cpu_fallback {
            cpu::run_to_floats(kernels.plan(), &view.program, pixels, view.region, &mut finished, &mut scratch)?;
            AUGMENTING.reserve_more(&mut bytes, product(4, finished.len()))?;
            bytes.extend_from_slice(bytemuck::cast_slice(&finished));
            let size = view.program.size();
            (true, size.0, Program::finished(size, stages))
        } else {
            let float = matches!(pixels, PixelsRef::Floats { .. });
            AUGMENTING
                .reserve_more(&mut bytes, usize::try_from(pixel_bytes(view.region, float)).unwrap_or(usize::MAX))?;
            append(pixels, view.region, &mut bytes);
            (float, view.region.width, view.program.clone().relative_to(view.region))
        };
        placed.push((program, PixelsAt { offset, stride, float }));
    }
    let mut items = Vec::with_capacity(placed.len());
    for (index, (program, pixels)) in placed.iter().enumerate() {
        items.push(Item { program, pixels: *pixels, index, to_cache: None });
    }
    let total = (image_bytes * images.len()) as u64;
    check_made_batch(kernels.gpu(), kernels.plan(), total)?;
    let limit = kernels.gpu().caps().max_binding_bytes;
    if bytes.len() as u64 > limit {
        return Err(ErrorKind::DoesNotFit {
            what: "the source pixels of the images",
            needed: bytes.len() as u64,
            limit,
            whose: "a binding of this adapter",
            settings: &[Setting::ImagesAtOnce],
        }
        .into());
    }
    run_once(kernels, &bytes, items, total, mixing)
}

/// Appends the pixels of a region in the form that the GPU reads: RGBA8, or four floats.
fn append(pixels: PixelsRef<'_>, region: Rect, out: &mut Vec<u8>) {
    let (width, height) = (region.width as usize, region.height as usize);
    match pixels {
        PixelsRef::Floats { data, stride } => {
            data.chunks(stride)
                .take(height)
                .for_each(|row| out.extend_from_slice(bytemuck::cast_slice(&row[..4 * width])));
        }
        PixelsRef::Bytes { data, stride, size } => {
            for row in data.chunks(stride).take(height) {
                let row = &row[..size * width];
                match size {
                    1 => out.extend(row.iter().flat_map(|&gray| [gray, gray, gray, 255])),
                    3 => out.extend(row.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255])),
                    _ => out.extend_from_slice(row),
                }
            }
        }
    }
}

/// A region of pixels of any format, in the four channels that both executors read.
enum FourChannels {
    Bytes { data: Vec<u8>, width: usize },
    Floats { data: Vec<f32>, width: usize },
}

impl FourChannels {
    fn new(pixels: Pixels<'_>, region: Rect) -> Result<FourChannels> {
        let width = region.width as usize;
        let values = product(4 * width, region.height as usize);
        Ok(match pixels.format() {
            PixelFormat::F32 { .. } => {
                let mut data = Vec::new();
                AUGMENTING.reserve(&mut data, values)?;
                widen_floats(pixels, region, &mut data);
                FourChannels::Floats { data, width }
            }
            _ => {
                let mut data = Vec::new();
                AUGMENTING.reserve(&mut data, values)?;
                widen_bytes(pixels, region, &mut data);
                FourChannels::Bytes { data, width }
            }
        })
    }

    fn pixels(&self) -> PixelsRef<'_> {
        match self {
            FourChannels::Bytes { data, width } => PixelsRef::Bytes { data, stride: 4 * width, size: 4 },
            FourChannels::Floats { data, width } => PixelsRef::Floats { data, stride: 4 * width },
        }
    }
}
