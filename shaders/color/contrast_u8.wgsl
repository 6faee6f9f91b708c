fn contrast_u8(value: vec4<f32>, step: Step) -> vec4<f32> {
    let other = number(step.value.y);
    let of_image = mean(step.integer_0);
    let exponent = bitcast<i32>(of_image.y) + other.exponent;
    let rest = term(wide_product(of_image.x, other.mantissa), exponent, other.negative);
    return blended(levels(value), number(step.value.x), rest);
}
