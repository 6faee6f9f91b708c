// Adds normal numbers as `gaussian_noise` does, cut to whole numbers. Noise of more than 255 makes any number black or white.
fn gaussian_noise_u8(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {
    let numbers = normal(philox(vec4(vec2<u32>(vec2(x, y)), 0u, 0u), vec2(step.integer_0, step.integer_1)).xyz);
    let normals = select(numbers, numbers.xxx, step.integer_2 == 1u);
    let noise = trunc(clamp(added_product(vec3(step.value.x), normals, vec3(step.value.y)), vec3(-256.0), vec3(256.0)));
    let noisy = clamp(vec3<f32>(levels(value).xyz) + noise, vec3(0.0), vec3(255.0));
    return of_levels(vec4(vec3<u32>(noisy), 255u));
}
