//! Converts rows of samples to RGBA.

/// The colour space of a JPEG's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorTransform {
    /// One component, which is gray.
    Gray,
    /// Three components in JFIF's YCbCr.
    YCbCr,
    /// Red, green and blue.
    Rgb,
    /// Cyan, magenta, yellow and black.
    Cmyk,
    /// Inverted cyan, magenta and yellow in YCbCr, and black.
    Ycck,
}

impl ColorTransform {
    /// Detects the colour space by libjpeg's rules: a JFIF marker means YCbCr; else an Adobe marker's transform
    /// decides; else the components' identifiers. Of four components only an Adobe marker's transform decides. Returns `None`
    /// for other numbers of components.
    pub fn detect(jfif: bool, adobe: Option<u8>, identifiers: &[u8]) -> Option<ColorTransform> {
        match (identifiers.len(), jfif, adobe) {
            (1, ..) => Some(ColorTransform::Gray),
            (3, false, Some(0)) => Some(ColorTransform::Rgb),
            (3, false, None) if identifiers == b"RGB" => Some(ColorTransform::Rgb),
            (3, ..) => Some(ColorTransform::YCbCr),
            (4, _, None | Some(0)) => Some(ColorTransform::Cmyk),
            (4, ..) => Some(ColorTransform::Ycck),
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

/// Converts a row of inks to the pixels of Pillow's `convert("RGB")`. Pillow assumes that a JPEG has inverted inks, as Adobe
/// writes them, with or without Adobe's marker.
#[inline(always)]
pub(crate) fn cmyk_row(inks: [&[u8]; 3], black: &[u8], target: &mut [u8]) {
    rgb_row(inks, target);
    for (pixel, &black) in target.as_chunks_mut::<4>().0.iter_mut().zip(black) {
        *pixel = pixel.map(|ink| product(ink, black));
        pixel[3] = 255;
    }
}

/// Converts a row in YCCK. libjpeg makes CMYK of it, which is 255 less the red, green and blue of the YCbCr.
#[inline(always)]
pub(crate) fn ycck_row(row: [&[u8]; 3], black: &[u8], target: &mut [u8]) {
    ycbcr_row(row, target);
    for (pixel, &black) in target.as_chunks_mut::<4>().0.iter_mut().zip(black) {
        *pixel = pixel.map(|light| product(255 - light, black));
        pixel[3] = 255;
    }
}

/// round(ink · black / 255), the light that two inverted inks leave.
#[inline(always)]
fn product(ink: u8, black: u8) -> u8 {
    let product = u32::from(ink) * u32::from(black) + 128;
    ((product + (product >> 8)) >> 8) as u8
}

/// Number of pixels that are converted together. The compiler vectorizes loops of this length best.
const CHUNK: usize = 32;

/// Converts a row. `y`, `cb` and `cr` have one sample for each pixel of `target`.
#[inline(always)]
pub(crate) fn ycbcr_row([y, cb, cr]: [&[u8]; 3], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    let chunks = y.as_chunks().0.iter().zip(cb.as_chunks().0).zip(cr.as_chunks().0);
    for (target, ((y, cb), cr)) in target.as_chunks_mut::<CHUNK>().0.iter_mut().zip(chunks) {
        ycbcr_to_rgb(y, cb, cr, target);
    }
    let rest = target.len() % CHUNK;
    if rest == 0 {
        return;
    }
    if let (Some(y), Some(cb), Some(cr)) = (y.last_chunk(), cb.last_chunk(), cr.last_chunk())
        && let Some(target) = target.last_chunk_mut()
    {
        // The last chunk overlaps the chunk before it. Converting pixels twice is cheaper than copying the rest.
        ycbcr_to_rgb(y, cb, cr, target);
    } else {
        let mut padded = [[0; CHUNK]; 3];
        for (padded, row) in padded.iter_mut().zip([y, cb, cr]) {
            padded[..rest].copy_from_slice(row);
        }
        let mut pixels = [[0; 4]; CHUNK];
        ycbcr_to_rgb(&padded[0], &padded[1], &padded[2], &mut pixels);
        target.copy_from_slice(&pixels[..rest]);
    }
}

/// Converts JFIF's YCbCr to RGB: r = y + 1.402 cr, g = y − 0.344136 cb − 0.714136 cr, b = y + 1.772 cb, with 128
/// subtracted from cb and cr, in fixed point with 16 fractional bits, rounded and clamped.
///
/// Values of 16 bits put twice as many pixels into a vector as the 32 bits of the products would. To stay within 16
/// bits, whole multiples are split off the factors, which leaves factors below one half, and only the high halves of
/// the products are computed.
#[inline(always)]
fn ycbcr_to_rgb(y: &[u8; CHUNK], cb: &[u8; CHUNK], cr: &[u8; CHUNK], target: &mut [[u8; 4]; CHUNK]) {
    for i in 0..CHUNK {
        let (y, cb, cr) = (i16::from(y[i]), i16::from(cb[i]) - 128, i16::from(cr[i]) - 128);
        let red = y + cr + ((high_half(2 * cr, 26_345) + 1) >> 1);
        let blue = y + 2 * cb + ((high_half(2 * cb, -14_942) + 1) >> 1);
        // The carry from the sum of both low halves, plus one if the sum rounds up.
        let low = cb.wrapping_mul(-22_554) as u16;
        let sum = low.wrapping_add(cr.wrapping_mul(18_734) as u16);
        let carry = u16::from(sum < low) + (sum >> 15);
        let green = y - cr + high_half(cb, -22_554) + high_half(cr, 18_734) + carry as i16;
        let byte = |value: i16| value.clamp(0, 255) as u8;
        target[i] = [byte(red), byte(green), byte(blue), 255];
    }
}

/// The high 16 bits of a product.
#[inline(always)]
fn high_half(value: i16, factor: i16) -> i16 {
    ((i32::from(value) * i32::from(factor)) >> 16) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_conversion_equals_the_fractions() {
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
    fn inks_are_rounded_products() {
        let inks: [u8; 256] = std::array::from_fn(|i| i as u8);
        for black in 0..=255_u8 {
            let mut target = [0; 4 * 256];
            cmyk_row([&inks, &[0; 256], &[255; 256]], &[black; 256], &mut target);
            for (pixel, ink) in target.chunks(4).zip(inks) {
                let exact = f64::from(black) - (f64::from(255 - ink) * f64::from(black) / 255.0).round();
                assert_eq!(pixel, [exact as u8, 0, black, 255], "{ink} {black}");
            }
        }
        // In YCCK, the ink is 255 less what YCbCr gives.
        let mut target = [0; 4];
        ycck_row([&[128], &[128], &[128]], &[200], &mut target);
        let mut same = [0; 4];
        cmyk_row([&[127]; 3], &[200], &mut same);
        assert_eq!(target, same);
    }

    #[test]
    fn rows_of_any_length_are_converted() {
        for length in [1, 31, 32, 33, 70] {
            let row: Vec<u8> = (0..length).map(|i| 3 * i).collect();
            let mut target = vec![0; 4 * row.len()];
            rgb_row([&row, &row, &row], &mut target);
            let mut other = vec![0; 4 * row.len()];
            gray_row(&row, &mut other);
            assert_eq!(target, other);
            let neutral = vec![128; row.len()];
            ycbcr_row([&row, &neutral, &neutral], &mut other);
            assert_eq!(target, other);
            assert!(target.chunks(4).zip(&row).all(|(pixel, value)| pixel == [*value, *value, *value, 255]));
        }
    }
}
