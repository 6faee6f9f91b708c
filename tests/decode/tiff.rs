//! TIFF files made here: what is refused says so in a sentence, and headers that lie cost nothing. `pillow.rs` compares pixels.

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Truncated, probe};
use gpufeed_testing::encoded::{all_of, encode, options, picture};

const SHORT: u16 = 3;
const LONG: u16 = 4;
/// Two values each.
const RATIONAL: u16 = 5;

/// A little-endian TIFF of `chunks`, with these tags: number, type, values.
fn tiff(tags: &[(u16, u16, &[u32])], chunks: &[&[u8]]) -> Vec<u8> {
    let (mut offsets, mut before) = (Vec::<u32>::new(), 0);
    for chunk in chunks {
        offsets.push(offsets.last().map_or(8, |last| last + before));
        before = chunk.len() as u32;
    }
    let lengths: Vec<u32> = chunks.iter().map(|chunk| chunk.len() as u32).collect();
    let tiled = tags.iter().any(|&(tag, ..)| tag == 322);
    let places = if tiled { (324, 325) } else { (273, 279) };
    let mut tags: Vec<(u16, u16, &[u32])> = tags.to_vec();
    if tags.iter().all(|&(tag, ..)| tag != places.0) {
        tags.extend([(places.0, LONG, &offsets[..]), (places.1, LONG, &lengths[..])]);
    }
    tags.sort_by_key(|&(tag, ..)| tag);
    let data = chunks.concat();
    let directory = 8 + data.len();
    let mut later = Vec::new();
    let mut entries = Vec::new();
    for (tag, kind, values) in &tags {
        let size = if *kind == SHORT { 2 } else { 4 };
        let count = if *kind == RATIONAL { values.len() / 2 } else { values.len() };
        let mut packed: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..size].to_vec()).collect();
        if packed.len() > 4 {
            let at = directory + 2 + 12 * tags.len() + 4 + later.len();
            later.extend(std::mem::replace(&mut packed, (at as u32).to_le_bytes().to_vec()));
        }
        packed.resize(4, 0);
        entries.extend([&tag.to_le_bytes()[..], &kind.to_le_bytes(), &(count as u32).to_le_bytes(), &packed].concat());
    }
    let count = (tags.len() as u16).to_le_bytes();
    let head = [&b"II*\0"[..], &(directory as u32).to_le_bytes()].concat();
    [&head[..], &data, &count, &entries, &[0; 4], &later].concat()
}

/// Tags of an image of `size`: compression, colour space, bits of each sample.
fn tags<'a>(
    size: &'a [u32; 2],
    how: &'a [u32; 2],
    bits: &'a [u32],
    samples: &'a [u32; 1],
) -> Vec<(u16, u16, &'a [u32])> {
    vec![
        (256, LONG, &size[..1]),
        (257, LONG, &size[1..]),
        (258, SHORT, bits),
        (259, SHORT, &how[..1]),
        (262, SHORT, &how[1..]),
        (277, SHORT, samples),
    ]
}

fn reason(bytes: &[u8]) -> String {
    let error = all_of(bytes, &DecodeOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Decode { format: "TIFF", .. }), "{error}");
    error.to_string()
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let pixels: &[u8] = &[7; 400];
    // Compression, colour space, bits of each sample, further tags, and a part of the sentence.
    type Case<'a> = (u32, u32, &'a [u32], &'a [(u16, u16, &'a [u32])], &'a str);
    let cases: [Case<'_>; 19] = [
        (6, 6, &[8, 8, 8], &[], "compression by JPEG in the form of before 1995"),
        (34925, 2, &[8, 8, 8], &[], "compression by LZMA"),
        (50001, 1, &[8], &[], "WebP with 1 samples a pixel"),
        (32809, 1, &[8], &[], "ThunderScan"),
        (34712, 2, &[8, 8, 8], &[], "compression by JPEG 2000"),
        (12345, 2, &[8, 8, 8], &[], "compression 12345"),
        (4, 1, &[8], &[], "CCITT compression of anything but rows"),
        (1, 8, &[8, 8, 8], &[], "CIE L*a*b* colours"),
        (1, 4, &[1], &[], "transparency mask"),
        (1, 32803, &[16], &[], "camera's raw pixels"),
        (1, 2, &[5, 6, 5], &[], "samples of different depths (5, 6, 5 bits)"),
        (1, 2, &[8, 8, 8], &[(339, SHORT, &[1, 1, 2])], "samples of different formats (1, 1, 2)"),
        (1, 1, &[64], &[(339, SHORT, &[3])], "gray of 64-bit floats"),
        (1, 2, &[16, 16, 16], &[(339, SHORT, &[2])], "RGB of 16-bit signed integers"),
        (1, 1, &[8, 8, 8, 8], &[], "gray with 4 samples a pixel"),
        (1, 3, &[8], &[], "no palette"),
        (1, 3, &[8], &[(320, SHORT, &[1, 2, 3])], "its palette has 3 of 768 values"),
        (5, 2, &[8, 8, 8], &[(317, SHORT, &[9])], "predictor 9"),
        (5, 1, &[4], &[(317, SHORT, &[2])], "predictor 2 on 4-bit integers"),
    ];
    for (compression, color, bits, more, sentence) in cases {
        let (size, how, samples) = ([4, 4], [compression, color], [bits.len() as u32]);
        let mut all = tags(&size, &how, bits, &samples);
        all.extend(more);
        let reason = reason(&tiff(&all, &[pixels]));
        assert!(reason.contains(sentence), "{reason}, not {sentence}");
        assert!(!reason.contains("Unknown("), "{reason}");
    }
}

