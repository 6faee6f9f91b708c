//! The tags of a TIFF's first directory. Refuses what is not read, with a sentence.

use super::super::directory::{Integers, Tiff};
use super::super::metadata;
use super::layout::{Color, Compression, Kind, Layout, Predictor};
use super::ycbcr::YCbCr;
use super::{ended, refused};
use crate::Result;

/// Integers of the tags that are read, by the tag's number.
#[derive(Clone, Copy, Default)]
struct Tags<'a> {
    width: Option<Integers<'a>>,
    height: Option<Integers<'a>>,
    bits: Option<Integers<'a>>,
    compression: Option<Integers<'a>>,
    photometric: Option<Integers<'a>>,
    fill_order: Option<Integers<'a>>,
    strip_offsets: Option<Integers<'a>>,
    samples: Option<Integers<'a>>,
    rows_per_strip: Option<Integers<'a>>,
    strip_lengths: Option<Integers<'a>>,
    planar: Option<Integers<'a>>,
    fax_options: Option<Integers<'a>>,
    predictor: Option<Integers<'a>>,
    palette: Option<Integers<'a>>,
    tile_width: Option<Integers<'a>>,
    tile_height: Option<Integers<'a>>,
    tile_offsets: Option<Integers<'a>>,
    tile_lengths: Option<Integers<'a>>,
    extra: Option<Integers<'a>>,
    formats: Option<Integers<'a>>,
    subsampling: Option<Integers<'a>>,
}

fn first(values: Option<Integers<'_>>, default: i64) -> i64 {
    values.and_then(|values| values.get(0)).unwrap_or(default)
}

/// Returns the value that all have, or `default` if there are none.
fn same(values: Option<Integers<'_>>, samples: usize, default: i64) -> std::result::Result<i64, String> {
    let Some(values) = values.filter(|values| values.len() > 0) else { return Ok(default) };
    let mut each = values.iter().take(samples);
    let value = each.next().unwrap_or(default);
    if each.all(|other| other == value) {
        return Ok(value);
    }
    Err(values.iter().take(samples.min(8)).map(|value| value.to_string()).collect::<Vec<_>>().join(", "))
}

/// Reads how the first image of a file is stored.
pub(super) fn read(bytes: &[u8]) -> Result<Layout<'_>> {
    let cut = || ended("the file ends before its first directory");
    let tiff = Tiff::open(bytes).ok_or_else(|| refused("has no header"))?;
    let mut tags = Tags::default();
    let (mut orientation, mut xmp, mut jpeg_tables, mut ycbcr) = (None, None, None, YCbCr::default());
    for entry in tiff.first().ok_or_else(cut)? {
        let field = match entry.tag {
            256 => &mut tags.width,
            257 => &mut tags.height,
            258 => &mut tags.bits,
            259 => &mut tags.compression,
            262 => &mut tags.photometric,
            266 => &mut tags.fill_order,
            273 => &mut tags.strip_offsets,
            277 => &mut tags.samples,
            278 => &mut tags.rows_per_strip,
            279 => &mut tags.strip_lengths,
            284 => &mut tags.planar,
            292 => &mut tags.fax_options,
            317 => &mut tags.predictor,
            320 => &mut tags.palette,
            322 => &mut tags.tile_width,
            323 => &mut tags.tile_height,
            324 => &mut tags.tile_offsets,
            325 => &mut tags.tile_lengths,
            338 => &mut tags.extra,
            339 => &mut tags.formats,
            530 => &mut tags.subsampling,
            tag => {
                match tag {
                    metadata::TAG => orientation = entry.orientation().or(orientation),
                    347 => jpeg_tables = entry.data(),
                    529 => ycbcr.set_coefficients(&entry),
                    532 => ycbcr.set_black_and_white(&entry),
                    700 => xmp = entry.data(),
                    _ => {}
                }
                continue;
            }
        };
        *field = Some(
            entry.integers().ok_or_else(|| ended(format!("the values of tag {} are not in the file", entry.tag)))?,
        );
    }
    let orientation = metadata::valid(orientation.or_else(|| metadata::in_xmp(xmp?)));
    tags.layout(tiff, orientation, jpeg_tables, ycbcr)
}

