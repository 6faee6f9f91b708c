fn grayscale_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    return of_levels(vec4(vec3(gray_level(levels(value))), 255u));
}
