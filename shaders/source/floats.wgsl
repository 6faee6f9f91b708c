// The source of later stages: the f32 intermediate that the stage before has written.
@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;

fn load(x: i32, y: i32) -> vec4<f32> {
    return source[source_offset + u32(y) * source_stride + u32(x)];
}
