// The logarithm to base 2 of normal x: x = 2^e · m with m in [√½, √2), and ln(m) = 2 artanh((m - 1) / (m + 1)) by its
// series. Its relative error stays small near 1, where `log2` and `pow` promise an absolute one, which a large gamma
// multiplies.
fn log2_of_normal(x: vec3<f32>) -> vec3<f32> {
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
    // 2 / ln(2)
    return added_product(e, kept(2.88539 * s), series);
}

// 2^t for t in [-126, 127]: t = i + f with f in [-½, ½], and e^(f ln(2)) by its series.
fn power_of_2(t: vec3<f32>) -> vec3<f32> {
    let i = round(t);
    let r = kept(kept(t - i) * 0.6931472);
    var series = added_product(vec3(1.0 / 720.0), r, vec3(1.0 / 5040.0));
    series = added_product(vec3(1.0 / 120.0), r, series);
    series = added_product(vec3(1.0 / 24.0), r, series);
    series = added_product(vec3(1.0 / 6.0), r, series);
    series = added_product(vec3(1.0 / 2.0), r, series);
    series = added_product(vec3(1.0), r, series);
    series = added_product(vec3(1.0), r, series);
    return bitcast<vec3<f32>>((vec3<i32>(i) + vec3(127)) << vec3(23u)) * series;
}

// The step's numbers: gamma, gain, and the largest result. 0 to the power of 0 is 1. Values below 0 count as 0:
// torchvision gives NaN for most of them.
fn adjust_gamma(value: vec4<f32>, step: Step) -> vec4<f32> {
    let least = vec3(1.1754944e-38);
    let gamma = step.value.x;
    let exponent = kept(gamma * log2_of_normal(max(value.xyz, least)));
    let power = power_of_2(clamp(exponent, vec3(-126.0), vec3(127.0)));
    let is_zero = (value.xyz < least) & vec3(gamma > 0.0);
    let result = kept(step.value.y * kept(select(power, vec3(0.0), is_zero)));
    return vec4(clamp(result, vec3(0.0), vec3(step.value.z)), 1.0);
}
