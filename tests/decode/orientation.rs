//! The orientation in metadata of all formats is the one that Pillow's `ImageOps.exif_transpose` applies.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use gpufeed::decode::{DecodeOptions, Orientation, probe};
use gpufeed_testing::encoded::{all_of, chunk, encode, options, picture};
use image::ImageFormat as Codec;

/// EXIF data with orientation `value`.
fn exif(value: u8) -> Vec<u8> {
    [&b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"[..], &[value, 0, 0, 0, 0, 0, 0]].concat()
}

fn prefixed(times: usize, exif: &[u8]) -> Vec<u8> {
    [&b"Exif\0\0".repeat(times)[..], exif].concat()
}

fn xmp(value: u8) -> Vec<u8> {
    format!("<x:xmpmeta><rdf:Description tiff:Orientation=\"{value}\"/></x:xmpmeta>").into_bytes()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A PNG with chunks before its pixels and after them.
fn png(before: &[Vec<u8>], after: &[Vec<u8>]) -> Vec<u8> {
    let plain = encode(picture(5, 3), Codec::Png);
    let find = |name: &[u8]| plain.windows(4).position(|window| window == name).unwrap() - 4;
    let (data, end) = (find(b"IDAT"), find(b"IEND"));
    [&plain[..data], &before.concat(), &plain[data..end], &after.concat(), &plain[end..]].concat()
}

/// A lossless WebP with these chunks and the flags that announce them.
fn webp(flags: u8, chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let part = |name: &[u8], data: &[u8]| {
        let padding = vec![0; data.len() % 2];
        [name, &(data.len() as u32).to_le_bytes(), data, &padding].concat()
    };
    let plain = encode(picture(5, 3), Codec::WebP);
    let head = part(b"VP8X", &[flags, 0, 0, 0, 4, 0, 0, 2, 0, 0]);
    let chunks: Vec<u8> = chunks.iter().flat_map(|(name, data)| part(&name[..], data)).collect();
    let body = [&b"WEBP"[..], &head, &plain[12..], &chunks].concat();
    part(b"RIFF", &body)
}

fn jpeg(segments: &[Vec<u8>]) -> Vec<u8> {
    let plain = encode(picture(5, 3), Codec::Jpeg);
    let segment = |data: &Vec<u8>| [&[0xFF, 0xE1], &(data.len() as u16 + 2).to_be_bytes()[..], data].concat();
    [&plain[..2], &segments.iter().flat_map(segment).collect::<Vec<_>>(), &plain[2..]].concat()
}

/// Pillow 13 reads these orientations.
#[test]
fn orientation_is_the_one_of_pillow() {
    let adobe = |xmp: Vec<u8>| [&b"http://ns.adobe.com/xap/1.0/\0"[..], &xmp].concat();
    let profile = |exif: &[u8]| {
        let hex: String = exif.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, second) = hex.split_at(20);
        format!("\nexif\n{:8}\n{first}\n{second}\n", exif.len()).into_bytes()
    };
    let text = |name: &[u8; 4], key: &str, rest: &[u8]| chunk(name, &[key.as_bytes(), b"\0", rest].concat());
    let raw = "Raw profile type exif";
    let itxt = |xmp: &[u8], compressed: bool| {
        let (flag, data) = if compressed { (1, packed(xmp)) } else { (0, xmp.to_vec()) };
        text(b"iTXt", "XML:com.adobe.xmp", &[&[flag, 0, 0, 0], &data[..]].concat())
    };
    let damaged = {
        let mut chunk = chunk(b"eXIf", &exif(6));
        chunk[30] ^= 1;
        chunk
    };
    let cases = [
        ("WebP", webp(8, &[(b"EXIF", exif(6))]), 6),
        ("WebP, prefix", webp(8, &[(b"EXIF", prefixed(1, &exif(6)))]), 6),
        ("WebP, prefix twice", webp(8, &[(b"EXIF", prefixed(2, &exif(8)))]), 8),
        ("WebP, XMP", webp(4, &[(b"XMP ", xmp(5))]), 5),
        ("WebP, EXIF before XMP", webp(12, &[(b"EXIF", exif(3)), (b"XMP ", xmp(5))]), 3),
        ("WebP, no flag", webp(0, &[(b"EXIF", exif(6))]), 1),
        ("PNG", png(&[chunk(b"eXIf", &exif(6))], &[]), 6),
        ("PNG, prefix", png(&[chunk(b"eXIf", &prefixed(1, &exif(6)))], &[]), 6),
        ("PNG, after the pixels", png(&[], &[chunk(b"eXIf", &exif(7))]), 7),
        ("PNG, the last counts", png(&[chunk(b"eXIf", &exif(6))], &[chunk(b"eXIf", &exif(3))]), 3),
        ("PNG, damaged", png(&[damaged], &[]), 1),
        ("PNG, profile", png(&[text(b"tEXt", raw, &profile(&exif(6)))], &[]), 6),
        ("PNG, profile with prefix", png(&[text(b"tEXt", raw, &profile(&prefixed(1, &exif(6))))], &[]), 6),
        (
            "PNG, compressed profile",
            png(&[], &[text(b"zTXt", raw, &[&[0], &packed(&profile(&exif(8)))[..]].concat())]),
            8,
        ),
        ("PNG, profile APP1", png(&[text(b"tEXt", "Raw profile type APP1", &profile(&exif(6)))], &[]), 1),
        ("PNG, profile that is none", png(&[text(b"tEXt", raw, b"\n\n\nxyz")], &[]), 1),
        ("PNG, XMP", png(&[itxt(&xmp(4), false)], &[]), 4),
        ("PNG, compressed XMP", png(&[], &[itxt(&xmp(5), true)]), 5),
        ("PNG, eXIf before XMP", png(&[itxt(&xmp(4), false), chunk(b"eXIf", &exif(2))], &[]), 2),
        ("JPEG, prefix twice", jpeg(&[prefixed(2, &exif(6))]), 6),
        ("JPEG, prefix three times", jpeg(&[prefixed(3, &exif(6))]), 1),
        (
            "JPEG, prefix three times, in two segments",
            jpeg(&[prefixed(3, &exif(6)[..12]), prefixed(1, &exif(6)[12..])]),
            1,
        ),
        ("JPEG, EXIF that is none before XMP", jpeg(&[prefixed(1, b"zz"), adobe(xmp(6))]), 1),
        ("JPEG, EXIF that is cut before XMP", jpeg(&[prefixed(1, b"II*\0"), adobe(xmp(6))]), 1),
        ("JPEG, EXIF in one segment and its rest", jpeg(&[prefixed(1, b"MM\0*"), prefixed(1, &exif(6)[4..])]), 6),
        ("JPEG, empty EXIF before XMP", jpeg(&[prefixed(1, b""), adobe(xmp(6))]), 6),
        ("JPEG, XMP", jpeg(&[adobe(xmp(8))]), 8),
        ("JPEG, EXIF before XMP", jpeg(&[adobe(xmp(8)), prefixed(1, &exif(3))]), 3),
        ("JPEG, invalid EXIF before XMP", jpeg(&[adobe(xmp(8)), prefixed(1, &exif(9))]), 1),
        ("JPEG, EXIF without orientation", jpeg(&[prefixed(1, b"II*\0\x08\0\0\0\0\0\0\0\0\0"), adobe(xmp(8))]), 8),
        ("JPEG, EXIF in two segments", jpeg(&[prefixed(1, &exif(6)[..12]), prefixed(1, &exif(6)[12..])]), 6),
    ];
    for (name, bytes, expected) in cases {
        let found = probe(&bytes, &DecodeOptions::default()).unwrap();
        assert_eq!(found.orientation(), expected, "{name}");
        let size = if expected >= 5 { (3, 5) } else { (5, 3) };
        assert_eq!((found.width, found.height), size, "{name}");
        all_of(&bytes, &DecodeOptions::default()).unwrap();
        let ignore = options(|options| options.exif = Orientation::Ignore);
        assert_eq!(probe(&bytes, &ignore).unwrap().orientation(), 1, "{name}");
    }
}

/// The chunks of a PNG are passed over by their lengths: a header costs the same however many pixels follow.
#[test]
fn the_header_of_a_long_png_is_read_quickly() {
    let data = vec![chunk(b"teSt", &vec![0; 1 << 20]); 64];
    let bytes = png(&[], &data);
    let start = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(probe(&bytes, &DecodeOptions::default()).unwrap().orientation(), 1);
    }
    // Reading 64 MiB a hundred times would take over half a second.
    assert!(start.elapsed().as_millis() < 300, "{:?}", start.elapsed());
}
