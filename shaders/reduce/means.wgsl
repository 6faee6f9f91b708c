// The means that contrast steps need: each thread adds up the PARTIALS of its image once, always in the same order.
// `src/plan/wgsl.rs` writes the variables, `mean(statistic)` and `set_mean(statistic, mean)`.

fn load_means(image: u32) {
    let pixels = f32(output_size.x) * f32(output_size.y);
    for (var statistic = 0u; statistic < KNOWN_STATISTICS; statistic++) {
        let first = (images[image].number * STATISTICS + statistic) * PARTIALS;
        var sum = 0.0;
        for (var i = 0u; i < PARTIALS; i++) {
            sum += statistics[first + i];
        }
        set_mean(statistic, sum / pixels);
    }
}
