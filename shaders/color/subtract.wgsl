fn subtract(value: vec4<f32>, step: Step) -> vec4<f32> {
    return value - step.value;
}
