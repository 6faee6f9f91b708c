//! Encoded images made on the spot, and their pixels as the public API decodes them.

use std::io::{Cursor, Write};

use flate2::{Compression, Crc, write::ZlibEncoder};
use gpufeed::decode::{DecodeOptions, Probe, Rect, Scratch, decode, probe};
use image::{DynamicImage, ImageFormat as Codec};

/// Returns a smooth image with a gradient along both axes, so that no rotation or reflection maps it to itself.
pub fn picture(width: u32, height: u32) -> image::RgbImage {
    image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([(x * 255 / width) as u8, (y * 255 / height) as u8, ((x + 2 * y) % 97) as u8])
    })
}

pub fn encode(image: impl Into<DynamicImage>, codec: Codec) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, codec).unwrap();
    bytes.into_inner()
}

/// Inserts an APP1 segment that declares an EXIF orientation after a JPEG's SOI marker.
pub fn with_exif(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let app1 = b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0";
    [&jpeg[..2], app1, &[orientation, 0, 0, 0, 0, 0, 0], &jpeg[2..]].concat()
}

/// Decodes a region and returns its pixels as RGB without gaps between the rows; checks that alpha is 255.
pub fn region_of(
    bytes: &[u8],
    probe: &Probe,
    region: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> gpufeed::Result<Vec<u8>> {
    let decoded = decode(bytes, probe, region, options, scratch)?;
    let row = region.width as usize * 4;
    assert!(decoded.stride >= row);
    assert_eq!(decoded.pixels.len(), decoded.stride * (region.height as usize - 1) + row);
    let mut rgb = Vec::new();
    for line in decoded.pixels.chunks(decoded.stride) {
        for pixel in line[..row].chunks(4) {
            assert_eq!(pixel[3], 255, "alpha");
            rgb.extend_from_slice(&pixel[..3]);
        }
    }
    Ok(rgb)
}

pub fn whole(probe: &Probe) -> Rect {
    Rect { left: 0, top: 0, width: probe.width, height: probe.height }
}

pub fn all_of(bytes: &[u8], options: &DecodeOptions) -> gpufeed::Result<Vec<u8>> {
    let found = probe(bytes, options)?;
    region_of(bytes, &found, whole(&found), options, &mut Scratch::default())
}

pub fn options(change: impl FnOnce(&mut DecodeOptions)) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    change(&mut options);
    options
}

/// Returns a chunk of a PNG, with its length and CRC.
pub fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(name);
    crc.update(content);
    [&(content.len() as u32).to_be_bytes(), &name[..], content, &crc.sum().to_be_bytes()].concat()
}

/// Returns a black PNG of `side` x `side` pixels in 16-bit RGBA, 8 bytes per pixel, compressed to a thousandth of that.
pub fn black_png(side: u32, interlaced: bool) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let pixels = |length: u32, first: u32, step: u32| length.saturating_sub(first).div_ceil(step);
    let passes = [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
    for [left, top, across, down] in if interlaced { &passes[..] } else { &[[0, 0, 1, 1]] } {
        let row = vec![0; 1 + 8 * pixels(side, *left, *across) as usize];
        (0..pixels(side, *top, *down)).for_each(|_| packed.write_all(&row).unwrap());
    }
    let size = side.to_be_bytes();
    let header = [&size[..], &size, &[16, 6, 0, 0, interlaced.into()]].concat();
    let chunks = [chunk(b"IHDR", &header), chunk(b"IDAT", &packed.finish().unwrap()), chunk(b"IEND", &[])].concat();
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks].concat()
}