#[test]
fn headers_that_lie_cost_nothing() {
    let (how, bits, samples) = ([1, 2], [8, 8, 8], [3]);
    let error = |tags: &[(u16, u16, &[u32])]| probe(&tiff(tags, &[&[7; 48]]), &DecodeOptions::default()).unwrap_err();
    // Tiles that are much larger than their image.
    let size = [4, 4];
    let mut tiles = tags(&size, &how, &bits, &samples);
    tiles.extend([(322, LONG, &[1 << 20][..]), (323, LONG, &[1 << 20][..])]);
    assert!(matches!(error(&tiles).kind(), ErrorKind::TooMuchMemory { .. }));
    // Strips of which the file has one.
    let mut strips = tags(&size, &how, &bits, &samples);
    strips.push((278, LONG, &[1]));
    assert!(error(&strips).to_string().contains("says where 1 of its 4 strips are"));
    let mut empty = tags(&size, &how, &bits, &samples);
    empty.push((278, LONG, &[0]));
    assert!(error(&empty).to_string().contains("strips or tiles of 4x0 pixels"));
    let many = [60_000];
    assert!(error(&tags(&size, &how, &bits, &many)).to_string().contains("60000 samples a pixel"));
    // Strips that all claim the whole file as their data.
    let (size, how) = ([1, 4000], [32773, 1]);
    let (offsets, lengths) = (vec![8; 4000], vec![1 << 20; 4000]);
    let mut overlapping = tags(&size, &how, &[8], &[1]);
    overlapping.extend([(266, SHORT, &[2][..]), (278, LONG, &[1][..])]);
    overlapping.extend([(273, LONG, &offsets[..]), (279, LONG, &lengths[..])]);
    assert!(reason(&tiff(&overlapping, &[&vec![128; 1 << 20]])).contains("overlap"));
    // Tiles of which one column is in the image, and whose data are the same, without compression.
    let (size, how, offsets) = ([1, 3000], [1, 1], vec![8; 3000]);
    let mut wide = tags(&size, &how, &[8], &[1]);
    wide.extend([(322, LONG, &[1 << 20][..]), (323, LONG, &[1][..]), (324, LONG, &offsets[..])]);
    assert!(reason(&tiff(&wide, &[&vec![7; 1 << 20]])).contains("far larger than the image"));
    // A tile that is much larger than its image is none of these.
    let (size, edge) = ([3, 2], [1 << 13]);
    let mut one = tags(&size, &how, &[8], &[1]);
    one.extend([(322, LONG, &edge[..]), (323, LONG, &edge[..])]);
    let file = tiff(&one, &[&vec![7; 1 << 26]]);
    assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap(), [7; 18]);
}

#[test]
fn a_cut_tiff_is_refused_or_filled_with_black() {
    let (size, how, bits, samples) = ([4, 4], [1, 0], [8], [1]);
    // The directory comes before the pixels.
    let whole = tiff(&tags(&size, &how, &bits, &samples), &[&[0; 16]]);
    let directory = whole[24..].to_vec();
    let moved = [&b"II*\0\x08\0\0\0"[..], &directory, &[0; 16]].concat();
    let at = (8 + directory.len()) as u32;
    let mut moved = moved;
    let entry = (0..8).map(|entry| 10 + 12 * entry).find(|&at| moved[at..at + 2] == 273_u16.to_le_bytes()).unwrap();
    moved[entry + 8..entry + 12].copy_from_slice(&at.to_le_bytes());
    assert_eq!(all_of(&moved, &DecodeOptions::default()).unwrap(), [255; 48], "white is zero");
    let cut = &moved[..moved.len() - 6];
    let error = all_of(cut, &DecodeOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{error}");
    let filled = all_of(cut, &options(|options| options.truncated = Truncated::Fill)).unwrap();
    assert_eq!(filled, [[255; 24], [0; 24]].concat(), "two rows are whole");
}

/// Pillow has no converter for gray that was multiplied by alpha, which it reads.
#[test]
fn premultiplied_gray_is_divided() {
    let (size, how, bits, samples) = ([3, 1], [1, 1], [8, 8], [2]);
    let mut tags = tags(&size, &how, &bits, &samples);
    tags.push((338, SHORT, &[1]));
    let file = tiff(&tags, &[&[50, 100, 20, 0, 90, 255]]);
    assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap(), [[127; 3], [0; 3], [90; 3]].concat());
}

