// Any filter, any border: the true taps of each axis, every output for itself. The Rust twin is `Axis::taps`.

const NEAREST: u32 = 0u;
const NEAREST_EXACT: u32 = 1u;
const LINEAR: u32 = 2u;
const CUBIC: u32 = 3u;
const LINEAR_ANTIALIAS: u32 = 4u;
const CUBIC_ANTIALIAS: u32 = 5u;

// The taps of one output on one axis: view pixels `first .. first + count`.
struct Taps {
    first: i32,
    count: i32,
    // Antialiased filters: the centre. Others: the fraction between two pixels.
    at: f32,
}

fn cubic_inner(x: f32, a: f32) -> f32 {
    return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
}

fn cubic_outer(x: f32, a: f32) -> f32 {
    return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}

// `ANTIALIASES`, `LINEARS` and so on say which filters the plan's stage can have at all; the rest is folded away.
fn taps_of(axis: Axis, i: i32, filter_mode: u32) -> Taps {
    let centre = axis.scale * (f32(i) + 0.5) + axis.phase;
    if (LINEAR_ANTIALIASES && filter_mode == LINEAR_ANTIALIAS) || (CUBIC_ANTIALIASES && filter_mode == CUBIC_ANTIALIAS) {
        // Conversion to i32 truncates toward zero, as ATen's does.
        let first = max(i32(centre - axis.support + 0.5), 0);
        let end = min(i32(centre + axis.support + 0.5), axis.view_len);
        return Taps(first, end - first, centre);
    }
    if LINEARS && filter_mode == LINEAR {
        let at = max(centre - 0.5, 0.0);
        let first = min(i32(at), axis.view_len - 1);
        return Taps(first, 2, at - f32(first));
    }
    if CUBICS && filter_mode == CUBIC {
        let at = centre - 0.5;
        let first = floor(at);
        return Taps(i32(first) - 1, 4, at - first);
    }
    // Nearest; also what an image that has the size already takes, whatever the filter.
    return Taps(i32(select(axis.scale * f32(i), centre, filter_mode == NEAREST_EXACT)), 1, 0.0);
}

// The weight of the k-th tap; antialiased ones are divided by their sum later.
fn weight_of(axis: Axis, taps: Taps, k: i32, filter_mode: u32) -> f32 {
    if LINEAR_ANTIALIASES && filter_mode == LINEAR_ANTIALIAS {
        return max(1.0 - abs((f32(k + taps.first) - taps.at + 0.5) * axis.inverse), 0.0);
    }
    if CUBIC_ANTIALIASES && filter_mode == CUBIC_ANTIALIAS {
        let x = abs((f32(k + taps.first) - taps.at + 0.5) * axis.inverse);
        return select(select(0.0, cubic_outer(x, -0.5), x < 2.0), cubic_inner(x, -0.5), x < 1.0);
    }
    if LINEARS && filter_mode == LINEAR {
        return select(taps.at, 1.0 - taps.at, k == 0);
    }
    if CUBICS && filter_mode == CUBIC {
        let x = abs(taps.at + 1.0 - f32(k));
        return select(cubic_outer(x, -0.75), cubic_inner(x, -0.75), k == 1 || k == 2);
    }
    return 1.0;
}

// The weighted sum of an output's taps.
fn direct_pixel(
    axis_x: Axis,
    axis_y: Axis,
    taps_x: Taps,
    taps_y: Taps,
    filter_mode: u32,
    border: u32,
    source_fill: vec4<f32>,
) -> vec4<f32> {
    var sum = vec4<f32>(0.0);
    var weight_y = 0.0;
    var weight_x = 0.0;
    for (var j = 0; j < taps_y.count; j++) {
        let source_y = source_index(axis_y, taps_y.first + j, border);
        let wy = weight_of(axis_y, taps_y, j, filter_mode);
        var row = vec4<f32>(0.0);
        weight_x = 0.0;
        for (var k = 0; k < taps_x.count; k++) {
            let source_x = source_index(axis_x, taps_x.first + k, border);
            let wx = weight_of(axis_x, taps_x, k, filter_mode);
            var pixel = source_fill;
            if !BORDERS || (source_x != OUTSIDE && source_y != OUTSIDE) {
                pixel = load(source_x, source_y);
            }
            row += wx * pixel;
            weight_x += wx;
        }
        sum += wy * row;
        weight_y += wy;
    }
    if filter_mode >= LINEAR_ANTIALIAS {
        sum = sum / (weight_x * weight_y);
    }
    return sum;
}

// One column of up to ROWS outputs. The loop reads no number of the image and computes nothing of the column again: drivers move
// neither out of it. Only a border puts pixels OUTSIDE.
fn direct(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    let filter_mode = images[image].filter_mode;
    let grid_border = images[image].grid_border;
    let source_border = images[image].source_border;
    let source_fill = images[image].source_fill;
    let grid_fill = images[image].grid_fill;
    let grid_x = grid_index(axis_x, x, grid_border);
    let taps_x = taps_of(axis_x, grid_x, filter_mode);
    for (var y = first_y; y < end_y; y++) {
        let grid_y = grid_index(axis_y, y, grid_border);
        var value = grid_fill;
        if !(BORDERS && (grid_x == OUTSIDE || grid_y == OUTSIDE)) {
            let taps_y = taps_of(axis_y, grid_y, filter_mode);
            value = direct_pixel(axis_x, axis_y, taps_x, taps_y, filter_mode, source_border, source_fill);
        }
        emit(image, x, y, value);
    }
}
