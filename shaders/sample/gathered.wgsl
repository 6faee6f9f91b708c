// A stage that begins with an operator of `gather/`: its results, cropped, mirrored and bordered.

fn sample(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    load_gather(image);
    let border = images[image].source_border;
    let source_fill = images[image].source_fill;
    let source_x = source_index(axis_x, grid_index(axis_x, x, BORDER_EDGE), border);
    for (var y = first_y; y < end_y; y++) {
        let source_y = source_index(axis_y, grid_index(axis_y, y, BORDER_EDGE), border);
        var value = source_fill;
        if !BORDERS || (source_x != OUTSIDE && source_y != OUTSIDE) {
            value = gathered(image, source_x, source_y);
        }
        emit(image, x, y, value);
    }
}
