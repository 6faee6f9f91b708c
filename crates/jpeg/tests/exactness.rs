//! Compares the inverse DCT, upsampling and colour conversion with libjpeg-turbo's, by hashes that
//! `tests/golden/jpeg_pixels.py` writes.

use multiversion::multiversion;
use proptest::prelude::*;

use gpufeed_jpeg::Rect;
use gpufeed_jpeg::idct::{self, IdctSize};
use gpufeed_jpeg::internals::{ColorTransform, ComponentLayout, Layout, SampleWindow};
use gpufeed_jpeg::upsample::{self, Plane, RowBuffers};

const GOLDEN: &str = include_str!("../../../tests/golden/jpeg_pixels.txt");

/// The target features with which the code is compiled.
#[derive(Clone, Copy, Debug)]
enum Features {
    /// The features that this processor supports.
    Best,
    /// The features that every processor of the architecture supports.
    Baseline,
}

/// One line of the golden file.
struct Case {
    wild: bool,
    size: (u32, u32),
    factors: Vec<(u8, u8)>,
    scale: IdctSize,
    hash: u64,
}

fn cases() -> Vec<Case> {
    let case = |line: &str| {
        let [kind, width, height, factors, scale, hash] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let factor = |text: &str| {
            let (h, v) = text.split_once('x').unwrap();
            (h.parse().unwrap(), v.parse().unwrap())
        };
        Case {
            wild: kind == "wild",
            size: (width.parse().unwrap(), height.parse().unwrap()),
            factors: factors.split(',').map(factor).collect(),
            scale: match scale {
                "1" => IdctSize::Eight,
                "2" => IdctSize::Four,
                "4" => IdctSize::Two,
                _ => IdctSize::One,
            },
            hash: u64::from_str_radix(hash, 16).unwrap(),
        }
    };
    GOLDEN.lines().map(case).collect()
}

/// The random number generator of `jpeg_pixels.py`.
struct Generator(u64);

impl Generator {
    fn below(&mut self, limit: i32) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as i32
    }
}

/// Natural positions in zigzag order: along the diagonals, every second diagonal upwards.
fn zigzag() -> Vec<usize> {
    let mut order: Vec<usize> = (0..64).collect();
    order.sort_by_key(|i| {
        let (row, column) = (i / 8, i % 8);
        (row + column, if (row + column) % 2 == 1 { row } else { column })
    });
    order
}

/// The next dequantized block of `jpeg_pixels.py`, and the zigzag index of its last coefficient.
fn block(wild: bool, order: &[usize], generator: &mut Generator) -> ([i16; 64], usize) {
    let mut coded = [0; 64];
    if wild {
        let size = 1 << generator.below(10);
        coded[0] =
            if generator.below(2) == 1 { generator.below(2047) - 1023 } else { generator.below(2 * size + 1) - size };
        let last = [0, 1, 2, 5, 9, 20, 40, 63][generator.below(8) as usize];
        let rows = generator.below(4) as usize; // 0: the first row only, 1: the first and the fifth row
        for k in 1..=last {
            let value = generator.below(2 * size + 1) - size;
            coded[k] = if rows > 1 || [0, 4 * rows].contains(&(order[k] / 8)) { value } else { 0 };
        }
    } else {
        coded[0] = generator.below(801) - 400;
        coded[1..6].fill_with(|| generator.below(201) - 100);
    }
    let mut block = [0; 64];
    for (k, value) in coded.iter().enumerate() {
        let quantization = if wild { 1 + (40 + 7 * k as i32) % 255 } else { 1 };
        block[order[k]] = (value * quantization) as i16; // wraps as the 16-bit products do
    }
    (block, coded.iter().rposition(|value| *value != 0).unwrap_or(0))
}

#[multiversion(targets("x86_64+avx2"))]
fn idct_multiversion(size: IdctSize, coefficients: &[i16; 64], last: usize, target: &mut [u8], stride: usize) {
    idct::idct_scaled(size, coefficients, last, target, stride);
}

struct Image {
    layout: Layout,
    /// Samples and stride of each component, in whole blocks.
    planes: Vec<(Vec<u8>, usize)>,
}

fn image(case: &Case, features: Features) -> Image {
    let order = zigzag();
    let mut generator = Generator(1);
    let layout = Layout::new(case.size, &case.factors, case.scale).unwrap();
    let (max_h, max_v) = case.factors.iter().fold((0, 0), |max, f| (max.0.max(f.0), max.1.max(f.1)));
    let columns = (case.size.0 as usize).div_ceil(8 * usize::from(max_h));
    let rows = (case.size.1 as usize).div_ceil(8 * usize::from(max_v));
    let plane = |(factor, component): (&(u8, u8), &ComponentLayout)| {
        let side = component.idct_size.samples();
        let stride = columns * usize::from(factor.0) * side;
        (vec![0; stride * rows * usize::from(factor.1) * side], stride)
    };
    let mut planes: Vec<_> = case.factors.iter().zip(&layout.components).map(plane).collect();
    for mcu in 0..columns * rows {
        for ((factor, component), (samples, stride)) in case.factors.iter().zip(&layout.components).zip(&mut planes) {
            let side = component.idct_size.samples();
            for i in 0..usize::from(factor.0) * usize::from(factor.1) {
                let (h, v) = (usize::from(factor.0), usize::from(factor.1));
                let (x, y) = (mcu % columns * h + i % h, mcu / columns * v + i / h);
                let (block, last) = block(case.wild, &order, &mut generator);
                let target = &mut samples[y * side * *stride + x * side..];
                match features {
                    Features::Best => idct_multiversion(component.idct_size, &block, last, target, *stride),
                    Features::Baseline => idct::idct_scaled(component.idct_size, &block, last, target, *stride),
                }
            }
        }
    }
    Image { layout, planes }
}

