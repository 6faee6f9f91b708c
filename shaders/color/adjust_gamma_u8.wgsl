fn adjust_gamma_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    return truncated(adjust_gamma(value, step));
}
