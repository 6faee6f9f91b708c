// A row's part in the strip kernel: view pixels `first .. end`, of which `pixel + step * v` is the place of the v-th, weighted.
// Bytes only (floats take the direct kernel): a software GPU executes both sides of a branch, at every pixel.
fn weighted_row(pixel: i32, step: i32, first: i32, end: i32, centre: f32, inverse: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    for (var v = first; v < end; v++) {
        let word = source[source_offset + u32(pixel + step * v)];
        sum += triangle(v, centre, inverse) * vec3<f32>(vec3(word & 255u, (word >> 8u) & 255u, (word >> 16u) & 255u));
    }
    return sum * (1.0 / 255.0);
}
