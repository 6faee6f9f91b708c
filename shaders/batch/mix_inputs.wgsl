// What the mixing of a batch reads and writes. f32 are read as their bits: no load may change one.

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
