// Mixes the images of a finished f32 batch in place: twin of `src/cpu/mix.rs`. A thread is one element of the mixed region of
// an image, and goes down the batch from sample to sample. f32 are read as their bits: no load may change one.

// Twin of Rust's `Parameters` in `src/gpu/mix_dispatches.rs`; a test compares the layouts.
struct Mix {
    // The region, as in `src/plan/mixing.rs`.
    first: u32,
    run: u32,
    runs: u32,
    pitch: u32,
    plane: u32,
    region: u32,
    // Elements of an image, and of all views of a sample.
    image: u32,
    sample: u32,
    // The first element of the first sample in `batch`, and in `others`.
    base: u32,
    others_base: u32,
    // Samples of this dispatch; threads.
    samples: u32,
    threads: u32,
    mode: u32,
    copies: u32,
    own_share: f32,
    partner_share: f32,
}

@group(0) @binding(1) var<storage, read> mix_of: Mix;
// The saved last sample, or the samples that come first in a large batch whose partners are at its end.
@group(0) @binding(2) var<storage, read_write> others: array<u32>;
@group(0) @binding(3) var<storage, read_write> batch: array<u32>;

// The partner is the sample before. That of the first sample of this dispatch is the last one of this dispatch,
const PREVIOUS: u32 = 0u;
// is none, as it is only read,
const PREVIOUS_ONLY_READ: u32 = 1u;
// or is in `others`.
const PREVIOUS_SAVED: u32 = 2u;
// The partner has the same place from the end: of this dispatch,
const REVERSED: u32 = 3u;
// or of those in `others`.
const REVERSED_APART: u32 = 4u;

fn mixed(own: u32, partner: u32) -> u32 {
    let value = bitcast<f32>(partner) * mix_of.partner_share + bitcast<f32>(own) * mix_of.own_share;
    return select(bitcast<u32>(value), partner, mix_of.copies == 1u);
}

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