/// Where dividing by alpha would give other colours than the file's.
#[test]
fn colours_multiplied_by_alpha_are_divided_or_refused() {
    // Colour space, kind of number, bits, meanings of the samples after the colours, samples, a part of the sentence.
    type Case<'a> = (u32, u32, u32, &'a [u32], usize, &'a str);
    let cases: [Case<'_>; 7] = [
        (1, 3, 32, &[1], 2, "gray of 32-bit floats that were multiplied by alpha"),
        (1, 1, 32, &[1], 2, "gray of 32-bit integers that were multiplied by alpha"),
        (1, 2, 16, &[1], 2, "gray of 16-bit signed integers that were multiplied by alpha"),
        (5, 1, 8, &[1], 5, "CMYK of 8-bit integers that were multiplied by alpha"),
        (3, 1, 8, &[1], 2, "palettes of 8-bit integers that were multiplied by alpha"),
        (2, 1, 8, &[0, 1], 5, "not as the first sample after them"),
        (2, 1, 8, &[2, 0, 1], 6, "not as the first sample after them"),
    ];
    let palette = vec![0; 768];
    for (color, kind, bits, extra, samples, sentence) in cases {
        let (size, how, count) = ([1, 1], [1, color], [samples as u32]);
        let (bits, kinds) = (vec![bits; samples], vec![kind; samples]);
        let mut tags = tags(&size, &how, &bits, &count);
        tags.extend([(338, SHORT, extra), (339, SHORT, &kinds[..]), (320, SHORT, &palette[..])]);
        let reason = reason(&tiff(&tags, &[&[100; 24]]));
        assert!(reason.contains(sentence), "{reason}, not {sentence}");
    }
    // Code 1 counts for the sample that it stands for, and no further than samples go.
    for (extra, first) in [(&[1, 0][..], 127), (&[0, 0, 1][..], 50)] {
        let mut tags = tags(&[1, 1], &[1, 2], &[8; 5], &[5]);
        tags.push((338, SHORT, extra));
        let file = tiff(&tags, &[&[50, 100, 20, 100, 1]]);
        assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap()[0], first, "{extra:?}");
    }
}

/// Levels of black that are far outside of the samples are levels, not a panic.
#[test]
fn levels_of_black_and_white_may_be_any_numbers() {
    const FAR: u32 = u32::MAX;
    for black_and_white in [[FAR, 1, 255, 1], [FAR, 1, FAR, 1], [0, 1, FAR, 1], [FAR, FAR, 0, 0], [0, 0, 0, 0]] {
        let mut tags = tags(&[2, 2], &[1, 6], &[8; 3], &[3]);
        let all = black_and_white.repeat(3);
        tags.extend([(530, SHORT, &[2, 2][..]), (532, RATIONAL, &all[..])]);
        all_of(&tiff(&tags, &[&[16, 90, 160, 235, 100, 200]]), &DecodeOptions::default()).unwrap();
    }
}

/// A depth that Pillow does not read: 10 bits, of which the highest 8 count.
#[test]
fn other_depths_are_scaled() {
    let (size, how, bits, samples) = ([2, 1], [1, 1], [10], [1]);
    // 0b11_1111_1111 and 0b01_0000_0000.
    let file = tiff(&tags(&size, &how, &bits, &samples), &[&[0xFF, 0b1101_0000, 0]]);
    assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap(), [[255; 3], [64; 3]].concat());
    let (bits, samples) = ([4, 4, 4], [3]);
    let file = tiff(&tags(&[1, 1], &[1, 2], &bits, &samples), &[&[0x0F, 0x80]]);
    assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap(), [0, 255, 136]);
}

/// Each strip is a file of its own. (PyPI's Pillow has a libtiff without WebP.)
#[test]
fn webp_inside_is_read() {
    let whole = picture(9, 10);
    let strips: Vec<Vec<u8>> = [(0, 6), (6, 4)]
        .map(|(top, rows)| {
            encode(image::imageops::crop_imm(&whole, 0, top, 9, rows).to_image(), image::ImageFormat::WebP)
        })
        .to_vec();
    let (size, how, bits, samples) = ([9, 10], [50001, 2], [8, 8, 8], [3]);
    let mut tags = tags(&size, &how, &bits, &samples);
    tags.push((278, LONG, &[6]));
    let file = tiff(&tags, &[&strips[0], &strips[1]]);
    assert_eq!(all_of(&file, &DecodeOptions::default()).unwrap(), whole.into_raw());
    // A strip with fewer rows than it should have.
    let other = tiff(&tags, &[&strips[1], &strips[0]]);
    let error = all_of(&other, &DecodeOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TruncatedImage { .. }), "{error}");
}
