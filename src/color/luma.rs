/// Returns torchvision's gray value; the terms are added in torchvision's order.
#[inline(always)]
pub(crate) fn luma(r: f32, g: f32, b: f32) -> f32 {
    r * 0.2989 + g * 0.587 + b * 0.114
}
