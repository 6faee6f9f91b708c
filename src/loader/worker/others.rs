//! The other samples of a mosaic: how they are read, and their objects on the canvas.

use crate::dataset::{FieldValue, Label, Sample, SampleData};
use crate::error::{Error, ErrorKind, Result};
use crate::loader::columns::owned_values;
use crate::loader::mosaic::LoaderMosaic;
use crate::loader::moved_objects::ObjectField;
use crate::loader::pipeline::Pipeline;
use crate::loader::source::Source;
use crate::objects::Objects;
use crate::storage::is_network_failure;
use crate::transforms::{FILTER, IMAGES, MosaicParams, Op, PaddingMode, Tile};

/// The other samples of a mosaic, as they come from the data set.
pub(in crate::loader) struct Others<'a> {
    pub(in crate::loader) params: MosaicParams,
    pub(in crate::loader) samples: Vec<Other<'a>>,
}

/// One of them.
#[derive(Debug)]
pub(in crate::loader) struct Other<'a> {
    pub(in crate::loader) data: SampleData<'a>,
    pub(in crate::loader) fields: Vec<FieldValue<'static>>,
}

impl std::fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Others").field("params", &self.params).finish_non_exhaustive()
    }
}

/// Reads the other samples of a mosaic, each into a file of its own.
///
/// # Errors
/// That of a sample, with its name.
pub(in crate::loader) fn read<'a>(
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
pub(in crate::loader) fn check_label(sample: &Sample<'_>) -> Result<()> {
    match sample.label {
        Label::None => Ok(()),
        _ => Err(Error::argument(
            "mosaic",
            "the sample has a label, but the mosaic shows four samples; the labels of their objects work",
        )),
    }
}

/// The error of another sample of a mosaic.
pub(in crate::loader) fn of_other(pipeline: &Pipeline, (index, id): (usize, u64), source: Error) -> Error {
    // An error that ends a run ends it as it is.
    if source.is_fatal() || is_network_failure(&source) {
        return source;
    }
    ErrorKind::Sample { id, name: pipeline.dataset.name(index), source }.into()
}

/// The ops that lead places of an image of a mosaic to those of the canvas.
fn ops(tile: &Tile, canvas: (u32, u32)) -> Vec<Op> {
    let Some(shown) = tile.shown else { return Vec::new() };
    let (width, height) = tile.resized;
    let (interpolation, antialias) = FILTER;
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
