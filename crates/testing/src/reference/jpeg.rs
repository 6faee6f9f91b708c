//! What a JPEG of some quality makes of an image: `jpeg_image` in torchvision's `functional/_augment.py`, which encodes
//! and decodes with libjpeg-turbo. Entropy coding loses nothing, so it is left out. File names are libjpeg-turbo's.
//!
//! A colour image has halved chroma planes (4:2:0). A gray image has one plane.

use super::dct::{self, Block};
use super::picture::{Picture, Semantics};

/// A plane of bytes, as whole numbers.
struct Plane {
    height: usize,
    width: usize,
    samples: Vec<i64>,
}

impl Plane {
    fn build(height: usize, width: usize, sample: impl Fn(usize, usize) -> i64) -> Plane {
        let samples = (0..height * width).map(|i| sample(i / width, i % width)).collect();
        Plane { height, width, samples }
    }

    /// The sample at row `y`, column `x`; beyond the lower and right edges the last ones repeat.
    fn at(&self, y: usize, x: usize) -> i64 {
        self.samples[y.min(self.height - 1) * self.width + x.min(self.width - 1)]
    }
}

/// Encodes and decodes an image of bytes.
pub fn jpeg(picture: &Picture, quality: u32) -> Picture {
    assert_eq!(picture.semantics, Semantics::Uint8, "torchvision encodes bytes alone");
    let (channels, height, width) = picture.shape();
    let value = |c: usize, y: usize, x: usize| picture.at(c, y, x) as i64;
    if channels == 1 {
        let gray = coded(&Plane::build(height, width, |y, x| value(0, y, x)), &table(&LUMINANCE, quality));
        return picture.build((1, height, width), |_, y, x| gray.at(y, x) as f64);
    }
    let color = |y: usize, x: usize| to_ycc([0, 1, 2].map(|c| value(c, y, x)));
    let [luma, blue, red] = [0, 1, 2].map(|c| Plane::build(height, width, |y, x| color(y, x)[c]));
    let luma = coded(&luma, &table(&LUMINANCE, quality));
    let [blue, red] = [blue, red].map(|chroma| {
        let halved = coded(&halved(&chroma), &table(&CHROMINANCE, quality));
        // Replicated columns and rows fill the last blocks; the decoder takes only those that hold pixels.
        let (rows, columns) = (height.div_ceil(2), width.div_ceil(2));
        doubled(&Plane::build(rows, columns, |y, x| halved.at(y, x)))
    });
    picture.build((3, height, width), |c, y, x| to_rgb([luma.at(y, x), blue.at(y, x), red.at(y, x)])[c] as f64)
}

/// A factor of 16 bits (`FIX` in `jccolor.c` and `jdcolor.c`).
fn fixed(factor: f64) -> i64 {
    (factor * 65536.0 + 0.5) as i64
}

/// `rgb_ycc_convert` in `jccolor.c`.
fn to_ycc([r, g, b]: [i64; 3]) -> [i64; 3] {
    let half = 1 << 15;
    // The largest chroma must not become 256, hence the 1.
    let center = (128 << 16) + half - 1;
    [
        (fixed(0.299) * r + fixed(0.587) * g + fixed(0.114) * b + half) >> 16,
        (-fixed(0.16874) * r - fixed(0.33126) * g + fixed(0.5) * b + center) >> 16,
        (fixed(0.5) * r - fixed(0.41869) * g - fixed(0.08131) * b + center) >> 16,
    ]
}

/// `ycc_rgb_convert` in `jdcolor.c`.
fn to_rgb([luma, blue, red]: [i64; 3]) -> [i64; 3] {
    let (half, blue, red) = (1 << 15, blue - 128, red - 128);
    let offsets = [fixed(1.402) * red, -fixed(0.34414) * blue - fixed(0.71414) * red, fixed(1.772) * blue];
    offsets.map(|offset| (luma + ((offset + half) >> 16)).clamp(0, 255))
}

