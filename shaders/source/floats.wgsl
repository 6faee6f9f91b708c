// The source of later stages: the f32 intermediate that the stage before has written.
@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;

fn load(image: u32, x: i32, y: i32) -> vec4<f32> {
    return source[images[image].source_offset + u32(y) * images[image].source_stride + u32(x)];
}
