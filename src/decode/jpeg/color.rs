//! Samples of a row to RGBA.

/// What the components of a JPEG are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorTransform {
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
    pub(super) fn of(jfif: bool, adobe: Option<u8>, identifiers: &[u8]) -> Option<ColorTransform> {
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
pub(super) fn gray_row(gray: &[u8], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    for (target, gray) in target.iter_mut().zip(gray) {
        *target = [*gray, *gray, *gray, 255];
    }
}

#[inline(always)]
pub(super) fn rgb_row([red, green, blue]: [&[u8]; 3], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    for (((target, red), green), blue) in target.iter_mut().zip(red).zip(green).zip(blue) {
        *target = [*red, *green, *blue, 255];
    }
}

/// JFIF's YCbCr → RGB: r = y + 1.402 cr, g = y − 0.344136 cb − 0.714136 cr, b = y + 1.772 cb, with cb and cr around 128, in 16-bit fixed point,
/// rounded and clamped.
#[inline(always)]
pub(super) fn ycbcr_row([y, cb, cr]: [&[u8]; 3], target: &mut [u8]) {
    let (target, _) = target.as_chunks_mut::<4>();
    for (((target, y), cb), cr) in target.iter_mut().zip(y).zip(cb).zip(cr) {
        let (y, cb, cr) = (i32::from(*y) << 16, i32::from(*cb) - 128, i32::from(*cr) - 128);
        let byte = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
        *target = [byte(y + 91_881 * cr), byte(y - 22_554 * cb - 46_802 * cr), byte(y + 116_130 * cb), 255];
    }
}
