// The tables of autocontrast and equalize. A workgroup counts the pixels of one image; counts are integers, so the order
// changes nothing.
var<workgroup> counts: array<atomic<u32>, 768>;
// Least and greatest number of each channel, as integers in the order of the floats.
var<workgroup> least: array<atomic<u32>, 3>;
var<workgroup> greatest: array<atomic<u32>, 3>;

// Integers in the order of the floats, and back.
fn ordered(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn of_ordered(order: u32) -> f32 {
    return bitcast<f32>(select(~order, order & 0x7fffffffu, (order >> 31u) == 1u));
}

// torchvision's `equalize_image`.
fn equalized(channel: u32, k: u32, pixels: u32) -> u32 {
    var last = 0u;
    var before = 0u;
    for (var i = 0u; i < 256u; i++) {
        let count = atomicLoad(&counts[256u * channel + i]);
        last = select(last, count, count > 0u);
        before += select(0u, count, i < k);
    }
    let step = (pixels - last) / 255u;
    if step == 0u {
        return k;
    }
    return select(min((before + step / 2u) / step, 255u), 0u, k == 0u);
}

@compute @workgroup_size(GROUP_X, GROUP_Y, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let image = group.z;
    begin(image);
    load_gather(image);
    for (var i = index; i < 768u; i += GROUP_SIZE) {
        atomicStore(&counts[i], 0u);
    }
    if index < 3u {
        atomicStore(&least[index], 0xffffffffu);
        atomicStore(&greatest[index], 0u);
    }
    workgroupBarrier();
    let width = u32(gather_width);
    let pixels = width * u32(gather_height);
    for (var i = index; i < pixels; i += GROUP_SIZE) {
        let value = load(i32(i % width) - gather_left, i32(i / width) - gather_top);
        let k = number_of_table(value);
        for (var channel = 0u; channel < 3u; channel++) {
            atomicAdd(&counts[256u * channel + k[channel]], 1u);
            atomicMin(&least[channel], ordered(value[channel]));
            atomicMax(&greatest[channel], ordered(value[channel]));
        }
    }
    workgroupBarrier();
    for (var channel = 0u; channel < 3u; channel++) {
        write_entry(channel, index, pixels);
    }
}
