//! The bytes of a strip or tile, unpacked.

use std::io::{Cursor, ErrorKind as Io, Read};

use flate2::read::ZlibDecoder;
use image::ImageDecoder;
use image::codecs::webp::WebPDecoder;
use weezl::{BitOrder, LzwStatus, decode::Decoder as Lzw};

use super::super::memory::try_grow;
use super::layout::{Compression, Layout};
use super::{fax, jpeg, refused};
use crate::Result;

pub(super) struct Unpacker<'a> {
    layout: &'a Layout<'a>,
    /// Truncated pixels are filled instead of refused.
    fill: bool,
    jpeg: &'a mut gpufeed_jpeg::Decoder,
    /// Bytes that may still be read and unpacked: chunks that overlap again and again, or of which hardly anything is in
    /// the image, would take for ever.
    budget: u64,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(layout: &'a Layout<'a>, fill: bool, jpeg: &'a mut gpufeed_jpeg::Decoder) -> Self {
        let file = layout.tiff.bytes().len() as u64;
        let chunk = layout.chunk_bytes().saturating_mul(layout.planes_needed() as u64);
        // Much more than chunks have that do not overlap: an image of uncompressed ones is in the file.
        let most =
            [file.saturating_mul(64), layout.image_bytes().saturating_mul(16), chunk.saturating_mul(2), 64 << 20];
        let budget = most.into_iter().fold(0, u64::saturating_add);
        Unpacker { layout, fill, jpeg, budget }
    }

    /// Unpacks chunk `index`, of `rows` rows, into `target`. Returns how many bytes it has.
    pub(super) fn unpack(&mut self, index: usize, rows: usize, target: &mut [u8]) -> Result<usize> {
        let layout = self.layout;
        let file = layout.tiff.bytes();
        let offset = layout.offsets.get(index).and_then(|offset| usize::try_from(offset).ok());
        let data = offset.and_then(|offset| file.get(offset..)).unwrap_or_default();
        self.charge(target.len())?;
        if layout.compression == Compression::None {
            // The length of the pixels is known, and the one in the file often wrong.
            let length = data.len().min(target.len());
            target[..length].copy_from_slice(&data[..length]);
            if layout.reversed {
                target[..length].iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            return Ok(length);
        }
        let length = layout.lengths.and_then(|lengths| usize::try_from(lengths.get(index)?).ok());
        let data = &data[..length.unwrap_or(data.len()).min(data.len())];
        self.charge(data.len())?;
        let reversed: Vec<u8>;
        let data = if layout.reversed {
            reversed = data.iter().map(|byte| byte.reverse_bits()).collect();
            &reversed
        } else {
            data
        };
        match layout.compression {
            Compression::None => Ok(0),
            Compression::Huffman | Compression::Group3 | Compression::Group3Rows | Compression::Group4 => {
                let width = layout.chunk.0 as u16; // checked with the layout
                let (there, damaged) = fax::unpack(layout.compression, data, width, target);
                match damaged {
                    Some(reason) => Err(refused(reason)),
                    None => Ok(layout.bytes_of_rows(there).min(target.len())),
                }
            }
            Compression::Lzw => lzw(data, target),
            Compression::Deflate => read_all(ZlibDecoder::new(data), "deflate", target),
            Compression::PackBits => Ok(pack_bits(data, target)),
            #[cfg(feature = "parquet")]
            Compression::Zstandard => {
                let reader =
                    zstd::Decoder::with_buffer(data).map_err(|error| refused(format!("Zstandard: {error}")))?;
                read_all(reader, "Zstandard", target)
            }
            Compression::WebP => webp(layout, data, rows, target),
            Compression::Jpeg => jpeg::unpack(layout, data, rows, self.fill, self.jpeg, target),
        }
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        let over = || refused("its strips or tiles overlap, or are far larger than the image");
        self.budget = self.budget.checked_sub(bytes as u64).ok_or_else(over)?;
        Ok(())
    }
}

fn lzw(mut data: &[u8], target: &mut [u8]) -> Result<usize> {
    // Before TIFF 6.0 the codes began at the lowest bit, and grew one later. The first code, which empties the table, tells.
    let old = matches!(data, [0, second, ..] if second & 1 == 1);
    let mut decoder = if old { Lzw::new(BitOrder::Lsb, 8) } else { Lzw::with_tiff_size_switch(BitOrder::Msb, 8) };
    let mut done = 0;
    while done < target.len() {
        let step = decoder.decode_bytes(data, &mut target[done..]);
        done += step.consumed_out;
        data = &data[step.consumed_in..];
        match step.status {
            Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
            Ok(_) => break,
            Err(error) => return Err(refused(format!("LZW: {error}"))),
        }
    }
    Ok(done)
}

/// Reads until `target` is full or the data end.
fn read_all(mut reader: impl Read, codec: &str, target: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < target.len() {
        match reader.read(&mut target[done..]) {
            Ok(0) => break,
            Ok(length) => done += length,
            Err(error) if error.kind() == Io::UnexpectedEof => break,
            Err(error) => return Err(refused(format!("{codec}: {error}"))),
        }
    }
    Ok(done)
}

fn pack_bits(mut data: &[u8], target: &mut [u8]) -> usize {
    let mut done = 0;
    while let ([head, rest @ ..], true) = (data, done < target.len()) {
        data = rest;
        let room = target.len() - done;
        match *head {
            count @ 0..=127 => {
                let stored = (usize::from(count) + 1).min(rest.len());
                let copied = stored.min(room);
                target[done..done + copied].copy_from_slice(&rest[..copied]);
                done += copied;
                data = &rest[stored..];
            }
            128 => {}
            count => {
                let [value, after @ ..] = rest else { break };
                let copied = (257 - usize::from(count)).min(room);
                target[done..done + copied].fill(*value);
                done += copied;
                data = after;
            }
        }
    }
    done
}

/// Decodes a chunk that is a WebP file, with or without alpha.
fn webp(layout: &Layout<'_>, data: &[u8], rows: usize, target: &mut [u8]) -> Result<usize> {
    let error = |error: image::ImageError| refused(format!("WebP inside: {error}"));
    let decoder = WebPDecoder::new(Cursor::new(data)).map_err(error)?;
    let (width, height) = decoder.dimensions();
    if width != layout.chunk.0 || height > layout.chunk.1 || height == 0 {
        let (columns, rows) = layout.chunk;
        return Err(refused(format!("WebP inside has {width}x{height} pixels, its strip or tile {columns}x{rows}")));
    }
    let (there, samples) = (usize::from(decoder.color_type().channel_count()), layout.samples_together());
    let mut pixels = Vec::new();
    try_grow(&mut pixels, there * width as usize * height as usize)?;
    decoder.read_image(&mut pixels).map_err(error)?;
    let count = rows.min(height as usize) * width as usize;
    for (target, pixel) in target.chunks_exact_mut(samples).zip(pixels.chunks_exact(there)).take(count) {
        target.fill(255); // alpha, where the file has none
        let both = samples.min(there);
        target[..both].copy_from_slice(&pixel[..both]);
    }
    Ok(count * samples)
}
