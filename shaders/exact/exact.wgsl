// Floats with the same bits on every device, for results that a rounding turns into whole numbers. WGSL leaves a compiler
// free to contract multiply-adds, to reassociate sums, and to divide and take roots a few units wrong. But each sum and
// each product by itself is the nearest float everywhere; so these functions keep them apart, and correct quotients and
// roots. `inexact.wgsl` has the same functions for passes that need none of this.

// 0, read from a buffer: no compiler knows it.
var<private> zero: u32;

// The same floats, through an operation on integers that no compiler sees through: it combines nothing before the call
// with anything after it.
fn kept(value: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(value) ^ vec3(zero));
}

fn kept_one(value: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(value) ^ zero);
}

// term + a b, rounded twice.
fn added_product(term: vec3<f32>, a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return kept(term + kept(a * b));
}

// a / b, for normal floats with a quotient of 2^-103 and more, and for a = 0. The quotient of the mantissas, which WGSL
// gives to within 3 units, is corrected by its remainder, whose lower 32 bits are enough. No quotient lies halfway between
// two floats.
fn divided_one(a: f32, b: f32) -> f32 {
    let bits = vec2(bitcast<u32>(a), bitcast<u32>(b));
    let mantissas = (bits & vec2(0x7fffffu)) | vec2(0x800000u);
    let divisor = bitcast<i32>(mantissas.y);
    let shift = select(23u, 24u, mantissas.x < mantissas.y);
    let scale = select(8388608.0, 16777216.0, mantissas.x < mantissas.y);
    var quotient = u32(f32(mantissas.x) / f32(mantissas.y) * scale);
    var rest = bitcast<i32>((mantissas.x << shift) - quotient * mantissas.y);
    let units = i32(round(f32(rest) / f32(divisor)));
    rest -= units * divisor;
    let last = select(0, 1, 2 * rest > divisor) - select(0, 1, 2 * rest < -divisor);
    quotient += bitcast<u32>(units + last);
    let exponents = (bits >> vec2(23u)) & vec2(255u);
    let size = f32(quotient) * bitcast<f32>((exponents.x + 127u - exponents.y - shift) << 23u);
    let sign = (bits.x ^ bits.y) & 0x80000000u;
    return bitcast<f32>(select(bitcast<u32>(size), 0u, (bits.x << 1u) == 0u) | sign);
}

fn divided(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return vec3(divided_one(a.x, b.x), divided_one(a.y, b.y), divided_one(a.z, b.z));
}

// The square root of a normal float that is not negative, and of 0. A float is mantissa · 2^exponent; `square` is the
// mantissa times 2^23 or 2^24, with which the exponent is even, and its root has 24 bits.
fn root_one(value: f32) -> f32 {
    let bits = bitcast<u32>(value);
    let exponent = bitcast<i32>(bits >> 23u) - 150;
    let shift = 23 + ((exponent + 1) & 1);
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    var result = bitcast<i32>(u32(sqrt(f32(mantissa) * select(8388608.0, 16777216.0, shift == 24))));
    var rest = bitcast<i32>(mantissa << u32(shift)) - result * result;
    let units = i32(round(f32(rest) / f32(2 * result)));
    rest -= units * (2 * result + units);
    result += units;
    // The squares halfway to the next roots are result² ± result + 1/4.
    result += select(0, 1, rest > result) - select(0, 1, rest <= -result);
    let size = f32(result) * bitcast<f32>(bitcast<u32>((exponent - shift) / 2 + 127) << 23u);
    return select(size, 0.0, bits == 0u);
}

fn root(value: vec3<f32>) -> vec3<f32> {
    return vec3(root_one(value.x), root_one(value.y), root_one(value.z));
}
