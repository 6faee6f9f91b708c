fn contrast_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let other = number(step.value.y);
    let mean = means[step.integer_0];
    let rest = term(wide_product(mean.mantissa, other.mantissa), mean.exponent + other.exponent, other.negative);
    return blended(levels(value), number(step.value.x), rest);
}
