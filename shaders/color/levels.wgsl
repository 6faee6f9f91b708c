// Numbers of 8 bits: k stands as k · (1/255), as in `src/color/levels.rs`. WGSL promises neither fused nor separate
// multiply-adds, so whatever decides the last level is computed in integers.

fn levels(value: vec4<f32>) -> vec4<u32> {
    return vec4<u32>(value * 255.0 + 0.5);
}

fn of_levels(numbers: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(numbers) * (1.0 / 255.0);
}

// torchvision's ToDtype(uint8, scale=True), as floats again.
fn truncated(value: vec4<f32>) -> vec4<f32> {
    return of_levels(vec4<u32>(clamp(value, vec4(0.0), vec4(1.0)) * (256.0 - 0.001)));
}

// torch's fused multiply-adds give one less than integers for three colours.
fn gray_level(k: vec4<u32>) -> u32 {
    let green_and_blue = k.y * 1000u + k.z;
    let one_less = green_and_blue == 9228u || green_and_blue == 13146u || green_and_blue == 47199u;
    return (2989u * k.x + 5870u * k.y + 1140u * k.z) / 10000u - select(0u, 1u, k.x == 250u && one_less);
}

// A finite float: mantissa · 2^exponent. Subnormal ones count as 0.
struct Number {
    mantissa: u32,
    exponent: i32,
    negative: bool,
}

fn number(value: f32) -> Number {
    let bits = bitcast<u32>(value);
    let exponent = (bits >> 23u) & 255u;
    let mantissa = select((bits & 0x7fffffu) | 0x800000u, 0u, exponent == 0u);
    return Number(mantissa, i32(exponent) - 150, (bits >> 31u) == 1u);
}

// Sums are fixed-point numbers of 64 bits, of which 32 are the fraction: x the upper half, y the lower one.

// `unsigned · 2^shift`, rounded down or up.
fn shifted(unsigned: vec2<u32>, shift: i32, up: bool) -> vec2<u32> {
    if shift >= 32 {
        return vec2(unsigned.y << u32(min(shift - 32, 31)), 0u);
    }
    if shift > 0 {
        let by = u32(shift);
        return vec2((unsigned.x << by) | (unsigned.y >> (32u - by)), unsigned.y << by);
    }
    if shift == 0 {
        return unsigned;
    }
    let by = u32(min(-shift, 63));
    var result = vec2(0u);
    var lost = 0u;
    if by < 32u {
        result = vec2(unsigned.x >> by, (unsigned.y >> by) | (unsigned.x << (32u - by)));
        lost = unsigned.y << (32u - by);
    } else if by == 32u {
        result.y = unsigned.x;
        lost = unsigned.y;
    } else {
        result.y = unsigned.x >> (by - 32u);
        lost = unsigned.y | (unsigned.x << (64u - by));
    }
    if up && lost != 0u {
        result.y += 1u;
        result.x += select(0u, 1u, result.y == 0u);
    }
    return result;
}

// `±unsigned · 2^exponent`, rounded down: floors of two terms decide as their exact sum does, because at most one of
// them has bits below the fraction's.
fn term(unsigned: vec2<u32>, exponent: i32, negative: bool) -> vec2<u32> {
    let size = shifted(unsigned, exponent + 32, negative);
    return select(size, vec2(~size.x + select(0u, 1u, size.y == 0u), 0u - size.y), negative);
}

fn added(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.y + b.y;
    return vec2(a.x + b.x + select(0u, 1u, low < a.y), low);
}

// The sum rounded to f32, ties to even, then cut to a whole number from 0 to 255: a sum closer below a whole number than
// half a float's step becomes that number.
fn rounded_down(sum: vec2<u32>) -> u32 {
    let whole = bitcast<i32>(sum.x);
    if whole < 0 {
        return 0u;
    }
    if whole >= 255 {
        return 255u;
    }
    let step = select(firstLeadingBit(max(sum.x, 1u)) + 8u, 7u, whole == 0);
    return sum.x + select(0u, 1u, sum.y >= 0u - (1u << step));
}

// `k · mantissa`, rounded to the 24 bits of a float, ties to even.
fn rounded_product(k: u32, mantissa: u32) -> u32 {
    let exact = k * mantissa;
    if exact < 0x1000000u {
        return exact;
    }
    let cut = firstLeadingBit(exact) - 23u;
    let half = 1u << (cut - 1u);
    let kept = exact >> cut;
    let rest = exact & ((1u << cut) - 1u);
    return (kept + select(0u, 1u, rest > half || (rest == half && (kept & 1u) == 1u))) << cut;
}

// torch's `k · ratio`.
fn product(k: u32, ratio: Number) -> vec2<u32> {
    return term(vec2(0u, rounded_product(k, ratio.mantissa)), ratio.exponent, ratio.negative);
}

// torchvision's `_blend` of three numbers with a term that it adds to each product.
fn blended(k: vec4<u32>, ratio: Number, rest: vec2<u32>) -> vec4<f32> {
    let x = rounded_down(added(product(k.x, ratio), rest));
    let y = rounded_down(added(product(k.y, ratio), rest));
    let z = rounded_down(added(product(k.z, ratio), rest));
    return of_levels(vec4(x, y, z, 255u));
}
