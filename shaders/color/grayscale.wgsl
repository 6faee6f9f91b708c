fn grayscale(value: vec4<f32>, step: Step) -> vec4<f32> {
    return vec4(luma(value));
}
