use super::{Row, Step};

/// Computes the power in floats, and truncates the result to 8 bits, as torchvision does.
pub(super) fn adjust_gamma_u8(step: &Step, row: Row, planes: &mut [f32]) {
    super::adjust_gamma::adjust_gamma(step, row, planes);
    super::hue_u8::truncate(planes);
}
