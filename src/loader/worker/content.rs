//! The pixels of a source before they are decoded.

use crate::advice::{self, Reason};
use crate::dataset::{PixelFormat, Pixels, SampleData};
use crate::decode::{Probe, ReadMode};
use crate::error::{Error, Result};
use crate::geometry::Scale;
use crate::loader::cache::HostEntry;
use crate::loader::group::{Group, of_source};
use crate::loader::pipeline::Pipeline;
use crate::plan::Semantics;
use crate::plan::route::Origin;
use crate::transforms::{Mosaic, MosaicParams, Tile};

/// A sample's pixels, encoded or not.
#[derive(Clone, Debug)]
pub(in crate::loader) enum Content<'a> {
    /// An encoded file, its header, and the scale at which it is decoded.
    File {
        bytes: &'a [u8],
        probe: Probe,
        scale: Scale,
    },
    /// An encoded file of 16-bit gray, and its header.
    Gray16 {
        bytes: &'a [u8],
        probe: Probe,
    },
    /// An encoded file of a mask, and its header.
    Mask {
        bytes: &'a [u8],
        probe: Probe,
    },
    Pixels(Pixels<'a>),
    /// The images of a mosaic.
    Canvas(Box<Canvas<'a>>),
    Cached(&'a HostEntry),
}

impl<'a> Content<'a> {
    /// The content of an image of the source with this number; reads the header of an encoded one.
    pub(in crate::loader) fn new(pipeline: &Pipeline, source: usize, data: &SampleData<'a>) -> Result<Content<'a>> {
        let mode = pipeline.sources.get(source).map_or(ReadMode::Color, |source| source.mode);
        let (content, channels) = match *data {
            SampleData::Encoded(bytes) => {
                let probe = pipeline.decoder.probe(bytes)?;
                match mode {
                    ReadMode::Color => (Content::File { bytes, probe, scale: Scale::Full }, 3),
                    ReadMode::Gray16 => (Content::Gray16 { bytes, probe }, 1),
                    ReadMode::Mask => (Content::Mask { bytes, probe }, 1),
                }
            }
            SampleData::Pixels(pixels) => (Content::Pixels(pixels), pixels.format().channels()),
        };
        let is_float = matches!(data, SampleData::Pixels(pixels) if matches!(pixels.format(), PixelFormat::F32 { .. }));
        let mut groups = of_source(&pipeline.groups, source);
        let input_channels = groups.clone().next().map_or(3, |group| group.plan().input_channels());
        let is_uint8 = |group: &Group| group.plan().semantics() == Semantics::Uint8;
        if is_float && groups.any(is_uint8) {
            let reason = "Uint8 needs 8-bit images, but the data set gives floats; Float works with both";
            return Err(Error::argument("semantics", reason));
        }
        if mode == ReadMode::Gray16 && !content.is_float() {
            return Err(Error::argument("read_mode", "Gray16 needs a file or floats, but the pixels have 8 bits"));
        }
        if mode == ReadMode::Mask && is_float {
            return Err(Error::argument(
                "read_mode",
                "Mask needs a file or pixels of 8 bits, but the pixels are floats",
            ));
        }
        if mode != ReadMode::Color && channels != 1 {
            let reason = format!("{mode:?} reads one channel, but the image has {channels}");
            return Err(Error::argument("read_mode", reason));
        }
        if input_channels == 1 && channels != 1 {
            let reason = Reason::new(format!("the image has {channels} channels, but the data set promises 1"));
            return Err(Error::argument("channels", reason.advise(advice::CHANNELS)));
        }
        Ok(content)
    }

    /// Width and height of the source.
    pub(in crate::loader) fn size(&self) -> (u32, u32) {
        match self {
            Content::File { probe, .. } | Content::Gray16 { probe, .. } | Content::Mask { probe, .. } => {
                (probe.width, probe.height)
            }
            Content::Pixels(pixels) => (pixels.width(), pixels.height()),
            Content::Canvas(canvas) => canvas.size(),
            Content::Cached(entry) => entry.sample.size,
        }
    }

    /// The EXIF orientation by which the decoder turns the source; 1 for none.
    pub(in crate::loader) fn orientation(&self) -> u8 {
        match self {
            Content::File { probe, .. } | Content::Gray16 { probe, .. } | Content::Mask { probe, .. } => {
                probe.orientation()
            }
            Content::Pixels(_) | Content::Canvas(_) | Content::Cached(_) => 1,
        }
    }

    /// The origin of the pixels of a sample that is not cached.
    pub(in crate::loader) fn origin(&self) -> Origin {
        match self {
            Content::Pixels(pixels) if matches!(pixels.format(), PixelFormat::R8 | PixelFormat::Rgb8) => {
                Origin::InPlace
            }
            _ => Origin::Source { float: self.is_float() },
        }
    }

    /// True if the pixels of the source are floats.
    pub(super) fn is_float(&self) -> bool {
        match self {
            Content::Gray16 { .. } => true,
            Content::Pixels(pixels) => matches!(pixels.format(), PixelFormat::F32 { .. }),
            Content::File { .. } | Content::Mask { .. } | Content::Canvas(_) | Content::Cached(_) => false,
        }
    }
}

/// The images of a mosaic before they are decoded.
#[derive(Clone, Debug)]
pub(in crate::loader) struct Canvas<'a> {
    size: (u32, u32),
    pub(super) fill: [u8; 3],
    pub(super) images: Vec<(Tile, Content<'a>)>,
    /// Index and id of the samples of all images but the first.
    pub(super) others: Vec<(usize, u64)>,
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

    /// The tile of each image, its size as it is decoded, and its EXIF orientation.
    pub(super) fn images(&self) -> Vec<(Tile, (u32, u32), u8)> {
        self.images.iter().map(|(tile, content)| (*tile, content.size(), content.orientation())).collect()
    }
}
