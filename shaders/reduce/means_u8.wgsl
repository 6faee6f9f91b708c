// The means that contrast steps on 8-bit numbers need, rounded to f32: each thread divides the sum of its image's
// PARTIALS, which are integers. `src/plan/wgsl.rs` writes the variables, `mean(statistic)` and `set_mean(statistic, mean)`.

fn load_means(image: u32) {
    let pixels = u32(output_size.x) * u32(output_size.y);
    for (var statistic = 0u; statistic < KNOWN_STATISTICS; statistic++) {
        let first = (images[image].number * STATISTICS + statistic) * PARTIALS;
        var sum = 0u;
        for (var i = 0u; i < PARTIALS; i++) {
            sum += statistics[first + i];
        }
        set_mean(statistic, quotient(sum, pixels));
    }
}

// `sum / count` to 24 bits, ties to even, for a count of up to 2^24: the mantissa, and the exponent's bits. A division of
// WGSL may be off by 2.5 units.
fn quotient(sum: u32, count: u32) -> vec2<u32> {
    var mantissa = sum / count;
    var rest = sum % count;
    var exponent = 0;
    while mantissa < 0x800000u && (mantissa | rest) != 0u {
        rest *= 2u;
        mantissa = 2u * mantissa + select(0u, 1u, rest >= count);
        rest -= select(0u, count, rest >= count);
        exponent -= 1;
    }
    let up = 2u * rest > count || (2u * rest == count && (mantissa & 1u) == 1u);
    return vec2(mantissa + select(0u, 1u, up), bitcast<u32>(exponent));
}

// A product of two numbers of up to 25 bits.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let middle = (a >> 12u) * (b & 0xfffu) + (a & 0xfffu) * (b >> 12u);
    let high = (a >> 12u) * (b >> 12u);
    let low = added(vec2(high >> 8u, high << 24u), vec2(middle >> 20u, middle << 12u));
    return added(low, vec2(0u, (a & 0xfffu) * (b & 0xfffu)));
}
