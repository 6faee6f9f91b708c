// Warps of 8-bit numbers. Positions are whole multiples of a small part of a pixel, which host code has chosen so that the
// CPU's f64 has them exactly, too: `src/warp/grid.rs`. Here they are fixed-point numbers of 64 bits, of which 32 are the
// fraction, as in `color/levels.wgsl`: x the upper half, y the lower one.

// A position outside of every image.
const FAR: vec2<u32> = vec2(0x80000000u, 0u);

struct Position {
    x: vec2<u32>,
    y: vec2<u32>,
}

fn wide_product_of(a: u32, b: u32) -> vec2<u32> {
    let first = (a >> 16u) * (b & 0xffffu) + (((a & 0xffffu) * (b & 0xffffu)) >> 16u);
    let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
    return vec2((a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u), a * b);
}

// a · n, without the bits above the upper half.
fn times(a: vec2<u32>, n: u32) -> vec2<u32> {
    return wide_product_of(a.y, n) + vec2(a.x * n, 0u);
}

fn negated(a: vec2<u32>) -> vec2<u32> {
    return vec2(~a.x + select(0u, 1u, a.y == 0u), 0u - a.y);
}

// a · 2^-by, rounded to nearest; no number is halfway. `by` is 2 to 31.
fn rounded_shift(a: vec2<u32>, by: u32) -> vec2<u32> {
    let more = added(a, vec2(0u, 1u << (by - 1u)));
    return vec2(bitcast<u32>(bitcast<i32>(more.x) >> by), (more.y >> by) | (more.x << (32u - by)));
}

// One coordinate of a perspective, above / below - 1/2, cut to `bits` bits of its fraction. `below` has up to 23 bits.
// The quotient of floats is off by less than 64, so the remainder has 31 bits.
fn perspective_position(above: vec2<u32>, below: u32, len: i32, bits: u32) -> vec2<u32> {
    let dividend = added(added(above, above), vec2(0u, below));
    let divisor = 2u * below;
    let end = wide_product_of(divisor, bitcast<u32>(len + 1));
    if bitcast<i32>(dividend.x) < 0 || dividend.x > end.x || (dividend.x == end.x && dividend.y >= end.y) {
        return FAR;
    }
    let shifted_dividend = vec2((dividend.x << bits) | (dividend.y >> (32u - bits)), dividend.y << bits);
    let size = f32(shifted_dividend.x) * 4294967296.0 + f32(shifted_dividend.y);
    var quotient = u32(size / f32(divisor));
    var rest = bitcast<i32>(shifted_dividend.y - quotient * divisor);
    let units = i32(floor(f32(rest) / f32(divisor)));
    rest -= units * bitcast<i32>(divisor);
    quotient += bitcast<u32>(units + select(0, 1, rest >= bitcast<i32>(divisor)) - select(0, 1, rest < 0));
    // The quotient is the position plus 1.
    return vec2((quotient >> bits) - 1u, quotient << (32u - bits));
}

fn source_position(image: u32, x: u32, y: u32) -> Position {
    let first = images[image].gather.whole_0;
    let second = images[image].gather.whole_1;
    let third = images[image].gather.whole_2;
    if gather_kind == AFFINE {
        return Position(
            added(times(first.xy, x), added(times(first.zw, y), second.xy)),
            added(times(second.zw, x), added(times(third.xy, y), third.zw)),
        );
    }
    let fourth = images[image].gather.whole_3;
    let fifth = images[image].gather.whole_4;
    let scales = images[image].gather.whole_5;
    let across = 2u * x + 1u;
    let down = 2u * y + 1u;
    let shift = scales.x;
    var column = rounded_shift(added(times(first.xy, across), added(times(first.zw, down), second.xy)), shift);
    var row = rounded_shift(added(times(second.zw, across), added(times(third.xy, down), third.zw)), shift);
    var below = rounded_shift(added(times(fourth.xy, across), added(times(fourth.zw, down), fifth.xy)), shift);
    if bitcast<i32>(below.x) < 0 {
        column = negated(column);
        row = negated(row);
        below = negated(below);
    }
    if below.y == 0u {
        return Position(FAR, FAR);
    }
    return Position(
        perspective_position(column, below.y, gather_width, scales.y),
        perspective_position(row, below.y, gather_height, scales.y),
    );
}

// The whole number next to a position; of two, the even one.
fn nearest_number(position: vec2<u32>) -> i32 {
    let up = position.y > 0x80000000u || (position.y == 0x80000000u && (position.x & 1u) == 1u);
    return bitcast<i32>(position.x) + select(0, 1, up);
}

// The fraction of a position to the nearest float: one sum of two exact numbers.
fn fraction(position: vec2<u32>) -> f32 {
    return kept_one(f32(position.y >> 16u) * (1.0 / 65536.0) + f32(position.y & 0xffffu) * (1.0 / 4294967296.0));
}

// The sum with a pixel times its weight, and with the weight. A pixel of weight 0 may lie outside the part that is present.
fn with_tap(sum: vec4<f32>, x: i32, y: i32, weight: f32) -> vec4<f32> {
    let inside = x >= 0 && y >= 0 && x < gather_width && y < gather_height;
    if inside && weight > 0.0 {
        let color = added_product(sum.xyz, pixel_before(x, y).xyz, vec3(weight));
        return vec4(color, kept_one(sum.w + weight));
    }
    return sum;
}

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let at = source_position(image, bitcast<u32>(x), bitcast<u32>(y));
    let fill = select(vec4(0.0, 0.0, 0.0, 255.0), gather_fill, gather_filled == 1u).xyz;
    var value = fill;
    if gather_nearest == 1u {
        let column = nearest_number(at.x);
        let row = nearest_number(at.y);
        if column >= 0 && row >= 0 && column < gather_width && row < gather_height {
            value = pixel_before(column, row).xyz;
        }
    } else {
        // The sum's fourth number is the mask, the sum of the weights inside. torchvision blends with the fill by it once
        // more.
        var sum = vec4(0.0);
        let column = bitcast<i32>(at.x.x);
        let row = bitcast<i32>(at.y.x);
        if column >= -1 && row >= -1 && column < gather_width && row < gather_height {
            let right = fraction(at.x);
            let below = fraction(at.y);
            let left = kept_one(1.0 - right);
            let above = kept_one(1.0 - below);
            sum = with_tap(sum, column, row, kept_one(left * above));
            sum = with_tap(sum, column + 1, row, kept_one(right * above));
            sum = with_tap(sum, column, row + 1, kept_one(left * below));
            sum = with_tap(sum, column + 1, row + 1, kept_one(right * below));
        }
        value = sum.xyz;
        if gather_filled == 1u {
            value = added_product(fill, kept(sum.xyz - fill), vec3(sum.w));
        }
    }
    return vec4(round(clamp(value, vec3(0.0), vec3(255.0))) * (1.0 / 255.0), 1.0);
}
