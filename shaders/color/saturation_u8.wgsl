fn saturation_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let k = levels(value);
    let other = number(step.value.y);
    let rest = term(vec2(0u, gray_level(k) * other.mantissa), other.exponent, other.negative);
    return blended(k, number(step.value.x), rest);
}
