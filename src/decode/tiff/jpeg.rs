//! JPEG inside of TIFF: each strip or tile is a file of its own, whose tables may lie in a tag. The JPEG engine decodes it.

use gpufeed_jpeg::{Decoder, Error, Header, Request};

use super::layout::{Color, Layout};
use super::{ended, refused};
use crate::decode::PIXEL;
use crate::{ErrorKind, Result};

/// APP14 of Adobe, which says how three components are to be converted: the last byte is 0 for RGB, 1 for YCbCr.
const ADOBE: [u8; 16] = [0xFF, 0xEE, 0, 14, b'A', b'd', b'o', b'b', b'e', 0, 100, 0, 0, 0, 0, 0];

/// Decodes a chunk into samples, and returns their bytes.
pub(super) fn unpack(
    layout: &Layout<'_>,
    data: &[u8],
    rows: usize,
    fill: bool,
    decoder: &mut Decoder,
    target: &mut [u8],
) -> Result<usize> {
    let file = whole(layout, data);
    let header = Header::read(&file).map_err(|error| of_jpeg(&error))?;
    let samples = layout.samples_together();
    let (width, height) = header.size();
    if usize::from(header.components) != samples {
        let reason = format!("JPEG inside has {} components, not {samples}", header.components);
        return Err(refused(reason));
    }
    // The last strip may have the height of the others.
    if width != layout.chunk.0 || height > layout.chunk.1 || height == 0 {
        let (columns, rows) = layout.chunk;
        return Err(refused(format!("JPEG inside has {width}x{height} pixels, its strip or tile {columns}x{rows}")));
    }
    let mut pixels = Vec::new();
    decoder.decode_into(&file, &Request::new((width, height)).fill(fill), &mut pixels).map_err(
        |error| match error {
            Error::NoMemory { bytes } => ErrorKind::NoMemory { bytes: bytes as u64 }.into(),
            error => of_jpeg(&error),
        },
    )?;
    let count = rows.min(height as usize) * width as usize;
    let pixels = pixels.as_chunks::<PIXEL>().0;
    for (target, pixel) in target.chunks_exact_mut(samples).zip(&pixels[..count]) {
        target.copy_from_slice(&pixel[..samples]);
    }
    Ok(count * samples)
}

/// Makes a whole JPEG of a chunk and the tables in the tag. How its colours are to be converted is TIFF's to say.
fn whole(layout: &Layout<'_>, data: &[u8]) -> Vec<u8> {
    let mut file = vec![0xFF, 0xD8];
    file.extend(ADOBE);
    if let (Color::Rgb, Some(last)) = (layout.color, file.last_mut()) {
        *last = u8::from(layout.converted_by_jpeg);
    }
    let tables = layout.jpeg_tables.and_then(|tables| tables.strip_prefix(&[0xFF, 0xD8]));
    file.extend(tables.map(|tables| tables.strip_suffix(&[0xFF, 0xD9]).unwrap_or(tables)).unwrap_or_default());
    let mut rest = data.strip_prefix(&[0xFF, 0xD8]).unwrap_or(data);
    while let [0xFF, marker @ 0xE0..=0xEF, high, low, ..] = *rest {
        let length = 2 + usize::from(u16::from_be_bytes([high, low]));
        let Some((segment, after)) = rest.split_at_checked(length) else { break };
        if !matches!(marker, 0xE0 | 0xEE) {
            file.extend(segment);
        }
        rest = after;
    }
    file.extend(rest);
    file
}

/// An error of the JPEG engine.
fn of_jpeg(error: &Error) -> crate::Error {
    match error {
        Error::Damaged(reason) => ended(format!("JPEG inside: {reason}")),
        error => refused(format!("JPEG inside: {}", error.reason())),
    }
}
