//! f16, bf16 and u8 output equals the f32 output of the same plan, converted on the host, bit for bit: on every
//! backend, at sizes where rows and images begin anywhere in a 32-bit word, and in each of 100 runs. If two invocations
//! wrote one word, some runs would lose an element.
//!
//! The conversions that `DType` documents are tested by value, not by the crate with which the CPU executor converts.

use gpufeed::transforms::{
    ColorJitter, Grayscale, Interpolation, Key, Normalize, RandomHorizontalFlip, RandomPosterize, RandomResizedCrop,
    Resize, Transform,
};
use gpufeed::{
    DType, DataLoader, DataLoaderBuilder, Execute, InMemory, Label, Layout, Output, PixelFormat, Pixels, Plan,
    Processor, wgpu,
};
use gpufeed_testing::pipeline::{Place, loader_devices, picture, places, within};
use image::RgbImage;

/// Sizes (height, width) of images with 2691, 2979, 15 and 27 elements in three channels, and with 897, 993, 5 and 9 in
/// one: neither all rows nor all images are whole 32-bit words, in f16 or in u8.
const SIZES: [(u32, u32); 4] = [(3, 299), (3, 331), (5, 1), (3, 3)];
/// The smallest size of a staging slot, in bytes.
const SLOT: u64 = 16 << 20;
const PACKED: [DType; 3] = [DType::F16, DType::BF16, DType::U8];

/// Returns how often a type is tested where others are `usual` times. A bf16 is written as an f16 is, so that fewer
/// runs show what is its own.
fn runs(dtype: DType, usual: usize) -> usize {
    if dtype == DType::BF16 { usual.div_ceil(8) } else { usual }
}

/// Size, layout and channels of an output, without its element type.
#[derive(Clone, Copy, Debug)]
struct Shape {
    size: (u32, u32),
    layout: Layout,
    channels: u32,
}

fn shapes() -> Vec<Shape> {
    let layouts = [Layout::Nchw, Layout::Nhwc];
    let of_size =
        |size| layouts.into_iter().flat_map(move |layout| [1, 3].map(|channels| Shape { size, layout, channels }));
    SIZES.into_iter().flat_map(of_size).collect()
}

impl Shape {
    fn transforms(&self) -> Vec<Transform> {
        let mut list: Vec<Transform> = vec![
            RandomResizedCrop::new(self.size).into(),
            RandomHorizontalFlip::new(0.5).into(),
            ColorJitter::new(0.6, 0.0, 0.0, 0.0).into(),
        ];
        if self.channels == 1 {
            list.push(Grayscale::new(1).into());
        }
        list
    }

    fn output(&self, dtype: DType) -> Output {
        Output { layout: self.layout, dtype }
    }
}

/// Converts f32 output to `dtype` on the host.
fn converted(floats: &[u8], dtype: DType) -> Vec<u8> {
    let floats = floats.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
    match dtype {
        DType::F32 => floats.flat_map(f32::to_ne_bytes).collect(),
        DType::F16 => floats.flat_map(|v| half::f16::from_f32(v).to_ne_bytes()).collect(),
        DType::BF16 => floats.flat_map(|v| half::bf16::from_f32(v).to_ne_bytes()).collect(),
        DType::U8 => floats.map(|v| (v.clamp(0.0, 1.0) * (256.0 - 0.001)) as u8).collect(),
    }
}

/// Compares two outputs; an error names the first element that differs, or the two lengths.
fn compare(expected: &[u8], actual: &[u8], dtype: DType) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("{} bytes instead of {}", actual.len(), expected.len()));
    }
    let size = dtype.bytes();
    let (expected, actual) = (expected.chunks_exact(size), actual.chunks_exact(size));
    match expected.zip(actual).enumerate().find(|(_, (a, b))| a != b) {
        Some((i, (a, b))) => Err(format!("element {i} is {b:x?}, not {a:x?}")),
        None => Ok(()),
    }
}

/// Returns the CPU, and the shaders of every adapter; a processor never copies images of the CPU executor to a GPU.
fn executors() -> impl Iterator<Item = &'static Place> {
    places().iter().filter(|place| place.is_shaders() || matches!(place.backend, gpufeed::Backend::Cpu))
}

fn prepare(place: &Place, transforms: &[Transform], output: &Output) -> (Plan, Processor) {
    let plan = Plan::compile(transforms, output).unwrap();
    let processor = Processor::new(&plan, &place.backend).unwrap_or_else(|error| panic!("{}: {error}", place.name));
    (plan, processor)
}

