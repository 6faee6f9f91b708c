fn invert(value: vec4<f32>, step: Step) -> vec4<f32> {
    return 1.0 - value;
}
