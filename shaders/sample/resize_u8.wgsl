// A resize on 8-bit numbers: integer sums of the weights that `src/plan/resize_u8.rs` has made, first across, rounded to
// 8 bits, then down. The weights of an axis: the number of taps, the fractional bits, and for each output the first
// pixel, or OUTSIDE, and its weights.

fn rounded(sum: vec3<i32>, bits: u32) -> vec3<i32> {
    return clamp((sum + ((1i << bits) >> 1u)) >> vec3(bits), vec3(0), vec3(255));
}

fn across(axis_x: Axis, entry: u32, taps: u32, bits: u32, source_y: i32) -> vec3<i32> {
    let first = bitcast<i32>(statistics[entry]);
    var sum = vec3(0);
    for (var k = 0u; k < taps; k++) {
        // Weights after the last pixel are 0.
        let source_x = source_index(axis_x, min(first + i32(k), axis_x.view_len - 1), BORDER_EDGE);
        let word = source[source_offset + u32(source_y) * source_stride + u32(source_x)];
        let pixel = vec3<i32>(vec3(word & 255u, (word >> 8u) & 255u, (word >> 16u) & 255u));
        sum += bitcast<i32>(statistics[entry + 1u + k]) * pixel;
    }
    return rounded(sum, bits);
}

fn resize_u8(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    let weights_x = images[image].weights_x;
    let weights_y = images[image].weights_y;
    let taps_x = statistics[weights_x];
    let taps_y = statistics[weights_y];
    let entry_x = weights_x + 2u + u32(x) * (1u + taps_x);
    for (var y = first_y; y < end_y; y++) {
        let entry_y = weights_y + 2u + u32(y) * (1u + taps_y);
        let first = bitcast<i32>(statistics[entry_y]);
        var value = images[image].grid_fill;
        if first != OUTSIDE && bitcast<i32>(statistics[entry_x]) != OUTSIDE {
            var sum = vec3(0);
            for (var k = 0u; k < taps_y; k++) {
                let source_y = source_index(axis_y, min(first + i32(k), axis_y.view_len - 1), BORDER_EDGE);
                let row = across(axis_x, entry_x, taps_x, statistics[weights_x + 1u], source_y);
                sum += bitcast<i32>(statistics[entry_y + 1u + k]) * row;
            }
            value = of_levels(vec4(vec3<u32>(rounded(sum, statistics[weights_y + 1u])), 255u));
        }
        emit(image, x, y, value);
    }
}

fn sample(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    if images[image].weights_x != 0u {
        resize_u8(image, axis_x, axis_y, x, first_y, end_y);
    } else {
        direct(image, axis_x, axis_y, x, first_y, end_y);
    }
}
