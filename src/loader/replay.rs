//! Replays one sample from its parameters.

use super::DataLoader;
use super::group::Group;
use super::intermediates;
use super::pipeline::{Execution, Pipeline};
use super::scratch::Gathered;
use super::worker::{self, Canvas, Content};
use crate::allocate::{BATCH, product};
use crate::cpu;
use crate::cpu::prefix::{PrefixBuffers, run_prefix};
use crate::decode::DecoderScratch;
use crate::error::{Error, Result};
use crate::gpu::kernels::{Kernels, MixSizes};
use crate::pixels::PixelsRef;
use crate::plan::DType;
use crate::plan::mixing::{BatchMixing, Blend, Mixing};
use crate::plan::route::View;
use crate::processor;
use crate::transforms::{BatchTransform, IMAGES, Mix, Mixed, MosaicParams, Params, Partner};

impl DataLoader {
    /// Applies given parameters to one sample, on this loader's executor. The image has the same bits as in its batch,
    /// also if the file is damaged or truncated: like a worker, it decodes the region that the parameters need. For an
    /// image that was [mixed](Params::mixed) it decodes its partner as well.
    ///
    /// Returns the image in the output's layout and type.
    ///
    /// # Errors
    /// Those of reading and decoding the sample; [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters
    /// do not belong to this plan or to this sample's size, or the partner's not to this data set.
    pub fn replay(&self, index: usize, params: &Params) -> Result<Vec<u8>> {
        replay(&self.pipeline, 0, index, params)
    }

    /// As [`replay`](Self::replay), for an image of the group with this name.
    ///
    /// # Errors
    /// Those of [`replay`](Self::replay); [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the names of the groups
    /// for another name.
    pub fn replay_in(&self, group: &str, index: usize, params: &Params) -> Result<Vec<u8>> {
        let groups = &self.pipeline.groups;
        let Some(number) = groups.iter().position(|own| own.name == group) else {
            let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
            let reason = format!("there is no group {group:?}; the loader has {}", names.join(", "));
            return Err(Error::argument("group", reason));
        };
        replay(&self.pipeline, number, index, params)
    }
}

/// Replays an image of the group `number`.
fn replay(pipeline: &Pipeline, number: usize, index: usize, params: &Params) -> Result<Vec<u8>> {
    let group = &pipeline.groups[number];
    let bytes = group.image_bytes();
    group.check_size(params)?;
    let Some(mixed) = &params.mixed else {
        return with_image(pipeline, number, index, params, |view, pixels| {
            let image = run(pipeline, number, &[(view, pixels)], None)?;
            group.without_padding(image, params)
        });
    };
    check_partner(pipeline, mixed)?;
    // The partner is the image before: in a batch of both, the second image is the one that is wanted.
    let mixing = Mixing::new(&mixed.mix, Partner::Previous, group.plan(), group.size, 2, 1);
    let both = with_image(pipeline, number, mixed.index, &mixed.params, |partner, its_pixels| {
        with_image(pipeline, number, index, params, |view, pixels| {
            run(pipeline, number, &[(partner, its_pixels), (view, pixels)], mixing)
        })
    })?;
    Ok(both[bytes..].to_vec())
}

/// Checks what a user's parameters say about the other image.
fn check_partner(pipeline: &Pipeline, mixed: &Mixed) -> Result<()> {
    let refuse = |reason: String| Err(Error::argument("params", reason));
    let (dataset, dtype) = (&pipeline.dataset, pipeline.plan().output().dtype);
    if mixed.params.mixed.is_some() {
        return refuse(
            "the partner's own parameters say that it was mixed; they must be those of its image alone".into(),
        );
    }
    if mixed.index >= dataset.len() || dataset.id(mixed.index) != mixed.id {
        let (index, id) = (mixed.index, mixed.id);
        return refuse(format!("mixed with sample {index}, id {id}, which this data set does not have"));
    }
    let blends_bytes = pipeline.batch_transform.as_ref().is_some_and(BatchTransform::blends_bytes);
    if matches!(mixed.mix, Mix::MixUp { .. }) && dtype == DType::U8 && !blends_bytes {
        return refuse("MixUp blends floats, but the output has 8-bit numbers".into());
    }
    mixed.mix.check(pipeline.first().size)
}

