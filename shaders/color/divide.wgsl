fn divide(value: vec4<f32>, step: Step) -> vec4<f32> {
    // The fourth lane is not stored; 1 keeps it finite.
    return value / vec4(step.value.xyz, 1.0);
}
