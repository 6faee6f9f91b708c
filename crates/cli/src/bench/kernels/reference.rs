//! Kernels with which the product's kernels are compared, one for each roof: a plain copy, and arithmetic alone.
//! `benches/kernels.rs` uses them, too.

use gpufeed::internals::RecordedDispatch;
use gpufeed::transforms::{RandomHorizontalFlip, RandomResizedCrop, Transform};

/// The usual size of ImageNet's photographs.
pub const SIZE: (u32, u32) = (500, 375);

/// Returns a crop whose region is reduced 1.6 to 1.8 times, and a flip.
pub fn crop() -> [Transform; 2] {
    [RandomResizedCrop::new(224).scale(0.7, 0.8).ratio(0.95, 1.2).into(), RandomHorizontalFlip::new(0.5).into()]
}

/// Returns a kernel that copies every word of a buffer to another, four words at a time.
pub fn copy_kernel(bytes: u64) -> RecordedDispatch {
    let groups = bytes.div_ceil(16 * 256);
    let across = groups.min(32_768);
    let wgsl = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> target_words: array<vec4<u32>>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let i = (group.y * groups.x + group.x) * 256u + local.x;
    if i < arrayLength(&source) {
        target_words[i] = source[i];
    }
}
";
    let groups = [across as u32, groups.div_ceil(across) as u32, 1];
    RecordedDispatch { name: "copy", wgsl: wgsl.to_owned(), params: vec![0; 16], groups }
}

/// The operations of an invocation of [`arithmetic_kernel`].
pub const OPERATIONS: u64 = 512 * 4 * 4 * 2;

/// Returns a kernel of `groups` workgroups of 256 that multiplies and adds in registers. It has four vectors of four
/// numbers, which do not wait for each other. The numbers differ, and each invocation writes 16 bytes, so that a
/// compiler leaves nothing out.
pub fn arithmetic_kernel(groups: u32) -> RecordedDispatch {
    let wgsl = "
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var a = vec4(0.0, 1.0, 2.0, 3.0) + f32(id.x);
    var b = a + 4.0;
    var c = a + 8.0;
    var d = a + 12.0;
    for (var i = 0; i < 512; i++) {
        a = a * 0.5 + 0.25;
        b = b * 0.5 + 0.25;
        c = c * 0.5 + 0.25;
        d = d * 0.5 + 0.25;
    }
    sums[id.x] = a + b + c + d;
}
";
    RecordedDispatch { name: "arithmetic", wgsl: wgsl.to_owned(), params: vec![0; 16], groups: [groups, 1, 1] }
}
