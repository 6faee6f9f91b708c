//! Decodes a JPEG of a photograph's size: the whole image, a crop from the scan's start, the same crop by the seek
//! index, and a quarter of the size.
//!
//!     cargo bench -p gpufeed-jpeg [-- NAME]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpufeed_jpeg::{Decoder, Header, Rect, Request, Scale};
use std::hint::black_box;

/// Encodes an image with detail everywhere, in about as many bits a pixel as a photograph takes.
fn synthetic_jpeg() -> Vec<u8> {
    let noise = |x: u32, y: u32| ((x.wrapping_mul(7919) ^ y.wrapping_mul(104_729)) >> 5) as u8 & 15;
    let wave = |x: u32, y: u32| ((f64::from(x) / 17.0).sin() * (f64::from(y) / 23.0).cos() * 100.0 + 120.0) as u8;
    let picture = image::RgbImage::from_fn(500, 375, |x, y| {
        let level = wave(x, y).saturating_add(noise(x, y));
        image::Rgb([level, level.wrapping_add((x / 8) as u8) / 2 + 64, 255 - level])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap_or_else(|error| panic!("encoding failed: {error}"));
    file.into_inner()
}

fn decode(criterion: &mut Criterion) {
    let jpeg = synthetic_jpeg();
    let size = Header::read(&jpeg).map(|header| header.size()).unwrap_or_else(|error| panic!("{error}"));
    let mut decoder = Decoder::default();
    let whole = Request::new(size);
    let index = decoder.decode(&jpeg, &whole.build_index(true)).ok().and_then(|decoded| decoded.outcome.index);
    let crop = whole.region(Rect { left: 180, top: 140, width: 200, height: 160 });
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(jpeg.len() as u64));
    for (name, request) in [
        ("whole", whole),
        ("crop", crop),
        ("crop, building the index", crop.build_index(true)),
        ("crop by the index", crop.index(index.as_ref())),
        ("quarter", whole.scale(Scale::Quarter)),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| decoder.decode(black_box(&jpeg), &request).map(|decoded| decoded.pixels.len()))
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