fn pixels(picture: &RgbImage) -> Pixels<'_> {
    Pixels::new(picture.width(), picture.height(), PixelFormat::Rgb8, picture.as_raw()).unwrap()
}

#[test]
fn every_word_holds_what_f32_converts_to() {
    within(600, "all stores", || {
        let pictures: Vec<_> = (0..5).map(|number| picture(number, 40 + 3 * number, 33 + 5 * number)).collect();
        for place in executors() {
            for shape in shapes() {
                let (plan, floats) = prepare(place, &shape.transforms(), &shape.output(DType::F32));
                let draw = |(sample, picture): (usize, &RgbImage)| {
                    let key = Key { sample: sample as u64, ..Key::default() };
                    plan.make_params(picture.width(), picture.height(), &key).unwrap()
                };
                let params: Vec<_> = pictures.iter().enumerate().map(draw).collect();
                let images: Vec<_> = pictures.iter().map(pixels).zip(&params).collect();
                let floats = floats.run(&images).unwrap();
                for dtype in PACKED {
                    let (_, packed) = prepare(place, &shape.transforms(), &shape.output(dtype));
                    let expected = converted(&floats, dtype);
                    for run in 0..runs(dtype, 60) {
                        let seen = compare(&expected, &packed.run(&images).unwrap(), dtype);
                        assert_eq!(seen, Ok(()), "{}, {shape:?}, {dtype:?}, run {run}", place.name);
                    }
                }
            }
        }
    });
}

/// Returns the bytes of every batch of epoch 0, which is the same in every call.
fn batches(loader: &DataLoader) -> Vec<Vec<u8>> {
    loader.epoch(0).unwrap().map(|batch| batch.unwrap().to_host().unwrap()).collect()
}

/// Runs `epochs` epochs with `workers` workers; the first batch that is not `floats` converted is an error.
fn check_line(
    (place, builder): (&Place, DataLoaderBuilder),
    floats: &[Vec<u8>],
    output: Output,
    (workers, epochs): (usize, usize),
) -> Result<(), String> {
    let loader = place.build(builder.output(output.layout, output.dtype).workers(workers));
    let expected: Vec<_> = floats.iter().map(|floats| converted(floats, output.dtype)).collect();
    for epoch in 0..epochs {
        let seen = batches(&loader);
        assert_eq!(seen.len(), expected.len());
        for (batch, (expected, seen)) in expected.iter().zip(seen).enumerate() {
            let same = compare(expected, &seen, output.dtype);
            same.map_err(|e| format!("{}, {workers} workers, epoch {epoch}, batch {batch}: {e}", place.name))?;
        }
    }
    Ok(())
}

/// Each combination runs 8 epochs of 5 batches, whose buffers are used again and again: with the 60 runs of the test
/// above, 100 runs.
#[test]
fn batches_hold_what_f32_converts_to() {
    // The timeout is long, because llvmpipe's vectors of 128 bits at full width take 10 minutes on two cores, and more
    // beside other programs.
    within(3600, "all stores of the pipeline", || {
        let mut data = InMemory::new();
        for number in 0..14 {
            let picture = picture(number, 50 - number, 23 + 2 * number);
            let (width, height) = picture.dimensions();
            data.push_pixels(width, height, PixelFormat::Rgb8, picture.into_raw(), Label::None).unwrap();
        }
        for place in places() {
            for (number, shape) in shapes().into_iter().enumerate() {
                let builder =
                    DataLoader::builder(data.clone()).recipe(shape.transforms()).batch_size(3).slot_bytes(SLOT);
                let floats = batches(&place.build(builder.clone().output(shape.layout, DType::F32)));
                assert_eq!(floats.len(), 5);
                for dtype in PACKED {
                    let (output, workers) = (shape.output(dtype), [1, 2, 5][number % 3]);
                    let result = check_line((place, builder.clone()), &floats, output, (workers, runs(dtype, 8)));
                    assert_eq!(result, Ok(()), "{shape:?}, {dtype:?}");
                }
            }
        }
    });
}

/// Where shaders store numbers of 16 bits, the last stage stores f16 and bf16; a device opened without that packs them.
/// Both give the same bits, and the first needs neither the pass nor the f32 batch.
#[test]
fn f16_has_the_same_bits_stored_and_packed() {
    stored_and_packed(DType::F16);
}

