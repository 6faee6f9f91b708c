// Bilinear, antialiased, reducing in y, no border: a thread filters each source row once for its column and adds it to at
// most two outputs that are alive at a time, since the triangles of outputs o and o + 2 do not overlap. No barrier, no
// workgroup memory, no intermediate. Measured against per-output taps: `benches/LOG.md`.

fn strip_row(image: u32, first: i32, count: i32, centre: f32, y: i32) -> vec4<f32> {
    let axis_x = images[image].x;
    let source_y = source_index(images[image].y, y, BORDER_EDGE);
    var row = vec4<f32>(0.0);
    for (var k = 0; k < count; k++) {
        let weight = max(1.0 - abs((f32(first + k) - centre + 0.5) * axis_x.inverse), 0.0);
        row += weight * load(image, source_index(axis_x, first + k, BORDER_EDGE), source_y);
    }
    return row;
}

// One column of up to ROWS outputs, in the order of the grid's rows (the outputs' reversed when mirrored).
fn strip(image: u32, x: i32, first_y: i32, end_y: i32) {
    let axis_x = images[image].x;
    let axis_y = images[image].y;
    let grid_x = grid_index(axis_x, x, BORDER_EDGE);
    let centre_x = axis_x.scale * (f32(grid_x) + 0.5);
    let first_x = max(i32(centre_x - axis_x.support + 0.5), 0);
    let count_x = min(i32(centre_x + axis_x.support + 0.5), axis_x.view_len) - first_x;
    var sum_x = 0.0;
    for (var k = 0; k < count_x; k++) {
        sum_x += max(1.0 - abs((f32(first_x + k) - centre_x + 0.5) * axis_x.inverse), 0.0);
    }

    // Grid rows ascend; with a mirror the outputs descend.
    let mirrored = axis_y.grid_mirror == 1u;
    var output = select(first_y, end_y - 1, mirrored);
    let direction = select(1, -1, mirrored);
    var grid_y = grid_index(axis_y, output, BORDER_EDGE);
    let end_grid = grid_y + (end_y - first_y);
    let last_centre = axis_y.scale * (f32(end_grid - 1) + 0.5);
    let end_row = min(i32(last_centre + axis_y.support + 0.5), axis_y.view_len);
    var centre = axis_y.scale * (f32(grid_y) + 0.5);
    var next_centre = axis_y.scale * (f32(grid_y + 1) + 0.5);
    var end = min(i32(centre + axis_y.support + 0.5), axis_y.view_len);
    var current = vec4<f32>(0.0);
    var next = vec4<f32>(0.0);
    var current_weight = 0.0;
    var next_weight = 0.0;
    for (var y = max(i32(centre - axis_y.support + 0.5), 0); y < end_row; y++) {
        if y >= end {
            emit(image, x, output, current / (current_weight * sum_x));
            output += direction;
            grid_y += 1;
            centre = next_centre;
            next_centre = axis_y.scale * (f32(grid_y + 1) + 0.5);
            end = min(i32(centre + axis_y.support + 0.5), axis_y.view_len);
            current = next;
            current_weight = next_weight;
            next = vec4<f32>(0.0);
            next_weight = 0.0;
        }
        let row = strip_row(image, first_x, count_x, centre_x, y);
        let weight = max(1.0 - abs((f32(y) - centre + 0.5) * axis_y.inverse), 0.0);
        let weight_after = max(1.0 - abs((f32(y) - next_centre + 0.5) * axis_y.inverse), 0.0);
        current += weight * row;
        current_weight += weight;
        next += weight_after * row;
        next_weight += weight_after;
    }
    emit(image, x, output, current / (current_weight * sum_x));
    // At scale 1 the last two outputs end at the same row.
    if grid_y + 1 < end_grid {
        emit(image, x, output + direction, next / (next_weight * sum_x));
    }
}
