use super::rectangle::in_rectangle;
use super::{Row, Step};

pub(super) fn erase(step: &Step, row: Row, planes: &mut [f32]) {
    let Some((channels, _)) = in_rectangle(step, row, planes) else { return };
    channels.into_iter().zip(step.integers).for_each(|(plane, bits)| plane.fill(f32::from_bits(bits)));
}
