//! The pixels of a source: those of an image, or of the canvas of a mosaic, four images that lie side by side, of which a region is
//! decoded, resized and put together.

use super::content::{Canvas, Content};
use super::decode;
use super::others::of_other;
use crate::allocate::{AUGMENTING, product};
use crate::cpu;
use crate::decode::DecoderScratch;
use crate::error::Result;
use crate::geometry::{Rect, Scale};
use crate::loader::mosaic::LoaderMosaic;
use crate::loader::pipeline::Pipeline;
use crate::loader::scratch::{CanvasScratch, Gathered};
use crate::pixels::PixelsRef;
use crate::transforms::{FILTER, Op, Params, ParamsOp, Tile};

/// Bytes of a pixel of the canvas.
const PIXEL: usize = 4;

/// The pixels of a region; the region's first pixel comes first.
pub(in crate::loader) fn pixels<'a>(
    pipeline: &Pipeline,
    content: &Content<'a>,
    region: Rect,
    decoder: &'a mut DecoderScratch,
    gathered: &'a mut Gathered,
) -> Result<PixelsRef<'a>> {
    let Content::Canvas(canvas) = content else {
        return decode::pixels(pipeline, content, region, decoder, gathered);
    };
    let Gathered { bytes, canvas: scratch, .. } = gathered;
    compose(canvas, pipeline, region, decoder, scratch.get_or_insert_default(), bytes)?;
    Ok(PixelsRef::Bytes { data: bytes, stride: PIXEL * region.width as usize, size: PIXEL })
}

/// Writes the pixels of a region into `out`, four bytes each.
///
/// # Errors
/// Those of decoding an image, with the name of its sample.
fn compose(
    canvas: &Canvas<'_>,
    pipeline: &Pipeline,
    region: Rect,
    decoder: &mut DecoderScratch,
    scratch: &mut CanvasScratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some(mosaic) = &pipeline.mosaic else { return Ok(()) };
    let [r, g, b] = canvas.fill;
    out.clear();
    AUGMENTING.reserve(out, product(PIXEL * region.width as usize, region.height as usize))?;
    out.extend(std::iter::repeat_n([r, g, b, 255], region.width as usize * region.height as usize).flatten());
    for (number, (tile, content)) in canvas.images.iter().enumerate() {
        let Some(part) = tile.shown.and_then(|shown| shared(shown, region)) else { continue };
        let named = |error| match number.checked_sub(1).and_then(|other| canvas.others.get(other)) {
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
    let CanvasScratch { gathered, cpu, part: out } = scratch;
    let params = params(tile, content.size(), part);
    let mut content = content.clone();
    let mut route = split.route(std::slice::from_ref(&params), content.origin())?;
    if let Content::File { probe, scale, .. } = &mut content
        && scaled
    {
        let smaller = route.scale();
        if !smaller.is_full() && probe.can_scale() {
            *scale = smaller;
            route = route.scaled_down(&probe.scaled(smaller), [1]);
        }
    }
    // Without a cache no program runs before the view.
    let pixels = decode::pixels(pipeline, &content, route.read, decoder, gathered)?;
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
