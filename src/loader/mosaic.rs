//! Mosaics of a loader: what is drawn and read of other samples, and the objects of all images on one canvas.

use super::moved_objects::ObjectField;
use super::pipeline::Pipeline;
use super::source::Source;
use crate::dataset::{Dataset, FieldValue, Label, Sample, SampleData};
use crate::error::{Error, ErrorKind, Result};
use crate::loader::columns::owned_values;
use crate::objects::Objects;
use crate::plan::split::{CacheSplit, Executor};
use crate::plan::{DType, Layout, Output, Plan, Semantics};
use crate::transforms::{IMAGES, Key, Mosaic, MosaicParams, Op, PaddingMode, RandomShortestSize, RandomSizeCrop, Tile};

/// The other samples of a mosaic, as they come from the data set.
pub(super) struct Others<'a> {
    pub(super) params: MosaicParams,
    pub(super) samples: Vec<Other<'a>>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Other<'a> {
    pub(super) data: SampleData<'a>,
    pub(super) fields: Vec<FieldValue<'static>>,
}

impl std::fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Others").field("params", &self.params).finish_non_exhaustive()
    }
}

/// The mosaic of a loader, and the plan that resizes and cuts each of its images.
#[derive(Debug)]
pub(super) struct LoaderMosaic {
    pub(super) mosaic: Mosaic,
    pub(super) split: CacheSplit,
}

impl LoaderMosaic {
    /// # Errors
    /// Arguments of the mosaic that do not work.
    pub(super) fn new(mosaic: Mosaic) -> Result<LoaderMosaic> {
        mosaic.validate()?;
        // The list says which ops there may be, a resize and a crop; `worker/canvas.rs` gives their numbers.
        let list = [RandomShortestSize::new([mosaic.size]).into(), RandomSizeCrop::new(1, 1).into()];
        let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &output)?;
        Ok(LoaderMosaic { mosaic, split: CacheSplit::new(plan, Executor::Cpu, None, false) })
    }

    /// Draws the mosaic of the sample with this key.
    pub(super) fn make_params(&self, dataset: &dyn Dataset, key: &Key) -> MosaicParams {
        self.mosaic.make_params(key, dataset.len(), |index| dataset.id(index))
    }
}

/// Reads the other samples of a mosaic, each into a file of its own.
///
/// # Errors
/// That of a sample, with its name.
pub(super) fn read<'a>(
    pipeline: &'a Pipeline,
    params: MosaicParams,
    files: &'a mut [Vec<u8>; IMAGES - 1],
) -> Result<Others<'a>> {
    let mut samples = Vec::with_capacity(params.others.len());
    for (&(index, id), file) in params.others.iter().zip(files) {
        let read = pipeline.dataset.read(index, file).and_then(|sample| {
            let data = Source::OWN.image(&pipeline.fields, &sample)?;
            check_label(&sample)?;
            let fields = owned_values(&pipeline.fields, sample.fields)?;
            Ok(Other { data, fields })
        });
        samples.push(read.map_err(|error| of_other(pipeline, (index, id), error))?);
    }
    Ok(Others { params, samples })
}

/// Refuses a class, which is that of one of the images alone.
pub(super) fn check_label(sample: &Sample<'_>) -> Result<()> {
    match sample.label {
        Label::None => Ok(()),
        _ => Err(Error::argument(
            "mosaic",
            "the sample has a label, but the mosaic shows four samples; the labels of their objects work",
        )),
    }
}

/// The error of another sample of a mosaic.
pub(super) fn of_other(pipeline: &Pipeline, (index, id): (usize, u64), source: Error) -> Error {
    // What ends a run ends it as it is.
    if source.is_fatal() || crate::storage::is_network_failure(&source) {
        return source;
    }
    ErrorKind::Sample { id, name: pipeline.dataset.name(index), source }.into()
}

/// The ops that lead places of an image of a mosaic to those of the canvas.
fn ops(tile: &Tile, canvas: (u32, u32)) -> Vec<Op> {
    let Some(shown) = tile.shown else { return Vec::new() };
    let (width, height) = tile.resized;
    let (interpolation, antialias) = crate::loader::worker::FILTER;
    vec![
        Op::Resize { height, width, interpolation, antialias },
        Op::Crop { top: tile.first.1, left: tile.first.0, height: shown.height, width: shown.width },
        Op::Pad {
            left: shown.left,
            top: shown.top,
            right: canvas.0 - shown.left - shown.width,
            bottom: canvas.1 - shown.top - shown.height,
            mode: PaddingMode::Constant,
            fill: [0.0; 3],
        },
    ]
}

/// Gives a sample the objects of all images of its mosaic, in places of the canvas. `images` has of each image its tile, its size as it is
/// decoded and its EXIF orientation; the sample's own is the first.
///
/// # Errors
/// Objects that do not belong to their image, and those that have not the same values in all samples.
pub(super) fn compose(
    pipeline: &Pipeline,
    objects: &ObjectField,
    own: &mut [FieldValue<'static>],
    others: &mut Others<'_>,
    images: &[(Tile, (u32, u32), u8)],
) -> Result<()> {
    let Some(LoaderMosaic { mosaic, .. }) = &pipeline.mosaic else { return Ok(()) };
    let canvas = mosaic.canvas();
    let mut all = Objects::default();
    let partners = others.params.others.map(Some);
    let mut fields = std::iter::once(&mut *own).chain(others.samples.iter_mut().map(|other| &mut other.fields[..]));
    for (partner, (tile, size, orientation)) in std::iter::once(None).chain(partners).zip(images) {
        let Some(fields) = fields.next() else { break };
        let moved =
            objects.settle(fields, *size, *orientation).and_then(|()| objects.led(fields, &ops(tile, canvas), *size));
        let named = |error: Error| match partner {
            Some(partner) => of_other(pipeline, partner, error),
            None => error,
        };
        all.append(moved.map_err(named)?).map_err(|reason| Error::argument("mosaic", reason))?;
    }
    drop(fields);
    all.set_size(canvas);
    objects.replace(own, all);
    Ok(())
}
