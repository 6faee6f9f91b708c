// The functions of `exact.wgsl` as a device has them, for passes on floats, whose last bits differ from device to device.

fn kept(value: vec3<f32>) -> vec3<f32> {
    return value;
}

fn added_product(term: vec3<f32>, a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return term + a * b;
}

fn divided(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return a / b;
}

fn root(value: vec3<f32>) -> vec3<f32> {
    return sqrt(value);
}
