// The means that contrast steps need: each thread adds up the PARTIALS of its image once, always in the same order.
var<private> means: array<f32, STATISTICS>;

fn load_means(image: u32) {
    let pixels = f32(axis_x.len) * f32(axis_y.len);
    for (var statistic = 0u; statistic < KNOWN_STATISTICS; statistic++) {
        let first = (images[image].number * STATISTICS + statistic) * PARTIALS;
        var sum = 0.0;
        for (var i = 0u; i < PARTIALS; i++) {
            sum += statistics[first + i];
        }
        means[statistic] = sum / pixels;
    }
}
