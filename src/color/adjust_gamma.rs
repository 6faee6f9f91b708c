//! Computes powers in plain arithmetic, because a system library's `powf` gives different bits on different platforms,
//! and a call handles only one pixel at a time. `shaders/color/adjust_gamma.wgsl` has the formulas.

use super::levels::truncate;
use super::{Row, Step, select};
use multiversion::multiversion;

/// Returns the logarithm to base 2 of a normal (not subnormal) float.
#[inline(always)]
fn log2(x: f32) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_add(0x3f80_0000 - ROOT);
    let e = ((shifted >> 23) as i32 - 127) as f32;
    let m = f32::from_bits((shifted & 0x007f_ffff) + ROOT);
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0))));
    e + 2.88539 * s * series
}

/// 2^t for t in \[-126, 127\].
#[inline(always)]
fn exp2(t: f32) -> f32 {
    // The last bits of this sum count in ones, so it is rounded to an integer, which those bits hold.
    const INTEGERS: f32 = 12_582_912.0;
    let sum = t + INTEGERS;
    let r = (t - (sum - INTEGERS)) * std::f32::consts::LN_2;
    let high = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    let series = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * high)));
    let exponent = sum.to_bits().wrapping_sub(INTEGERS.to_bits()).wrapping_add(127);
    f32::from_bits(exponent << 23) * series
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn adjust_gamma(step: &Step, _: Row, planes: &mut [f32]) {
    const LEAST: f32 = f32::MIN_POSITIVE;
    let [gamma, gain, most, _] = step.value;
    planes.iter_mut().for_each(|value| {
        let power = exp2((gamma * log2(value.max(LEAST))).clamp(-126.0, 127.0));
        let is_zero = (*value < LEAST) & (gamma > 0.0);
        *value = (gain * select(is_zero, 0.0, power)).max(0.0).min(most);
    });
}

/// Computes the power in floats, and truncates the result to 8 bits, as torchvision does.
pub(super) fn adjust_gamma_u8(step: &Step, row: Row, planes: &mut [f32]) {
    adjust_gamma(step, row, planes);
    truncate(planes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The adjusted value, with `most` as programs set it.
    fn adjusted(value: f32, gamma: f32, gain: f32) -> f32 {
        let most = if gain == 1.0 { f32::MAX } else { 1.0 };
        let step = Step { opcode: 0, integers: [0; 3], value: [gamma, gain, most, 0.0] };
        let mut planes = [value];
        adjust_gamma(&step, Row { y: 0, channels: 1, mean: 0.0 }, &mut planes);
        planes[0]
    }

    #[test]
    fn powers_are_right_to_the_last_bits() {
        let mut worst = 0.0_f64;
        for gamma in [1e-6, 0.01, 1.0 / 2.4, 0.5, 0.999, 1.0, 1.5, 2.2, 7.0, 31.0, 500.0, 1e6] {
            for i in 0..=100_000_u32 {
                let value = i as f32 * 1e-5;
                let exact = f64::from(value).powf(f64::from(gamma));
                worst = worst.max((f64::from(adjusted(value, gamma, 1.0)) - exact).abs());
            }
        }
        assert!(worst < 2.5e-7, "{worst}");
        // Values above 1 may be large, and so may their powers: the error is relative.
        for value in [1.0001_f32, 1.3, 2.0, 77.7, 3e9] {
            let exact = f64::from(value).powf(1.0 / 2.4);
            assert!((f64::from(adjusted(value, 1.0 / 2.4, 1.0)) / exact - 1.0).abs() < 1e-6, "{value}");
        }
    }

    /// Compares a hash of the results' bits for every byte level and three gammas. Frozen batches do not cover this
    /// step, because no built-in recipe has it.
    #[test]
    fn every_machine_has_the_same_bits() {
        let levels = (0..=255_u8).map(|byte| f32::from(byte) * (1.0 / 255.0));
        let results =
            [0.45, 1.0, 2.2].into_iter().flat_map(|gamma| levels.clone().map(move |x| adjusted(x, gamma, 1.0)));
        let bytes: Vec<u8> = results.flat_map(|value| value.to_bits().to_le_bytes()).collect();
        assert_eq!(xxhash_rust::xxh3::xxh3_64(&bytes), 0xbfd2_c913_e0ec_1531);
    }

    #[test]
    fn the_ends_are_exact() {
        for gamma in [1e-30, 0.3, 1.0, 2.2, 1e30, f32::MAX] {
            assert_eq!(
                [0.0, -0.0, -0.2, 1.0].map(|value| adjusted(value, gamma, 1.0)),
                [0.0, 0.0, 0.0, 1.0],
                "{gamma}"
            );
        }
        for value in [0.0, -0.2, f32::MIN_POSITIVE, 0.4, 1.0, 3e30] {
            assert_eq!(adjusted(value, 0.0, 1.0), 1.0, "{value} to the power of 0");
        }
        assert_eq!([2e-38, 3e30].map(|value| adjusted(value, 50.0, 1.0)), [2.0_f32.powi(-126), 2.0_f32.powi(127)]);
    }

    #[test]
    fn a_gain_clamps_and_no_gain_does_not() {
        assert!(adjusted(1.5, 2.0, 1.0) > 2.0);
        assert_eq!(adjusted(1.5, 2.0, 1.01), 1.0);
        assert_eq!([adjusted(0.5, 1.0, -2.0), adjusted(0.5, 1.0, 0.0)], [0.0; 2]);
        assert_eq!([adjusted(0.5, 0.0, 0.25), adjusted(0.9, 0.7, f32::MAX)], [0.25, 1.0]);
    }
}
