fn sharpened(pixel: vec4<f32>, sum: vec4<f32>, edge: bool) -> vec4<f32> {
    let mean = sum * (1.0 / 13.0);
    return clamp(select(pixel + gather_first.x * (mean - pixel), pixel, edge), vec4(0.0), vec4(1.0));
}
