// Mixes the images of a finished f32 batch in place: twin of `src/cpu/mix.rs`. A thread is one element of the mixed region of
// an image, and goes down the batch from sample to sample. `mix_inputs.wgsl` has the buffers, and `mixed.wgsl` or
// `mixed_bytes.wgsl` the blends.

// The offset of a thread's element in a sample.
fn offset(thread: u32) -> u32 {
    let rest = thread % mix_of.region;
    let a_plane = mix_of.run * mix_of.runs;
    let inside = rest % a_plane;
    let in_image = mix_of.first + (rest / a_plane) * mix_of.plane + (inside / mix_of.run) * mix_of.pitch + inside % mix_of.run;
    return (thread / mix_of.region) * mix_of.image + in_image;
}

fn previous(at: u32) {
    var place = mix_of.base + (mix_of.samples - 1u) * mix_of.sample + at;
    var own = batch[place];
    var of_first = own;
    if mix_of.mode == PREVIOUS_SAVED {
        of_first = others[mix_of.others_base + at];
    }
    let last = select(0u, 1u, mix_of.mode == PREVIOUS_ONLY_READ);
    for (var left = mix_of.samples; left > last; left--) {
        var partner = of_first;
        if left > 1u {
            partner = batch[place - mix_of.sample];
        }
        batch[place] = mixed(own, partner);
        own = partner;
        place -= mix_of.sample;
    }
}

fn reversed(at: u32) {
    let apart = mix_of.mode == REVERSED_APART;
    // In one range the two meet in the middle, where an image is its own partner.
    let pairs = select((mix_of.samples + 1u) / 2u, mix_of.samples, apart);
    for (var pair = 0u; pair < pairs; pair++) {
        let high_place = mix_of.base + (mix_of.samples - 1u - pair) * mix_of.sample + at;
        let high = batch[high_place];
        if apart {
            let low_place = mix_of.others_base + pair * mix_of.sample + at;
            let low = others[low_place];
            others[low_place] = mixed(low, high);
            batch[high_place] = mixed(high, low);
        } else {
            let low_place = mix_of.base + pair * mix_of.sample + at;
            let low = batch[low_place];
            batch[low_place] = mixed(low, high);
            batch[high_place] = mixed(high, low);
        }
    }
}

@compute @workgroup_size(256, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let thread = (group.y * groups.x + group.x) * 256u + local.x;
    if thread >= mix_of.threads {
        return;
    }
    if mix_of.mode >= REVERSED {
        reversed(offset(thread));
    } else {
        previous(offset(thread));
    }
}
