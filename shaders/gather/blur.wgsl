// Gaussian blur. A thread filters each row that its column of outputs needs once across, and adds it to all of them: for a
// kernel of 23 that is 55 loads an output instead of 529, without an intermediate.

// The pixel that coordinate `i` shows: reflected about the edge pixels, which are not repeated.
fn reflected(i: i32, len: i32) -> i32 {
    return border_index(i, len, BORDER_REFLECT);
}

fn sample(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    load_gather(image);
    let columns = i32(gather_first.x);
    let rows = i32(gather_first.y);
    let center = source_index(axis_x, grid_index(axis_x, x, BORDER_EDGE), BORDER_EDGE);
    // Outputs show rows in ascending or, mirrored, in descending order.
    let begin_row = source_index(axis_y, grid_index(axis_y, first_y, BORDER_EDGE), BORDER_EDGE);
    let end_row = source_index(axis_y, grid_index(axis_y, end_y - 1, BORDER_EDGE), BORDER_EDGE);
    let lowest = min(begin_row, end_row);
    // The column of outputs in quarters of four: see `prelude.wgsl` for why these are matrices and not an array.
    var sums_0 = mat4x3<f32>();
    var sums_1 = mat4x3<f32>();
    var sums_2 = mat4x3<f32>();
    var sums_3 = mat4x3<f32>();
    for (var row = lowest - rows / 2; row <= max(begin_row, end_row) + rows / 2; row++) {
        let source_y = reflected(row, gather_height);
        var across = vec3(0.0);
        for (var k = 0; k < columns; k++) {
            let source_x = reflected(center - columns / 2 + k, gather_width);
            let pixel = kept(load(source_x - gather_left, source_y - gather_top).xyz);
            across = added_product(across, vec3(images[image].weights[k]), pixel);
        }
        for (var i = 0; i < 4; i++) {
            let k = row - (lowest + i) + rows / 2;
            if k >= 0 && k < rows {
                sums_0[i] = added_product(sums_0[i], vec3(images[image].weights[columns + k]), across);
            }
            if k >= 4 && k < rows + 4 {
                sums_1[i] = added_product(sums_1[i], vec3(images[image].weights[columns + k - 4]), across);
            }
            if k >= 8 && k < rows + 8 {
                sums_2[i] = added_product(sums_2[i], vec3(images[image].weights[columns + k - 8]), across);
            }
            if k >= 12 && k < rows + 12 {
                sums_3[i] = added_product(sums_3[i], vec3(images[image].weights[columns + k - 12]), across);
            }
        }
    }
    for (var i = 0; i < end_y - first_y; i++) {
        var quarter = sums_0;
        if i >= 12 {
            quarter = sums_3;
        } else if i >= 8 {
            quarter = sums_2;
        } else if i >= 4 {
            quarter = sums_1;
        }
        let sum = quarter[i % 4];
        var value = vec4(sum, 1.0);
        if UINT8 {
            value = vec4(round(kept(clamp(sum, vec3(0.0), vec3(1.0)) * 255.0)) * (1.0 / 255.0), 1.0);
        }
        emit(image, x, select(first_y + i, end_y - 1 - i, end_row < begin_row), value);
    }
}
