// Numbers of 64 bits as IEEE 754 has them, in integers: three at a time, each an upper and a lower half. A sum and a
// product are rounded to nearest, ties to even, as a CPU rounds them, so results that a cut decides are the same. A zero
// has no sign; no number is infinite, none subnormal.
struct Doubles {
    upper: vec3<u32>,
    lower: vec3<u32>,
}

const SIGN: vec3<u32> = vec3(0x80000000u);

fn doubles_negated(a: Doubles) -> Doubles {
    return Doubles(a.upper ^ SIGN, a.lower);
}

// Whole numbers below 2^24, which are exact floats.
fn doubles_of(whole: vec3<i32>) -> Doubles {
    let bits = bitcast<vec3<u32>>(vec3<f32>(whole));
    let size = bits & vec3(0x7fffffffu);
    let upper = (bits & SIGN) | ((size >> vec3(3u)) + vec3(896u << 20u));
    return Doubles(select(upper, vec3(0u), size == vec3(0u)), bits << vec3(29u));
}

// Half of numbers that are not 0.
fn doubles_half(a: Doubles) -> Doubles {
    return Doubles(a.upper - vec3(1u << 20u), a.lower);
}

fn doubles_is_zero(a: Doubles) -> vec3<bool> {
    return ((a.upper & vec3(0x7fffffffu)) | a.lower) == vec3(0u);
}

fn doubles_is_negative(a: Doubles) -> vec3<bool> {
    return (a.upper >= SIGN) & !doubles_is_zero(a);
}

// The 53 bits of a number, with the leading one.
fn doubles_mantissa(a: Doubles) -> Doubles {
    let leading = select(vec3(1u << 20u), vec3(0u), doubles_is_zero(a));
    return Doubles((a.upper & vec3(0xfffffu)) | leading, a.lower);
}

fn doubles_exponent(a: Doubles) -> vec3<u32> {
    return (a.upper >> vec3(20u)) & vec3(0x7ffu);
}

// Integers of 64 bits.

fn doubles_added(a: Doubles, b: Doubles) -> Doubles {
    let lower = a.lower + b.lower;
    return Doubles(a.upper + b.upper + select(vec3(0u), vec3(1u), lower < a.lower), lower);
}

fn doubles_subtracted(a: Doubles, b: Doubles) -> Doubles {
    return Doubles(a.upper - b.upper - select(vec3(0u), vec3(1u), a.lower < b.lower), a.lower - b.lower);
}

// a · 2^by, for 0 to 63.
fn doubles_shifted_up(a: Doubles, by: vec3<u32>) -> Doubles {
    let far = by >= vec3(32u);
    let upper = select(a.upper, a.lower, far);
    let lower = select(a.lower, vec3(0u), far);
    let rest = by & vec3(31u);
    return Doubles((upper << rest) | ((lower >> vec3(1u)) >> (vec3(31u) - rest)), lower << rest);
}

// a · 2^-by, for 0 to 63. The last bit is set where a bit is lost.
fn doubles_shifted_down(a: Doubles, by: vec3<u32>) -> Doubles {
    let far = by >= vec3(32u);
    let upper = select(a.upper, vec3(0u), far);
    let lower = select(a.lower, a.upper, far);
    let rest = by & vec3(31u);
    let lost = select(vec3(0u), a.lower, far) | (lower & ((vec3(1u) << rest) - vec3(1u)));
    let shifted_lower = (lower >> rest) | ((upper << vec3(1u)) << (vec3(31u) - rest));
    return Doubles(upper >> rest, shifted_lower | select(vec3(0u), vec3(1u), lost != vec3(0u)));
}

fn doubles_wide_product(a: vec3<u32>, b: vec3<u32>) -> Doubles {
    let half = vec3(16u);
    let mask = vec3(0xffffu);
    let first = (a >> half) * (b & mask) + (((a & mask) * (b & mask)) >> half);
    let second = (a & mask) * (b >> half) + (first & mask);
    return Doubles((a >> half) * (b >> half) + (first >> half) + (second >> half), a * b);
}

