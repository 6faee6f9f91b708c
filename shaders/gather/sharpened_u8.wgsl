// The mean is rounded to a whole number, and the blend once to f32.
fn sharpened(pixel: vec4<f32>, sum: vec4<f32>, edge: bool) -> vec4<f32> {
    let k = vec4<u32>(pixel);
    let mean = (2u * vec4<u32>(sum) + 13u) / 26u;
    let share = number(gather_first.x);
    let x = sharpened_level(k.x, mean.x, share);
    let y = sharpened_level(k.y, mean.y, share);
    let z = sharpened_level(k.z, mean.z, share);
    return of_levels(vec4(select(vec3(x, y, z), k.xyz, vec3(edge)), 255u));
}

fn sharpened_level(k: u32, mean: u32, share: Number) -> u32 {
    let above = mean >= k;
    let distance = select(k - mean, mean - k, above);
    let part = term(vec2(0u, distance * share.mantissa), share.exponent, share.negative == above);
    return rounded_down(added(vec2(k, 0u), part));
}
