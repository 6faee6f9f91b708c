//! The pixels of a sample: decoded, gathered from memory, or taken from the cache.

use super::content::Content;
use crate::allocate::{AUGMENTING, product};
use crate::dataset::PixelFormat;
use crate::decode::{DecodePath, DecoderScratch, ScaledRegion};
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::loader::pipeline::Pipeline;
use crate::loader::scratch::Gathered;
use crate::pixels::{PixelsRef, widen_bytes, widen_floats, widen_gray16};
use crate::plan::split::Executor;

/// The pixels of a region; the region's first pixel comes first.
pub(in crate::loader) fn pixels<'a>(
    pipeline: &Pipeline,
    content: &Content<'a>,
    region: Rect,
    decoder: &'a mut DecoderScratch,
    gathered: &'a mut Gathered,
) -> Result<PixelsRef<'a>> {
    let stride = 4 * region.width as usize;
    match content {
        Content::Cached(entry) => Ok(entry.pixels()),
        Content::File { bytes, probe, scale } => {
            let (decoded, path) =
                pipeline.decoder.decode(bytes, probe, ScaledRegion { region, scale: *scale }, decoder)?;
            pipeline.stats.decoded(path);
            Ok(PixelsRef::Bytes { data: decoded.pixels, stride: decoded.stride, size: 4 })
        }
        Content::Gray16 { bytes, probe } => {
            let decoded = pipeline.decoder.decode_gray16(bytes, probe, region, decoder)?;
            pipeline.stats.decoded(DecodePath::Other);
            let floats = &mut gathered.floats;
            floats.clear();
            // Reserves room for the whole image, as below.
            AUGMENTING.reserve(floats, product(4 * probe.width as usize, probe.height as usize))?;
            widen_gray16(decoded.pixels, decoded.stride, (region.width, region.height), floats);
            Ok(PixelsRef::Floats { data: floats, stride })
        }
        // `canvas.rs` takes it apart.
        Content::Canvas(_) => Err(Error::argument("mosaic", "no image of a mosaic is one itself")),
        Content::Mask { bytes, probe } => {
            let decoded = pipeline.decoder.decode_mask(bytes, probe, region, decoder)?;
            pipeline.stats.decoded(DecodePath::Other);
            Ok(PixelsRef::Bytes { data: decoded.pixels, stride: decoded.stride, size: 4 })
        }
        Content::Pixels(pixels) => {
            // Reserves room for the whole image: its next region may be larger than this one.
            let whole = product(4 * pixels.width() as usize, pixels.height() as usize);
            let Gathered { bytes, floats, .. } = gathered;
            match pixels.format() {
                PixelFormat::F32 { .. } => {
                    floats.clear();
                    AUGMENTING.reserve(floats, whole)?;
                    widen_floats(*pixels, region, floats);
                    Ok(PixelsRef::Floats { data: floats, stride })
                }
                PixelFormat::Rgb8 => Ok(pixels.in_place(region)),
                // The GPU reads four channels, the CPU executor reads gray in place.
                PixelFormat::R8 if pipeline.first().split.executor() == Executor::Cpu => Ok(pixels.in_place(region)),
                PixelFormat::R8 | PixelFormat::Rgba8 => {
                    bytes.clear();
                    AUGMENTING.reserve(bytes, whole)?;
                    widen_bytes(*pixels, region, bytes);
                    Ok(PixelsRef::Bytes { data: bytes, stride, size: 4 })
                }
            }
        }
    }
}
