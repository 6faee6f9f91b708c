use super::{Row, Step, split};

pub(super) fn permute_channels(step: &Step, _: Row, planes: &mut [f32]) {
    let [first, second, third, _] = step.value;
    let (red, green, blue) = split(planes);
    let permuted = [first as u32, second as u32, third as u32];
    // Each order of three channels takes at most two swaps.
    match permuted {
        [0, 1, 2] => {}
        [1, 0, 2] => red.swap_with_slice(green),
        [2, 1, 0] => red.swap_with_slice(blue),
        [0, 2, 1] => green.swap_with_slice(blue),
        [1, 2, 0] => {
            red.swap_with_slice(green);
            green.swap_with_slice(blue);
        }
        [2, 0, 1] => {
            red.swap_with_slice(blue);
            green.swap_with_slice(blue);
        }
        other => unreachable!("the planner emits no order {other:?}"),
    }
}
