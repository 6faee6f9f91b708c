//! Standard normal numbers from a key and a position: the native twin of `shaders/color/noise.wgsl`, which has the
//! formulas and their reasons, with the same operations in the same order.

use super::rectangle::in_rectangle;
use super::{Row, Step};
use multiversion::multiversion;

/// Philox4x32-10: four numbers from a counter of four and a key of two.
#[inline(always)]
pub(crate) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let first = u64::from(a) * 0xd251_1f53;
        let second = u64::from(c) * 0xcd9e_8d57;
        counter = [(second >> 32) as u32 ^ b ^ key[0], second as u32, (first >> 32) as u32 ^ d ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// Returns `-ln(x)` of a normal (not subnormal) float.
#[inline(always)]
fn minus_ln(x: f32) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_add(0x3f80_0000 - ROOT);
    let e = ((shifted >> 23) as i32 - 127) as f32;
    let m = f32::from_bits((shifted & 0x007f_ffff) + ROOT);
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0))));
    -(e * std::f32::consts::LN_2 + 2.0 * s * series)
}

/// The normal quantile of (k + 1/2) / 2^23, where k is the upper 23 bits.
#[inline(always)]
fn normal(bits: u32) -> f32 {
    let odd = 2 * (bits >> 9) as i32 + 1 - (1 << 23);
    let t = odd as f32 * (1.0 / 8_388_608.0);
    let w = minus_ln((1.0 - t) * (1.0 + t));
    let a = w - 2.5;
    let centre = 2.810_226_4e-8;
    let centre = 3.432_739_4e-7 + centre * a;
    let centre = -3.523_387_7e-6 + centre * a;
    let centre = -4.391_506_5e-6 + centre * a;
    let centre = 0.000_218_580_87 + centre * a;
    let centre = -0.001_253_725 + centre * a;
    let centre = -0.004_177_681_6 + centre * a;
    let centre = 0.246_640_73 + centre * a;
    let centre = 1.501_409_4 + centre * a;
    let b = w.max(0.0).sqrt() - 3.0;
    let tail = -0.000_200_214_26;
    let tail = 0.000_100_950_56 + tail * b;
    let tail = 0.001_349_343_2 + tail * b;
    let tail = -0.003_673_428_4 + tail * b;
    let tail = 0.005_739_507_7 + tail * b;
    let tail = -0.007_622_461_3 + tail * b;
    let tail = 0.009_438_87 + tail * b;
    let tail = 1.001_674 + tail * b;
    let tail = 2.832_976_8 + tail * b;
    let quantile = if w < 5.0 { centre } else { tail };
    quantile * t * std::f32::consts::SQRT_2
}

/// The normal numbers of a pixel's three channels.
#[inline(always)]
pub(crate) fn normals([x, y]: [u32; 2], key: [u32; 2]) -> [f32; 3] {
    let [r, g, b, _] = philox([x, y, 0, 0], key);
    [normal(r), normal(g), normal(b)]
}

/// Fills row `row` of the rectangle, all three channels.
#[multiversion(targets("x86_64+avx2"))]
fn fill(key: [u32; 2], row: u32, red: &mut [f32], green: &mut [f32], blue: &mut [f32]) {
    for (x, ((red, green), blue)) in (0..).zip(red.iter_mut().zip(green).zip(blue)) {
        [*red, *green, *blue] = normals([x, row], key);
    }
}

pub(super) fn noise(step: &Step, row: Row, planes: &mut [f32]) {
    let Some(([red, green, blue], row)) = in_rectangle(step, row, planes) else { return };
    let [first, second, one_channel] = step.integers;
    fill([first, second], row as u32, red, green, blue);
    if one_channel == 1 {
        green.copy_from_slice(red);
        blue.copy_from_slice(red);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with their library (Random123, `kat_vectors`).
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox(pi, [0xa409_3822, 0x299f_31d0]), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn quantiles_are_symmetric_and_ascend() {
        let quantile = |k: u32| normal(k << 9);
        let mut before = f32::NEG_INFINITY;
        for k in (0..1 << 23).step_by(1009) {
            assert_eq!(quantile(k), -quantile((1 << 23) - 1 - k), "{k}");
            assert!(quantile(k) > before, "{k}");
            before = quantile(k);
        }
        // Φ⁻¹(2^-24), and Φ⁻¹(0.75) as exactly as 23 bits allow.
        assert!((quantile(0) + 5.294_704).abs() < 1e-5, "{}", quantile(0));
        assert!((quantile(3 << 21) - 0.674_489_8).abs() < 1e-6, "{}", quantile(3 << 21));
    }
}