#[test]
fn bf16_has_the_same_bits_stored_and_packed() {
    stored_and_packed(DType::BF16);
}

#[expect(clippy::print_stdout, reason = "tests print what they skipped")]
fn stored_and_packed(dtype: DType) {
    within(1200, "16 bits, stored and packed", move || {
        let cases = if dtype == DType::BF16 { bf16_neighbours() } else { neighbours() };
        let values: Vec<f32> = cases.into_iter().map(|(value, _)| value).step_by(7).collect();
        for device in loader_devices() {
            let feature = wgpu::Features::SHADER_I16;
            if !device.features().contains(feature) {
                println!("{}: shaders store no numbers of 16 bits, so they are packed", device.name);
                continue;
            }
            let place = |what: &str, features| {
                let (name, backend) = (format!("{}, {what}", device.name), device.open(features).into());
                Place { name, backend, execute: Execute::Gpu }
            };
            let storing = place("stored", device.features());
            let packing = place("packed", device.features() - feature);
            let bits = |place: &Place| stored(place, &values, dtype).1;
            assert_eq!(compare(&bits(&packing), &bits(&storing), dtype), Ok(()), "{}", device.name);
            let mut data = InMemory::new();
            for number in 0..7 {
                let picture = picture(number, 50 - number, 23 + 2 * number);
                let (width, height) = picture.dimensions();
                data.push_pixels(width, height, PixelFormat::Rgb8, picture.into_raw(), Label::None).unwrap();
            }
            for shape in shapes() {
                let builder =
                    DataLoader::builder(data.clone()).recipe(shape.transforms()).batch_size(3).slot_bytes(SLOT);
                let loader = |place: &Place| place.build(builder.clone().output(shape.layout, dtype));
                let [stored, packed] = [&storing, &packing].map(loader);
                assert_eq!(stored.plan().passes() + 1, packed.plan().passes(), "{}", stored.explain());
                assert!(stored.memory() < packed.memory(), "{}{}", stored.explain(), packed.explain());
                let (seen, expected) = (batches(&stored), batches(&packed));
                assert_eq!(seen.len(), expected.len());
                for (seen, expected) in seen.iter().zip(&expected) {
                    assert_eq!(compare(expected, seen, dtype), Ok(()), "{}, {shape:?}", device.name);
                }
            }
        }
    });
}

/// A batch that spans several slots comes from several submissions, and the boundaries between them lie within words.
/// The test makes 112 such batches on every adapter: 13 of f16 and u8 and 2 of bf16 in each of four shapes, which have
/// both layouts, both numbers of channels and every width.
#[test]
fn words_that_several_submissions_share_are_whole() {
    within(600, "batches of several slots", || {
        for (number, shape) in shapes().into_iter().enumerate().filter(|(number, _)| number % 5 == 0) {
            let (height, width) = shape.size;
            let mut data = InMemory::new();
            for sample in 0..5 {
                // A row of output reads two rows of the source; of the large images, no slot has room for two.
                let (rows, columns) = if sample % 2 == 1 { (2_000_000 / width, 2 * width) } else { (20, 30 + sample) };
                let read = 4 * columns as u64 * u64::from(rows) * u64::from(height - 1) / u64::from(height);
                assert!(sample % 2 == 0 || (read > SLOT / 2 && read < SLOT), "{read} bytes are read");
                let bytes: Vec<u8> = (0..rows * columns * 3).map(|i| ((i * (sample + 3)) >> 5) as u8).collect();
                data.push_pixels(columns, rows, PixelFormat::Rgb8, bytes, Label::None).unwrap();
            }
            let resize = Resize::new(shape.size).interpolation(Interpolation::Bilinear).antialias(false);
            let transforms = [vec![resize.into()], shape.transforms().split_off(1)].concat();
            for place in places().iter().filter(|place| place.is_shaders()) {
                let builder =
                    DataLoader::builder(data.clone()).recipe(transforms.clone()).batch_size(5).slot_bytes(SLOT);
                let loader = place.build(builder.clone().output(shape.layout, DType::F32));
                let floats = batches(&loader);
                assert_eq!((floats.len(), loader.stats().cpu_fallback), (1, 0));
                for dtype in PACKED {
                    let (output, workers) = (shape.output(dtype), [1, 2, 4, 6][number / 5]);
                    let result = check_line((place, builder.clone()), &floats, output, (workers, runs(dtype, 13)));
                    assert_eq!(result, Ok(()), "{shape:?}, {dtype:?}");
                }
            }
        }
    });
}

