use super::{Row, Step, split};

/// The part of the three planes in the step's rectangle (left, top, right, bottom), and the row's number in the
/// rectangle; `None` if the row is outside.
pub(super) fn in_rectangle<'a>(step: &Step, row: Row, planes: &'a mut [f32]) -> Option<([&'a mut [f32]; 3], usize)> {
    let [left, top, right, bottom] = step.value.map(|edge| edge as usize);
    if !(top..bottom).contains(&row.y) {
        return None;
    }
    let (red, green, blue) = split(planes);
    Some(([red, green, blue].map(|plane| &mut plane[left..right]), row.y - top))
}
