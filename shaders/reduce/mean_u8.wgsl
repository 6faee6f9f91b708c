// A statistic of 8-bit numbers: as `mean.wgsl`, but the sums are integers.
var<private> total: u32;
var<private> steps_before: u32;
var<private> one_channel: bool;
var<workgroup> sums: array<u32, GROUP_SIZE>;

fn emit(image: u32, x: i32, y: i32, value: vec4<f32>) {
    let colored = color(image, x, y, value, steps_before);
    let k = levels(colored);
    total += select(gray_level(k), k.x, one_channel);
}

@compute @workgroup_size(GROUP_X, GROUP_Y, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let image = group.z;
    begin(image);
    total = 0u;
    var needed = false;
    for (var i = 0u; i < images[image].steps_len; i++) {
        if images[image].steps[i].opcode == CONTRAST_U8 && images[image].steps[i].integer_0 == KNOWN_STATISTICS {
            needed = true;
            steps_before = i;
            one_channel = images[image].steps[i].integer_2 == 1u;
        }
    }
    if needed {
        let axis_x = images[image].x;
        let axis_y = images[image].y;
        let width = u32(output_size.x);
        let height = u32(output_size.y);
        let across = (width + GROUP_X - 1u) / GROUP_X;
        let down = (height + GROUP_Y * ROWS - 1u) / (GROUP_Y * ROWS);
        for (var tile = group.x; tile < across * down; tile += PARTIALS) {
            let x = (tile % across) * GROUP_X + local.x;
            let y = ((tile / across) * GROUP_Y + local.y) * ROWS;
            if x < width && y < height {
                sample(image, axis_x, axis_y, i32(x), i32(y), i32(min(y + ROWS, height)));
            }
        }
    }
    sums[index] = total;
    workgroupBarrier();
    for (var half = GROUP_SIZE / 2u; half > 0u; half /= 2u) {
        if index < half {
            sums[index] += sums[index + half];
        }
        workgroupBarrier();
    }
    if index == 0u {
        statistics[(images[image].number * STATISTICS + KNOWN_STATISTICS) * PARTIALS + group.x] = sums[0];
    }
}
