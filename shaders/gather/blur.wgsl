// Gaussian blur. A thread filters each row that its column of outputs needs once across, and adds it to all of them: for a
// kernel of 23 that is 55 loads an output instead of 529, without an intermediate.

// The pixel that coordinate `i` shows: reflected about the edge pixels, which are not repeated.
fn reflected(i: i32, len: i32) -> i32 {
    return border_index(i, len, BORDER_REFLECT);
}

fn sample(image: u32, x: i32, first_y: i32, end_y: i32) {
    gather = images[image].gather;
    let columns = i32(gather.first.x);
    let rows = i32(gather.first.y);
    let center = source_index(axis_x, grid_index(axis_x, x, BORDER_EDGE), BORDER_EDGE);
    // Outputs show rows in ascending or, mirrored, in descending order.
    let begin_row = source_index(axis_y, grid_index(axis_y, first_y, BORDER_EDGE), BORDER_EDGE);
    let end_row = source_index(axis_y, grid_index(axis_y, end_y - 1, BORDER_EDGE), BORDER_EDGE);
    let lowest = min(begin_row, end_row);
    var sums: array<vec3<f32>, ROWS>;
    for (var row = lowest - rows / 2; row <= max(begin_row, end_row) + rows / 2; row++) {
        let source_y = reflected(row, gather.height);
        var across = vec3(0.0);
        for (var k = 0; k < columns; k++) {
            across += images[image].weights[k] * pixel_before(reflected(center - columns / 2 + k, gather.width), source_y).xyz;
        }
        for (var i = 0; i < i32(ROWS); i++) {
            let k = row - (lowest + i) + rows / 2;
            if k >= 0 && k < rows {
                sums[i] += images[image].weights[columns + k] * across;
            }
        }
    }
    for (var i = 0; i < end_y - first_y; i++) {
        var value = vec4(sums[i], 1.0);
        if UINT8 {
            value = round(vec4(sums[i], 255.0)) * (1.0 / 255.0);
        }
        emit(image, x, select(first_y + i, end_y - 1 - i, end_row < begin_row), value);
    }
}
