fn erase(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {
    let color = vec4(bitcast<f32>(step.integer_0), bitcast<f32>(step.integer_1), bitcast<f32>(step.integer_2), 1.0);
    return select(value, color, in_rectangle(step, x, y));
}