impl Image {
    fn whole(&self) -> Rect {
        Rect { left: 0, top: 0, width: self.layout.width as u32, height: self.layout.height as u32 }
    }

    /// Decodes a region from planes that contain only the samples of its windows.
    fn region(&self, region: Rect, buffers: &mut RowBuffers, features: Features) -> Vec<u8> {
        let windows: Vec<_> = self.layout.components.iter().map(|component| component.window(region)).collect();
        let cut = |(window, (samples, stride)): (&SampleWindow, &(Vec<u8>, usize))| {
            let rows = window.top..window.top + window.height;
            rows.flat_map(|y| samples[y * stride + window.left..][..window.width].to_vec()).collect()
        };
        let samples: Vec<Vec<u8>> = windows.iter().zip(&self.planes).map(cut).collect();
        let planes: Vec<_> = (0..samples.len())
            .map(|i| Plane {
                component: self.layout.components[i],
                samples: &samples[i],
                stride: windows[i].width,
                left: windows[i].left,
                top: windows[i].top,
            })
            .collect();
        let transform = if planes.len() == 1 { ColorTransform::Gray } else { ColorTransform::YCbCr };
        let mut target = vec![0; 4 * region.width as usize * region.height as usize];
        match features {
            Features::Best => upsample::planes_to_rgba(&planes, transform, region, buffers, &mut target),
            Features::Baseline => {
                buffers.reserve(region.width as usize);
                upsample::rows_to_rgba(&planes, transform, region, buffers, &mut target);
            }
        }
        target
    }
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn equals_libjpeg_turbo() {
    let cases = cases();
    assert!(cases.iter().filter(|case| case.wild).count() == 4 && cases.len() > 250, "{} cases", cases.len());
    let mut buffers = RowBuffers::default();
    for (case, features) in cases.iter().flat_map(|case| [(case, Features::Best), (case, Features::Baseline)]) {
        let image = image(case, features);
        let pixels = image.region(image.whole(), &mut buffers, features);
        assert!(pixels.iter().skip(3).step_by(4).all(|alpha| *alpha == 255));
        let channels = if case.factors.len() == 1 { 1 } else { 3 };
        let hash = fnv(pixels.chunks(4).flat_map(|pixel| pixel[..channels].to_vec()));
        let Case { wild, size, factors, scale, .. } = case;
        assert_eq!(hash, case.hash, "{size:?} {factors:?} {scale:?} wild {wild} {features:?}");
    }
}

#[test]
fn a_zero_factor_and_a_fractional_ratio_have_no_layout() {
    for factors in [&[(2, 1), (0, 1), (1, 1)][..], &[(3, 1), (2, 1), (1, 1)], &[(1, 3), (1, 2), (1, 1)], &[]] {
        assert!(Layout::new((64, 64), factors, IdctSize::Eight).is_none(), "{factors:?}");
    }
}

#[test]
fn colours_follow_libjpegs_rules() {
    use ColorTransform::{Cmyk, Gray, Rgb, YCbCr, Ycck};
    assert_eq!(ColorTransform::detect(true, Some(0), b"RGB"), Some(YCbCr));
    assert_eq!(ColorTransform::detect(false, Some(0), &[1, 2, 3]), Some(Rgb));
    assert_eq!(ColorTransform::detect(false, Some(1), b"RGB"), Some(YCbCr));
    assert_eq!(ColorTransform::detect(false, None, b"RGB"), Some(Rgb));
    assert_eq!(ColorTransform::detect(false, None, &[0, 1, 2]), Some(YCbCr));
    assert_eq!(ColorTransform::detect(false, None, &[1]), Some(Gray));
    assert_eq!(ColorTransform::detect(true, None, &[1, 2, 3, 4]), Some(Cmyk));
    assert_eq!(ColorTransform::detect(false, Some(0), &[1, 1, 1, 1]), Some(Cmyk));
    assert_eq!(ColorTransform::detect(true, Some(1), &[1, 2, 3, 4]), Some(Ycck));
    assert_eq!(ColorTransform::detect(false, Some(2), b"CMYK"), Some(Ycck));
    assert_eq!(ColorTransform::detect(true, None, &[1, 2]), None);
}

proptest! {
    /// Every region has the pixels of the whole image, and no sample outside its windows is read.
    #[test]
    fn a_region_equals_its_part_of_the_whole_image(
        index in any::<prop::sample::Index>(),
        corners in [0.0..1.0_f64, 0.0..1.0, 0.0..1.0, 0.0..1.0],
    ) {
        let cases: Vec<_> = cases().into_iter().filter(|case| !case.wild).collect();
        let image = image(index.get(&cases), Features::Best);
        let mut buffers = RowBuffers::default();
        let whole = image.region(image.whole(), &mut buffers, Features::Best);
        let (width, height) = (image.layout.width, image.layout.height);
        let part = |at: f64, limit: usize| (at * limit as f64) as u32;
        let (left, top) = (part(corners[0], width), part(corners[1], height));
        let region = Rect {
            left,
            top,
            width: 1 + part(corners[2], width - left as usize),
            height: 1 + part(corners[3], height - top as usize),
        };
        let pixels = image.region(region, &mut buffers, Features::Best);
        for (y, row) in pixels.chunks(4 * region.width as usize).enumerate() {
            let at = 4 * ((top as usize + y) * width + left as usize);
            prop_assert_eq!(row, &whole[at..][..row.len()]);
        }
    }
}
