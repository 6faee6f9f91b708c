//! How the pixels of a TIFF are stored, and which combinations are read.

use super::super::directory::{Integers, Tiff};
use super::refused;
use super::ycbcr::YCbCr;
use crate::Result;
use crate::geometry::Rect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    /// CCITT's modified Huffman code, without ends of lines.
    Huffman,
    /// CCITT T.4 in one dimension.
    Group3,
    /// CCITT T.4 in two dimensions.
    Group3Rows,
    Group4,
    Lzw,
    Jpeg,
    Deflate,
    PackBits,
    #[cfg(feature = "parquet")]
    Zstandard,
    /// Each chunk is a file of its own.
    WebP,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    None,
    Horizontal,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    Float,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Color<'a> {
    Gray { white_is_zero: bool },
    Palette(Integers<'a>),
    Rgb,
    Cmyk,
    YCbCr(YCbCr),
}

/// How the first image of a file is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    pub(super) tiff: Tiff<'a>,
    /// Columns and rows.
    pub(super) size: (u32, u32),
    pub(super) orientation: u8,
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// True if the lowest bit of each byte comes first.
    pub(super) reversed: bool,
    pub(super) color: Color<'a>,
    /// True for YCbCr that the JPEG inside is: its decoder makes RGB of it.
    pub(super) converted_by_jpeg: bool,
    pub(super) kind: Kind,
    /// Bits of a sample.
    pub(super) bits: u32,
    /// Samples of a pixel.
    pub(super) samples: usize,
    /// True if the colours were multiplied by the sample after them.
    pub(super) premultiplied: bool,
    /// How many parts of a chunk lie apart: 1, or a part for each sample.
    pub(super) planes: usize,
    /// Columns and rows of a strip or tile.
    pub(super) chunk: (u32, u32),
    pub(super) tiled: bool,
    pub(super) offsets: Integers<'a>,
    pub(super) lengths: Option<Integers<'a>>,
    pub(super) jpeg_tables: Option<&'a [u8]>,
}

impl Layout<'_> {
    /// Samples of a pixel that lie together.
    pub(super) fn samples_together(&self) -> usize {
        if self.planes == 1 { self.samples } else { 1 }
    }

    /// The planes that the pixels need: further samples are not read where they lie apart.
    pub(super) fn planes_needed(&self) -> usize {
        self.planes.min(self.color.samples() + usize::from(self.premultiplied))
    }

    /// Bytes of `rows` rows of a chunk, in one plane.
    fn row_bytes(&self, rows: u64) -> u64 {
        let width = u64::from(self.chunk.0);
        if let Some((across, down)) = self.subsampling() {
            return width.div_ceil(across).saturating_mul(across * down + 2).saturating_mul(rows.div_ceil(down));
        }
        let bits = width.saturating_mul(u64::from(self.bits) * self.samples_together() as u64);
        bits.div_ceil(8).saturating_mul(rows)
    }

    /// Columns and rows that share a sample of chroma, where these lie together with their luma.
    pub(super) fn subsampling(&self) -> Option<(u64, u64)> {
        match self.color {
            Color::YCbCr(ycbcr) if self.planes == 1 => Some((ycbcr.across.into(), ycbcr.down.into())),
            _ => None,
        }
    }

    /// Bytes that undoing the predictor takes besides a chunk.
    pub(super) fn predictor_bytes(&self) -> u64 {
        if self.predictor == Predictor::Float { self.row_bytes(1) } else { 0 }
    }

    /// Bytes of all samples of the image.
    pub(super) fn image_bytes(&self) -> u64 {
        let samples = (u64::from(self.size.0) * u64::from(self.size.1)).saturating_mul(self.samples as u64);
        samples.saturating_mul(u64::from(self.bits)).div_ceil(8)
    }

    pub(super) fn chunk_bytes(&self) -> u64 {
        self.row_bytes(self.chunk.1.into())
    }

    pub(super) fn bytes_of_rows(&self, rows: usize) -> usize {
        self.row_bytes(rows as u64) as usize
    }

    /// The rows that the first `bytes` of a chunk hold.
    pub(super) fn whole_rows(&self, bytes: usize) -> usize {
        let together = self.subsampling().map_or(1, |(_, down)| down as usize);
        bytes / self.bytes_of_rows(together).max(1) * together
    }

    fn chunks_across(&self) -> usize {
        self.size.0.div_ceil(self.chunk.0) as usize
    }

    pub(super) fn chunks_per_plane(&self) -> usize {
        self.chunks_across() * self.size.1.div_ceil(self.chunk.1) as usize
    }

    /// The chunks of a plane, in their order.
    pub(super) fn places(&self) -> impl Iterator<Item = ChunkPlace> + use<> {
        let (across, chunk) = (self.chunks_across(), self.chunk);
        (0..self.chunks_per_plane()).map(move |index| ChunkPlace {
            left: (index % across) as u32 * chunk.0,
            top: (index / across) as u32 * chunk.1,
        })
    }
}

/// Where a strip or tile begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkPlace {
    pub(super) left: u32,
    pub(super) top: u32,
}

