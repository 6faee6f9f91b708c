// What every pass shares: the structs (twins of Rust's `Axis`, `Step`, `Image`; a test compares the layouts), the bindings,
// and the mapping from outputs to source pixels of `src/plan/sampling.rs`. `MAX_STEPS` and the other constants in capitals
// are put in front by `src/plan/wgsl.rs`, which also makes `statistics` u32 where they are of 8-bit numbers, and adds
// `gather` to `Image`.

struct Axis {
    len: i32,
    grid_mirror: u32,
    grid_window: i32,
    grid_start: i32,
    grid_len: i32,
    scale: f32,
    support: f32,
    inverse: f32,
    view_len: i32,
    view_mirror: u32,
    source_window: i32,
    source_start: i32,
    source_len: i32,
    phase: f32,
    // 0, for `exact/exact.wgsl`.
    zero: u32,
    padding: u32,
}

struct Step {
    opcode: u32,
    integer_0: u32,
    integer_1: u32,
    integer_2: u32,
    value: vec4<f32>,
}

struct Image {
    x: Axis,
    y: Axis,
    source_fill: vec4<f32>,
    grid_fill: vec4<f32>,
    source_border: u32,
    grid_border: u32,
    filter_mode: u32,
    strip: u32,
    source_offset: u32,
    source_stride: u32,
    source_float: u32,
    target_offset: u32,
    steps_len: u32,
    number: u32,
    // Where the weights of a resize on 8-bit numbers begin in `statistics`; 0 without one.
    weights_x: u32,
    weights_y: u32,
    // An operator of `gather/` has its numbers here.
    steps: array<Step, MAX_STEPS>,
}

@group(0) @binding(1) var<storage, read> images: array<Image>;
// PARTIALS numbers for each statistic of each image: sums of rows, added up in a fixed order by whoever needs the mean.
@group(0) @binding(2) var<storage, read_write> statistics: array<f32>;

// What a thread needs of its image over and over, read once: software GPUs pay for every load of a storage buffer, and
// real ones keep these in scalar registers.
//
// Variables are scalars, vectors and matrices, never structs or arrays, except workgroup arrays: naga decorates the type of
// each struct and array with a layout, which Vulkan allows in buffers alone (VUID-StandaloneSpirv-None-10684,
// https://github.com/gfx-rs/wgpu/issues/7696). `scripts/test-translations.sh` watches this.
var<private> output_size: vec2<i32>;
var<private> source_offset: u32;
var<private> source_stride: u32;
var<private> source_float: bool;
var<private> target_offset: u32;
var<private> steps_len: u32;

fn begin(image: u32) {
    output_size = vec2(images[image].x.len, images[image].y.len);
    source_offset = images[image].source_offset;
    source_stride = images[image].source_stride;
    source_float = images[image].source_float == 1u;
    target_offset = images[image].target_offset;
    steps_len = images[image].steps_len;
    load_steps(image);
    load_means(image);
}

const BORDER_EDGE: u32 = 0u;
const BORDER_CONSTANT: u32 = 1u;
const BORDER_REFLECT: u32 = 2u;
const BORDER_SYMMETRIC: u32 = 3u;
// Stands for "the fill colour shows here".
const OUTSIDE: i32 = -1;

// Where coordinate `i` of a window lands in a rectangle of `len` pixels. One remainder serves both reflections, because GPUs compute
// it in twenty instructions. It is that of unsigned numbers: GLSL, which the OpenGL backend gets, leaves open the sign of others.
fn border_index(i: i32, len: i32, mode: u32) -> i32 {
    if i >= 0 && i < len {
        return i;
    }
    if mode == BORDER_CONSTANT {
        return OUTSIDE;
    }
    if mode != BORDER_REFLECT && mode != BORDER_SYMMETRIC {
        return clamp(i, 0, len - 1);
    }
    // A reflection does not repeat the pixels at the edges.
    let repeated = select(0, 1, mode == BORDER_SYMMETRIC);
    let period = u32(max(2 * (len - 1 + repeated), 1));
    let rest = u32(select(i, -1 - i, i < 0)) % period;
    let phase = i32(select(rest, period - 1u - rest, i < 0));
    return select(i32(period) - repeated - phase, phase, phase < len);
}

// The grid coordinate of output `i`, or OUTSIDE.
fn grid_index(axis: Axis, i: i32, border: u32) -> i32 {
    let mirrored = select(i, axis.len - 1 - i, axis.grid_mirror == 1u);
    if !BORDERS {
        return mirrored + axis.grid_window + axis.grid_start;
    }
    let inside = border_index(mirrored + axis.grid_window, axis.grid_len, border);
    return select(inside + axis.grid_start, OUTSIDE, inside == OUTSIDE);
}

// The source pixel of view pixel `i`, or OUTSIDE.
fn source_index(axis: Axis, i: i32, border: u32) -> i32 {
    let clamped = clamp(i, 0, axis.view_len - 1);
    let mirrored = select(clamped, axis.view_len - 1 - clamped, axis.view_mirror == 1u);
    if !BORDERS {
        return mirrored + axis.source_window + axis.source_start;
    }
    let inside = border_index(mirrored + axis.source_window, axis.source_len, border);
    return select(inside + axis.source_start, OUTSIDE, inside == OUTSIDE);
}
