fn invert_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    return of_levels(vec4(255u - levels(value).xyz, 255u));
}