/// Passes `list`, as an image of three channels, through a plan that changes nothing; returns the f32 output and the
/// `dtype` output.
fn stored(place: &Place, list: &[f32], dtype: DType) -> (Vec<f32>, Vec<u8>) {
    let width = list.len().div_ceil(3) as u32;
    let mut bytes: Vec<u8> = list.iter().flat_map(|v| v.to_ne_bytes()).collect();
    bytes.resize(width as usize * 12, 0);
    let pixels = Pixels::new(width, 1, PixelFormat::F32 { channels: 3 }, &bytes).unwrap();
    let run = |dtype| {
        let output = Output { layout: Layout::Nhwc, dtype };
        let (plan, processor) = prepare(place, &[], &output);
        let mut result = processor.run(&[(pixels, &plan.make_params(width, 1, &Key::default()).unwrap())]).unwrap();
        result.truncate(list.len() * dtype.bytes());
        result
    };
    let floats = run(DType::F32);
    let floats = floats.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
    (floats.collect(), run(dtype))
}

fn halves(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_ne_bytes(*bytes)).collect()
}

/// Returns values, each with its nearest f16: for every two neighbouring f16 numbers, the lower one, the value halfway
/// between them, whose nearest is the even one, and the f32 numbers just below and above that. The number after 65504
/// would be 65536, and is infinity.
fn neighbours() -> Vec<(f32, u16)> {
    let value = |bits: u16| {
        let (exponent, fraction) = (i32::from(bits >> 10), f32::from(bits & 0x3ff));
        if exponent == 0 { fraction * 2f32.powi(-24) } else { (1024.0 + fraction) * 2f32.powi(exponent - 25) }
    };
    let mut list = Vec::new();
    for low in 0..0x7c00u16 {
        let halfway = (value(low) + value(low + 1)) / 2.0;
        let even = low + (low & 1);
        let four = [(value(low), low), (halfway.next_down(), low), (halfway, even), (halfway.next_up(), low + 1)];
        list.extend(four.into_iter().flat_map(|(value, half)| [(value, half), (-value, half | 0x8000)]));
    }
    list
}

#[test]
fn the_comparison_rejects_a_lost_element() {
    let floats: Vec<u8> = (0..9u8).flat_map(|i| (f32::from(i) / 8.0).to_ne_bytes()).collect();
    for dtype in PACKED {
        let expected = converted(&floats, dtype);
        assert_eq!(compare(&expected, &expected, dtype), Ok(()));
        // A second writer of the word would leave the neighbour as it was before.
        let mut lost = expected.clone();
        lost[3 * dtype.bytes()..4 * dtype.bytes()].fill(0);
        assert!(compare(&expected, &lost, dtype).is_err_and(|e| e.starts_with("element 3 ")));
        assert!(compare(&expected, &expected[1..], dtype).is_err());
    }
}

#[test]
fn f16_is_the_nearest_and_the_even_one_of_two() {
    within(120, "all f16", || {
        let mut cases = neighbours();
        for beyond in [65536.0, 1e10, f32::MAX, f32::INFINITY] {
            cases.extend([(beyond, 0x7c00), (-beyond, 0xfc00)]);
        }
        let values: Vec<f32> = cases.iter().map(|case| case.0).collect();
        for place in executors() {
            let (floats, seen) = stored(place, &values, DType::F16);
            assert_eq!(floats, values, "{}: f32 goes through as it is", place.name);
            // A zero's expected sign is that of the f32 output: the CPU adds what it samples to 0, and -0 + 0 is 0.
            let signs = floats.iter().map(|v| if *v == 0.0 { (v.to_bits() >> 16) as u16 } else { 0 });
            let expected =
                cases.iter().zip(signs).map(|((value, half), sign)| if *value == 0.0 { sign } else { *half });
            let wrong = halves(&seen).into_iter().zip(expected).find(|(seen, expected)| seen != expected);
            assert_eq!(wrong, None, "{}", place.name);
            // Subnormal f32 inputs may become zeros on the way; NaNs stay NaNs.
            let seen = halves(&stored(place, &[1e-40, -1e-40, f32::NAN, -f32::NAN], DType::F16).1);
            assert!(seen[..2].iter().all(|half| half & 0x7fff == 0), "{}: {seen:x?}", place.name);
            assert!(seen[2..].iter().all(|half| half & 0x7fff > 0x7c00), "{}: {seen:x?}", place.name);
        }
        // The comparison can fail: a conversion that truncates, as Direct3D's does, would be noticed.
        let truncated = |&value: &f32| {
            let nearest = half::f16::from_f32(value);
            nearest.to_bits() - u16::from(nearest.to_f32().abs() > value.abs())
        };
        let differing = values.iter().map(truncated).zip(&cases).filter(|(seen, case)| *seen != case.1).count();
        assert!(differing > 90_000, "{differing}");
    });
}

