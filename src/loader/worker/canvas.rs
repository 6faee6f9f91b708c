//! The canvas of a mosaic: four images that lie side by side, of which a region is decoded, resized and put together.

use super::content::Content;
use super::decode;
use crate::allocate::{AUGMENTING, product};
use crate::cpu;
use crate::cpu::prefix::{PrefixBuffers, run_prefix};
use crate::decode::DecoderScratch;
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale};
use crate::loader::mosaic::{LoaderMosaic, of_other};
use crate::loader::pipeline::Pipeline;
use crate::loader::scratch::Gathered;
use crate::transforms::{Interpolation, Mosaic, MosaicParams, Op, Params, ParamsOp, Tile};

/// The filter by which the images of a mosaic are resized, and whether it widens with the reduction.
pub(in crate::loader) const FILTER: (Interpolation, bool) = (Interpolation::Bilinear, true);

/// Bytes of a pixel of the canvas.
const PIXEL: usize = 4;

/// The images of a mosaic before they are decoded.
#[derive(Clone, Debug)]
pub(in crate::loader) struct Canvas<'a> {
    size: (u32, u32),
    fill: [u8; 3],
    images: Vec<(Tile, Content<'a>)>,
    /// Index and id of the samples of all images but the first.
    others: Vec<(usize, u64)>,
}

/// A worker's memory for the images of a mosaic.
#[derive(Debug, Default)]
pub(in crate::loader) struct CanvasScratch {
    gathered: Gathered,
    buffers: PrefixBuffers,
    cpu: cpu::CpuScratch,
    /// Three bytes a pixel of an image's part.
    part: Vec<u8>,
}

impl<'a> Canvas<'a> {
    /// Puts images on a canvas, the sample's own one first.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for images of floats.
    pub(in crate::loader) fn new(
        mosaic: &Mosaic,
        params: &MosaicParams,
        contents: impl IntoIterator<Item = Content<'a>>,
    ) -> Result<Canvas<'a>> {
        let mut images = Vec::with_capacity(4);
        for (number, content) in contents.into_iter().enumerate() {
            if content.is_float() {
                return Err(Error::argument("mosaic", "the image is one of floats; images of 8 bits work"));
            }
            images.push((mosaic.tile(params.center, number, content.size()), content));
        }
        Ok(Canvas { size: mosaic.canvas(), fill: mosaic.fill, images, others: params.others.to_vec() })
    }

    /// Width and height.
    pub(super) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Of each image its tile, its size as it is decoded, and its EXIF orientation.
    pub(super) fn images(&self) -> Vec<(Tile, (u32, u32), u8)> {
        self.images.iter().map(|(tile, content)| (*tile, content.size(), content.orientation())).collect()
    }

    /// Writes the pixels of a region into `out`, four bytes each.
    ///
    /// # Errors
    /// Those of decoding an image, with the name of its sample.
    pub(super) fn pixels(
        &self,
        pipeline: &Pipeline,
        region: Rect,
        decoder: &mut DecoderScratch,
        scratch: &mut CanvasScratch,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(mosaic) = &pipeline.mosaic else { return Ok(()) };
        let [r, g, b] = self.fill;
        out.clear();
        AUGMENTING.reserve(out, product(PIXEL * region.width as usize, region.height as usize))?;
        out.extend(std::iter::repeat_n([r, g, b, 255], region.width as usize * region.height as usize).flatten());
        for (number, (tile, content)) in self.images.iter().enumerate() {
            let Some(part) = tile.shown.and_then(|shown| shared(shown, region)) else { continue };
            let named = |error| match number.checked_sub(1).and_then(|other| self.others.get(other)) {
                Some(other) => of_other(pipeline, *other, error),
                None => error,
            };
            let scaled = pipeline.settings.scaled_decode && matches!(content, Content::File { .. });
            let mut done = draw(pipeline, mosaic, (tile, content), part, scaled, decoder, scratch);
            if scaled && done.is_err() {
                // A decoder may refuse a smaller scale after it has read the headers.
                done = draw(pipeline, mosaic, (tile, content), part, false, decoder, scratch);
            }
            done.map_err(named)?;
            let row = PIXEL * region.width as usize;
            let left = PIXEL * (part.left - region.left) as usize;
            let rows = out.chunks_exact_mut(row).skip((part.top - region.top) as usize);
            for (from, to) in scratch.part.chunks_exact(3 * part.width as usize).zip(rows) {
                let to = to[left..].as_chunks_mut::<PIXEL>().0;
                from.as_chunks::<3>().0.iter().zip(to).for_each(|(rgb, to)| to[..3].copy_from_slice(rgb));
            }
        }
        Ok(())
    }
}

/// Writes a part of the canvas that shows an image into `scratch.part`.
fn draw(
    pipeline: &Pipeline,
    LoaderMosaic { split, .. }: &LoaderMosaic,
    (tile, content): (&Tile, &Content<'_>),
    part: Rect,
    scaled: bool,
    decoder: &mut DecoderScratch,
    scratch: &mut CanvasScratch,
) -> Result<()> {
    let CanvasScratch { gathered, buffers, cpu, part: out } = scratch;
    let mut params = params(tile, content.size(), part);
    let mut content = content.clone();
    let mut route = split.route(std::slice::from_ref(&params), content.origin())?;
    if let Content::File { probe, scale, .. } = &mut content
        && scaled
        && route.on_worker.is_none()
    {
        let smaller = route.scale();
        if !smaller.is_full() && probe.can_scale() {
            (*scale, params.scale) = (smaller, smaller);
            route = route.scaled_down(&probe.scaled(smaller), [1]);
        }
    }
    let mut pixels = decode::pixels(pipeline, &content, route.read, decoder, gathered)?;
    if let Some(prefix) = &route.on_worker {
        pixels = run_prefix(split.plan(), prefix, pixels, route.read, buffers, cpu)?;
    }
    let bytes = product(3 * part.width as usize, part.height as usize);
    out.clear();
    AUGMENTING.reserve(out, bytes)?;
    out.resize(bytes, 0);
    let ((begin, _), view) = (route.views_begin(), &route.views[0]);
    cpu::run(split.plan(), &view.program, pixels.region(begin, view.region), view.region, out, cpu)
}

/// The resize of an image to its size on the canvas, and the crop to a part that the canvas shows.
fn params(tile: &Tile, (width, height): (u32, u32), part: Rect) -> Params {
    let (interpolation, antialias) = FILTER;
    let shown = tile.shown.unwrap_or(part);
    let (left, top) = (part.left - shown.left + tile.first.0, part.top - shown.top + tile.first.1);
    let resize = Op::Resize { height: tile.resized.1, width: tile.resized.0, interpolation, antialias };
    let crop = Op::Crop { top, left, height: part.height, width: part.width };
    let mut ops = Vec::with_capacity(2);
    if tile.resized != (width, height) {
        ops.push(ParamsOp { slot: 0, op: resize });
    }
    ops.push(ParamsOp { slot: 1, op: crop });
    Params { width, height, ops, scale: Scale::Full, ..Params::default() }
}

/// The part that two rectangles share; `None` where they share none.
fn shared(one: Rect, other: Rect) -> Option<Rect> {
    let (left, top) = (one.left.max(other.left), one.top.max(other.top));
    let right = (one.left + one.width).min(other.left + other.width);
    let bottom = (one.top + one.height).min(other.top + other.height);
    (left < right && top < bottom).then(|| Rect { left, top, width: right - left, height: bottom - top })
}
