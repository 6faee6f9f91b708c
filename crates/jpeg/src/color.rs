//! Samples of a row to RGBA.

/// The meaning of a JPEG's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorTransform {
    /// One component: gray.
    Gray,
    /// Three: JFIF's YCbCr.
    YCbCr,
    /// Three: red, green and blue as they are.
    Rgb,
}

impl ColorTransform {
    /// libjpeg's rules: JFIF's marker, else Adobe's with its transform, else the components' identifiers. None where the
    /// number of components is neither 1 nor 3.
    pub fn of(jfif: bool, adobe: Option<u8>, identifiers: &[u8]) -> Option<ColorTransform> {
        match (identifiers.len(), jfif, adobe) {
            (1, ..) => Some(ColorTransform::Gray),
            (3, false, Some(0)) => Some(ColorTransform::Rgb),
            (3, false, None) if identifiers == b"RGB" => Some(ColorTransform::Rgb),
            (3, ..) => Some(ColorTransform::YCbCr),
            _ => None,
        }
    }
}

#[inline(always)]
pub(crate) fn gray_row(gray: &[u8], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    for (target, gray) in target.iter_mut().zip(gray) {
        *target = [*gray, *gray, *gray, 255];
    }
}

#[inline(always)]
pub(crate) fn rgb_row([red, green, blue]: [&[u8]; 3], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    for (((target, red), green), blue) in target.iter_mut().zip(red).zip(green).zip(blue) {
        *target = [*red, *green, *blue, 255];
    }
}

/// Pixels that are converted together: what the compiler makes the best vectors of.
const CHUNK: usize = 32;

/// `y`, `cb` and `cr` are as long as the target has pixels.
#[inline(always)]
pub(crate) fn ycbcr_row([y, cb, cr]: [&[u8]; 3], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    let chunks = y.as_chunks().0.iter().zip(cb.as_chunks().0).zip(cr.as_chunks().0);
    for (target, ((y, cb), cr)) in target.as_chunks_mut::<CHUNK>().0.iter_mut().zip(chunks) {
        ycbcr(y, cb, cr, target);
    }
    let rest = target.len() % CHUNK;
    if rest == 0 {
        return;
    }
    if let (Some(y), Some(cb), Some(cr)) = (y.last_chunk(), cb.last_chunk(), cr.last_chunk())
        && let Some(target) = target.last_chunk_mut()
    {
        ycbcr(y, cb, cr, target); // some pixels a second time, which is cheaper than to move the rest about
    } else {
        let mut padded = [[0; CHUNK]; 3];
        for (padded, row) in padded.iter_mut().zip([y, cb, cr]) {
            padded[..rest].copy_from_slice(row);
        }
        let mut pixels = [[0; 4]; CHUNK];
        ycbcr(&padded[0], &padded[1], &padded[2], &mut pixels);
        target.copy_from_slice(&pixels[..rest]);
    }
}

/// JFIF's YCbCr → RGB: r = y + 1.402 cr, g = y − 0.344136 cb − 0.714136 cr, b = y + 1.772 cb, with cb and cr around 128, in
/// 16-bit fixed point, rounded and clamped.
///
/// Sixteen bits a value keep twice as many pixels in a vector as the 32 of the products: whole multiples are taken out of
/// the factors, which leaves less than a half, and of the products only the upper halves are formed.
#[inline(always)]
fn ycbcr(y: &[u8; CHUNK], cb: &[u8; CHUNK], cr: &[u8; CHUNK], target: &mut [[u8; 4]; CHUNK]) {
    for i in 0..CHUNK {
        let (y, cb, cr) = (i16::from(y[i]), i16::from(cb[i]) - 128, i16::from(cr[i]) - 128);
        let red = y + cr + ((upper(2 * cr, 26_345) + 1) >> 1);
        let blue = y + 2 * cb + ((upper(2 * cb, -14_942) + 1) >> 1);
        // What the two lower halves and a half carry.
        let lower = cb.wrapping_mul(-22_554) as u16;
        let sum = lower.wrapping_add(cr.wrapping_mul(18_734) as u16);
        let carry = u16::from(sum < lower) + (sum >> 15);
        let green = y - cr + upper(cb, -22_554) + upper(cr, 18_734) + carry as i16;
        let byte = |value: i16| value.clamp(0, 255) as u8;
        target[i] = [byte(red), byte(green), byte(blue), 255];
    }
}

/// The upper half of a product.
#[inline(always)]
fn upper(value: i16, factor: i16) -> i16 {
    ((i32::from(value) * i32::from(factor)) >> 16) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_give_what_the_fractions_give() {
        for cb in 0..=255 {
            for y in [0, 1, 77, 128, 254, 255] {
                let cr: [u8; 256] = std::array::from_fn(|i| i as u8);
                let mut target = [0; 4 * 256];
                ycbcr_row([&[y; 256], &[cb; 256], &cr], &mut target);
                for (pixel, cr) in target.chunks(4).zip(cr) {
                    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
                    let byte = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
                    let green = y - 22_554 * cb - 46_802 * cr;
                    assert_eq!(pixel, [byte(y + 91_881 * cr), byte(green), byte(y + 116_130 * cb), 255]);
                }
            }
        }
    }

    #[test]
    fn rows_of_any_length() {
        for length in [1, 31, 32, 33, 70] {
            let row: Vec<u8> = (0..length).map(|i| 3 * i).collect();
            let mut target = vec![0; 4 * row.len()];
            rgb_row([&row, &row, &row], &mut target);
            let mut other = vec![0; 4 * row.len()];
            gray_row(&row, &mut other);
            assert_eq!(target, other);
            let none = vec![128; row.len()];
            ycbcr_row([&row, &none, &none], &mut other);
            assert_eq!(target, other);
            assert!(target.chunks(4).zip(&row).all(|(pixel, value)| pixel == [*value, *value, *value, 255]));
        }
    }
}