// The number whose mantissa is an integer of 64 bits, rounded to 53; with bit 63 set it has this exponent.
fn doubles_rounded(sign: vec3<u32>, exponent: vec3<u32>, mantissa: Doubles) -> Doubles {
    let is_short = mantissa.upper == vec3(0u);
    let lead = firstLeadingBit(select(mantissa.upper, mantissa.lower | vec3(1u), is_short));
    let by = select(vec3(31u), vec3(63u), is_short) - lead;
    let whole = doubles_shifted_up(mantissa, by);
    let half = Doubles(vec3(0u), vec3(0x3ffu) + ((whole.lower >> vec3(11u)) & vec3(1u)));
    let above = doubles_added(whole, half);
    let carry = select(vec3(0u), vec3(1u << 21u), above.upper < whole.upper);
    let upper = ((above.upper >> vec3(11u)) | carry) - vec3(1u << 20u);
    let lower = (above.lower >> vec3(11u)) | (above.upper << vec3(21u));
    let is_zero = (mantissa.upper | mantissa.lower) == vec3(0u);
    let packed = sign | (((exponent - by) << vec3(20u)) + upper);
    return Doubles(select(packed, vec3(0u), is_zero), select(lower, vec3(0u), is_zero));
}

fn doubles_sum(a: Doubles, b: Doubles) -> Doubles {
    let size_a = a.upper & vec3(0x7fffffffu);
    let size_b = b.upper & vec3(0x7fffffffu);
    let is_less = (size_a < size_b) | ((size_a == size_b) & (a.lower < b.lower));
    let large = Doubles(select(a.upper, b.upper, is_less), select(a.lower, b.lower, is_less));
    let small = Doubles(select(b.upper, a.upper, is_less), select(b.lower, a.lower, is_less));
    let exponent = doubles_exponent(large);
    let distance = min(exponent - doubles_exponent(small), vec3(63u));
    let first = doubles_shifted_up(doubles_mantissa(large), vec3(10u));
    let second = doubles_shifted_down(doubles_shifted_up(doubles_mantissa(small), vec3(10u)), distance);
    let together = doubles_added(first, second);
    let apart = doubles_subtracted(first, second);
    let differ = ((large.upper ^ small.upper) & SIGN) != vec3(0u);
    let mantissa = Doubles(select(together.upper, apart.upper, differ), select(together.lower, apart.lower, differ));
    return doubles_rounded(large.upper & SIGN, exponent + vec3(1u), mantissa);
}

fn doubles_difference(a: Doubles, b: Doubles) -> Doubles {
    return doubles_sum(a, doubles_negated(b));
}

fn doubles_product(a: Doubles, b: Doubles) -> Doubles {
    let first = doubles_shifted_up(doubles_mantissa(a), vec3(11u));
    let second = doubles_shifted_up(doubles_mantissa(b), vec3(11u));
    let upper = doubles_wide_product(first.upper, second.upper);
    let lower = doubles_wide_product(first.lower, second.lower);
    // The upper half of the sum of all four; no sum has more than 64 bits.
    let cross = doubles_added(
        doubles_wide_product(first.upper, second.lower),
        Doubles(vec3(0u), lower.upper),
    );
    let other = doubles_wide_product(first.lower, second.upper);
    let middle = doubles_added(Doubles(vec3(0u), cross.lower), other);
    let total = doubles_added(doubles_added(upper, Doubles(vec3(0u), cross.upper)), Doubles(vec3(0u), middle.upper));
    let lost = select(vec3(0u), vec3(1u), (middle.lower | lower.lower) != vec3(0u));
    let exponent = doubles_exponent(a) + doubles_exponent(b) - vec3(1022u);
    return doubles_rounded((a.upper ^ b.upper) & SIGN, exponent, Doubles(total.upper, total.lower | lost));
}

// Numbers from 0 to 2^31, cut to whole ones.
fn doubles_cut(a: Doubles) -> vec3<i32> {
    let mantissa = doubles_shifted_up(doubles_mantissa(a), vec3(11u));
    let exponent = doubles_exponent(a);
    let by = vec3(1054u) - clamp(exponent, vec3(1023u), vec3(1053u));
    return vec3<i32>(select(mantissa.upper >> by, vec3(0u), exponent < vec3(1023u)));
}

// The next whole number below a number from -1 to 2^31.
fn doubles_floor(a: Doubles) -> vec3<i32> {
    return select(doubles_cut(a), vec3(-1), doubles_is_negative(a));
}

// True where a number of 0 or more is less than another one.
fn doubles_is_less(a: Doubles, b: Doubles) -> vec3<bool> {
    return (a.upper < b.upper) | ((a.upper == b.upper) & (a.lower < b.lower));
}
