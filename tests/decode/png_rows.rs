//! Tests that a PNG's pixels do not depend on how its rows are read: every colour type, depth and transparency, plain
//! and interlaced, whole, in part and cut short, is compared with the `image` crate, which decodes a file all at once.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Rect, Scratch, Truncated, probe};
use gpufeed_testing::encoded::{all_of, chunk, options, region_of};
use image::DynamicImage;

/// Adam7's passes: the first column and row of each, and the steps between its columns and between its rows.
const PASSES: [[usize; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

/// A kind of PNG: colour type, bits per sample, whether a colour is transparent, whether it is interlaced.
#[derive(Clone, Copy, Debug)]
struct Kind {
    color: u8,
    depth: u8,
    transparent: bool,
    interlaced: bool,
}

fn kinds() -> impl Iterator<Item = Kind> {
    let depths: [(u8, &[u8]); 5] =
        [(0, &[1, 2, 4, 8, 16]), (2, &[8, 16]), (3, &[1, 2, 4, 8]), (4, &[8, 16]), (6, &[8, 16])];
    let all = depths.into_iter().flat_map(|(color, depths)| depths.iter().map(move |&depth| (color, depth)));
    all.flat_map(|(color, depth)| {
        let both = if color < 4 { &[false, true][..] } else { &[false][..] };
        both.iter().flat_map(move |&transparent| {
            [false, true].map(|interlaced| Kind { color, depth, transparent, interlaced })
        })
    })
}

/// Returns a PNG of noise, in which every misplaced sample shows.
fn file(kind: Kind, width: usize, height: usize) -> Vec<u8> {
    let Kind { color, depth, transparent, interlaced } = kind;
    let samples = [1, 0, 3, 1, 2, 0, 4][usize::from(color)];
    let bits = samples * usize::from(depth);
    let mut noise = 1_u32;
    let mut sample = |mask: u32| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 13) & mask
    };
    let mask = ((1_u64 << depth) - 1) as u32;
    let pixels: Vec<Vec<u32>> = (0..width * height).map(|_| (0..samples).map(|_| sample(mask)).collect()).collect();
    let passes = if interlaced { &PASSES[..] } else { &[[0, 0, 1, 1]][..] };
    let mut rows = Vec::new();
    for &[left, top, right, down] in passes {
        let columns: Vec<usize> = (left..width).step_by(right).collect();
        for y in (top..height).step_by(down).filter(|_| !columns.is_empty()) {
            rows.push(0); // no filter
            let mut row = vec![0_u8; (columns.len() * bits).div_ceil(8)];
            let values = columns.iter().flat_map(|x| &pixels[y * width + x]);
            for (at, &value) in values.enumerate() {
                let at = at * usize::from(depth);
                match depth {
                    16 => row[at / 8..][..2].copy_from_slice(&(value as u16).to_be_bytes()),
                    _ => row[at / 8] |= (value << (8 - usize::from(depth) - at % 8)) as u8,
                }
            }
            rows.extend(row);
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&rows).unwrap();
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    bytes.extend(chunk(b"IHDR", &[&size[..], &[depth, color, 0, 0, interlaced.into()]].concat()));
    if color == 3 {
        let palette: Vec<u8> = (0..3 << depth).map(|_| sample(255) as u8).collect();
        bytes.extend(chunk(b"PLTE", &palette));
    }
    if transparent {
        let first: Vec<u8> = pixels[0].iter().flat_map(|&value| (value as u16).to_be_bytes()).collect();
        bytes.extend(chunk(b"tRNS", if color == 3 { &[0, 128] } else { &first }));
    }
    bytes.extend(chunk(b"IDAT", &packed.finish().unwrap()));
    bytes.extend(chunk(b"IEND", &[]));
    bytes
}

/// Decodes the whole image by the `image` crate and converts it as Pillow does: alpha is dropped, and of 16 bits the
/// high byte is taken.
fn expected(bytes: &[u8]) -> Vec<u8> {
    let high = |values: &[u16]| values.iter().map(|value| (value >> 8) as u8).collect::<Vec<_>>();
    let rgb = |bytes: &[u8], size: usize| -> Vec<u8> {
        bytes.chunks(size).flat_map(|p| if size < 3 { [p[0]; 3] } else { [p[0], p[1], p[2]] }).collect()
    };
    match image::load_from_memory(bytes).unwrap() {
        DynamicImage::ImageLuma8(image) => rgb(&image, 1),
        DynamicImage::ImageLumaA8(image) => rgb(&image, 2),
        DynamicImage::ImageRgb8(image) => rgb(&image, 3),
        DynamicImage::ImageRgba8(image) => rgb(&image, 4),
        DynamicImage::ImageLuma16(image) => rgb(&high(&image), 1),
        DynamicImage::ImageLumaA16(image) => rgb(&high(&image), 2),
        DynamicImage::ImageRgb16(image) => rgb(&high(&image), 3),
        DynamicImage::ImageRgba16(image) => rgb(&high(&image), 4),
        other => panic!("{:?}", other.color()),
    }
}

#[test]
fn rows_are_the_pixels_of_the_whole() {
    let (width, height) = (37, 29);
    let mut scratch = Scratch::default();
    let mut count = 0;
    for kind in kinds() {
        let bytes = file(kind, width, height);
        let expected = expected(&bytes);
        let options = DecodeOptions::default();
        assert_eq!(all_of(&bytes, &options).unwrap(), expected, "{kind:?}");
        let found = probe(&bytes, &options).unwrap();
        let region = Rect { left: 5, top: 7, width: 20, height: 13 };
        let part = region_of(&bytes, &found, region, &options, &mut scratch).unwrap();
        let rows = (7..20).flat_map(|y| expected[(y * width + 5) * 3..][..20 * 3].to_vec());
        assert_eq!(part, rows.collect::<Vec<_>>(), "{kind:?}");
        count += 1;
    }
    assert_eq!(count, 2 * (2 * 11 + 4));
}

#[test]
fn a_cut_file_keeps_the_rows_it_has() {
    let (width, height) = (37, 29);
    let fill = options(|options| options.truncated = Truncated::Fill);
    for kind in kinds() {
        let bytes = file(kind, width, height);
        let whole = expected(&bytes);
        let cut = &bytes[..bytes.len() * 3 / 4];
        let error = all_of(cut, &DecodeOptions::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{kind:?}: {error}");
        // The uncut file is decoded first in the same memory; its pixels must not show in the cut one.
        let mut scratch = Scratch::default();
        let found = probe(cut, &fill).unwrap();
        let all = Rect { left: 0, top: 0, width: width as u32, height: height as u32 };
        region_of(&file(kind, width, height), &found, all, &fill, &mut scratch).unwrap();
        let filled = region_of(cut, &found, all, &fill, &mut scratch).unwrap();
        assert!(filled != whole, "{kind:?}");
        if !kind.interlaced {
            let kept = filled.chunks(width * 3).zip(whole.chunks(width * 3)).take_while(|(a, b)| a == b).count();
            assert!(kept > 0 && filled[kept * width * 3..].iter().all(|&byte| byte == 0), "{kind:?}: {kept} rows");
        }
        let below = Rect { top: 28, height: 1, ..all };
        let last = region_of(cut, &found, below, &fill, &mut scratch).unwrap();
        assert_eq!(last, filled[28 * width * 3..], "{kind:?}");
    }
}

#[test]
fn damage_behind_the_region_counts() {
    let kind = Kind { color: 2, depth: 8, transparent: false, interlaced: false };
    let mut bytes = file(kind, 64, 200);
    let found = probe(&bytes, &DecodeOptions::default()).unwrap();
    let top = Rect { left: 0, top: 0, width: 64, height: 1 };
    let read = |bytes: &[u8]| region_of(bytes, &found, top, &DecodeOptions::default(), &mut Scratch::default());
    assert!(read(&bytes).is_ok());
    let at = bytes.len() - 1000;
    bytes[at] ^= 0xFF;
    assert!(matches!(read(&bytes).unwrap_err().kind(), ErrorKind::Decode { .. }));
}
