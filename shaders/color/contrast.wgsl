fn contrast(value: vec4<f32>, step: Step) -> vec4<f32> {
    return clamp(value * step.value.x + mean(step.integer_0) * (1.0 - step.value.x), vec4(0.0), vec4(1.0));
}
