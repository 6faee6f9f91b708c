// A row's part in the strip kernel; see `bytes_row.wgsl`.
fn weighted_row(start: i32, step: i32, first: i32, end: i32, centre: f32, inverse: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    var at = start;
    for (var v = first; v < end; v++) {
        sum += triangle(v, centre, inverse) * source[at].xyz;
        at += step;
    }
    return sum;
}
