// The source of later stages: the f32 intermediate that the stage before has written.
@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;

fn load(x: i32, y: i32) -> vec4<f32> {
    return source[source_offset + u32(y) * source_stride + u32(x)];
}

// A row's part in the strip kernel; see `bytes.wgsl`.
fn weighted_row(pixel: i32, step: i32, first: i32, end: i32, centre: f32, inverse: f32) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    for (var v = first; v < end; v++) {
        sum += triangle(v, centre, inverse) * source[source_offset + u32(pixel + step * v)].xyz;
    }
    return sum;
}
