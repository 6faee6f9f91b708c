fn channel(value: vec4<f32>, number: f32) -> f32 {
    return select(select(value.x, value.y, number == 1.0), value.z, number == 2.0);
}

// Each output channel names its input channel.
fn permute_channels(value: vec4<f32>, step: Step) -> vec4<f32> {
    return vec4(channel(value, step.value.x), channel(value, step.value.y), channel(value, step.value.z), 1.0);
}