/// As [`neighbours`], of bf16: the numbers that are normal in f32, up to the largest one. The number after it would be
/// 2^128, and is infinity.
fn bf16_neighbours() -> Vec<(f32, u16)> {
    let value = |bits: u16| f64::from(128 + (bits & 0x7f)) * 2f64.powi(i32::from(bits >> 7) - 134);
    let mut list = Vec::new();
    for low in 0x80..0x7f80u16 {
        // Every sum of two neighbours is whole in f64, and half of it in f32.
        let halfway = ((value(low) + value(low + 1)) / 2.0) as f32;
        let even = low + (low & 1);
        let four =
            [(value(low) as f32, low), (halfway.next_down(), low), (halfway, even), (halfway.next_up(), low + 1)];
        list.extend(four.into_iter().flat_map(|(value, bits)| [(value, bits), (-value, bits | 0x8000)]));
    }
    list
}

#[test]
fn bf16_is_the_nearest_and_the_even_one_of_two() {
    within(120, "all bf16", || {
        let mut cases = bf16_neighbours();
        for beyond in [f32::MAX, f32::INFINITY] {
            cases.extend([(beyond, 0x7f80), (-beyond, 0xff80)]);
        }
        // Beyond f16's range, and an f16 that bf16 rounds.
        cases.extend([(65536.0, 0x4780), (1e10, 0x5015), (1.0 + 1.0 / 1024.0, 0x3f80)]);
        let values: Vec<f32> = cases.iter().map(|case| case.0).collect();
        // Those of which the lower half alone says that they are not infinite, or whose carry would reach the sign.
        let nans =
            [f32::NAN, -f32::NAN].into_iter().chain([0x7f80_0001, 0xff80_ffff, 0x7fff_ffff, !0].map(f32::from_bits));
        let nans: Vec<f32> = nans.collect();
        let subnormal: Vec<f32> = [1, 0x7fff, 0x8000, 0x8001, 0x0040_8000, 0x007f_ffff].map(f32::from_bits).into();
        for place in executors() {
            let (floats, seen) = stored(place, &values, DType::BF16);
            assert_eq!(floats, values, "{}: f32 goes through as it is", place.name);
            let wrong = halves(&seen).into_iter().zip(&cases).find(|(seen, case)| *seen != case.1);
            assert_eq!(wrong, None, "{}", place.name);
            let seen = halves(&stored(place, &nans, DType::BF16).1);
            assert!(seen.iter().all(|bits| bits & 0x7fff > 0x7f80), "{}: {seen:x?}", place.name);
            // Subnormal f32 may become zeros on the way.
            let seen = halves(&stored(place, &subnormal, DType::BF16).1);
            for (bits, value) in seen.into_iter().zip(&subnormal) {
                let nearest = half::bf16::from_f32(*value).to_bits();
                assert!(bits & 0x7fff == 0 || bits == nearest, "{}: {bits:x} of {value:e}", place.name);
            }
        }
        // The comparison can fail: the upper half of the bits alone would be noticed.
        let truncated = values.iter().map(|value| (value.to_bits() >> 16) as u16);
        let differing = truncated.zip(&cases).filter(|(seen, case)| *seen != case.1).count();
        assert!(differing > 90_000, "{differing}");
    });
}

