fn posterize_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let size = u32(step.value.x);
    let k = levels(value) / size * size;
    return of_levels(vec4(k.xyz, 255u));
}
