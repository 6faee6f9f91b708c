// A stage's pass: sample, all colour steps, store. A thread is one column of ROWS outputs; z is the image.

fn emit(image: u32, x: i32, y: i32, value: vec4<f32>) {
    store(image, x, y, color(image, x, y, value, steps_len));
}

@compute @workgroup_size(GROUP_X, GROUP_Y, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let image = group.z;
    begin(image);
    let x = i32(group.x * GROUP_X + local.x);
    let y = i32((group.y * GROUP_Y + local.y) * ROWS);
    if x < output_size.x && y < output_size.y {
        sample(image, images[image].x, images[image].y, x, y, min(y + i32(ROWS), output_size.y));
    }
}
