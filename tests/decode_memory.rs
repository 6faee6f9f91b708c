//! Tests that the number of bytes that a header announces for decoding is right, by counting allocations.

use gpufeed::decode::{DecodeOptions, Rect, Scratch, decode, probe};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, DataLoader, ErrorKind, InMemory, Label};
use gpufeed_testing::counting::{Counting, peak_of};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::encoded::{black_png, encode, options, picture, with_exif};
use image::{DynamicImage, ImageFormat as Codec};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZE: (u32, u32) = (1200, 900);

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let image = DynamicImage::from(picture(SIZE.0, SIZE.1));
    let jpeg = encode(image.clone(), Codec::Jpeg);
    vec![
        ("progressive JPEG", in_scans(&image, true, false)),
        ("progressive JPEG of four components", in_scans(&image, true, true)),
        ("JPEG in several scans", in_scans(&image, false, false)),
        ("turned JPEG", with_exif(&jpeg, 6)),
        ("JPEG", jpeg),
        ("gray JPEG", encode(image.to_luma8(), Codec::Jpeg)),
        ("PNG", encode(image.clone(), Codec::Png)),
        ("PNG of 16 bits", encode(image.to_rgba16(), Codec::Png)),
        ("interlaced PNG of 16 bits", black_png(1000, true)),
        ("WebP", encode(image.clone(), Codec::WebP)),
        ("WebP with alpha", encode(image.to_rgba8(), Codec::WebP)),
        ("GIF", encode(image.clone(), Codec::Gif)),
        ("BMP", encode(image.clone(), Codec::Bmp)),
        ("TIFF", encode(image.clone(), Codec::Tiff)),
        ("TIFF of floats", encode(image.to_rgba32f(), Codec::Tiff)),
        ("gray TIFF of 16 bits", encode(image.to_luma16(), Codec::Tiff)),
        ("PNM", encode(image, Codec::Pnm)),
    ]
}

/// Encodes the picture as a JPEG in several scans; as one of four components with the red samples as the fourth.
fn in_scans(image: &DynamicImage, progressive: bool, four_components: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 80);
    encoder.set_progressive(progressive);
    // With tables for the image, each component of a sequential file has a scan of its own.
    encoder.set_optimized_huffman_tables(true);
    let (samples, kind) = match four_components {
        true => {
            let samples = image.as_bytes().chunks(3).flat_map(|pixel| [pixel, &pixel[..1]].concat()).collect();
            (samples, jpeg_encoder::ColorType::Cmyk)
        }
        false => (image.as_bytes().to_vec(), jpeg_encoder::ColorType::Rgb),
    };
    encoder.encode(&samples, SIZE.0 as u16, SIZE.1 as u16, kind).unwrap();
    let scans = bytes.windows(2).filter(|pair| *pair == [0xFF, 0xDA]).count();
    assert!(scans >= 3, "{scans} scans");
    bytes
}

/// This file has one test only, because the allocator counts for all threads.
#[test]
fn a_header_says_how_many_bytes_decoding_takes() {
    for (name, bytes) in files() {
        let found = probe(&bytes, &DecodeOptions::default()).unwrap();
        let all = Rect { left: 0, top: 0, width: found.width, height: found.height };
        for region in [all, Rect { left: 400, top: 300, width: 99, height: 88 }] {
            let mut scratch = Scratch::default();
            let work = || decode(&bytes, &found, region, &DecodeOptions::default(), &mut scratch).map(drop);
            let (done, peak) = peak_of(work);
            done.unwrap();
            // Besides pixels, decoding holds the file (of a JPEG, the scan without its stuffed bytes), windows and
            // tables.
            let small = bytes.len() + (1 << 20);
            let said = found.decode_bytes();
            assert!(peak as u64 <= said + small as u64, "{name}: {peak} bytes, {said} by the header");
            assert!(2 * peak as u64 > said, "{name}: {peak} bytes, {said} by the header");
            // A JPEG's header says it to a hundredth.
            let jpeg = name.contains("JPEG");
            assert!(!jpeg || 100 * peak as u64 > 99 * said, "{name}: {peak} bytes, {said} by the header");
        }
        // A limit that is one byte too low is refused before the pixels are allocated.
        let less = options(|options| options.max_decode_bytes = found.decode_bytes() - 1);
        for error in [
            probe(&bytes, &less).unwrap_err(),
            decode(&bytes, &found, all, &less, &mut Scratch::default()).unwrap_err(),
        ] {
            let ErrorKind::TooMuchMemory { needed, max_decode_bytes, .. } = error.kind() else { panic!("{error}") };
            assert_eq!((*needed, *max_decode_bytes), (found.decode_bytes(), found.decode_bytes() - 1));
            assert!(error.to_string().contains("max_decode_bytes"), "{error}");
        }
        let (_, peak) = peak_of(|| decode(&bytes, &found, all, &less, &mut Scratch::default()).map(drop).unwrap_err());
        assert!(peak < 1 << 20, "{name}: {peak} bytes for a refusal");
        let exactly = options(|options| options.max_decode_bytes = found.decode_bytes());
        assert!(probe(&bytes, &exactly).is_ok(), "{name}");
    }
    a_large_progressive_jpeg_is_refused_before_anything_is_allocated();
    a_large_png_of_16_bits_is_read_by_rows();
    an_image_beyond_the_bound_is_a_bad_sample();
    a_damaged_header_allocates_no_more_than_the_bound();
}

