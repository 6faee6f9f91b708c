//! Numbers of 8 bits in planes of floats: k stands as k · (1/255), the float that `ToDtype` makes of it. A step of
//! `Semantics::Uint8` reads k by rounding, computes as torchvision does on `uint8`, and writes the new k in this form.

use multiversion::multiversion;

/// From this number on floats have no fraction.
pub(super) const INTEGERS: f32 = 8_388_608.0;

/// The number k of a plane's value.
#[inline(always)]
pub(super) fn level(value: f32) -> f32 {
    (value * 255.0 + INTEGERS) - INTEGERS
}

/// The plane's value of a number k.
#[inline(always)]
pub(super) fn value(level: f32) -> f32 {
    level * (1.0 / 255.0)
}

/// Rounds down a number from 0 to 2^22; `floor` is a library call on baseline x86.
#[inline(always)]
pub(super) fn floor(number: f32) -> f32 {
    let nearest = (number + INTEGERS) - INTEGERS;
    super::select(nearest > number, nearest - 1.0, nearest)
}

/// A number from 0 to 2^22, rounded down, as an integer; a NaN becomes some number.
#[inline(always)]
pub(crate) fn floor_bits(number: f32) -> u32 {
    let nearest = number + INTEGERS;
    nearest.to_bits() - INTEGERS.to_bits() - u32::from(nearest - INTEGERS > number)
}

/// The number k of a float in \[0, 1\]: `trunc(x · 255.999)`, torchvision's `ToDtype(torch.uint8, scale=True)`.
#[inline(always)]
pub(super) fn level_of_float(value: f32) -> f32 {
    floor(super::clamp(value) * (256.0 - 0.001))
}

/// Makes numbers of 8 bits of the floats in planes.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn truncate(planes: &mut [f32]) {
    planes.iter_mut().for_each(|x| *x = value(level_of_float(*x)));
}

/// torchvision's gray of three numbers, rounded down: `(2989 R + 5870 G + 1140 B) / 10000`.
///
/// torch computes it in floats with fused multiply-adds, which gives one less for three colours. Half is added to the
/// dividend because a product with 1/10000 would otherwise fall below a whole number.
#[inline(always)]
pub(crate) fn gray_level(r: f32, g: f32, b: f32) -> f32 {
    let gray = floor((r * 2989.0 + g * 5870.0 + b * 1140.0 + 0.5) * 1e-4);
    let green_and_blue = g * 1000.0 + b;
    let one_less = (green_and_blue == 9228.0) | (green_and_blue == 13146.0) | (green_and_blue == 47199.0);
    super::select((r == 250.0) & one_less, gray - 1.0, gray)
}

/// [`blend`] where a fused multiply-add is an instruction: it rounds once, to f32, what is exact in f64.
#[inline(always)]
pub(super) fn blend_fused(level: f32, ratio: f32, (other, other_ratio): (f32, f32)) -> f32 {
    floor(other.mul_add(other_ratio, level * ratio).clamp(0.0, 255.0))
}

/// torchvision's `_blend` of a number with another one, `x · ratio + other · (1 - ratio)`, truncated. torch rounds the
/// first product and then the sum, not the second product; both are exact in f64.
#[inline(always)]
pub(super) fn blend(level: f32, ratio: f32, rest: f64) -> f32 {
    let sum = (f64::from(level * ratio) + rest) as f32;
    floor(sum.clamp(0.0, 255.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_read_as_it_was_written() {
        for k in 0..=255_u8 {
            let k = f32::from(k);
            assert_eq!(level(value(k)), k);
            assert_eq!(level_of_float(value(k)), k);
        }
    }

    #[test]
    fn gray_is_that_of_integers_but_for_three_colours() {
        let mut less = Vec::new();
        for r in 0..=255_u32 {
            for g in 0..=255_u32 {
                for b in 0..=255_u32 {
                    let exact = (2989 * r + 5870 * g + 1140 * b) / 10_000;
                    let gray = gray_level(r as f32, g as f32, b as f32) as u32;
                    if gray != exact {
                        assert_eq!(gray + 1, exact);
                        less.push((r, g, b));
                    }
                }
            }
        }
        assert_eq!(less, [(250, 9, 228), (250, 13, 146), (250, 47, 199)]);
    }
}
