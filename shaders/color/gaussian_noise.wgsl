// Adds normal numbers, whose place is the pixel's: `philox` and `normal` are those of `noise.wgsl`.
fn gaussian_noise(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {
    let place = vec2<u32>(vec2(x, y));
    let numbers = normal(philox(vec4(place, 0u, 0u), vec2(step.integer_0, step.integer_1)).xyz);
    let normals = select(numbers, numbers.xxx, step.integer_2 == 1u);
    let noisy = value.rgb + (step.value.x + step.value.y * normals);
    return vec4(select(noisy, clamp(noisy, vec3(0.0), vec3(1.0)), step.value.z == 1.0), value.a);
}
