fn brightness_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    return blended(levels(value), number(step.value.x), vec2(0u));
}