/// Calls `work` with an image as the executor reads it: its view, and the pixels of the view's region.
fn with_image<T>(
    pipeline: &Pipeline,
    group: usize,
    index: usize,
    params: &Params,
    work: impl FnOnce(&View, PixelsRef<'_>) -> Result<T>,
) -> Result<T> {
    let mut file = Vec::new();
    let Group { split, source, .. } = &pipeline.groups[group];
    let sample = pipeline.dataset.read(index, &mut file)?;
    let image = pipeline.sources[*source].image(&pipeline.fields, &sample)?;
    let named = |error| pipeline.sources[*source].named(error);
    let mut content = Content::new(pipeline, *source, &image).map_err(named)?;
    let mut other_files = <[Vec<u8>; IMAGES - 1]>::default();
    if let Some(of_mosaic) = &params.mosaic {
        content = on_canvas(pipeline, of_mosaic, content, &mut other_files)?;
    }
    processor::check_size(params, content.size())?;
    let mut route = split.route(std::slice::from_ref(params), content.origin())?;
    // A worker always runs the prefix at full size.
    if let Content::File { probe, scale, .. } = &mut content
        && route.on_worker.is_none()
    {
        if params.scale > route.scale() {
            let reason = format!("{:?} is smaller than the result of the resize", params.scale);
            return Err(Error::argument("params", reason));
        }
        if !params.scale.is_full() {
            *scale = params.scale;
            route = route.scaled_down(&probe.scaled(params.scale), [1]);
        }
    }
    let needed = intermediates::of_route(split, &route);
    intermediates::check(split, needed, content.size(), pipeline.most_intermediate)?;
    let (mut decoder, mut gathered) = (DecoderScratch::default(), Gathered::default());
    let mut pixels = worker::pixels(pipeline, &content, route.read, &mut decoder, &mut gathered).map_err(named)?;
    let (mut buffers, mut scratch) = (PrefixBuffers::default(), cpu::CpuScratch::default());
    if let Some(prefix) = &route.on_worker {
        pixels = run_prefix(split.plan(), prefix, pixels, route.read, &mut buffers, &mut scratch)?;
    }
    let ((begin, _), view) = (route.views_begin(), &route.views[0]);
    work(view, pixels.region(begin, view.region))
}

/// The mosaic that parameters name, whose first image has this content.
fn on_canvas<'a>(
    pipeline: &'a Pipeline,
    params: &MosaicParams,
    own: Content<'a>,
    files: &'a mut [Vec<u8>; IMAGES - 1],
) -> Result<Content<'a>> {
    let refuse = |reason: String| Err(Error::argument("params", reason));
    let Some(mosaic) = &pipeline.mosaic else {
        return refuse("they are of a mosaic, but this loader makes none".to_owned());
    };
    let dataset = &pipeline.dataset;
    if let Some((index, id)) =
        params.others.iter().find(|(index, id)| *index >= dataset.len() || dataset.id(*index) != *id)
    {
        return refuse(format!("the mosaic has sample {index}, id {id}, which this data set does not have"));
    }
    let (width, height) = mosaic.mosaic.canvas();
    if params.center[0] > width || params.center[1] > height {
        return refuse(format!(
            "the images of the mosaic meet in {:?}, outside of its {width}x{height} pixels",
            params.center
        ));
    }
    let others = worker::read_others(pipeline, params.clone(), files)?;
    let mut contents = vec![own];
    for other in &others.samples {
        contents.push(Content::new(pipeline, 0, &other.data)?);
    }
    Canvas::new(&mosaic.mosaic, params, contents).map(|canvas| Content::Canvas(Box::new(canvas)))
}

/// Makes a batch of images of a group, and mixes it.
fn run(
    pipeline: &Pipeline,
    number: usize,
    images: &[(&View, PixelsRef<'_>)],
    mixing: Option<Mixing>,
) -> Result<Vec<u8>> {
    let group = &pipeline.groups[number];
    let bytes = group.image_bytes();
    let executor = match &pipeline.execution {
        Execution::Gpu(gpu) => {
            let own = &gpu.kernels[number];
            let with_mixer = mixing.filter(|_| !own.mixes()).map(|mixing| mixing_kernels(own, &mixing));
            let kernels = with_mixer.transpose()?;
            let mixing = mixing.map(BatchMixing::All);
            return processor::run_on_gpu(kernels.as_ref().unwrap_or(own), images, bytes, mixing);
        }
        Execution::Cpu(_) => cpu::run,
    };
    let (mut batch, mut scratch) = (BATCH.zeroed(product(bytes, images.len()))?, cpu::CpuScratch::default());
    for ((view, pixels), image) in images.iter().zip(batch.chunks_exact_mut(bytes)) {
        executor(group.plan(), &view.program, *pixels, view.region, image, &mut scratch)?;
    }
    if let Some(mixing) = mixing {
        cpu::mix::mix(&BatchMixing::All(mixing), group.plan().output().dtype, &mut batch);
    }
    Ok(batch)
}

/// The kernels of a loader that mixes no batches, for one mixing. The device has compiled the others before, but where the
/// loader's last stage stores 16 bits: mixing needs f32.
fn mixing_kernels(kernels: &Kernels, mixing: &Mixing) -> Result<Kernels> {
    let sizes = MixSizes::new(kernels.gpu(), mixing.samples, mixing.views, mixing.image, false)?;
    let plan = kernels.plan().clone().on_device(kernels.gpu().caps().traits, true);
    let same = Kernels::new(kernels.gpu(), &plan, kernels.cached_stage())?;
    let blends_bytes = matches!(mixing.blend, Blend::Shares { .. });
    same.with_mixer(sizes, mixing.sample() as u64, blends_bytes)
}
