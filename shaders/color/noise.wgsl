// Standard normal numbers over a rectangle: Philox4x32-10 (Salmon et al., SC 2011), then the normal quantile. The counter
// is the place in the rectangle, so the numbers depend on the key alone. The Rust twin is `src/color/noise.rs`.

// The upper halves of 32-bit products, from 16-bit parts: WGSL has no such instruction.
fn multiply_high(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let half = vec2(16u);
    let low = vec2(0xffffu);
    let first = (a >> half) * (b & low) + (((a & low) * (b & low)) >> half);
    let second = (a & low) * (b >> half) + (first & low);
    return (a >> half) * (b >> half) + (first >> half) + (second >> half);
}

fn philox_round(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    let multiplier = vec2(0xd2511f53u, 0xcd9e8d57u);
    let high = multiply_high(multiplier, counter.xz);
    let low = multiplier * counter.xz;
    return vec4(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
}

// Not a loop: llvmpipe ends a thread's loops after 65,535 iterations together (`src/plan/cpu_fallback.rs`).
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    let weyl = vec2(0x9e3779b9u, 0xbb67ae85u);
    var state = philox_round(counter, key);
    state = philox_round(state, key + weyl);
    state = philox_round(state, key + weyl * 2u);
    state = philox_round(state, key + weyl * 3u);
    state = philox_round(state, key + weyl * 4u);
    state = philox_round(state, key + weyl * 5u);
    state = philox_round(state, key + weyl * 6u);
    state = philox_round(state, key + weyl * 7u);
    state = philox_round(state, key + weyl * 8u);
    return philox_round(state, key + weyl * 9u);
}

// -ln(x) for normal x: x = 2^e · m with m in [√½, √2), and ln(m) = 2 artanh((m - 1) / (m + 1)) by its series. The built-in
// `log` is as good by the specification, but this one is the same everywhere.
fn minus_ln(x: vec3<f32>) -> vec3<f32> {
    let root = vec3(0x3f3504f3u);
    let shifted = bitcast<vec3<u32>>(x) + (vec3(0x3f800000u) - root);
    let e = vec3<f32>(vec3<i32>(shifted >> vec3(23u)) - vec3(127));
    let m = bitcast<vec3<f32>>((shifted & vec3(0x007fffffu)) + root);
    let s = divided(kept(m - 1.0), kept(m + 1.0));
    let q = kept(s * s);
    var series = added_product(vec3(1.0 / 7.0), q, vec3(1.0 / 9.0));
    series = added_product(vec3(1.0 / 5.0), q, series);
    series = added_product(vec3(1.0 / 3.0), q, series);
    series = added_product(vec3(1.0), q, series);
    return -added_product(kept(e * 0.6931472), kept(2.0 * s), series);
}

// The normal quantile of (k + 1/2) / 2^23, k the upper 23 bits: √2 erfinv(t), with M. Giles's polynomials in single precision
// ("Approximating the erfinv function", GPU Computing Gems 2, 2012).
fn normal(bits: vec3<u32>) -> vec3<f32> {
    let odd = 2 * vec3<i32>(bits >> vec3(9u)) + vec3(1 - (1 << 23u));
    let t = vec3<f32>(odd) * (1.0 / 8388608.0);
    let w = minus_ln(kept(kept(1.0 - t) * kept(1.0 + t)));
    let a = kept(w - 2.5);
    var centre = vec3(2.81022636e-08);
    centre = added_product(vec3(3.43273939e-07), centre, a);
    centre = added_product(vec3(-3.5233877e-06), centre, a);
    centre = added_product(vec3(-4.39150654e-06), centre, a);
    centre = added_product(vec3(0.00021858087), centre, a);
    centre = added_product(vec3(-0.00125372503), centre, a);
    centre = added_product(vec3(-0.00417768164), centre, a);
    centre = added_product(vec3(0.246640727), centre, a);
    centre = added_product(vec3(1.50140941), centre, a);
    let b = kept(root(max(w, vec3(0.0))) - 3.0);
    var tail = vec3(-0.000200214257);
    tail = added_product(vec3(0.000100950558), tail, b);
    tail = added_product(vec3(0.00134934322), tail, b);
    tail = added_product(vec3(-0.00367342844), tail, b);
    tail = added_product(vec3(0.00573950773), tail, b);
    tail = added_product(vec3(-0.0076224613), tail, b);
    tail = added_product(vec3(0.00943887047), tail, b);
    tail = added_product(vec3(1.00167406), tail, b);
    tail = added_product(vec3(2.83297682), tail, b);
    return kept(kept(select(tail, centre, w < vec3(5.0)) * t) * 1.4142135);
}

fn noise(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {
    if !in_rectangle(step, x, y) {
        return value;
    }
    let place = vec2<u32>(vec2(x, y) - vec2<i32>(step.value.xy));
    let bits = philox(vec4(place, 0u, 0u), vec2(step.integer_0, step.integer_1)).xyz;
    let numbers = normal(bits);
    return vec4(select(numbers, numbers.xxx, step.integer_2 == 1u), 1.0);
}
