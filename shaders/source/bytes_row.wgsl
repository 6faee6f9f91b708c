// A row's part in the strip kernel: view pixels `first .. end`, weighted. The first is at `start` in the source, each next one `step`
// further.
// Bytes only (floats take the direct kernel): a software GPU executes both sides of a branch, at every pixel.
fn weighted_row(start: i32, step: i32, first: i32, end: i32, centre: f32, inverse: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    var at = start;
    for (var v = first; v < end; v++) {
        let word = source[at];
        at += step;
        sum += triangle(v, centre, inverse) * vec3<f32>(vec3(word & 255u, (word >> 8u) & 255u, (word >> 16u) & 255u));
    }
    return sum * (1.0 / 255.0);
}
