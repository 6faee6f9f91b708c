// Whether column `x`, row `y` lies in the step's rectangle: left, top, right, bottom.
fn in_rectangle(step: Step, x: i32, y: i32) -> bool {
    let at = vec2(f32(x), f32(y));
    return all(at >= step.value.xy) && all(at < step.value.zw);
}
