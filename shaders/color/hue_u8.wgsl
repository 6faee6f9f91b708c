fn hue_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    return truncated(hue(value, step));
}
