// The step's numbers: levels, the highest level, and the reciprocal of the levels, a power of two.
fn posterize(value: vec4<f32>, step: Step) -> vec4<f32> {
    return clamp(floor(value * step.value.x), vec4(0.0), vec4(step.value.y)) * step.value.z;
}
