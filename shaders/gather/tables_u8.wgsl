// Numbers of 8 bits. torch divides floats, `(k - low) / f32((high - low) / 255)`, and truncates. That differs from
// `(k - low) · 255 / (high - low)` in integers only where the latter is whole: there the float may be just below it.
fn stretched(k: u32, low: u32, high: u32) -> u32 {
    let range = high - low;
    let above = min(k, high) - min(k, low);
    let whole = above * 255u / range;
    if above * 255u % range != 0u || whole == 0u {
        return whole;
    }
    // The divisor is `divisor · 2^-31`: 0x808081 · 2^-31 is 1/255 in f32. The quotient is below the whole number if their
    // product is above the dividend, and it is rounded up to the number if it is at most half a step of a float below.
    let divisor = rounded_product(range, 0x808081u);
    let upper = (divisor >> 16u) * whole;
    let times = added(vec2(upper >> 16u, upper << 16u), vec2(0u, (divisor & 0xffffu) * whole));
    let excess = added(times, term(vec2(0u, above), -1, true));
    let half_steps = select(24u - firstLeadingBit(max(whole - 1u, 1u)), 25u, whole == 1u);
    if bitcast<i32>(excess.x) >= 0 && excess.y > divisor >> half_steps {
        return whole - 1u;
    }
    return whole;
}

fn write_entry(channel: u32, k: u32, pixels: u32) {
    let low = u32(round(of_ordered(atomicLoad(&least[channel])) * 255.0));
    let high = u32(round(of_ordered(atomicLoad(&greatest[channel])) * 255.0));
    var value = equalized(channel, k, pixels);
    if gather_kind == AUTOCONTRAST {
        value = k;
        if low != high {
            value = stretched(k, low, high);
        }
    }
    statistics[gather_table + 256u * channel + k] = value;
}
