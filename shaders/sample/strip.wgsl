// Bilinear, antialiased, reducing in y, no border: a thread filters each source row once for its column and adds it to at
// most two outputs that are alive at a time, since the triangles of outputs o and o + 2 do not overlap. No barrier, no
// workgroup memory, no intermediate. Measured against per-output taps: `benches/LOG.md`.

// Without a border a view pixel is a source pixel at a constant offset, mirrored or not.
fn view_origin(axis: Axis) -> i32 {
    return axis.source_start + axis.source_window + select(0, axis.view_len - 1, axis.view_mirror == 1u);
}

fn triangle(view: i32, centre: f32, inverse: f32) -> f32 {
    return max(1.0 - abs((f32(view) - centre + 0.5) * inverse), 0.0);
}

// The first view pixel behind the taps of a grid pixel.
fn taps_end(axis: Axis, grid: i32) -> i32 {
    return min(i32(axis.scale * (f32(grid) + 0.5) + axis.phase + axis.support + 0.5), axis.view_len);
}

// The first view pixel of a grid pixel's taps. Those of the last but one before it end there, up to rounding, and in no strip
// does it get what they got: no bit of an output depends on where its strip begins.
fn taps_begin(axis: Axis, grid: i32) -> i32 {
    let first = max(i32(axis.scale * (f32(grid) + 0.5) + axis.phase - axis.support + 0.5), 0);
    return max(first, select(0, taps_end(axis, grid - 2), grid > 1));
}

// One column of up to ROWS outputs, in the order of the grid's rows (the outputs' reversed when mirrored).
fn strip(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    let grid_x = grid_index(axis_x, x, BORDER_EDGE);
    let centre_x = axis_x.scale * (f32(grid_x) + 0.5) + axis_x.phase;
    let first_x = max(i32(centre_x - axis_x.support + 0.5), 0);
    let end_x = min(i32(centre_x + axis_x.support + 0.5), axis_x.view_len);
    // Places in the source go from pixel to pixel and from row to row by additions: GPUs multiply integers slowly.
    let step_x = select(1, -1, axis_x.view_mirror == 1u);
    let step_y = select(1, -1, axis_y.view_mirror == 1u) * i32(source_stride);
    let first_column = i32(source_offset) + view_origin(axis_x) + step_x * first_x;
    var sum_x = 0.0;
    for (var v = first_x; v < end_x; v++) {
        sum_x += triangle(v, centre_x, axis_x.inverse);
    }

    // Grid rows ascend; with a mirror the outputs descend.
    let mirrored = axis_y.grid_mirror == 1u;
    var output = select(first_y, end_y - 1, mirrored);
    let direction = select(1, -1, mirrored);
    var grid_y = grid_index(axis_y, output, BORDER_EDGE);
    let end_grid = grid_y + (end_y - first_y);
    var centre = axis_y.scale * (f32(grid_y) + 0.5) + axis_y.phase;
    var next_centre = axis_y.scale * (f32(grid_y + 1) + 0.5) + axis_y.phase;
    var end = taps_end(axis_y, grid_y);
    var current = vec3<f32>(0.0);
    var next = vec3<f32>(0.0);
    var current_weight = 0.0;
    var next_weight = 0.0;
    var y = taps_begin(axis_y, grid_y);
    var row_begin = view_origin(axis_y) * i32(source_stride) + step_y * y + first_column;
    // Loops and no branch: a software GPU would execute both sides, colour and stores included, at every source row.
    while grid_y < end_grid {
        let both = min(taps_begin(axis_y, grid_y + 1), end);
        for (; y < both; y++) {
            let row = weighted_row(row_begin, step_x, first_x, end_x, centre_x, axis_x.inverse);
            let weight = triangle(y, centre, axis_y.inverse);
            current += weight * row;
            current_weight += weight;
            row_begin += step_y;
        }
        for (; y < end; y++) {
            let row = weighted_row(row_begin, step_x, first_x, end_x, centre_x, axis_x.inverse);
            let weight = triangle(y, centre, axis_y.inverse);
            let weight_after = triangle(y, next_centre, axis_y.inverse);
            current += weight * row;
            current_weight += weight;
            next += weight_after * row;
            next_weight += weight_after;
            row_begin += step_y;
        }
        emit(image, x, output, vec4(current / (current_weight * sum_x), 1.0));
        output += direction;
        grid_y += 1;
        centre = next_centre;
        next_centre = axis_y.scale * (f32(grid_y + 1) + 0.5) + axis_y.phase;
        end = taps_end(axis_y, grid_y);
        current = next;
        current_weight = next_weight;
        next = vec3<f32>(0.0);
        next_weight = 0.0;
    }
}
