// The numbers of an operator that begins a stage; the Rust twin is `GatherNumbers` in `src/plan/shader_layout.rs`.
struct Gather {
    // One of the constants below.
    kind: u32,
    // Sides of the image that it reads.
    width: i32,
    height: i32,
    // The pixel of that image at which the present part begins.
    left: i32,
    top: i32,
    // Warps: 1 for the nearest pixel, 0 for bilinear.
    nearest: u32,
    // Warps: 1 if `fill` is the colour outside the image.
    filled: u32,
    // Tables: where they begin in `statistics`.
    table: u32,
    // Affine: six entries. Perspective: eight coefficients. Sharpness: 1 - factor. Blur: the sides of the kernel.
    first: vec4<f32>,
    second: vec4<f32>,
    fill: vec4<f32>,
    // Warps of 8-bit numbers: entries in pairs of an upper and a lower half, in the order of `src/warp/grid.rs`; of a
    // perspective the last one has the shift of its sums, and the bits of its fractions.
    whole_0: vec4<u32>,
    whole_1: vec4<u32>,
    whole_2: vec4<u32>,
    whole_3: vec4<u32>,
    whole_4: vec4<u32>,
    whole_5: vec4<u32>,
}

const NOTHING: u32 = 0u;
const AFFINE: u32 = 1u;
const PERSPECTIVE: u32 = 2u;
const BLUR: u32 = 3u;
const SHARPEN: u32 = 4u;
const AUTOCONTRAST: u32 = 5u;
const EQUALIZE: u32 = 6u;
