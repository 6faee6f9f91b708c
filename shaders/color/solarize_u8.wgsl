fn solarize_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let k = levels(value);
    let above = vec4<f32>(k) >= vec4(step.value.x);
    return of_levels(vec4(select(k, 255u - k, above).xyz, 255u));
}
