// f32 to f16 or u8: each invocation owns one word of the output, wherever rows and images begin in it.
// The f32 are read as their bits: no load may change one.
@group(0) @binding(0) var<storage, read> floats: array<u32>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;

fn element(i: u32) -> u32 {
    // The last word of a batch may reach beyond the last element.
    return floats[min(i, arrayLength(&floats) - 1u)];
}

@compute @workgroup_size(256, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let word = (group.y * groups.x + group.x) * 256u + local.x;
    if word < arrayLength(&words) {
        words[word] = pack(word);
    }
}
