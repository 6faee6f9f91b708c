fn solarize(value: vec4<f32>, step: Step) -> vec4<f32> {
    return select(value, 1.0 - value, value >= vec4(step.value.x));
}