/// Means of 2 × 2 samples, rounded down and up in turns along a row (`h2v2_downsample` in `jcsample.c`). The columns
/// reach to the end of the last block, so that those beyond the image are means of the repeated edge.
fn halved(plane: &Plane) -> Plane {
    let (rows, columns) = (plane.height.div_ceil(2), plane.width.div_ceil(16) * 8);
    Plane::build(rows, columns, |y, x| {
        let sum: i64 = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(j, i)| plane.at(2 * y + j, 2 * x + i)).iter().sum();
        (sum + if x.is_multiple_of(2) { 1 } else { 2 }) >> 2
    })
}

/// Doubles both sides: three quarters of a sample and a quarter of its neighbour, on each axis
/// (`h2v2_fancy_upsample` in `jdsample.c`, which leaves planes of one or two columns to `h2v2_upsample`: repeated).
fn doubled(plane: &Plane) -> Plane {
    if plane.width <= 2 {
        return Plane::build(2 * plane.height, 2 * plane.width, |y, x| plane.at(y / 2, x / 2));
    }
    // The neighbour of a new row or column: before it if it is even, else after it. The edges repeat.
    let neighbor = |i: usize| if i.is_multiple_of(2) { (i / 2).saturating_sub(1) } else { i / 2 + 1 };
    Plane::build(2 * plane.height, 2 * plane.width, |y, x| {
        let column = |x: usize| 3 * plane.at(y / 2, x) + plane.at(neighbor(y), x);
        (3 * column(x / 2) + column(neighbor(x)) + if x.is_multiple_of(2) { 8 } else { 7 }) >> 4
    })
}

/// Quantizes and restores a plane, block by block. The plane is filled up to whole blocks with its last samples.
fn coded(plane: &Plane, table: &Block) -> Plane {
    let (rows, columns) = (plane.height.div_ceil(8), plane.width.div_ceil(8));
    let blocks: Vec<Block> = (0..rows * columns)
        .map(|i| {
            let (top, left) = (i / columns * 8, i % columns * 8);
            coded_block(std::array::from_fn(|k| plane.at(top + k / 8, left + k % 8)), table)
        })
        .collect();
    Plane::build(plane.height, plane.width, |y, x| blocks[y / 8 * columns + x / 8][y % 8 * 8 + x % 8])
}

fn coded_block(samples: Block, table: &Block) -> Block {
    let coefficients = dct::forward(samples.map(|sample| sample - 128));
    dct::inverse(std::array::from_fn(|k| quantized(coefficients[k], 8 * table[k]) * table[k]))
}

/// Divides, rounding half away from zero (`quantize` in `jcdctmgr.c`).
fn quantized(coefficient: i64, divisor: i64) -> i64 {
    (coefficient.abs() + divisor / 2) / divisor * coefficient.signum()
}

/// Scales a standard table to a quality of 1 to 100 (`jpeg_quality_scaling` and `jpeg_add_quant_table` in `jcparam.c`).
fn table(standard: &Block, quality: u32) -> Block {
    let quality = i64::from(quality.clamp(1, 100));
    let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    standard.map(|step| ((step * scale + 50) / 100).clamp(1, 255))
}

/// ITU T.81, table K.1.
#[rustfmt::skip]
const LUMINANCE: Block = [
    16, 11, 10, 16, 24, 40, 51, 61,
    12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,
    24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
];

/// ITU T.81, table K.2.
#[rustfmt::skip]
const CHROMINANCE: Block = [
    17, 18, 24, 47, 99, 99, 99, 99,
    18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_fifty_is_the_standard_table() {
        assert_eq!(table(&LUMINANCE, 50), LUMINANCE);
        assert_eq!(table(&CHROMINANCE, 100), [1; 64]);
        assert_eq!(table(&LUMINANCE, 1), [255; 64]);
        assert_eq!(table(&LUMINANCE, 75)[..4], [8, 6, 5, 8]);
    }

    #[test]
    fn one_colour_survives_the_best_quality() {
        let picture = Picture::from_planes((1, 9, 17), &[77; 153], Semantics::Uint8);
        assert_eq!(jpeg(&picture, 100), picture);
    }

    #[test]
    fn a_gray_pixel_has_no_chroma() {
        for level in 0..256 {
            assert_eq!(to_ycc([level; 3]), [level, 128, 128]);
            assert_eq!(to_rgb([level, 128, 128]), [level; 3]);
        }
    }
}