impl ChunkPlace {
    /// The rows that are stored: a tile is whole, the last strip ends with the image.
    pub(super) fn rows(&self, layout: &Layout<'_>) -> usize {
        let rest = layout.size.1 - self.top;
        (if layout.tiled { layout.chunk.1 } else { layout.chunk.1.min(rest) }) as usize
    }

    /// The part of the image that lies in this chunk and in `region`.
    pub(super) fn within(&self, layout: &Layout<'_>, rows: usize, region: Rect) -> Option<Rect> {
        let left = self.left.max(region.left);
        let top = self.top.max(region.top);
        let right = self.left.saturating_add(layout.chunk.0).min(region.left + region.width);
        let bottom = self.top.saturating_add(rows as u32).min(region.top + region.height);
        (left < right && top < bottom).then(|| Rect { left, top, width: right - left, height: bottom - top })
    }
}

impl Color<'_> {
    /// Samples of a pixel without further ones.
    pub(super) fn samples(&self) -> usize {
        match self {
            Color::Gray { .. } | Color::Palette(_) => 1,
            Color::Rgb | Color::YCbCr(_) => 3,
            Color::Cmyk => 4,
        }
    }
}

impl Layout<'_> {
    /// Refuses combinations of depths, kinds and colours that are not read.
    pub(super) fn check(&self) -> Result<()> {
        let Layout { bits, kind, compression, .. } = *self;
        let kinds = |kind| match kind {
            Kind::Unsigned => "integers",
            Kind::Signed => "signed integers",
            Kind::Float => "floats",
        };
        let depth_is_read = match (self.color, kind) {
            (Color::Gray { .. } | Color::Rgb, Kind::Unsigned) => matches!(bits, 1..=16 | 32),
            (Color::Gray { .. }, Kind::Signed) => matches!(bits, 8 | 16 | 32),
            (Color::Gray { .. } | Color::Rgb, Kind::Float) => bits == 32,
            (Color::Palette(_), Kind::Unsigned) => matches!(bits, 1..=8),
            (Color::Cmyk, Kind::Unsigned) => matches!(bits, 8 | 16),
            (Color::YCbCr(_), Kind::Unsigned) => bits == 8,
            _ => false,
        };
        let color = match self.color {
            Color::Gray { .. } => "gray",
            Color::Palette(_) => "palettes",
            Color::Rgb => "RGB",
            Color::Cmyk => "CMYK",
            Color::YCbCr(_) => "YCbCr",
        };
        if !depth_is_read {
            return Err(refused(format!("{color} of {bits}-bit {} is not supported", kinds(kind))));
        }
        let divided = match (self.color, kind) {
            (Color::Rgb, _) => true,
            (Color::Gray { .. }, Kind::Unsigned) => bits <= 16,
            _ => false,
        };
        if self.premultiplied && !divided {
            let reason =
                format!("{color} of {bits}-bit {} that were multiplied by alpha is not supported", kinds(kind));
            return Err(refused(reason));
        }
        if let (Color::Gray { .. } | Color::Palette(_), 3..) = (self.color, self.samples) {
            return Err(refused(format!("{color} with {} samples a pixel is not supported", self.samples)));
        }
        if let Color::Palette(palette) = self.color
            && palette.len() < 3 << bits
        {
            return Err(refused(format!("its palette has {} of {} values", palette.len(), 3 << bits)));
        }
        let bilevel = matches!(
            compression,
            Compression::Huffman | Compression::Group3 | Compression::Group3Rows | Compression::Group4
        );
        if bilevel && (bits != 1 || self.samples_together() != 1 || self.chunk.0 > u16::MAX.into()) {
            return Err(refused("CCITT compression of anything but rows of up to 65,535 single bits is not supported"));
        }
        if matches!(compression, Compression::Jpeg | Compression::WebP) && bits != 8 {
            return Err(refused(format!("JPEG or WebP with samples of {bits} bits inside is not supported")));
        }
        if compression == Compression::WebP && !matches!(self.samples_together(), 3 | 4) {
            return Err(refused(format!(
                "WebP with {} samples a pixel inside is not supported",
                self.samples_together()
            )));
        }
        let predicted = match self.predictor {
            Predictor::None => true,
            Predictor::Horizontal => {
                matches!(bits, 8 | 16 | 32) && self.subsampling().is_none_or(|pair| pair == (1, 1))
            }
            Predictor::Float => kind == Kind::Float,
        };
        if !predicted {
            let predictor = if self.predictor == Predictor::Horizontal { 2 } else { 3 };
            return Err(refused(format!("predictor {predictor} on {bits}-bit {} is not supported", kinds(kind))));
        }
        let chunks = u64::from(self.size.0.div_ceil(self.chunk.0)) * u64::from(self.size.1.div_ceil(self.chunk.1));
        let wanted = chunks.saturating_mul(self.planes_needed() as u64);
        if (self.offsets.len() as u64) < wanted {
            let what = if self.tiled { "tiles" } else { "strips" };
            return Err(refused(format!("says where {} of its {wanted} {what} are", self.offsets.len())));
        }
        Ok(())
    }
}