/// The bound lies between what the image takes in one scan and what it takes with its coefficients.
fn a_large_progressive_jpeg_is_refused_before_anything_is_allocated() {
    let side = 4000_u16;
    let [high, low] = side.to_be_bytes();
    let header =
        |marker| [0xFF, 0xD8, 0xFF, marker, 0, 17, 8, high, low, high, low, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0];
    let pixels = u64::from(side) * u64::from(side);
    let bound = options(|options| options.max_decode_bytes = 6 * pixels);
    assert!(probe(&header(0xC0), &bound).is_ok());
    let file = [&header(0xC2)[..], &[0; 60_000], &[0xFF, 0xD9]].concat();
    let found = probe(&file, &DecodeOptions::default()).unwrap();
    // Six samples of four pixels: each is one byte in its plane, and has a coefficient of two bytes and an eighth.
    assert_eq!(found.decode_bytes(), pixels * 4 + pixels * 3 / 2 * 25 / 8);
    let (corner, mut scratch) = (Rect { left: 0, top: 0, width: 8, height: 8 }, Scratch::default());
    let probed = peak_of(|| probe(&file, &bound).map(drop));
    let decoded = peak_of(|| decode(&file, &found, corner, &bound, &mut scratch).map(drop));
    for (done, peak) in [probed, decoded] {
        let error = done.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooMuchMemory { format: "JPEG", .. }), "{error}");
        // The error's own memory.
        assert!(peak < 1 << 10, "{peak} bytes for a refusal");
    }
}

/// Decoding this PNG at once would take 192 MiB; by rows it takes the 64 MiB of the RGBA result.
fn a_large_png_of_16_bits_is_read_by_rows() {
    let bytes = black_png(4096, false);
    let found = probe(&bytes, &DecodeOptions::default()).unwrap();
    let region = Rect { left: 0, top: 0, width: 4096, height: 4096 };
    let mut scratch = Scratch::default();
    let work = || decode(&bytes, &found, region, &DecodeOptions::default(), &mut scratch).map(drop);
    let (done, peak) = peak_of(work);
    done.unwrap();
    assert!((64 << 20..66 << 20).contains(&peak), "{peak}");
}

fn an_image_beyond_the_bound_is_a_bad_sample() {
    let small = encode(picture(40, 30), Codec::Png);
    let files =
        (0..10).map(|number| (if number == 5 { black_png(4096, false) } else { small.clone() }, Label::Class(number)));
    let loader = DataLoader::builder(files.collect::<InMemory>()).transform(CenterCrop::new(16)).batch_size(10);
    let loader = loader.workers(2).max_decode_bytes(32 << 20).build(&Backend::Cpu).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let [failure] = batch.failures() else { panic!("{:?}", batch.failures()) };
    assert_eq!((failure.batch_index, failure.id), (5, 5));
    let error = &failure.error;
    let limit = 32 << 20;
    assert!(
        matches!(error.kind(), ErrorKind::TooMuchMemory { width: 4096, max_decode_bytes, .. } if *max_decode_bytes == limit),
        "{error}"
    );
}

/// The files are those of `decode/pillow.rs`.
fn a_damaged_header_allocates_no_more_than_the_bound() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pillow_files");
    let packed = std::fs::read(golden.with_extension("bin")).unwrap();
    let list = std::fs::read_to_string(golden.with_extension("txt")).unwrap();
    let (mut rest, mut dice) = (packed.as_slice(), Dice(9));
    let options = options(|options| options.max_decode_bytes = 1 << 20);
    for line in list.lines() {
        let file;
        (file, rest) = rest.split_at(line.rsplit('\t').next().unwrap().parse().unwrap());
        for _ in 0..30 {
            let mut bytes = file.to_vec();
            for _ in 0..1 + dice.below(3) {
                // Headers are at the beginning, and in TIFF at the end.
                let (at, most) = (dice.below(bytes.len().min(80)), bytes.len() - 1);
                let at = if dice.below(2) == 0 { at } else { most - at };
                bytes[at] = if dice.below(2) == 0 { 0xFF } else { dice.byte() };
            }
            let (_, peak) = peak_of(|| {
                let found = probe(&bytes, &options)?;
                let region = Rect { left: 0, top: 0, width: found.width, height: found.height };
                decode(&bytes, &found, region, &options, &mut Scratch::default()).map(drop)
            });
            // Besides the bound: copies of the file, tables, and for the crates `png` and `image` metadata.
            let ours = ["tif", "gif"].iter().any(|kind| line.split('\t').next().unwrap().ends_with(kind));
            let more = if ours { 4 * bytes.len() + (1 << 20) } else { 66 << 20 };
            assert!(peak <= (1 << 20) + more, "{line}: {peak} bytes");
        }
    }
}