#[test]
fn u8_gives_every_byte_back_and_truncates_between() {
    within(120, "all u8", || {
        let bytes: Vec<u8> = (0..=255).collect();
        // Values beyond both ends and zeros come first; then, for every byte, the f32 at which it begins, and its
        // neighbours.
        let mut edges =
            vec![-1.0, -1e-30, -0.0, 0.0, 1.0f32.next_up(), 2.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY];
        for byte in 0..=256u16 {
            let edge = f32::from(byte) / (256.0 - 0.001);
            let (below, above) = (edge.next_down(), edge.next_up());
            edges.extend([below.next_down(), below, edge, above, above.next_up()]);
        }
        for place in executors() {
            for (format, width, channels) in [(PixelFormat::R8, 256, 1), (PixelFormat::Rgb8, 85, 3)] {
                let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
                let plan = Plan::compile_for(channels, &[], &output).unwrap();
                let processor = Processor::new(&plan, &place.backend).unwrap();
                let image = &bytes[bytes.len() - (width * channels) as usize..];
                let pixels = Pixels::new(width, 1, format, image).unwrap();
                let params = plan.make_params(width, 1, &Key::default()).unwrap();
                assert_eq!(processor.run(&[(pixels, &params)]).unwrap(), image, "{}, {format:?}", place.name);
            }
            // Floats k / 255 give every byte back, too.
            let exact: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
            assert_eq!(stored(place, &exact, DType::U8).1, bytes, "{}", place.name);
            let (floats, seen) = stored(place, &edges, DType::U8);
            let floats: Vec<u8> = floats.into_iter().flat_map(f32::to_ne_bytes).collect();
            assert_eq!(compare(&converted(&floats, DType::U8), &seen, DType::U8), Ok(()), "{}", place.name);
            let (zeros, ones) = (&seen[..4], &seen[4..8]);
            assert!(zeros.iter().all(|&v| v == 0) && ones.iter().all(|&v| v == 255) && seen[8] == 0, "{}", place.name);
        }
        // The comparison can fail: a conversion that rounds would be noticed.
        let rounded = |v: &f32| (v.clamp(0.0, 1.0) * 255.0).round() as u8;
        let truncated = |v: &f32| (v.clamp(0.0, 1.0) * (256.0 - 0.001)) as u8;
        assert!(edges.iter().filter(|v| rounded(v) != truncated(v)).count() > 250);
    });
}

/// torchvision's `uint8` path keeps the upper bits of a byte; `U8` gives the result of its float path, converted to
/// bytes.
#[test]
fn posterized_u8_is_one_below_the_upper_bits() {
    within(120, "posterize", || {
        let bytes: Vec<u8> = (0..=255).collect();
        let pixels = Pixels::new(256, 1, PixelFormat::R8, &bytes).unwrap();
        for (place, bits) in executors().flat_map(|place| (0..=8).map(move |bits| (place, bits))) {
            let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
            let plan = Plan::compile_for(1, &[RandomPosterize::new(bits).p(1.0).into()], &output).unwrap();
            let params = plan.make_params(256, 1, &Key::default()).unwrap();
            let seen = Processor::new(&plan, &place.backend).unwrap().run(&[(pixels, &params)]).unwrap();
            let upper: Vec<u8> =
                bytes.iter().map(|byte| ((u32::from(*byte) >> (8 - bits)) << (8 - bits)) as u8).collect();
            let below: Vec<u8> = upper.iter().map(|byte| byte.saturating_sub(1)).collect();
            assert_eq!(seen, below, "{}, {bits} bits", place.name);
            // As the documentation says, all values differ but one in L, the number of levels.
            let differing = seen.iter().zip(&upper).filter(|(seen, upper)| seen != upper).count();
            assert_eq!(differing, 256 - (256 >> bits), "{bits} bits");
        }
    });
}

#[test]
fn values_beyond_f16_are_infinite() {
    within(120, "overflow", || {
        let picture = picture(1, 12, 9);
        let normalize = Normalize::new([0.5; 3], [4e-6; 3]).into();
        for place in executors() {
            let run = |dtype| {
                let output = Output { layout: Layout::Nchw, dtype };
                let (plan, processor) = prepare(place, std::slice::from_ref(&normalize), &output);
                processor.run(&[(pixels(&picture), &plan.make_params(12, 9, &Key::default()).unwrap())]).unwrap()
            };
            // The values reach ±125,000, of which f16 represents those below 65520.
            let seen = run(DType::F16);
            let bfloats = run(DType::BF16);
            assert!(
                halves(&bfloats).iter().all(|&bits| bits & 0x7fff < 0x7f80),
                "{}: bf16 has f32's range",
                place.name
            );
            assert_eq!(
                compare(&converted(&run(DType::F32), DType::BF16), &bfloats, DType::BF16),
                Ok(()),
                "{}",
                place.name
            );
            let infinite = halves(&seen).iter().filter(|&&half| half & 0x7fff == 0x7c00).count();
            assert!((1..seen.len() / 2).contains(&infinite), "{}: {infinite} are infinite", place.name);
            assert_eq!(compare(&converted(&run(DType::F32), DType::F16), &seen, DType::F16), Ok(()), "{}", place.name);
        }
    });
}