impl<'a> Tags<'a> {
    fn layout(
        self,
        tiff: Tiff<'a>,
        orientation: u8,
        jpeg_tables: Option<&'a [u8]>,
        ycbcr: YCbCr,
    ) -> Result<Layout<'a>> {
        let number = |values: Option<Integers<'_>>, name: &str| {
            let value = values.and_then(|values| values.get(0)).ok_or_else(|| refused(format!("has no {name}")))?;
            u32::try_from(value).map_err(|_| refused(format!("declares {value} as its {name}")))
        };
        let size = (number(self.width, "width")?, number(self.height, "height")?);
        let compression = self.compression()?;
        let samples = first(self.samples, 1);
        // More than any camera's bands; it bounds what a header can claim.
        let samples = usize::try_from(samples).ok().filter(|samples| (1..=64).contains(samples));
        let samples =
            samples.ok_or_else(|| refused(format!("{} samples a pixel are not supported", first(self.samples, 1))))?;
        let bits = same(self.bits, samples, 1)
            .map_err(|bits| refused(format!("samples of different depths ({bits} bits) are not supported")))?;
        let kind = match same(self.formats, samples, 1) {
            Ok(1) => Kind::Unsigned,
            Ok(2) => Kind::Signed,
            Ok(3) => Kind::Float,
            Ok(other) => return Err(refused(format!("samples of format {other} are not supported"))),
            Err(formats) => return Err(refused(format!("samples of different formats ({formats}) are not supported"))),
        };
        let planes = if first(self.planar, 1) == 2 { samples } else { 1 };
        let (chunk, tiled, offsets, lengths) = self.chunks(size)?;
        let mut layout = Layout {
            tiff,
            size,
            orientation,
            compression,
            predictor: self.predictor(compression)?,
            reversed: first(self.fill_order, 1) == 2 && compression != Compression::Jpeg,
            color: Color::Rgb,
            converted_by_jpeg: compression == Compression::Jpeg && first(self.photometric, 0) == 6,
            kind,
            bits: u32::try_from(bits).unwrap_or(0),
            samples,
            premultiplied: false,
            planes,
            chunk,
            tiled,
            offsets,
            lengths,
            jpeg_tables,
        };
        layout.color = self.color(&layout, ycbcr)?;
        let extra = samples - layout.color.samples();
        let multiplied = |value: i64| value == 1;
        layout.premultiplied = extra > 0 && multiplied(first(self.extra, 0));
        if self.extra.is_some_and(|values| values.iter().take(extra).skip(1).any(multiplied)) {
            return Err(refused(
                "alpha that colours were multiplied by, but not as the first sample after them, is not supported",
            ));
        }
        layout.check()?;
        Ok(layout)
    }

    fn compression(&self) -> Result<Compression> {
        let name = match first(self.compression, 1) {
            1 => return Ok(Compression::None),
            2 => return Ok(Compression::Huffman),
            3 if first(self.fax_options, 0) & 1 == 0 => return Ok(Compression::Group3),
            3 => return Ok(Compression::Group3Rows),
            4 => return Ok(Compression::Group4),
            5 => return Ok(Compression::Lzw),
            7 => return Ok(Compression::Jpeg),
            8 | 32946 => return Ok(Compression::Deflate),
            32773 => return Ok(Compression::PackBits),
            6 => "JPEG in the form of before 1995 (old-style)",
            9 | 10 => "JBIG",
            33003 | 33004 | 33005 | 34712 => "JPEG 2000",
            34661 => "JBIG",
            34676 | 34677 => "SGI LogLuv",
            34887 => "LERC",
            34892 => "lossy JPEG of DNG",
            34925 => "LZMA",
            #[cfg(feature = "parquet")]
            50000 => return Ok(Compression::Zstandard),
            #[cfg(not(feature = "parquet"))]
            50000 => "Zstandard, without the feature `parquet`,",
            50001 => return Ok(Compression::WebP),
            50002 | 52546 => "JPEG XL",
            32771 => "CCITT RLE aligned to words",
            32809 => "ThunderScan",
            other => return Err(refused(format!("compression {other} is not supported"))),
        };
        Err(refused(format!("compression by {name} is not supported")))
    }

    /// The predictor is a part of the compressions that have one.
    fn predictor(&self, compression: Compression) -> Result<Predictor> {
        let has_one = match compression {
            Compression::Lzw | Compression::Deflate => true,
            #[cfg(feature = "parquet")]
            Compression::Zstandard => true,
            _ => false,
        };
        match first(self.predictor, 1) {
            2 if has_one => Ok(Predictor::Horizontal),
            3 if has_one => Ok(Predictor::Float),
            other if has_one && other != 1 => Err(refused(format!("predictor {other} is not supported"))),
            _ => Ok(Predictor::None),
        }
    }

    /// Size of a strip or tile, whether it is a tile, where they begin, and their lengths.
    #[allow(clippy::type_complexity)]
    fn chunks(&self, (width, height): (u32, u32)) -> Result<((u32, u32), bool, Integers<'a>, Option<Integers<'a>>)> {
        let tiled = self.tile_width.is_some();
        let (size, offsets, lengths) = if tiled {
            let size = (first(self.tile_width, 0), first(self.tile_height, 0));
            (size, self.tile_offsets.or(self.strip_offsets), self.tile_lengths.or(self.strip_lengths))
        } else {
            let rows = first(self.rows_per_strip, height.into()).min(height.into());
            ((width.into(), rows), self.strip_offsets, self.strip_lengths)
        };
        let offsets = offsets.ok_or_else(|| refused("says nowhere where its pixels are"))?;
        match (u32::try_from(size.0), u32::try_from(size.1)) {
            (Ok(columns @ 1..), Ok(rows @ 1..)) => Ok(((columns, rows), tiled, offsets, lengths)),
            // The size is checked, with its own sentence, after the header.
            _ if width == 0 || height == 0 => Ok(((1, 1), tiled, offsets, lengths)),
            _ => Err(refused(format!("declares strips or tiles of {}x{} pixels", size.0, size.1))),
        }
    }

    fn color(&self, layout: &Layout<'_>, mut ycbcr: YCbCr) -> Result<Color<'a>> {
        let jpeg = layout.compression == Compression::Jpeg;
        let name = match first(self.photometric, 0) {
            white_or_black @ (0 | 1) => return Ok(Color::Gray { white_is_zero: white_or_black == 0 }),
            2 if layout.samples >= 3 => return Ok(Color::Rgb),
            3 => {
                let palette = self.palette.ok_or_else(|| refused("has a palette's indices but no palette"))?;
                return Ok(Color::Palette(palette));
            }
            5 if jpeg => "CMYK with JPEG inside",
            5 if layout.samples >= 4 => return Ok(Color::Cmyk),
            // Pillow takes one sample of YCbCr as gray.
            6 if layout.samples == 1 => return Ok(Color::Gray { white_is_zero: false }),
            // The JPEG decoder converts.
            6 if jpeg && layout.planes == 1 && layout.samples == 3 => return Ok(Color::Rgb),
            6 if layout.samples == 3 => {
                ycbcr.set_subsampling(self.subsampling);
                if self.subsampling.is_none() && layout.compression == Compression::None && layout.planes == 1 {
                    // The tag's default is 2 by 2, but files without it that have all their samples are common.
                    let rows = u64::from(layout.chunk.1.min(layout.size.1));
                    let all = u64::from(layout.chunk.0).saturating_mul(3 * rows);
                    if u64::try_from(first(layout.lengths, 0)).is_ok_and(|length| length >= all) {
                        (ycbcr.across, ycbcr.down) = (1, 1);
                    }
                }
                ycbcr.by_pillow = layout.compression == Compression::None && (ycbcr.across, ycbcr.down) == (1, 1);
                let known = |value: u32| matches!(value, 1 | 2 | 4);
                if !known(ycbcr.across) || !known(ycbcr.down) {
                    let reason = format!("chroma of {}x{} pixels is not supported", ycbcr.across, ycbcr.down);
                    return Err(refused(reason));
                }
                if layout.planes > 1 && (ycbcr.across, ycbcr.down) != (1, 1) {
                    return Err(refused("YCbCr in planes of different sizes is not supported"));
                }
                return Ok(Color::YCbCr(ycbcr));
            }
            2 | 5 | 6 => {
                let reason = format!("{} samples a pixel are not those of its colour space", layout.samples);
                return Err(refused(reason));
            }
            4 => "a transparency mask instead of an image",
            8..=10 => "CIE L*a*b* colours",
            32803 => "a camera's raw pixels (a colour filter array)",
            34892 => "a camera's raw pixels (linear)",
            32844 | 32845 => "LogLuv colours",
            other => return Err(refused(format!("colour space {other} is not supported"))),
        };
        Err(refused(format!("{name}: not supported")))
    }
}
