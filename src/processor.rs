//! A plan on a backend, applied to pixels in memory: for replaying single samples, and for tests.

use crate::backend::Backend;
use crate::cpu;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Rect;
use crate::gpu::kernel::{Item, Kernels, check_batch};
use crate::gpu::limits::is_for_cpu;
use crate::gpu::submission::run_once;
use crate::pixels::{PixelFormat, Pixels, PixelsRef, widen_bytes, widen_floats};
use crate::plan::program::Program;
use crate::plan::{Plan, params};
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
    /// Prepares `plan` on `backend`: compiles its shaders, if there are any.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if the GPU refuses a shader or is lost.
    pub fn new(plan: &Plan, backend: &Backend) -> Result<Processor> {
        let kernels = match backend {
            Backend::Gpu(gpu) => Some(Kernels::new(gpu, plan)?),
            Backend::Cpu => None,
        };
        Ok(Processor { plan: plan.clone(), kernels })
    }

    /// Applies the plan to each image with its parameters; all results must have the same size. The images are whole
    /// and of full size, whatever [`Params::scale`] says.
    ///
    /// Returns the batch in the plan's layout and type.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if parameters do not belong to the plan or to the image's
    /// size, if results differ in size, or if there is no image; on a GPU [`ErrorKind::DoesNotFit`] where the images or the
    /// results are more than its buffers hold, [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), and
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if it is lost.
    pub fn run(&self, images: &[(Pixels<'_>, &Params)]) -> Result<Vec<u8>> {
        self.run_programs(&self.programs(images)?)
    }

    /// [`run`](Self::run) into memory of the caller's, such as a buffer that is shared with another process.
    ///
    /// `out` has exactly the batch's bytes. After an error nothing is said about its content.
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
    /// As [`run`](Self::run); [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `out` has another length.
    pub fn run_into(&self, images: &[(Pixels<'_>, &Params)], out: &mut [u8]) -> Result<()> {
        let images = self.programs(images)?;
        let bytes = self.image_bytes(&images)?;
        let (needed, given) = (bytes * images.len(), out.len());
        if given != needed {
            return Err(Error::argument("out", format!("{given} bytes; the batch has {needed}")));
        }
        match &self.kernels {
            Some(kernels) => out.copy_from_slice(&run_on_gpu(kernels, &images, bytes)?),
            None => self.run_on_cpu(&images, bytes, out),
        }
        Ok(())
    }

    /// Whole images with the programs of their parameters.
    fn programs<'a>(&self, images: &[(Pixels<'a>, &Params)]) -> Result<Vec<(Part<'a>, Program)>> {
        let programs = images.iter().map(|(pixels, params)| {
            let program = program(&self.plan, params, (pixels.width(), pixels.height()))?;
            Ok((Part::whole(*pixels), program))
        });
        programs.collect()
    }

    /// [`run`](Self::run) with programs instead of drawn parameters.
    pub(crate) fn run_programs(&self, images: &[(Part<'_>, Program)]) -> Result<Vec<u8>> {
        let bytes = self.image_bytes(images)?;
        if let Some(kernels) = &self.kernels {
            return run_on_gpu(kernels, images, bytes);
        }
        let mut out = vec![0; bytes * images.len()];
        self.run_on_cpu(images, bytes, &mut out);
        Ok(out)
    }

    /// Bytes of each result; all must have the same size.
    fn image_bytes(&self, images: &[(Part<'_>, Program)]) -> Result<usize> {
        match images.first() {
            Some((_, first)) if images.iter().all(|(_, program)| program.size() == first.size()) => {
                Ok(self.plan.image_bytes(first.size()))
            }
            Some(_) => Err(Error::argument("images", "the results have different sizes")),
            None => Err(Error::argument("images", "none given")),
        }
    }

    fn run_on_cpu(&self, images: &[(Part<'_>, Program)], bytes: usize, out: &mut [u8]) {
        let mut scratch = cpu::Scratch::default();
        for ((part, program), out) in images.iter().zip(out.chunks_exact_mut(bytes)) {
            let region = program.stages[0].sampling.hull();
            let source = part.source(region);
            cpu::run(&self.plan, program, source.pixels(), region, out, &mut scratch);
        }
    }
}

/// The program of what was drawn for an image of this size.
pub(crate) fn program(plan: &Plan, params: &Params, (width, height): (u32, u32)) -> Result<Program> {
    if (width, height) != (params.width, params.height) {
        let reason = format!("drawn for {}x{}, applied to {width}x{height}", params.width, params.height);
        return Err(Error::argument("params", reason));
    }
    plan.program(params)
}

/// Uploads the regions that are read of all images at once, runs the passes, reads the batch back.
fn run_on_gpu(kernels: &Kernels, images: &[(Part<'_>, Program)], image_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut sources = Vec::with_capacity(images.len());
    let (mut scratch, mut reduced) = (cpu::Scratch::default(), Vec::new());
    for (part, program) in images {
        let offset = (bytes.len() / 4) as u32;
        // As the loader does, so that a replayed sample has the batch's bits: it judges and copies the region that is read.
        let region = program.stages[0].sampling.hull();
        let source = part.source(region);
        let float = matches!(source, Source::Floats { .. });
        let a_pixel = if float { 16 } else { 4 };
        let for_cpu = is_for_cpu(program, u64::from(region.width) * u64::from(region.height) * a_pixel, float);
        let (width, float) = match &source {
            _ if for_cpu => {
                cpu::run_to_floats(kernels.plan(), program, source.pixels(), region, &mut reduced, &mut scratch);
                bytes.extend_from_slice(bytemuck::cast_slice(&reduced));
                (program.size().0, true)
            }
            Source::Bytes { data, .. } => {
                bytes.extend_from_slice(data);
                (region.width, false)
            }
            Source::Floats { data, .. } => {
                bytes.extend_from_slice(bytemuck::cast_slice(data));
                (region.width, true)
            }
        };
        let program = if for_cpu {
            Program::finished(program.size(), program.stages.len())
        } else {
            program.clone().relative_to(region)
        };
        sources.push((program, params::Source { offset, stride: width, float }));
    }
    let mut items = Vec::with_capacity(sources.len());
    for (index, (program, source)) in sources.iter().enumerate() {
        items.push(Item { program, source: *source, index, keep: None });
    }
    let total = (image_bytes * images.len()) as u64;
    check_batch(kernels.gpu(), total)?;
    let limits = kernels.gpu().device().limits();
    let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
    if bytes.len() as u64 > limit {
        return Err(ErrorKind::DoesNotFit {
            what: "what is read of the images",
            needed: bytes.len() as u64,
            limit,
            whose: "what a binding of this adapter holds",
            setting: "the number of images given at once",
        }
        .into());
    }
    run_once(kernels, &bytes, items, total)
}

/// Pixels of an image: all of them, or those of a rectangle in which the program's region lies.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) pixels: Pixels<'a>,
    /// The place of the first pixel in the image.
    pub(crate) left: u32,
    pub(crate) top: u32,
}

impl<'a> Part<'a> {
    pub(crate) fn whole(pixels: Pixels<'a>) -> Self {
        Part { pixels, left: 0, top: 0 }
    }

    /// The pixels of a region of the image.
    pub(crate) fn source(&self, region: Rect) -> Source {
        let (left, top) = (region.left.saturating_sub(self.left), region.top.saturating_sub(self.top));
        Source::new(self.pixels, Rect { left, top, ..region })
    }
}

/// A region of pixels of any format as four channels interleaved, which both executors read.
pub(crate) enum Source {
    Bytes { data: Vec<u8>, width: usize },
    Floats { data: Vec<f32>, width: usize },
}

impl Source {
    fn new(pixels: Pixels<'_>, region: Rect) -> Source {
        let width = region.width as usize;
        match pixels.format() {
            PixelFormat::F32 { .. } => {
                let mut data = Vec::new();
                widen_floats(pixels, region, &mut data);
                Source::Floats { data, width }
            }
            _ => {
                let mut data = Vec::new();
                widen_bytes(pixels, region, &mut data);
                Source::Bytes { data, width }
            }
        }
    }

    pub(crate) fn pixels(&self) -> PixelsRef<'_> {
        match self {
            Source::Bytes { data, width } => PixelsRef::Bytes { data, stride: 4 * width, size: 4 },
            Source::Floats { data, width } => PixelsRef::Floats { data, stride: 4 * width },
        }
    }
}
