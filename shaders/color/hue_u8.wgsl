// The number of a value of up to 255 · 2^20: torchvision's ToDtype(uint8, scale=True), which cuts value · 255.999 / 255 to
// a whole number. 255.999 / 255 is 1 + (1 + 3059.37 / 2^20) / 256.
fn level_of_hue(value: u32) -> u32 {
    let small = value >> 8u;
    return (value + small + ((small * 3059u) >> 20u)) >> 20u;
}

// Turns the hue in whole numbers, as `src/color/hue.rs` does. With `range`, the greatest minus the least number, as the unit
// of a sixth of the circle nothing has to be divided; fractions have 20 bits.
fn hue_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let k = vec3<i32>(levels(value).xyz);
    let high = max(max(k.x, k.y), k.z);
    let low = min(min(k.x, k.y), k.z);
    let range = high - low;
    let circle = (6 * range) << 20u;
    // Red wins ties, then green.
    var sixths = 4 * range + k.x - k.y;
    if high == k.x {
        sixths = k.y - k.z;
    } else if high == k.y {
        sixths = 2 * range + k.z - k.x;
    }
    // A fraction close to 1 is rounded to it: a whole turn.
    let turn = i32(round((step.value.x - floor(step.value.x)) * 6291456.0)) % 6291456;
    var at = sixths << 20u;
    at += select(0, circle, at < 0) - (circle - range * turn);
    at += select(0, circle, at < 0);

    let sixth = range << 20u;
    let sector = select(0, 1, at >= sixth)
        + select(0, 1, at >= 2 * sixth)
        + select(0, 1, at >= 3 * sixth)
        + select(0, 1, at >= 4 * sixth)
        + select(0, 1, at >= 5 * sixth);
    let part = at - sector * sixth;
    let v = bitcast<u32>(high);
    let p = bitcast<u32>(low);
    let q = level_of_hue(bitcast<u32>((high << 20u) - part));
    let t = level_of_hue(bitcast<u32>((low << 20u) + part));
    switch sector {
        case 0: {
            return of_levels(vec4(v, t, p, 255u));
        }
        case 1: {
            return of_levels(vec4(q, v, p, 255u));
        }
        case 2: {
            return of_levels(vec4(p, v, t, 255u));
        }
        case 3: {
            return of_levels(vec4(p, q, v, 255u));
        }
        case 4: {
            return of_levels(vec4(t, p, v, 255u));
        }
        default: {
            return of_levels(vec4(v, p, q, 255u));
        }
    }
}
